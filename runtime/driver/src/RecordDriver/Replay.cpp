//===- Replay.cpp - Playing a recording back ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Hash.h"
#include "tessera/Support/Mutant.h"
#include "tessera/driver/RecordDriver.h"
#include "tessera/driver/Recording.h"
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

std::string Divergence::print() const {
  return fmt::format("operation {}: recorded: {}; replayed: {}", operation,
                     recorded, replayed);
}

namespace {

/// Largest transfer that a recording may ask for.
constexpr uint64_t maxTransfer = uint64_t(1) << 32;

/// Repeats one operation; false if it is nonsense (out of range).
bool perform(const RecordedOperation &o, Driver &driver) {
  using Kind = RecordedOperation::Kind;
  switch (o.kind) {
  case Kind::HostWrite: {
    std::span<std::byte> host = driver.hostMemory();
    if (o.address > host.size() || o.data.size() > host.size() - o.address)
      return false;
    std::memcpy(host.data() + o.address, o.data.data(), o.data.size());
    return true;
  }
  case Kind::RegisterWrite:
    (void)driver.mmioWrite(o.address, o.value);
    return true;
  case Kind::RegisterRead:
    (void)driver.mmioRead(o.address);
    return true;
  case Kind::MemoryWrite:
    (void)driver.writeMemory(o.space, o.address,
                             std::as_bytes(std::span(o.data)));
    return true;
  case Kind::MemoryRead: {
    if (o.value > maxTransfer || o.value > driver.memorySize(o.space))
      return false;
    std::vector<std::byte> data(o.value);
    (void)driver.readMemory(o.space, o.address, data);
    return true;
  }
  case Kind::Advance:
    (void)driver.advance(o.value);
    return true;
  case Kind::Idle:
    driver.idle(o.value);
    return true;
  case Kind::TakeInterrupts:
    (void)driver.takeInterrupts();
    return true;
  case Kind::Arm:
    (void)driver.armSemaphore(uint32_t(o.address), o.value);
    return true;
  case Kind::Claim:
    if (o.space == PhysicalSpace::Host && o.value > driver.memorySize(o.space))
      return false;
    (void)driver.claim(o.space, o.address, o.value);
    return true;
  case Kind::Release:
    driver.release(o.space, o.address, o.value);
    return true;
  case Kind::Stall:
    if ((o.address & 0xff) > uint64_t(Unit::Cores))
      return false;
    (void)driver.stall(Unit(o.address & 0xff), uint32_t(o.address >> 8),
                       o.value);
    return true;
  }
  return false;
}

} // namespace

Result<ReplayReport> replay(const Recording &recording, Driver &driver) {
  const Architecture &arch = driver.architecture();
  if (recording.isaHash != arch.isaHash() ||
      recording.timingHash != arch.timingHash())
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("recording: made on architecture '{}', the "
                              "device is '{}' or differs in its parameters",
                              recording.architecture, arch.name));
  if (recording.hostBytes != driver.memorySize(PhysicalSpace::Host))
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("recording: made with {} bytes of host memory, "
                              "the device has {}",
                              recording.hostBytes,
                              driver.memorySize(PhysicalSpace::Host)));
  // The same observer that recorded says what the repetition gives.
  RecordDriver again(driver, {.threadsTakeTurns = true});
  ReplayReport report;
  for (size_t i = 0; i < recording.operations.size(); ++i) {
    const RecordedOperation &wanted = recording.operations[i];
    if (!perform(wanted, again))
      return Status(StatusCode::InvalidArgument,
                    fmt::format("recording: operation {} ({}) is out of range",
                                i, wanted.print()));
    ++report.operations;
    report.end = driver.now();
    if (wanted.kind == RecordedOperation::Kind::HostWrite)
      continue; // Observed with the operation that follows.
    RecordedOperation got = again.lastOperation();
    if (TESSERA_MUTANT("replay-ignores-results"))
      got.result = wanted.result;
    if (got == wanted)
      continue;
    report.divergence = {i, wanted.print(), got.print()};
    return report;
  }
  return report;
}

} // namespace tessera::driver
