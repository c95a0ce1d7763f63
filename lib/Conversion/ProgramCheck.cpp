//===- ProgramCheck.cpp - Prove a core's program --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ProgramCheck.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

using namespace tessera;
using isa::Instruction;
using isa::Opcode;
using isa::Queue;

namespace {

/// A 64-bit number, or an argument's address plus a number, or unknown.
struct Value {
  int64_t number = 0;
  int32_t argument = -1;
  bool isKnown = true;

  bool isNumber() const { return isKnown && argument < 0; }
  static Value unknown() { return {0, -1, false}; }
};

Value add(Value a, Value b) {
  if (!a.isKnown || !b.isKnown || (a.argument >= 0 && b.argument >= 0))
    return Value::unknown();
  return {int64_t(uint64_t(a.number) + uint64_t(b.number)),
          std::max(a.argument, b.argument)};
}

struct DescriptorValue {
  isa::Descriptor descriptor;
  Value base;
  bool isSet = false;
};

class Checker {
public:
  Checker(std::span<const Instruction> program,
          std::span<const isa::Descriptor> descriptors,
          std::span<const isa::MapProgram> mapPrograms,
          const ProgramCheckOptions &options)
      : program(program), descriptors(descriptors), mapPrograms(mapPrograms),
        options(options) {}

  ProgramCheckResult run();

private:
  Status step();
  Status scalar(const Instruction &inst);
  Status enterLoop(int64_t count, uint64_t length, unsigned index);
  void endIterations();
  Status takeWaits(const Instruction &inst);
  Status addSignals(const Instruction &inst);
  Status checkOperands(const Instruction &inst);
  Status checkBounds(const DescriptorValue &td, unsigned reg);
  Status branch(const Instruction &inst, bool isTaken);

  static Status fault(std::string what) {
    return {StatusCode::FailedPrecondition, std::move(what)};
  }

  struct Loop {
    size_t first, last; ///< Instructions of the body.
    int64_t index, count;
    unsigned reg;
  };
  struct Semaphore {
    uint32_t value = 0;
    std::optional<Queue> waiter;
  };
  std::span<const Instruction> program;
  std::span<const isa::Descriptor> descriptors;
  std::span<const isa::MapProgram> mapPrograms;
  const ProgramCheckOptions &options;
  size_t pc = 0;
  bool isHalted = false;
  std::array<Value, isa::numScalarRegs> regs{};
  std::array<DescriptorValue, isa::numDescRegs> tds{};
  std::array<Semaphore, isa::maxSemaphores> semaphores{};
  std::vector<Loop> loops;
};

} // namespace

ProgramCheckResult Checker::run() {
  for (uint64_t steps = 0; !isHalted; ++steps) {
    if (pc >= program.size())
      return {fault("the program runs past its last instruction"),
              std::nullopt};
    if (steps == options.maxSteps)
      return {Status::success(), std::nullopt, false};
    size_t current = pc;
    if (Status status = step(); !status.ok())
      return {status, current};
  }
  for (size_t i = 0; i < semaphores.size(); ++i)
    if (semaphores[i].value != 0)
      return {fault(fmt::format("semaphore s{} is {} at halt", i,
                                semaphores[i].value)),
              pc};
  return {};
}

Status Checker::step() {
  const Instruction &inst = program[pc];
  TESSERA_RETURN_IF_ERROR(takeWaits(inst));
  switch (inst.opcode) {
  case Opcode::HALT:
    isHalted = true;
    return Status::success();
  case Opcode::TRAP:
    return fault("trap");
  case Opcode::LOOP:
    return enterLoop(inst.get(isa::loop::count), inst.get(isa::loop::length),
                     inst.get(isa::loop::rd));
  case Opcode::LOOPR: {
    Value count = regs[inst.get(isa::loopr::ra)];
    if (!count.isNumber())
      return fault("a loop's count is not known");
    return enterLoop(count.number, inst.get(isa::loopr::length),
                     inst.get(isa::loopr::rd));
  }
  default:
    if (inst.info().group == isa::InstGroup::Scalar)
      TESSERA_RETURN_IF_ERROR(scalar(inst));
    else
      TESSERA_RETURN_IF_ERROR(checkOperands(inst));
  }
  TESSERA_RETURN_IF_ERROR(addSignals(inst));
  if (inst.opcode != Opcode::JUMP && inst.opcode != Opcode::BEQ &&
      inst.opcode != Opcode::BNE && inst.opcode != Opcode::BLT &&
      inst.opcode != Opcode::BGE)
    ++pc;
  endIterations();
  return Status::success();
}

/// Bodies of nested loops may end at the same instruction.
void Checker::endIterations() {
  while (!loops.empty() && pc == loops.back().last + 1) {
    Loop &loop = loops.back();
    if (++loop.index < loop.count) {
      regs[loop.reg] = {loop.index};
      pc = loop.first;
      break;
    }
    loops.pop_back();
  }
}

Status Checker::enterLoop(int64_t count, uint64_t length, unsigned index) {
  if (length == 0 || pc + length >= program.size())
    return fault("the loop's body leaves the program");
  if (loops.size() == isa::maxLoopDepth)
    return fault(
        fmt::format("loops are nested more than {} deep", isa::maxLoopDepth));
  size_t first = pc + 1, last = pc + length;
  if (!loops.empty() && last > loops.back().last)
    return fault("the loop's body leaves the loop around it");
  if (count > 0) {
    loops.push_back({first, last, 0, count, index});
    regs[index] = {0};
    pc = first;
    return Status::success();
  }
  pc = last + 1; // As if the last iteration had just ended.
  endIterations();
  return Status::success();
}

Status Checker::branch(const Instruction &inst, bool isTaken) {
  pc = isTaken ? pc + *isa::branchOffset(inst) : pc + 1;
  return Status::success();
}

Status Checker::scalar(const Instruction &inst) {
  auto a = [&] { return regs[inst.get(1)]; };
  auto b = [&] { return regs[inst.get(2)]; };
  auto set = [&](Value value) {
    regs[inst.get(0)] = value;
    return Status::success();
  };
  /// Only plain numbers have a known result.
  auto binary = [&](auto compute) {
    if (!a().isNumber() || !b().isNumber())
      return set(Value::unknown());
    return set({int64_t(compute(uint64_t(a().number), uint64_t(b().number)))});
  };
  auto immediate = [&](auto compute) {
    if (!a().isNumber())
      return set(Value::unknown());
    return set({int64_t(compute(uint64_t(a().number), uint64_t(inst.get(2))))});
  };
  auto compare = [&](auto isTaken) -> Status {
    Value x = regs[inst.get(0)], y = regs[inst.get(1)];
    if (!x.isNumber() || !y.isNumber())
      return fault("a branch's condition is not known");
    return branch(inst, isTaken(x.number, y.number));
  };
  auto divide = [&](auto compute) -> Status {
    if (b().isNumber() && b().number == 0)
      return fault("division by zero");
    return binary(compute);
  };
  switch (inst.opcode) {
  case Opcode::MARK:
    return Status::success();
  case Opcode::LI:
    return set({inst.get(1)});
  case Opcode::ADD:
    return set(add(a(), b()));
  case Opcode::ADDI:
    return set(add(a(), {inst.get(2)}));
  case Opcode::SUB:
    return binary([](uint64_t x, uint64_t y) { return x - y; });
  case Opcode::MUL:
    return binary([](uint64_t x, uint64_t y) { return x * y; });
  case Opcode::AND:
    return binary([](uint64_t x, uint64_t y) { return x & y; });
  case Opcode::OR:
    return binary([](uint64_t x, uint64_t y) { return x | y; });
  case Opcode::XOR:
    return binary([](uint64_t x, uint64_t y) { return x ^ y; });
  case Opcode::SHL:
    return binary([](uint64_t x, uint64_t y) { return x << (y % 64); });
  case Opcode::SHR:
    return binary([](uint64_t x, uint64_t y) { return x >> (y % 64); });
  case Opcode::SLT:
    return binary(
        [](uint64_t x, uint64_t y) { return int64_t(x) < int64_t(y); });
  case Opcode::MIN:
    return binary([](uint64_t x, uint64_t y) {
      return std::min(int64_t(x), int64_t(y));
    });
  case Opcode::MAX:
    return binary([](uint64_t x, uint64_t y) {
      return std::max(int64_t(x), int64_t(y));
    });
  case Opcode::DIVU:
    return divide([](uint64_t x, uint64_t y) { return x / y; });
  case Opcode::REMU:
    return divide([](uint64_t x, uint64_t y) { return x % y; });
  case Opcode::MULI:
    return immediate([](uint64_t x, uint64_t y) { return x * y; });
  case Opcode::ANDI:
    return immediate([](uint64_t x, uint64_t y) { return x & y; });
  case Opcode::XORI:
    return immediate([](uint64_t x, uint64_t y) { return x ^ y; });
  case Opcode::JUMP:
    return branch(inst, true);
  case Opcode::BEQ:
    return compare([](int64_t x, int64_t y) { return x == y; });
  case Opcode::BNE:
    return compare([](int64_t x, int64_t y) { return x != y; });
  case Opcode::BLT:
    return compare([](int64_t x, int64_t y) { return x < y; });
  case Opcode::BGE:
    return compare([](int64_t x, int64_t y) { return x >= y; });
  case Opcode::LDARG:
    if (!options.argumentBytes.empty() &&
        uint64_t(inst.get(1)) >= options.argumentBytes.size())
      return fault(fmt::format("argument {} does not exist", inst.get(1)));
    return set({0, int32_t(inst.get(1))});
  case Opcode::LDS:
    return set(Value::unknown());
  case Opcode::COREID:
    return set({int64_t(options.coreIndex)});
  case Opcode::NUMCORES:
    return set({int64_t(options.numCores)});
  case Opcode::TDLOAD: {
    if (uint64_t(inst.get(1)) >= descriptors.size())
      return fault(fmt::format("descriptor {} does not exist", inst.get(1)));
    const isa::Descriptor &td = descriptors[inst.get(1)];
    tds[inst.get(0)] = {td, {int64_t(td.base)}, true};
    return Status::success();
  }
  case Opcode::TDADD:
    tds[inst.get(0)] = tds[inst.get(1)];
    tds[inst.get(0)].base = add(tds[inst.get(0)].base, b());
    return Status::success();
  case Opcode::TDADDI:
    tds[inst.get(0)] = tds[inst.get(1)];
    tds[inst.get(0)].base = add(tds[inst.get(0)].base, {inst.get(2)});
    return Status::success();
  default:
    return fault(
        fmt::format("'{}' is not known to the check", inst.info().mnemonic));
  }
}

Status Checker::takeWaits(const Instruction &inst) {
  for (const isa::SemaphoreStep &wait : inst.waits) {
    if (wait.count == 0)
      continue;
    Semaphore &semaphore = semaphores[wait.sem];
    if (wait.sem >= options.semaphores)
      return fault(fmt::format("semaphore s{} does not exist", wait.sem));
    if (semaphore.waiter && *semaphore.waiter != inst.queue())
      return fault(fmt::format("two queues wait on semaphore s{}", wait.sem));
    semaphore.waiter = inst.queue();
    if (semaphore.value < wait.count)
      return fault(fmt::format("deadlock: waits for s{} >= {}, which is {} and "
                               "that no earlier instruction signals",
                               wait.sem, wait.count, semaphore.value));
    semaphore.value -= wait.count;
  }
  return Status::success();
}

Status Checker::addSignals(const Instruction &inst) {
  for (const isa::SemaphoreStep &signal : inst.signals) {
    if (signal.count == 0)
      continue;
    if (signal.sem >= options.semaphores)
      return fault(fmt::format("semaphore s{} does not exist", signal.sem));
    Semaphore &semaphore = semaphores[signal.sem];
    semaphore.value += signal.count;
    if (semaphore.value > UINT16_MAX)
      return fault(fmt::format("semaphore s{} overflows", signal.sem));
  }
  return Status::success();
}

/// Whether a map with this program uses the descriptor field; unused ones are
/// 0.
static bool isOperandOf(const isa::MapProgram &program, unsigned field) {
  switch (field) {
  case isa::map::in0:
    return program.inputs > 0;
  case isa::map::in1:
    return program.inputs > 1;
  case isa::map::in2:
    return program.inputs > 2;
  case isa::map::in3:
    return program.inputs > 3;
  case isa::map::out1:
    return program.outputs > 1;
  default:
    return true;
  }
}

Status Checker::checkOperands(const Instruction &inst) {
  if (inst.info().group == isa::InstGroup::Sync)
    return Status::success();
  const isa::MapProgram *mapProgram = nullptr;
  if (inst.opcode == Opcode::MAP) {
    if (uint64_t(inst.get(isa::map::program)) >= mapPrograms.size())
      return fault(fmt::format("map program {} does not exist",
                               inst.get(isa::map::program)));
    mapProgram = &mapPrograms[inst.get(isa::map::program)];
  }
  std::span<const isa::FieldInfo> fields = inst.info().fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].kind != isa::OperandKind::DescReg)
      continue;
    if (inst.opcode == Opcode::MAP && !isOperandOf(*mapProgram, i))
      continue;
    TESSERA_RETURN_IF_ERROR(checkBounds(tds[inst.get(i)], inst.get(i)));
  }
  return Status::success();
}

Status Checker::checkBounds(const DescriptorValue &td, unsigned reg) {
  if (!td.isSet)
    return fault(fmt::format("descriptor register t{} is not set", reg));
  isa::Descriptor::Range range = td.descriptor.byteRange();
  uint64_t bytes = 0;
  std::string memory;
  switch (td.descriptor.space) {
  case isa::Space::Spm:
    bytes = options.spmBytes;
    memory = "SPM";
    break;
  case isa::Space::Acc:
    bytes = options.accBytes;
    memory = "ACC";
    break;
  case isa::Space::Global:
    if (!td.base.isKnown || options.argumentBytes.empty())
      return Status::success();
    if (td.base.argument < 0)
      return fault(
          fmt::format("t{} is a global descriptor without an address", reg));
    bytes = options.argumentBytes[td.base.argument];
    memory = fmt::format("argument {}", td.base.argument);
    break;
  }
  if (!td.base.isKnown)
    return Status::success();
  if (td.descriptor.space != isa::Space::Global && td.base.argument >= 0)
    return fault(
        fmt::format("t{} uses an argument's address in {}", reg, memory));
  int64_t low = td.base.number + range.low, high = td.base.number + range.high;
  if (low < 0 || uint64_t(high) > bytes)
    return fault(fmt::format("t{} reaches bytes {} to {} of {}, which has {}",
                             reg, low, high - 1, memory, bytes));
  return Status::success();
}

ProgramCheckResult
tessera::checkProgram(std::span<const Instruction> program,
                      std::span<const isa::Descriptor> descriptors,
                      std::span<const isa::MapProgram> mapPrograms,
                      const ProgramCheckOptions &options) {
  return Checker(program, descriptors, mapPrograms, options).run();
}
