//===- FaultDriver.cpp - A device that goes wrong on demand ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/FaultDriver.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/Packet.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

std::string_view faultKindName(FaultKind kind) {
  static constexpr std::string_view names[numFaultKinds] = {
      "drop-doorbell",       "duplicate-doorbell", "delay-doorbell",
      "tear-fetch",          "tear-body",          "drop-interrupt",
      "duplicate-interrupt", "delay-interrupt",    "corrected-flip",
      "uncorrected-flip",    "table-flip",         "link-loss",
      "stall-copies",        "stall-queue",        "stall-cores",
      "fail-allocation",     "skip-packet"};
  return names[size_t(kind) % numFaultKinds];
}

FaultDriver::FaultDriver(std::unique_ptr<Driver> driver, FaultPlan plan)
    : ForwardingDriver(std::move(driver)), plan(plan), random(plan.seed),
      cycleTime(std::llround(1e6 / below->architecture().clockGhz)) {}
FaultDriver::~FaultDriver() = default;

//===----------------------------------------------------------------------===//
// What goes wrong, and when
//===----------------------------------------------------------------------===//

void FaultDriver::arm(FaultKind kind, uint64_t skip) {
  std::lock_guard lock(mutex);
  armed[size_t(kind)].push_back({skip});
}

void FaultDriver::calm() {
  std::lock_guard lock(mutex);
  plan.perMille = {};
  armed = {};
  deliver(timeInfinite);
}

void FaultDriver::loseDevice(std::string why) {
  std::lock_guard lock(mutex);
  lose(std::move(why));
}

std::vector<InjectedFault> FaultDriver::log() const {
  std::lock_guard lock(mutex);
  return injected;
}

uint64_t FaultDriver::count(FaultKind kind) const {
  std::lock_guard lock(mutex);
  return counts[size_t(kind)];
}

bool FaultDriver::happens(FaultKind kind) {
  bool now = false;
  for (Once &once : armed[size_t(kind)])
    if (once.skip == 0)
      now = true;
    else
      --once.skip;
  if (now) {
    std::vector<Once> &list = armed[size_t(kind)];
    list.erase(std::find(list.begin(), list.end(), Once{}));
  }
  // Drawn in any case, so that arming a fault does not move the others.
  uint32_t rate = plan.perMille[size_t(kind)];
  bool drawn = rate && random.below(1000) < rate;
  return now || drawn;
}

uint64_t FaultDriver::delay() {
  return 1 + random.below(std::max<uint64_t>(1, plan.maxDelayCycles));
}

void FaultDriver::note(FaultKind kind, std::string what) {
  ++counts[size_t(kind)];
  injected.push_back({kind, below->now(), std::move(what)});
}

void FaultDriver::lose(std::string why) {
  if (!lost.ok())
    return;
  lost = Status(StatusCode::DeviceLost,
                fmt::format("the device is lost: {}", why));
  deliver(timeInfinite); // The ring is the host's: it is whole again.
  held.clear();
  ready.clear();
}

//===----------------------------------------------------------------------===//
// Doorbells and fetches
//===----------------------------------------------------------------------===//

Status FaultDriver::doorbell(uint32_t queue, uint64_t offset, uint64_t value) {
  std::string where = fmt::format("queue {}, doorbell {}", queue, value);
  if (happens(FaultKind::LinkLoss)) {
    note(FaultKind::LinkLoss, where);
    lose("the link is down");
    return lost;
  }
  for (FaultKind kind : {FaultKind::CorrectedFlip, FaultKind::UncorrectedFlip,
                         FaultKind::TableFlip})
    if (happens(kind))
      flip(kind);
  TESSERA_RETURN_IF_ERROR(lost);
  for (auto [kind, unit] :
       {std::pair(FaultKind::StallCopies, Unit::CopyEngine),
        std::pair(FaultKind::StallQueue, Unit::QueueFrontEnd),
        std::pair(FaultKind::StallCores, Unit::Cores)})
    if (happens(kind)) {
      uint64_t cycles = delay();
      if (below->stall(unit, queue, cycles).ok())
        note(kind, fmt::format("{}, {} cycles", where, cycles));
    }
  tear(queue, value);
  QueueRegisters &registers = queues[queue];
  // Indices wrap around at 2^64: their distance counts.
  if (int64_t(value + 1 - registers.rung) > 0)
    registers.rung = value + 1;
  if (happens(FaultKind::DropDoorbell)) {
    note(FaultKind::DropDoorbell, where);
    return Status::success();
  }
  if (happens(FaultKind::DelayDoorbell)) {
    uint64_t cycles = delay();
    note(FaultKind::DelayDoorbell, fmt::format("{}, {} cycles", where, cycles));
    held.push_back(
        {below->now() + cycles * cycleTime, true, offset, value, {}});
    return Status::success();
  }
  if (happens(FaultKind::DuplicateDoorbell)) {
    note(FaultKind::DuplicateDoorbell, where);
    TESSERA_RETURN_IF_ERROR(below->mmioWrite(offset, value));
  }
  return below->mmioWrite(offset, value);
}

static uint8_t *bytesAt(Driver &driver, uint64_t offset) {
  return reinterpret_cast<uint8_t *>(driver.hostMemory().data()) + offset;
}

void FaultDriver::tear(uint32_t queue, uint64_t index) {
  QueueRegisters &registers = queues[queue];
  if (registers.size == 0)
    return;
  // Only what the device has not read: the rest may be the runtime's again.
  Result<uint64_t> read = below->mmioRead(
      mmio::queueBase + queue * mmio::queueStride + mmio::queueRead);
  if (!read)
    return;
  uint64_t first = int64_t(registers.rung - *read) > 0 ? registers.rung : *read;
  if (int64_t(index - first) < 0 || index - first >= registers.size)
    return;
  auto slot = [&](uint64_t i) {
    return registers.ring + (i & (registers.size - 1)) * packetBytes;
  };
  if (happens(FaultKind::TearFetch)) {
    uint64_t from = first + random.below(index - first + 1);
    Time due = below->now() + delay() * cycleTime;
    for (uint64_t i = from; i != index + 1; ++i) {
      std::atomic_ref<uint8_t> header(*bytesAt(*below, slot(i)));
      torn.push_back({due, slot(i), {header.load(std::memory_order_acquire)}});
      header.store(uint8_t(PacketType::Invalid), std::memory_order_release);
    }
    note(FaultKind::TearFetch,
         fmt::format("queue {}, packets {} to {}", queue, from, index));
  }
  if (happens(FaultKind::SkipPacket)) {
    uint8_t *at = bytesAt(*below, slot(index));
    if (Result<Packet> packet = decodePacket(std::span(at, packetBytes))) {
      // Its waits go as well: such a device does not even look at them.
      SemaphoreValue completion;
      std::visit(
          [&](const auto &body) {
            if constexpr (requires { body.completion; })
              completion = body.completion;
          },
          packet->body);
      Packet empty{packet->flags, packet->id, NopPacket{}};
      if (completion.semaphore)
        empty.body = SignalPacket{completion};
      auto image = encode(empty);
      std::copy(image.begin() + 1, image.end(), at + 1);
      std::atomic_ref<uint8_t>(*at).store(image[0], std::memory_order_release);
      note(FaultKind::SkipPacket,
           fmt::format("queue {}, packet {}", queue, index));
    }
  }
  if (happens(FaultKind::TearBody)) {
    uint8_t *half = bytesAt(*below, slot(index)) + packetBytes / 2;
    torn.push_back({below->now() + delay() * cycleTime,
                    slot(index) + packetBytes / 2,
                    std::vector<uint8_t>(half, half + packetBytes / 2)});
    std::fill_n(half, packetBytes / 2, uint8_t(0));
    note(FaultKind::TearBody, fmt::format("queue {}, packet {}", queue, index));
  }
}

void FaultDriver::untear(const Torn &part) {
  uint8_t *at = bytesAt(*below, part.at);
  if (part.bytes.size() == 1) {
    // A torn header: whoever holds the ring may have given the slot up.
    uint8_t expected = uint8_t(PacketType::Invalid);
    std::atomic_ref<uint8_t>(*at).compare_exchange_strong(
        expected, part.bytes.front(), std::memory_order_release);
    return;
  }
  std::copy(part.bytes.begin(), part.bytes.end(), at);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status FaultDriver::doMmioWrite(uint64_t offset, uint64_t value) {
  if (offset == mmio::reset && (value & 1)) {
    lost = Status::success();
    held.clear();
    torn.clear();
    ready.clear();
    queues.clear();
    return below->mmioWrite(offset, value);
  }
  TESSERA_RETURN_IF_ERROR(lost);
  if (offset < mmio::queueBase || offset >= mmio::semaphoreBase)
    return below->mmioWrite(offset, value);
  auto queue = uint32_t((offset - mmio::queueBase) / mmio::queueStride);
  switch ((offset - mmio::queueBase) % mmio::queueStride) {
  case mmio::queueRing:
    queues[queue].ring = value;
    break;
  case mmio::queueSize:
    queues[queue].size = value;
    break;
  case mmio::queueContext:
    queues[queue].context = value;
    break;
  case mmio::queueFirst:
    queues[queue].first = value;
    break;
  case mmio::queueEnable:
    queues[queue].rung = queues[queue].first;
    if (!(value & 1))
      std::erase_if(held, [&](const Held &h) {
        return h.isDoorbell &&
               h.offset / mmio::queueStride == offset / mmio::queueStride;
      });
    break;
  case mmio::queueDoorbell:
    return doorbell(queue, offset, value);
  default:
    break;
  }
  return below->mmioWrite(offset, value);
}

Status FaultDriver::doClaim(PhysicalSpace space, uint64_t address,
                            uint64_t bytes) {
  if (happens(FaultKind::FailAllocation)) {
    note(FaultKind::FailAllocation, fmt::format("{} bytes", bytes));
    return Status(
        StatusCode::OutOfMemory,
        fmt::format("the device refuses {} bytes at {:#x}", bytes, address));
  }
  return below->claim(space, address, bytes);
}
Result<std::vector<std::byte>> FaultDriver::doSave() {
  if (!held.empty() || !torn.empty())
    return Status(StatusCode::FailedPrecondition,
                  "fault driver: a snapshot while doorbells, interrupts or "
                  "packets are held back; calm() first");
  return below->save();
}
Status FaultDriver::doRestore(std::span<const std::byte> snapshot) {
  held.clear();
  torn.clear();
  ready.clear();
  return below->restore(snapshot);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

Time FaultDriver::nextDue() const {
  Time next = timeInfinite;
  for (const Held &h : held)
    next = std::min(next, h.due);
  for (const Torn &t : torn)
    next = std::min(next, t.due);
  return next;
}

void FaultDriver::deliver(Time until) {
  for (const Torn &t : torn)
    if (t.due <= until)
      untear(t);
  std::erase_if(torn, [&](const Torn &t) { return t.due <= until; });
  std::vector<Held> due;
  std::erase_if(held, [&](const Held &h) {
    if (h.due > until)
      return false;
    due.push_back(h);
    return true;
  });
  std::stable_sort(due.begin(), due.end(),
                   [](const Held &a, const Held &b) { return a.due < b.due; });
  for (const Held &h : due)
    if (!h.isDoorbell)
      ready.push_back(h.interrupt);
    else if (lost.ok())
      // A queue that went meanwhile does not care for its doorbell.
      (void)below->mmioWrite(h.offset, h.value);
}

void FaultDriver::filterInterrupts() {
  for (const Interrupt &interrupt : below->takeInterrupts()) {
    std::string what = fmt::format("of queue {}, payload {}", interrupt.queue,
                                   interrupt.payload);
    if (happens(FaultKind::DropInterrupt)) {
      note(FaultKind::DropInterrupt, what);
      continue;
    }
    if (happens(FaultKind::DelayInterrupt)) {
      uint64_t cycles = delay();
      note(FaultKind::DelayInterrupt,
           fmt::format("{}, {} cycles", what, cycles));
      held.push_back(
          {below->now() + cycles * cycleTime, false, 0, 0, interrupt});
      continue;
    }
    ready.push_back(interrupt);
    if (happens(FaultKind::DuplicateInterrupt)) {
      note(FaultKind::DuplicateInterrupt, what);
      ready.push_back(interrupt);
    }
  }
}

Progress FaultDriver::doAdvance(Time deadline) {
  while (lost.ok()) {
    deliver(below->now());
    if (!ready.empty())
      return Progress::Interrupted;
    Time due = nextDue();
    Progress progress = below->advance(std::min(deadline, due));
    filterInterrupts();
    if (!ready.empty())
      return Progress::Interrupted;
    switch (progress) {
    case Progress::Interrupted:
      break;
    case Progress::Deadline:
      if (due > deadline)
        return Progress::Deadline;
      break;
    case Progress::Quiescent:
      if (nextDue() == timeInfinite)
        return Progress::Quiescent;
      // The clock of an idle device stands still: what is held comes now.
      deliver(nextDue());
      break;
    }
  }
  return Progress::Quiescent;
}

void FaultDriver::doIdle(Time until) {
  if (!lost.ok())
    return;
  below->idle(std::min(until, nextDue()));
  deliver(below->now());
}

std::vector<Interrupt> FaultDriver::doTakeInterrupts() {
  filterInterrupts();
  return std::exchange(ready, {});
}

} // namespace tessera::driver
