//===- Instruction.h - Instructions in memory -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The in-memory form of an instruction, its 16-byte-word encoding and its
// assembly text. All are driven by the table in Instructions.td; nothing here
// knows a particular instruction.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_INSTRUCTION_H
#define TESSERA_ISA_INSTRUCTION_H

#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::isa {

/// Bytes of one instruction word.
inline constexpr unsigned wordBytes = 16;
inline constexpr unsigned numScalarRegs = 32;
inline constexpr unsigned numDescRegs = 32;
inline constexpr unsigned maxLoopDepth = 6;
inline constexpr unsigned maxFields = 12;
inline constexpr unsigned maxWaits = 3, maxSignals = 3;
inline constexpr unsigned maxSemaphores = 32;
inline constexpr unsigned maxSemaphoreStep = 1023;

/// `Opcode::MMA` … with the values of the table (generated), e.g.
///   enum class Opcode : uint8_t { HALT = 0x01, ... };
/// and for each instruction a namespace with its field indices in table order:
///   namespace mma { enum : unsigned { acc, a, b, m_dims, ... }; }
/// Dots in mnemonics become underscores: td_addi::imm.
#define GET_ISA_ENUMS
#include "tessera/ISA/Instructions.inc"

enum class OperandKind : uint8_t {
  ScalarReg,
  DescReg,
  Flag,
  Unsigned,
  Signed,
  DimMask,
  Dim,
  Queue,
  MatrixQueue,
  Accumulate,
  Reduce,
  Reduction,
  Scan,
  Rounding
};
/// `Mx` is the queue of the first matrix engine; the others' follow at the end.
enum class Queue : uint8_t {
  Seq,
  Ld,
  St,
  Mx,
  Vx,
  Mx1,
  Mx2,
  Mx3,
  Mx4,
  Mx5,
  Mx6,
  Mx7
};
inline constexpr unsigned numQueues = 12;
/// Of a core at most.
inline constexpr unsigned maxMatrixEngines = 8;
/// The queue of matrix engine 0 .. 7.
constexpr Queue matrixQueue(unsigned engine) {
  return engine == 0 ? Queue::Mx : Queue(unsigned(Queue::Vx) + engine);
}
/// The matrix engine behind a queue; nullopt if it is none's.
constexpr std::optional<unsigned> matrixEngineOf(Queue queue) {
  if (queue == Queue::Mx)
    return 0;
  if (queue > Queue::Vx)
    return unsigned(queue) - unsigned(Queue::Vx);
  return std::nullopt;
}
enum class Accumulate : uint8_t { No, Yes, Reg };
/// A field of kind Reduction or Scan holds the value less 1: none is not there.
enum class Reduce : uint8_t { None, Sum, Max, Min, Prod, ArgMax, ArgMin };
/// Of results that are integers; Nearest: ties to even.
enum class Rounding : uint8_t { Nearest, Zero, Down, Up };
enum class InstGroup : uint8_t { Scalar, Sync, Dma, Matrix, Vector };

struct FieldInfo {
  std::string_view name;
  OperandKind kind;
  uint8_t lsb, bits; ///< Within word 0.
  bool isSigned;
};

struct InstInfo {
  Opcode opcode;
  std::string_view mnemonic;
  InstGroup group;
  /// The executing queue; nullopt when the field `queue` says it.
  std::optional<Queue> queue;
  uint8_t words; ///< 1, or 2 with a semaphore list.
  std::span<const FieldInfo> fields;
  bool hasWaits, hasSignals; ///< What the semaphore list may hold.
};

/// nullptr for an opcode that the table does not have.
const InstInfo *lookupInst(uint8_t opcode);
const InstInfo *lookupInst(std::string_view mnemonic);
/// All instructions in table order.
std::span<const InstInfo> allInsts();

struct SemaphoreStep {
  uint8_t sem = 0;    ///< 0 .. 31
  uint16_t count = 0; ///< 1 .. 1023; 0: no entry.
  bool operator==(const SemaphoreStep &) const = default;
};

struct Instruction {
  Opcode opcode{};
  std::array<int64_t, maxFields> fields{}; ///< In table order.
  /// Entries with count 0 are absent and come last.
  std::array<SemaphoreStep, maxWaits> waits{};
  std::array<SemaphoreStep, maxSignals> signals{};

  const InstInfo &info() const { return *lookupInst(uint8_t(opcode)); }
  int64_t get(unsigned field) const { return fields[field]; }
  /// The queue that executes it (resolving a `queue` field).
  Queue queue() const;
  bool operator==(const Instruction &) const = default;
};

/// The names of enumerated operands in assembly, e.g. "mx", "reg", "sum".
std::string_view queueName(Queue queue);
std::string_view accumulateName(Accumulate accumulate);
std::string_view reduceName(Reduce reduce);
std::string_view roundingName(Rounding rounding);

/// The number of instructions in the body if `inst` is a hardware loop.
std::optional<uint64_t> loopLength(const Instruction &inst);
/// Target minus own position, in instructions, if `inst` is a jump or branch.
std::optional<int64_t> branchOffset(const Instruction &inst);

/// InvalidArgument that names the instruction, the field and its range when a
/// value does not fit.
Status verify(const Instruction &inst);
/// InvalidArgument if it names a semaphore or a matrix engine beyond those of a
/// core that has so many.
Status verifyResources(const Instruction &inst, uint32_t semaphores,
                       uint32_t matrixEngines);
/// Appends the encoding, 16 or 32 bytes, if `verify` finds no error: nothing is
/// masked.
Status encode(const Instruction &inst, std::vector<uint8_t> &out);

struct Decoded {
  Instruction inst;
  unsigned bytes = 0; ///< 16 or 32.
};
/// Decodes the instruction at the start of `bytes`. Unknown opcodes, non-zero
/// reserved bits, values out of a kind's range and truncation are errors.
Result<Decoded> decode(std::span<const uint8_t> bytes);
/// Decodes a whole program.
Result<std::vector<Instruction>> decodeProgram(std::span<const uint8_t> bytes);

/// One line of assembly without indentation, exactly as the `isa` dialect
/// prints it, e.g. `isa.mma acc = t2, a = t0, b = t1, m_dims = [0], n_dims =
/// [1], accumulate = reg, ra = r4 wait(s0 >= 1, s3 >= 2) signal(s1 += 1)`.
/// Rules: fields as `name = value` in table order; a Flag as its bare name, or
/// absent; a MatrixQueue absent if it is mx; unsigned and signed in decimal; a
/// queue as its name.
std::string print(const Instruction &inst);
/// A whole program, one instruction a line with its index; loop bodies
/// indented.
std::string disassemble(std::span<const Instruction> program);

} // namespace tessera::isa

#endif // TESSERA_ISA_INSTRUCTION_H
