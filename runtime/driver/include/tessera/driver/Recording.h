//===- Recording.h - What the host and a device did -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every interaction of the host with a driver, in order, with what came of it:
// register accesses, transfers through the memory window, what the host wrote
// into memory that the device reads, time, interrupts. Played back to a fresh
// device it must give the same answers at the same times; where it does not,
// the first operation that differs is named.
//
// File: magic, version, architecture, host memory size, operations, a checksum
// over all before it. docs/diagnosis.md has the layout.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_RECORDING_H
#define TESSERA_DRIVER_RECORDING_H

#include "tessera/driver/Driver.h"
#include <optional>
#include <string>

namespace tessera::driver {

/// One interaction. Which fields mean something depends on the kind.
struct RecordedOperation {
  enum class Kind : uint8_t {
    HostWrite,      ///< address, data: into host memory.
    RegisterWrite,  ///< address, value → code
    RegisterRead,   ///< address → code, result: the value
    MemoryWrite,    ///< space, address, data → code
    MemoryRead,     ///< space, address, value: bytes → code, result: hash
    Advance,        ///< value: deadline → progress, time, result: hash of what
                    ///< changed in host memory
    TakeInterrupts, ///< → interrupts
    Arm,            ///< address: semaphore, value → code
    Claim,          ///< space, address, value: bytes → code, result: hash of
                    ///< host memory
    Release,        ///< space, address, value: bytes
    Stall,          ///< address: unit | queue << 8, value: cycles → code
    Idle,           ///< value: until → time
  };
  static constexpr uint8_t numKinds = 12;
  Kind kind = Kind::Advance;
  isa::PhysicalSpace space = isa::PhysicalSpace::Dram;
  uint64_t address = 0, value = 0;
  std::vector<uint8_t> data;
  // What came of it.
  StatusCode code = StatusCode::Ok;
  Progress progress = Progress::Deadline;
  Time time = 0;
  uint64_t result = 0;
  std::vector<Interrupt> interrupts;

  bool operator==(const RecordedOperation &) const = default;
  /// One line, for people.
  std::string print() const;
};

struct Recording {
  std::string architecture;
  uint64_t isaHash = 0, timingHash = 0;
  uint64_t hostBytes = 0;
  std::vector<RecordedOperation> operations;

  bool operator==(const Recording &) const = default;
};

std::vector<uint8_t> encodeRecording(const Recording &recording);
/// InvalidArgument, naming the operation or the field that is malformed.
Result<Recording> decodeRecording(std::span<const uint8_t> bytes);

/// The first operation that came out differently.
struct Divergence {
  uint64_t operation = 0; ///< Index in the recording.
  std::string recorded, replayed;
  std::string print() const;
};

struct ReplayReport {
  uint64_t operations = 0; ///< Played back.
  Time end = 0;            ///< Device time after the last.
  std::optional<Divergence> divergence;
};

/// Plays the recording to a device fresh from reset. FailedPrecondition if it
/// is of another architecture or has another amount of host memory.
Result<ReplayReport> replay(const Recording &recording, Driver &driver);

} // namespace tessera::driver

#endif // TESSERA_DRIVER_RECORDING_H
