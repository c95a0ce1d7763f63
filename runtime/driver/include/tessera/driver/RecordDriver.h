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
#include <mutex>
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
  ~RecordDriver() override;

  /// What was recorded until now.
  Recording recording() const;
  /// The latest operation; a default one if there is none.
  RecordedOperation lastOperation() const;

  Status readMemory(isa::PhysicalSpace space, uint64_t address,
                    std::span<std::byte> data) override;
  Status writeMemory(isa::PhysicalSpace space, uint64_t address,
                     std::span<const std::byte> data) override;
  Status mmioWrite(uint64_t offset, uint64_t value) override;
  Result<uint64_t> mmioRead(uint64_t offset) override;
  Time now() const override;
  Progress advance(Time deadline) override;
  std::vector<Interrupt> takeInterrupts() override;
  Status armSemaphore(uint32_t semaphore, uint64_t value) override;
  Status claim(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) override;
  void release(isa::PhysicalSpace space, uint64_t address,
               uint64_t bytes) override;
  Status stall(Unit unit, uint32_t queue, uint64_t cycles) override;
  std::vector<std::string> wayPoints() override;
  Result<std::vector<std::byte>> save() override;
  Status restore(std::span<const std::byte> snapshot) override;

private:
  using Kind = RecordedOperation::Kind;
  Status enter();
  void hostWrites();
  uint64_t deviceWrites();
  void add(RecordedOperation operation) {
    record.operations.push_back(std::move(operation));
  }
  Status checkRing(uint64_t offset, uint64_t value);

  RecordOptions options;
  mutable std::mutex mutex;
  std::optional<std::thread::id> caller;
  Recording record;
  /// Claimed host memory as it was when last looked at, by address.
  std::map<uint64_t, std::vector<uint8_t>> known;
  std::map<uint64_t, uint64_t> ringOf; ///< Ring address by queue.
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_RECORDDRIVER_H
