//===- CheckedCore.h - One core of a checked program ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A core as the reference semantics see it, without data: position, scalars,
// descriptors, loops and semaphores.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_CHECKEDCORE_H
#define TESSERA_CONVERSION_CHECKEDCORE_H

#include "ProgramOrder.h"
#include "tessera/Conversion/ProgramCheck.h"
#include "tessera/ISA/Window.h"
#include <array>

namespace tessera {

/// A 64-bit number, or an argument's address plus a number, or unknown.
struct CheckedValue {
  int64_t number = 0;
  int32_t argument = -1;
  bool isKnown = true;

  bool isNumber() const { return isKnown && argument < 0; }
  static CheckedValue unknown() { return {0, -1, false}; }
};

struct CheckedDescriptor {
  isa::Descriptor descriptor;
  CheckedValue base;
  isa::Window window;
  bool isSet = false;
  /// A stride or window depends on what is not known.
  bool isLoose = false;
};

/// A `signal.core` on its way.
struct CheckedMessage {
  uint64_t core = 0;
  uint32_t sem = 0, count = 0;
};

class CheckedCore {
public:
  CheckedCore(std::span<const isa::Instruction> program,
              std::span<const isa::Descriptor> descriptors,
              std::span<const isa::MapProgram> mapPrograms,
              const ProgramCheckOptions &options, uint32_t index)
      : program(program), descriptors(descriptors), mapPrograms(mapPrograms),
        options(options), index(index) {}

  enum class Step {
    Done,    ///< The instruction was executed.
    Waits,   ///< For counts that are not there; nothing changed.
    Barrier, ///< Stands at a barrier.
    Halted,
    Unknown ///< What it does depends on what is not known: see `reason`.
  };
  /// Executes the instruction at pc(), or says why it cannot; an error is a
  /// fault of the device.
  Result<Step> step();
  size_t pc() const { return position; }
  bool halted() const { return isHalted; }
  /// All cores have come to the barrier at which it stands.
  void passBarrier() { ++position, endIterations(); }
  /// What a `wait` of the instruction at pc() misses, for people.
  std::string explainWait() const;
  /// A message of another core.
  Status receive(const CheckedMessage &message);
  /// Sent by the last step.
  std::vector<CheckedMessage> takeMessages() {
    return std::exchange(messages, {});
  }
  /// What the last step touched in SPM and ACC, as far as it is known.
  std::vector<OrderedAccess> takeAccesses() {
    return std::exchange(accesses, {});
  }
  Status checkSemaphoresLeft() const;

  std::string reason; ///< Of Step::Unknown.

private:
  Status execute(const isa::Instruction &inst);
  Status scalar(const isa::Instruction &inst);
  Status changeDescriptor(const isa::Instruction &inst);
  Status enterLoop(int64_t count, uint64_t length, unsigned reg);
  void endIterations();
  /// False if counts are missing.
  Result<bool> takeWaits(const isa::Instruction &inst);
  Status addSignals(const isa::Instruction &inst);
  Status add(uint32_t sem, uint32_t count);
  Status signalCore(const isa::Instruction &inst);
  Status signalRectangle(const isa::Instruction &inst);
  Status send(CheckedMessage message);
  Status checkOperands(const isa::Instruction &inst);
  Status checkOperand(const isa::Instruction &inst, unsigned field);
  Status checkBounds(const CheckedDescriptor &td, unsigned reg);
  void addAccess(const CheckedDescriptor &td, bool writes);
  Status branch(const isa::Instruction &inst, bool isTaken);
  Status giveUp(std::string why) {
    reason = std::move(why);
    return Status::success();
  }

  struct Loop {
    size_t first, last; ///< Instructions of the body.
    int64_t index, count;
    unsigned reg;
  };
  struct Semaphore {
    uint32_t value = 0;
    std::optional<isa::Queue> waiter;
  };
  std::span<const isa::Instruction> program;
  std::span<const isa::Descriptor> descriptors;
  std::span<const isa::MapProgram> mapPrograms;
  const ProgramCheckOptions &options;
  const uint32_t index;
  size_t position = 0;
  bool isHalted = false;
  std::array<CheckedValue, isa::numScalarRegs> regs{};
  std::array<CheckedDescriptor, isa::numDescRegs> tds{};
  std::array<Semaphore, isa::maxSemaphores> semaphores{};
  std::vector<Loop> loops;
  std::vector<CheckedMessage> messages;
  std::vector<OrderedAccess> accesses;
};

} // namespace tessera

#endif // TESSERA_CONVERSION_CHECKEDCORE_H
