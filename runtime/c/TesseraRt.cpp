//===- TesseraRt.cpp - Devices and semaphores of the C interface ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/driver/NullDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/VirtualThreads.h"
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::c;

const char *tessera_rt_status_name(tessera_rt_status status) {
  auto code = numberOf(status);
  if (code > TESSERA_RT_INTERNAL)
    return "Unknown";
  // The names are literals, so that they end.
  return statusCodeName(static_cast<StatusCode>(code)).data();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

tessera_rt_status
tessera_rt_device_create(const tessera_rt_device_options *options,
                         tessera_rt_device **device, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(device, "device"));
    tessera_rt_device_options o;
    TESSERA_RETURN_IF_ERROR(readArguments(options, o, "device options"));
    TESSERA_ASSIGN_OR_RETURN(
        Architecture arch,
        loadArchitecture(o.architecture ? o.architecture : "tiny"));
    auto backEnd = numberOf(o.back_end);
    std::unique_ptr<driver::Driver> driver;
    if (o.host_memory_bytes % 4096)
      return invalid(
          fmt::format("device options: host_memory_bytes {}; must be "
                      "a multiple of 4096",
                      o.host_memory_bytes));
    if (backEnd == TESSERA_RT_SIMULATOR) {
      sim::DeviceOptions simulated;
      if (o.host_memory_bytes)
        simulated.hostMemoryBytes = o.host_memory_bytes;
      simulated.seed = o.seed;
      simulated.explore = o.explore != 0;
      simulated.timingOnly = o.timing_only != 0;
      driver = std::make_unique<driver::SimDriver>(arch, simulated);
    } else if (backEnd == TESSERA_RT_NULL) {
      driver::NullDriverOptions null;
      if (o.host_memory_bytes)
        null.hostMemoryBytes = o.host_memory_bytes;
      driver = driver::makeNullDriver(arch, null);
    } else {
      return invalid(fmt::format("device options: back end {}; 0 is the "
                                 "simulator, 1 the null device",
                                 backEnd));
    }
    HostCosts costs{.submitNs = o.host_costs.submit_ns,
                    .accessNs = o.host_costs.access_ns,
                    .wakeNs = o.host_costs.wake_ns,
                    .hostCallNs = o.host_costs.host_call_ns};
    TESSERA_ASSIGN_OR_RETURN(
        Device made,
        Device::create(std::move(driver), text(o.label, "device"), costs));
    *device = new tessera_rt_device{std::move(made)};
    return Status::success();
  });
}

void tessera_rt_device_release(tessera_rt_device *device) { delete device; }

tessera_rt_status tessera_rt_device_close(tessera_rt_device *device,
                                          tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Device>(device).close(); });
}

tessera_rt_status tessera_rt_device_time(tessera_rt_device *device,
                                         uint64_t *now, uint64_t *cycle,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("device");
    if (now)
      *now = device->object.now();
    if (cycle)
      *cycle = device->object.cycleTime();
    return Status::success();
  });
}

tessera_rt_status tessera_rt_device_reset(tessera_rt_device *device,
                                          tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Device>(device).reset(); });
}

tessera_rt_status tessera_rt_device_detect_races(tessera_rt_device *device,
                                                 tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("device");
    device->object.detectRaces();
    return Status::success();
  });
}

tessera_rt_status tessera_rt_device_observe_kernels(tessera_rt_device *device,
                                                    tessera_rt_error *error) {
  return guarded(error,
                 [&] { return handleOf<Device>(device).observeKernels(); });
}

tessera_rt_status tessera_rt_device_report(tessera_rt_device *device,
                                           tessera_rt_report report, char *text,
                                           size_t capacity, size_t *needed,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("device");
    if (capacity && !text)
      return invalid(
          fmt::format("report: {} bytes at a null pointer", capacity));
    std::string all;
    auto lines = [&](const auto &reports) {
      for (const auto &each : reports)
        all += each.print() + "\n";
    };
    auto kind = numberOf(report);
    switch (kind) {
    case TESSERA_RT_HANG_DUMP:
      all = device->object.hangDump().print();
      break;
    case TESSERA_RT_FAULTS:
      lines(device->object.faults());
      break;
    case TESSERA_RT_RACES:
      lines(device->object.races());
      break;
    case TESSERA_RT_UNDECLARED:
      lines(device->object.undeclaredAccesses());
      break;
    default:
      return invalid(fmt::format("report {}; must be 0 to 3", kind));
    }
    if (capacity) {
      size_t count = std::min(all.size(), capacity - 1);
      std::memcpy(text, all.data(), count);
      text[count] = 0;
    }
    if (needed)
      *needed = all.size() + 1;
    return Status::success();
  });
}

tessera_rt_status tessera_rt_device_check_work(tessera_rt_device *device,
                                               tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Device>(device).checkWork(); });
}

const char *tessera_rt_device_label(const tessera_rt_device *device) {
  return labelOf(device);
}

tessera_rt_status
tessera_rt_device_read_statistics(tessera_rt_device *device,
                                  tessera_rt_device_statistics *statistics,
                                  tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("device");
    DeviceStatistics s = device->object.statistics();
    tessera_rt_device_statistics result{};
    result.operations_accepted = s.operationsAccepted;
    result.operations_completed = s.operationsCompleted;
    result.operations_cancelled = s.operationsCancelled;
    result.operations_parked = s.operationsParked;
    result.slot_switches = s.slotSwitches;
    result.notifications = s.notifications;
    result.notification_overflows = s.notificationOverflows;
    result.host_time = s.hostTime;
    return writeResult(result, statistics, "device statistics");
  });
}

//===----------------------------------------------------------------------===//
// Snapshots and virtual threads
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_device_snapshot(tessera_rt_device *device,
                                             tessera_rt_snapshot **snapshot,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(snapshot, "snapshot"));
    TESSERA_ASSIGN_OR_RETURN(Snapshot made,
                             handleOf<Device>(device).snapshot());
    *snapshot = new tessera_rt_snapshot{std::move(made)};
    return Status::success();
  });
}
tessera_rt_status tessera_rt_device_restore(tessera_rt_device *device,
                                            const tessera_rt_snapshot *snapshot,
                                            tessera_rt_error *error) {
  return guarded(error, [&] {
    return handleOf<Device>(device).restore(handleOf<Snapshot>(snapshot));
  });
}
const void *tessera_rt_snapshot_data(const tessera_rt_snapshot *snapshot) {
  return snapshot ? snapshot->object.bytes().data() : nullptr;
}
uint64_t tessera_rt_snapshot_size(const tessera_rt_snapshot *snapshot) {
  return snapshot ? snapshot->object.bytes().size() : 0;
}
void tessera_rt_snapshot_release(tessera_rt_snapshot *snapshot) {
  delete snapshot;
}

tessera_rt_status tessera_rt_trace_begin(tessera_rt_device *device,
                                         const char *path,
                                         tessera_rt_trace **trace,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(trace, "trace"));
    if (!path)
      return invalid("trace: a null path");
    TESSERA_ASSIGN_OR_RETURN(Trace begun,
                             Trace::begin(handleOf<Device>(device), path));
    *trace = new tessera_rt_trace{std::move(begun)};
    return Status::success();
  });
}
tessera_rt_status tessera_rt_trace_finish(tessera_rt_trace *trace,
                                          tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Trace>(trace).finish(); });
}
void tessera_rt_trace_release(tessera_rt_trace *trace) { delete trace; }

tessera_rt_status
tessera_rt_run_virtual_threads(tessera_rt_device *device, uint64_t seed,
                               const tessera_rt_virtual_thread *threads,
                               size_t thread_count, uint64_t *turns,
                               tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("virtual threads: the device");
    if (thread_count && !threads)
      return invalid(fmt::format("virtual threads: {} threads at a null "
                                 "pointer",
                                 thread_count));
    if (thread_count > 1024)
      return invalid(fmt::format("virtual threads: {} threads; at most 1024",
                                 thread_count));
    VirtualThreads group(device->object, seed);
    for (size_t i = 0; i < thread_count; ++i) {
      const tessera_rt_virtual_thread thread = threads[i];
      if (thread.body)
        group.add([thread] { thread.body(thread.context); });
      else
        group.add({}); // Refused by run(), which names it.
    }
    TESSERA_RETURN_IF_ERROR(group.run());
    if (turns)
      *turns = group.turns();
    return Status::success();
  });
}

//===----------------------------------------------------------------------===//
// Semaphores
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_semaphore_create(
    tessera_rt_device *device, const tessera_rt_semaphore_options *options,
    tessera_rt_semaphore **semaphore, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(semaphore, "semaphore"));
    tessera_rt_semaphore_options o{};
    if (options)
      TESSERA_RETURN_IF_ERROR(readArguments(options, o, "semaphore options"));
    TESSERA_ASSIGN_OR_RETURN(Semaphore made,
                             Semaphore::create(handleOf<Device>(device),
                                               {o.host_may_signal != 0,
                                                text(o.label, "semaphore")}));
    *semaphore =
        new tessera_rt_semaphore{std::move(made), handleOf<Device>(device)};
    return Status::success();
  });
}
void tessera_rt_semaphore_release(tessera_rt_semaphore *semaphore) {
  delete semaphore;
}

tessera_rt_status tessera_rt_semaphore_value(tessera_rt_semaphore *semaphore,
                                             uint64_t *value,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(value, "value"));
    TESSERA_ASSIGN_OR_RETURN(*value, handleOf<Semaphore>(semaphore).value());
    return Status::success();
  });
}

tessera_rt_status tessera_rt_semaphore_signal(tessera_rt_semaphore *semaphore,
                                              uint64_t value,
                                              tessera_rt_error *error) {
  return guarded(error,
                 [&] { return handleOf<Semaphore>(semaphore).signal(value); });
}

tessera_rt_status tessera_rt_semaphore_wait(tessera_rt_semaphore *semaphore,
                                            uint64_t value,
                                            const tessera_rt_deadline *deadline,
                                            tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(
        Deadline until,
        deadlineOf(deadline, semaphore ? semaphore->device : Device(),
                   Deadline::infinite()));
    return handleOf<Semaphore>(semaphore).wait(value, until);
  });
}

const char *tessera_rt_semaphore_label(const tessera_rt_semaphore *semaphore) {
  return labelOf(semaphore);
}
uint32_t tessera_rt_semaphore_index(const tessera_rt_semaphore *semaphore) {
  return semaphore ? semaphore->object.index() : 0;
}
