//===- TesseraRt.cpp - The C interface over the C++ objects --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/driver/NullDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera_rt.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::c;

const char *tessera_rt_status_name(tessera_rt_status status) {
  if (status < 0 || status > TESSERA_RT_INTERNAL)
    return "Unknown";
  // The names are literals, so that they end.
  return statusCodeName(static_cast<StatusCode>(status)).data();
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
    std::unique_ptr<driver::Driver> driver;
    if (o.host_memory_bytes % 4096)
      return invalid(
          fmt::format("device options: host_memory_bytes {}; must be "
                      "a multiple of 4096",
                      o.host_memory_bytes));
    if (o.back_end == TESSERA_RT_SIMULATOR) {
      sim::DeviceOptions simulated;
      if (o.host_memory_bytes)
        simulated.hostMemoryBytes = o.host_memory_bytes;
      driver = std::make_unique<driver::SimDriver>(arch, simulated);
    } else if (o.back_end == TESSERA_RT_NULL) {
      driver::NullDriverOptions null;
      if (o.host_memory_bytes)
        null.hostMemoryBytes = o.host_memory_bytes;
      driver = driver::makeNullDriver(arch, null);
    } else {
      return invalid(fmt::format("device options: back end {}; 0 is the "
                                 "simulator, 1 the null device",
                                 int(o.back_end)));
    }
    TESSERA_ASSIGN_OR_RETURN(
        Device made,
        Device::create(std::move(driver), text(o.label, "device")));
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
    // As a number: C may put anything into an enumeration.
    uint32_t kind = 0;
    static_assert(sizeof(kind) == sizeof(report));
    std::memcpy(&kind, &report, sizeof(kind));
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
    default:
      return invalid(fmt::format("report {}; must be 0 to 2", kind));
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

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_space_create(tessera_rt_device *device,
                                          const char *label,
                                          tessera_rt_space **space,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(space, "space"));
    TESSERA_ASSIGN_OR_RETURN(
        AddressSpace made, AddressSpace::create(handleOf<Device>(device),
                                                text(label, "address space")));
    *space = new tessera_rt_space{std::move(made), handleOf<Device>(device)};
    return Status::success();
  });
}
void tessera_rt_space_release(tessera_rt_space *space) { delete space; }

tessera_rt_status
tessera_rt_buffer_create(tessera_rt_space *space,
                         const tessera_rt_buffer_options *options,
                         tessera_rt_buffer **buffer, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(buffer, "buffer"));
    tessera_rt_buffer_options o;
    TESSERA_RETURN_IF_ERROR(readArguments(options, o, "buffer options"));
    BufferOptions made;
    made.label = text(o.label, "buffer");
    TESSERA_ASSIGN_OR_RETURN(made.space, spaceOf(o.memory));
    TESSERA_ASSIGN_OR_RETURN(made.access, accessOf(o.access));
    TESSERA_ASSIGN_OR_RETURN(
        Buffer result, handleOf<AddressSpace>(space).allocate(o.bytes, made));
    *buffer = new tessera_rt_buffer{std::move(result)};
    return Status::success();
  });
}
void tessera_rt_buffer_release(tessera_rt_buffer *buffer) { delete buffer; }
uint64_t tessera_rt_buffer_address(const tessera_rt_buffer *buffer) {
  return buffer ? buffer->object.address() : 0;
}
uint64_t tessera_rt_buffer_size(const tessera_rt_buffer *buffer) {
  return buffer ? buffer->object.size() : 0;
}

tessera_rt_status tessera_rt_buffer_write(tessera_rt_buffer *buffer,
                                          uint64_t offset, const void *data,
                                          uint64_t bytes,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(auto from, bytesOf(data, bytes));
    return handleOf<Buffer>(buffer).write(offset, from);
  });
}

tessera_rt_status tessera_rt_buffer_read(const tessera_rt_buffer *buffer,
                                         uint64_t offset, void *data,
                                         uint64_t bytes,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(auto to, bytesOf(data, bytes));
    return handleOf<Buffer>(buffer).read(offset, to);
  });
}

tessera_rt_status tessera_rt_buffer_unmap(tessera_rt_space *space,
                                          tessera_rt_buffer *buffer,
                                          tessera_rt_when_in_use when,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (when < TESSERA_RT_REFUSE || when > TESSERA_RT_FORCE)
      return invalid(
          fmt::format("unmap: when in use {}; must be 0 to 2", int(when)));
    return handleOf<AddressSpace>(space).unmap(handleOf<Buffer>(buffer),
                                               static_cast<WhenInUse>(when));
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

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_pool_create(tessera_rt_space *space,
                                         const tessera_rt_pool_options *options,
                                         tessera_rt_pool **pool,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(pool, "pool"));
    tessera_rt_pool_options o{};
    if (options)
      TESSERA_RETURN_IF_ERROR(readArguments(options, o, "pool options"));
    PoolOptions made;
    made.label = text(o.label, "pool");
    TESSERA_ASSIGN_OR_RETURN(made.space, spaceOf(o.memory));
    TESSERA_ASSIGN_OR_RETURN(made.access, accessOf(o.access));
    if (o.budget_bytes)
      made.budgetBytes = o.budget_bytes;
    if (o.chunk_bytes)
      made.chunkBytes = o.chunk_bytes;
    TESSERA_ASSIGN_OR_RETURN(
        MemoryPool result,
        MemoryPool::create(handleOf<AddressSpace>(space), made));
    *pool = new tessera_rt_pool{std::move(result),
                                space ? space->device : Device()};
    return Status::success();
  });
}
void tessera_rt_pool_release(tessera_rt_pool *pool) { delete pool; }

tessera_rt_status tessera_rt_pool_allocate(
    tessera_rt_pool *pool, tessera_rt_queue *queue, uint64_t bytes,
    const tessera_rt_submit *submit, const tessera_rt_deadline *deadline,
    tessera_rt_buffer **buffer, tessera_rt_pool_outcome *outcome,
    tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(buffer, "buffer"));
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(
        Deadline until,
        deadlineOf(deadline, pool ? pool->device : Device(), Deadline::poll()));
    TESSERA_ASSIGN_OR_RETURN(
        PoolAllocation made,
        handleOf<MemoryPool>(pool).allocate(handleOf<Queue>(queue), bytes,
                                            options, until));
    *buffer = new tessera_rt_buffer{std::move(made.buffer)};
    if (outcome)
      *outcome = static_cast<tessera_rt_pool_outcome>(made.outcome);
    return Status::success();
  });
}

tessera_rt_status tessera_rt_pool_deallocate(tessera_rt_pool *pool,
                                             tessera_rt_queue *queue,
                                             tessera_rt_buffer *buffer,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    Buffer memory = handleOf<Buffer>(buffer);
    return handleOf<MemoryPool>(pool).deallocate(handleOf<Queue>(queue), memory,
                                                 options);
  });
}

tessera_rt_status tessera_rt_pool_trim(tessera_rt_pool *pool, uint64_t *bytes,
                                       tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(uint64_t trimmed,
                             handleOf<MemoryPool>(pool).trim());
    if (bytes)
      *bytes = trimmed;
    return Status::success();
  });
}
