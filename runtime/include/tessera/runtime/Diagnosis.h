//===- Diagnosis.h - What is wrong, and where things stand ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What Device::hangDump(), faults(), races() and flightRecorder() give. Plain
// data; print() makes text for people.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_DIAGNOSIS_H
#define TESSERA_RUNTIME_DIAGNOSIS_H

#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Status.h"
#include "tessera/driver/Driver.h"
#include <optional>
#include <string>
#include <vector>

namespace tessera::runtime {

/// Two accesses to the same bytes, one of them a write, that nothing orders.
struct RaceReport {
  std::string first, second; ///< The sites, in the order in which they came.
  bool firstWrites = false, secondWrites = false;
  std::string buffer;
  uint64_t low = 0, high = 0; ///< Bytes of the buffer.
  std::string missing;        ///< The edge that would order them.
  uint64_t occurrences = 1;

  std::string print() const;
};

/// Bytes that a kernel touched and that nobody had declared
/// (Device::observeKernels()).
struct UndeclaredAccess {
  std::string operation; ///< "'run' (queue 'Q', operation 3)".
  std::string kernel;    ///< "command 2 'layer 7'"; empty: the operation.
  bool writes = false;
  std::string buffer;
  uint64_t low = 0, high = 0; ///< Bytes of the buffer, of the first occurrence.
  uint64_t occurrences = 1;

  std::string print() const;
};

/// A fault of the device. Faults of memory of the same cause at the same page
/// are one report; others if their queue and value are the same, too.
struct FaultReport {
  isa::mmio::FaultCause cause = isa::mmio::FaultCause::None;
  std::string queue;               ///< Label.
  uint64_t packet = 0;             ///< Index in the queue's ring, unwrapped.
  std::string operation;           ///< Label.
  std::optional<uint32_t> command; ///< In a command buffer,
  std::string commandName;         ///< and its name.
  std::string unit;      ///< "core 3", "copy engine", "command processor".
  uint32_t pc = 0;       ///< Instruction of the kernel, where a core faulted.
  uint64_t address = 0;  ///< Virtual address or offending value.
  driver::Time time = 0; ///< When the host learnt of it.
  uint64_t count = 1;    ///< Queues that faulted like this.

  std::string print() const;
};

/// What the flight recorder keeps of a queue.
struct FlightEvent {
  enum class Kind : uint8_t { Submitted, Completed, Faulted, Aborted };
  Kind kind = Kind::Submitted;
  driver::Time time = 0;        ///< As last seen by the host.
  uint64_t first = 0, last = 0; ///< Packets.
  std::string label;            ///< Its first characters.

  std::string print() const;
};

/// A wait that is not met.
struct WaitState {
  std::string semaphore;
  uint64_t target = 0, value = 0;
  /// Who would signal it: an operation, "the host", or "nobody".
  std::string producer;
  Status failure; ///< Of the semaphore.
};

struct OperationState {
  std::string label;
  uint64_t first = 0, last = 0; ///< Packets; unpublished: both 0.
  bool published = true;
  bool barrier = false;
  std::vector<WaitState> waits; ///< Those not met.
};

struct QueueDump {
  std::string label;
  std::optional<uint32_t> slot; ///< Of the device; none: not attached.
  std::string status;           ///< As the device's register says.
  /// Packets: published, retired by the host, read and done by the device.
  uint64_t published = 0, retired = 0, read = 0, done = 0;
  std::string head; ///< The oldest packet not retired, decoded; empty: none.
  Status failure;
  std::vector<OperationState> operations; ///< In flight, oldest first.
  uint64_t moreOperations = 0;            ///< Beyond those listed.
  std::vector<FlightEvent> events;        ///< The last ones, oldest first.
};

/// Everything that tells why nothing moves.
struct HangDump {
  std::string device;
  driver::Time time = 0;
  Status lost; ///< Not success: the device is lost.
  std::vector<QueueDump> queues;
  std::vector<WaitState> hostWaits;    ///< Threads in a wait for a semaphore.
  std::vector<std::string> otherWaits; ///< Those that wait for something else.
  std::vector<std::string> wayPoints;  ///< Units of the device.

  std::string print() const;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_DIAGNOSIS_H
