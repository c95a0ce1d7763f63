//===- CommandProcessor.cpp - Command processor: registers and state ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/CommandProcessor.h"
#include "core/CoreState.h"
#include "tessera/Support/Mutant.h"
#include <bit>
#include <fmt/format.h>

namespace tessera::sim {

namespace mmio = isa::mmio;

CommandProcessor::CommandProcessor(Services &services)
    : services(services), client(services.mmu.addClient()),
      self(services.events.add(*this)),
      copies(services, *this, services.noc.cpNode()),
      queues(std::max(1u, services.arch.cp.queues)),
      semaphores(mmio::numSemaphores), coreOwner(services.arch.cores.count),
      coreNext(services.arch.cores.count) {}

CommandProcessor::~CommandProcessor() = default;

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

static Status noRegister(uint64_t offset) {
  return Status(StatusCode::BusError,
                fmt::format("no register at offset {:#x}", offset));
}

Status CommandProcessor::writeRegister(uint64_t offset, uint64_t value) {
  if (offset % 8 != 0)
    return noRegister(offset);
  if (offset >= mmio::semaphoreBase) {
    uint64_t index = (offset - mmio::semaphoreBase) / 8;
    if (index == 0 || index >= semaphores.size())
      return noRegister(offset);
    semaphores[index] = value;
    semaphoreChanged(uint32_t(index));
    startAll();
    return Status::success();
  }
  if (offset < mmio::queueBase)
    return noRegister(offset);
  uint64_t q = (offset - mmio::queueBase) / mmio::queueStride;
  if (q >= queues.size())
    return noRegister(offset);
  return writeQueue(uint32_t(q), (offset - mmio::queueBase) % mmio::queueStride,
                    value);
}

Status CommandProcessor::writeQueue(uint32_t q, uint64_t offset,
                                    uint64_t value) {
  Queue &queue = queues[q];
  auto refuse = [&](std::string_view why) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue {}: {} ({})", q, why, value));
  };
  bool stopped = !queue.enabled;
  switch (offset) {
  case mmio::queueRing:
    if (!stopped || value % isa::packetBytes != 0)
      return refuse("the ring must be 64-byte aligned and the queue disabled");
    queue.ring = value;
    return Status::success();
  case mmio::queueSize:
    if (!stopped || !std::has_single_bit(value))
      return refuse("the size must be a power of two and the queue disabled");
    queue.size = value;
    return Status::success();
  case mmio::queueContext:
    if (value % 256 != 0)
      return refuse("the page table must be 256-byte aligned");
    queue.context = value;
    services.mmu.invalidate();
    return Status::success();
  case mmio::queuePriority:
    if (value > 15)
      return refuse("the priority must be 0 to 15");
    queue.priority = value;
    return Status::success();
  case mmio::queueEnable:
    return enable(q, value & 1);
  case mmio::queueDoorbell: {
    // The register is written now; the device hears of it over the host link.
    Event event;
    event.time = services.events.now() +
                 Time(services.arch.host.latencyNs) * femtosecondsPerNanosecond;
    event.time = services.clock.at(services.clock.ceil(event.time));
    event.phase = Phase::Signal;
    event.component = self;
    event.code = Doorbell;
    event.epoch = queue.epoch;
    event.payload = pack(q, 0);
    services.events.post(event);
    // Indices may wrap around: what counts is their distance.
    if (int64_t(value + 1 - queue.published) > 0)
      queue.published = value + 1;
    return Status::success();
  }
  case mmio::queueFirst:
    if (!stopped)
      return refuse("the first index can only be set while disabled");
    queue.first = value;
    return Status::success();
  case mmio::queueNotify:
    queue.notify = value;
    tellDone(q);
    return Status::success();
  default:
    return noRegister(mmio::queueBase + q * mmio::queueStride + offset);
  }
}

Status CommandProcessor::enable(uint32_t q, bool on) {
  Queue &queue = queues[q];
  if (on == queue.enabled)
    return Status::success();
  if (!on) {
    queue.enabled = false;
    dropSlots(q, false); // what has started finishes
    return Status::success();
  }
  uint64_t hostBytes = services.memory.size(isa::PhysicalSpace::Host);
  if (queue.size == 0 || queue.ring > hostBytes ||
      queue.size > (hostBytes - queue.ring) / isa::packetBytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format(
            "queue {}: ring of {} packets at {:#x} is not in host memory "
            "({} bytes)",
            q, queue.size, queue.ring, hostBytes));
  dropSlots(q, true);
  queue.enabled = true;
  queue.faulted = false;
  ++queue.epoch;
  queue.published = queue.read = queue.done = queue.first;
  queue.notify.reset();
  queue.faultCause = queue.faultPacket = queue.faultCore = queue.faultPc = 0;
  queue.faultAddress = 0;
  queue.busy = queue.sleeping = false;
  return Status::success();
}

void CommandProcessor::dropSlots(uint32_t q, bool running) {
  Queue &queue = queues[q];
  queue.source = Source();
  if (running) {
    queue.streams.clear();
    copies.drop(q);
  }
  std::erase_if(queue.window, [&](const Slot &slot) {
    // A parked packet of a command buffer has started with it.
    bool drop =
        running || (slot.state == Slot::State::Parked && !slot.fetched.parent);
    if (drop && slot.state == Slot::State::Running)
      freeCores(pack(q, slot.id));
    if (drop && slot.state != Slot::State::Parked &&
        slot.state != Slot::State::Done)
      tracePacket(q, slot, /*begins=*/false);
    if (drop)
      unprepare(pack(q, slot.id));
    return drop;
  });
}

void CommandProcessor::dropCommands(uint32_t q, uint64_t indirect) {
  Queue &queue = queues[q];
  std::erase(queue.streams, indirect);
  std::erase_if(queue.window, [&](const Slot &slot) {
    bool drop = slot.id == indirect || (slot.fetched.parent == indirect &&
                                        slot.state == Slot::State::Parked);
    if (drop)
      unprepare(pack(q, slot.id));
    return drop;
  });
}

Result<uint64_t> CommandProcessor::readRegister(uint64_t offset) const {
  if (offset % 8 != 0)
    return noRegister(offset);
  if (offset >= mmio::semaphoreBase) {
    uint64_t index = (offset - mmio::semaphoreBase) / 8;
    if (index >= semaphores.size())
      return noRegister(offset);
    return semaphores[index];
  }
  if (offset < mmio::queueBase)
    return noRegister(offset);
  uint64_t q = (offset - mmio::queueBase) / mmio::queueStride;
  if (q >= queues.size())
    return noRegister(offset);
  const Queue &queue = queues[q];
  switch ((offset - mmio::queueBase) % mmio::queueStride) {
  case mmio::queueRing:
    return queue.ring;
  case mmio::queueSize:
    return queue.size;
  case mmio::queueContext:
    return queue.context;
  case mmio::queuePriority:
    return queue.priority;
  case mmio::queueEnable:
    return uint64_t(queue.enabled);
  case mmio::queueRead:
    return queue.read;
  case mmio::queueDone:
    return queue.done;
  case mmio::queueStatus: {
    bool idle =
        queue.window.empty() && queue.source.buffer.empty() && !queue.busy;
    bool finished = std::ranges::none_of(queue.window, [](const Slot &slot) {
      return slot.state == Slot::State::Running ||
             slot.state == Slot::State::Completing;
    });
    auto status = !queue.enabled  ? (finished ? mmio::QueueStatus::Disabled
                                              : mmio::QueueStatus::Stopping)
                  : queue.faulted ? mmio::QueueStatus::Faulted
                  : idle          ? mmio::QueueStatus::Idle
                                  : mmio::QueueStatus::Running;
    return uint64_t(status);
  }
  case mmio::queueFirst:
    return queue.first;
  case mmio::queueDoneMask: {
    uint64_t mask = 0;
    for (const Slot &slot : queue.window)
      if (slot.state == Slot::State::Done && !slot.fetched.parent &&
          slot.fetched.ringIndex - queue.done < 64)
        mask |= uint64_t(1) << (slot.fetched.ringIndex - queue.done);
    return mask;
  }
  case mmio::queueCopied:
    return copies.moved(uint32_t(q));
  case mmio::queueCoresRun:
    return queue.coresRun;
  case mmio::faultCause:
    return queue.faultCause;
  case mmio::faultPacket:
    return queue.faultPacket;
  case mmio::faultCore:
    return queue.faultCore;
  case mmio::faultPc:
    return queue.faultPc;
  case mmio::faultAddress:
    return queue.faultAddress;
  default:
    return noRegister(offset);
  }
}

Status CommandProcessor::armSemaphore(uint32_t semaphore, uint64_t value) {
  if (semaphore == 0 || semaphore >= semaphores.size())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("semaphore {} does not exist; there are 1 to {}",
                              semaphore, semaphores.size() - 1));
  // Asked for once or many times, it is told once.
  bool known = std::ranges::any_of(armed, [&](const Armed &a) {
    return a.semaphore == semaphore && a.value == value;
  });
  if (!known)
    armed.push_back({semaphore, value});
  tellArmed(semaphore);
  return Status::success();
}

Status CommandProcessor::stall(StallableUnit unit, uint32_t q,
                               uint64_t cycles) {
  if (q >= queues.size() || cycles >> 40)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("stall of queue {} for {} cycles: there are {} "
                              "queues, and at most 2^40 - 1 cycles",
                              q, cycles, queues.size()));
  Cycle until = services.now() + cycles;
  switch (unit) {
  case StallableUnit::CopyEngine:
    copies.stall(until);
    break;
  case StallableUnit::QueueFrontEnd:
    queues[q].stalledUntil = until;
    break;
  case StallableUnit::Cores:
    dispatchesStalledUntil = until;
    break;
  }
  return Status::success();
}

void CommandProcessor::reset() {
  for (uint32_t q = 0; q < queues.size(); ++q) {
    dropSlots(q, true);
    uint32_t epoch = queues[q].epoch + 1;
    queues[q] = Queue();
    queues[q].epoch = epoch;
  }
  copies.reset();
  dispatchesStalledUntil = 0;
  if (!TESSERA_MUTANT("reset-keeps-semaphores"))
    std::fill(semaphores.begin(), semaphores.end(), 0);
  armed.clear();
  interrupts.clear();
}

//===----------------------------------------------------------------------===//
// Signals, faults, interrupts
//===----------------------------------------------------------------------===//

void CommandProcessor::interrupt(DeviceInterrupt::Kind kind, uint32_t q,
                                 uint32_t payload) {
  interrupts.push_back({kind, q, payload, services.events.now()});
}

FaultCause CommandProcessor::signal(const isa::SemaphoreValue &completion) {
  if (completion.semaphore == 0)
    return FaultCause::None;
  if (completion.semaphore >= semaphores.size())
    return FaultCause::SemaphoreRange;
  uint64_t &value = semaphores[completion.semaphore];
  if (completion.value <= value)
    return TESSERA_MUTANT("decreasing-signal-taken")
               ? FaultCause::None
               : FaultCause::NonIncreasingSignal;
  value = completion.value;
  semaphoreChanged(completion.semaphore);
  return FaultCause::None;
}

void CommandProcessor::semaphoreChanged(uint32_t semaphore) {
  uint64_t value = semaphores[semaphore];
  if (services.observer) {
    TraceEvent event;
    event.kind = TraceEvent::Kind::Timeline;
    event.id = semaphore;
    event.value = value;
    event.timeFs = services.events.now();
    services.observer->event(event);
  }
  tellArmed(semaphore);
}

void CommandProcessor::tellArmed(uint32_t semaphore) {
  uint64_t value = semaphores[semaphore];
  std::erase_if(armed, [&](const Armed &a) {
    if (a.semaphore != semaphore || value < a.value)
      return false;
    interrupt(DeviceInterrupt::Kind::SemaphoreSignal, 0, semaphore);
    return true;
  });
}

void CommandProcessor::fault(uint32_t q, uint64_t id, FaultCause cause,
                             uint64_t address, uint32_t core, uint32_t pc) {
  Queue &queue = queues[q];
  Slot *slot = find(q, id);
  uint64_t ringIndex = slot ? slot->fetched.ringIndex : queue.read;
  uint64_t command =
      slot && slot->fetched.command != noCommand ? slot->fetched.command : 0;
  if (slot) {
    uint64_t buffer = slot->fetched.parent ? slot->fetched.parent : id;
    if (slot->state != Slot::State::Parked)
      tracePacket(q, *slot, /*begins=*/false);
    freeCores(pack(q, id));
    unprepare(pack(q, id));
    std::erase_if(queue.window, [&](const Slot &s) { return s.id == id; });
    dropCommands(q, buffer);
  }
  if (!TESSERA_MUTANT("parked-start-after-fault"))
    dropSlots(q, false);
  if (TESSERA_MUTANT("others-aborted"))
    for (uint32_t other = 0; other < queues.size(); ++other)
      dropSlots(other, false);
  if (TESSERA_MUTANT("fault-address-of-page") &&
      (cause == FaultCause::PageFault || cause == FaultCause::ProtectionFault))
    address &= ~uint64_t(isa::smallPageBytes - 1);
  if (!queue.faulted) { // the first one is reported
    queue.faulted = true;
    queue.faultCause = uint64_t(cause);
    queue.faultPacket = uint32_t(ringIndex) | command << 32;
    queue.faultCore = core;
    queue.faultPc = pc;
    queue.faultAddress = address;
    interrupt(DeviceInterrupt::Kind::Fault, q, 0);
  }
  startAll(); // its cores are free for other queues
  advance(q); // with command buffers that had started
}

//===----------------------------------------------------------------------===//
// Diagnosis and state
//===----------------------------------------------------------------------===//

void CommandProcessor::explainWaits(std::vector<std::string> &lines) const {
  for (uint32_t q = 0; q < queues.size(); ++q) {
    const Queue &queue = queues[q];
    for (const Slot &slot : queue.window) {
      std::string where =
          fmt::format("queue {}, packet {}", q, slot.fetched.ringIndex);
      if (slot.fetched.command != noCommand)
        where += fmt::format(", command {}", slot.fetched.command);
      where += fmt::format(" (`{}`)", isa::print(slot.packet));
      if (slot.state == Slot::State::Running) {
        lines.push_back(where + " has not finished");
        continue;
      }
      if (slot.state != Slot::State::Parked)
        continue;
      if (held(queue, slot) || ((slot.packet.flags & isa::packetBarrier) &&
                                !earlierDone(queue, slot))) {
        lines.push_back(where + " waits for the packets before it");
        continue;
      }
      std::string waits;
      auto add = [&](const isa::SemaphoreValue &w) {
        if (w.semaphore != 0 && w.semaphore < semaphores.size() &&
            semaphores[w.semaphore] < w.value)
          waits += fmt::format("{}semaphore {} >= {} (it is {})",
                               waits.empty() ? "" : ", ", w.semaphore, w.value,
                               semaphores[w.semaphore]);
      };
      std::visit(
          [&](const auto &body) {
            if constexpr (requires { body.wait; })
              add(body.wait);
            else if constexpr (requires { body.waits; })
              for (const isa::SemaphoreValue &w : body.waits)
                add(w);
          },
          slot.packet.body);
      lines.push_back(where + " waits for " +
                      (waits.empty() ? "free cores" : waits));
    }
  }
}

template <typename A> void CommandProcessor::Slot::serialize(A &ar) {
  fields(ar, id, fetched, state, startCycle, runCycle, haltCycle, ran, illegal,
         wantsCores, wantedSince, step, direct, stale, gaveUp, notBefore,
         generation, coresLeft, tasksLeft, goLeft, argumentBytesRead, task,
         macs, spmPeak, dramRead, dramWritten, nextCommand, commandCount,
         childrenLeft, source, exhausted, fetchBegun, firstFetch, trafficBefore,
         stamp);
  fields(ar, engines);
  if constexpr (A::loading) {
    // What was decoded once decodes again.
    Result<isa::Packet> decodedPacket = isa::decodePacket(fetched.image);
    if (decodedPacket)
      packet = *decodedPacket;
    else if (!illegal)
      ar.fail();
  }
}

template <typename A> void CommandProcessor::Queue::serialize(A &ar) {
  fields(ar, ring, size, context, priority, enabled, faulted, first, published,
         read, done, notify, faultCause, faultPacket, faultCore, faultPc,
         faultAddress, epoch, busy, sleeping, source, window, streams,
         decodeParent, fetchParent, fetchCount, fetchCycle, stalledUntil,
         coresRun);
}

template <typename A> static void serializeRecord(A &ar, DispatchRecord &r) {
  fields(ar, r.queue, r.ringIndex, r.commandIndex, r.packetId, r.kernel, r.x,
         r.y, r.width, r.height, r.fetchCycle, r.startCycle, r.runCycle,
         r.haltCycle, r.endCycle, r.macs, r.spmPeakBytes, r.dramBytesRead,
         r.dramBytesWritten);
  fields(ar, r.engines);
}

template <typename A>
static void serializeRecord(A &ar, CommandBufferRecord &r) {
  fields(ar, r.queue, r.ringIndex, r.packetId, r.firstFetchCycle, r.endCycle,
         r.dramBytesRead, r.dramBytesWritten);
}

template <typename A, typename T>
static void serializeRecords(A &ar, std::vector<T> &records) {
  size_t count = detail::size(ar, records.size());
  if constexpr (A::loading)
    records.assign(count, {});
  for (T &r : records)
    serializeRecord(ar, r);
}

template <typename A> void CommandProcessor::serialize(A &ar) {
  size_t numQueues = queues.size(), numSemaphores = semaphores.size(),
         numCores = coreOwner.size();
  fields(ar, copies, queues, semaphores, armed, coreOwner, coreNext, nextId,
         packetsDone, dispatchesStalledUntil);
  if constexpr (A::loading)
    if (queues.size() != numQueues || semaphores.size() != numSemaphores ||
        coreOwner.size() != numCores || coreNext.size() != numCores)
      ar.fail();
  size_t pending = detail::size(ar, interrupts.size());
  if constexpr (A::loading)
    interrupts.assign(pending, {});
  for (DeviceInterrupt &i : interrupts)
    fields(ar, i.kind, i.queue, i.payload, i.time);
  serializeRecords(ar, dispatchRecords);
  serializeRecords(ar, commandBufferRecords);
}

template void CommandProcessor::serialize(Saver &);
template void CommandProcessor::serialize(Loader &);

} // namespace tessera::sim
