//===- RecordDriver.h - Recording of host-visible interactions --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands between the runtime and another driver and writes down all that
// passes. What could not be played back is refused while recording: snapshots,
// rings outside claimed host memory, and calls from several threads, whose
// writes to host memory have no order (virtual threads have: say so in the
// options).
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_RECORDDRIVER_H
#define TESSERA_DRIVER_RECORDDRIVER_H

#include "tessera/driver/ForwardingDriver.h"
#include "tessera/driver/Recording.h"
#include <map>
#include <thread>

namespace tessera::driver {

struct RecordOptions {
  /// The caller lets only one of its threads run at a time.
  bool threadsTakeTurns = false;
};

class RecordDriver final : public ForwardingDriver {
public:
  explicit RecordDriver(std::unique_ptr<Driver> inner,
                        RecordOptions options = {});
  /// `lent` must outlive it.
  explicit RecordDriver(Driver &lent, RecordOptions options = {});
  ~RecordDriver() override;

  /// What was recorded until now.
  Recording recording() const;
  /// The latest operation; a default one if there is none.
  RecordedOperation lastOperation() const;

private:
  Status enter() override;
  Status doReadMemory(isa::PhysicalSpace space, uint64_t address,
                      std::span<std::byte> data) override;
  Status doWriteMemory(isa::PhysicalSpace space, uint64_t address,
                       std::span<const std::byte> data) override;
  Status doMmioWrite(uint64_t offset, uint64_t value) override;
  Result<uint64_t> doMmioRead(uint64_t offset) override;
  Progress doAdvance(Time deadline) override;
  void doIdle(Time until) override;
  std::vector<Interrupt> doTakeInterrupts() override;
  Status doArmSemaphore(uint32_t semaphore, uint64_t value) override;
  Status doClaim(isa::PhysicalSpace space, uint64_t address,
                 uint64_t bytes) override;
  void doRelease(isa::PhysicalSpace space, uint64_t address,
                 uint64_t bytes) override;
  Status doStall(Unit unit, uint32_t queue, uint64_t cycles) override;
  Result<std::vector<std::byte>> doSave() override;
  Status doRestore(std::span<const std::byte> snapshot) override;

  using Kind = RecordedOperation::Kind;
  void describe();
  void hostWrites();
  uint64_t deviceWrites();
  void add(RecordedOperation operation) {
    record.operations.push_back(std::move(operation));
  }
  Status checkRing(uint64_t offset, uint64_t value);

  RecordOptions options;
  std::optional<std::thread::id> caller;
  Recording record;
  /// Claimed host memory as it was when last looked at, by address.
  std::map<uint64_t, std::vector<uint8_t>> known;
  std::map<uint64_t, uint64_t> ringOf; ///< Ring address by queue.
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_RECORDDRIVER_H
