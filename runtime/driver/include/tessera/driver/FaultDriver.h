//===- FaultDriver.h - A device that goes wrong on demand -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands between the runtime and another driver and makes hardware's mistakes:
// at a rate, drawn from a seed, or once, where a test says so. Every fault
// injected is logged. Equal seeds and equal calls give equal faults.
//
// Occasions: a doorbell for the faults of doorbells, fetches, memory, engines
// and the link; an interrupt for those of interrupts; a claim of memory for
// failing allocations.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_FAULTDRIVER_H
#define TESSERA_DRIVER_FAULTDRIVER_H

#include "tessera/Support/Random.h"
#include "tessera/driver/ForwardingDriver.h"
#include <array>
#include <map>
#include <string>
#include <string_view>

namespace tessera::driver {

enum class FaultKind : uint8_t {
  DropDoorbell,
  DuplicateDoorbell,
  DelayDoorbell,
  /// The device finds the newest packets' headers still unpublished.
  TearFetch,
  /// The device finds the second half of the newest packet still zero.
  TearBody,
  DropInterrupt,
  DuplicateInterrupt,
  DelayInterrupt,
  CorrectedFlip,   ///< A flipped bit that ECC puts right: only counted.
  UncorrectedFlip, ///< In data: the page is poisoned, its access faults.
  TableFlip,       ///< Uncorrected in a page table: the device is lost.
  LinkLoss,        ///< The device is lost.
  StallCopies,
  StallQueue,
  StallCores,
  FailAllocation,
  /// The device completes the newest packet without running it.
  SkipPacket,
};
inline constexpr unsigned numFaultKinds = 17;
/// Lower case with dashes, e.g. "drop-doorbell".
std::string_view faultKindName(FaultKind kind);

struct FaultPlan {
  uint64_t seed = 0;
  /// Of 1,000 occasions, so many go wrong.
  std::array<uint32_t, numFaultKinds> perMille{};
  /// Delays and stalls last 1 to this many core cycles.
  uint64_t maxDelayCycles = 4000;

  uint32_t &operator[](FaultKind kind) { return perMille[size_t(kind)]; }
};

struct InjectedFault {
  FaultKind kind = FaultKind::DropDoorbell;
  Time time = 0;
  std::string what; ///< Where it hit, e.g. "queue 2, doorbell 17".
};

class FaultDriver final : public ForwardingDriver {
public:
  explicit FaultDriver(std::unique_ptr<Driver> inner, FaultPlan plan = {});
  ~FaultDriver() override;

  /// Lets the occasion of `kind` after `skip` others go wrong, once.
  void arm(FaultKind kind, uint64_t skip = 0);
  /// From now on nothing goes wrong; what is held back is delivered.
  void calm();
  /// The device is lost now: every call but a reset fails with DeviceLost.
  void loseDevice(std::string why);

  std::vector<InjectedFault> log() const;
  uint64_t count(FaultKind kind) const;

private:
  Status enter() override { return lost; }
  Status doMmioWrite(uint64_t offset, uint64_t value) override;
  Progress doAdvance(Time deadline) override;
  void doIdle(Time until) override;
  std::vector<Interrupt> doTakeInterrupts() override;
  Status doClaim(isa::PhysicalSpace space, uint64_t address,
                 uint64_t bytes) override;
  Result<std::vector<std::byte>> doSave() override;
  Status doRestore(std::span<const std::byte> snapshot) override;

  struct QueueRegisters {
    uint64_t ring = 0, size = 0, first = 0;
    std::optional<uint64_t> context; ///< Its level-3 table.
    uint64_t rung = 0;               ///< Packets that doorbells have told of.
  };
  /// A doorbell or interrupt that comes later.
  struct Held {
    Time due = 0;
    bool isDoorbell = false;
    uint64_t offset = 0, value = 0;
    Interrupt interrupt;
  };
  /// Bytes of the ring that the device does not see yet.
  struct Torn {
    Time due = 0;
    uint64_t at = 0; ///< Offset in host memory.
    std::vector<uint8_t> bytes;
  };
  struct Once {
    uint64_t skip = 0;
    bool operator==(const Once &) const = default;
  };

  bool happens(FaultKind kind);
  uint64_t delay();
  void note(FaultKind kind, std::string what);
  void lose(std::string why);
  Status doorbell(uint32_t queue, uint64_t offset, uint64_t value);
  void tear(uint32_t queue, uint64_t index);
  void untear(const Torn &torn);
  void flip(FaultKind kind);
  Time nextDue() const;
  void deliver(Time until);
  void filterInterrupts();

  FaultPlan plan;
  Random random;
  Time cycleTime;
  Status lost;
  std::array<std::vector<Once>, numFaultKinds> armed;
  std::array<uint64_t, numFaultKinds> counts{};
  std::vector<InjectedFault> injected;
  std::map<uint32_t, QueueRegisters> queues;
  std::vector<Held> held;
  std::vector<Torn> torn;
  std::vector<Interrupt> ready;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_FAULTDRIVER_H
