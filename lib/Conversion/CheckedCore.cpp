//===- CheckedCore.cpp - One core of a checked program --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckedCore.h"
#include "tessera/ISA/Operands.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera;
using isa::Instruction;
using isa::Opcode;
using Value = CheckedValue;

static Status fault(std::string what) {
  return {StatusCode::FailedPrecondition, std::move(what)};
}

static Value sum(Value a, Value b) {
  if (!a.isKnown || !b.isKnown || (a.argument >= 0 && b.argument >= 0))
    return Value::unknown();
  return {int64_t(uint64_t(a.number) + uint64_t(b.number)),
          std::max(a.argument, b.argument)};
}

Result<CheckedCore::Step> CheckedCore::step() {
  if (position >= program.size())
    return fault("the program runs past its last instruction");
  const Instruction &inst = program[position];
  if (inst.opcode == Opcode::BARRIER && options.numCores > 1)
    return Step::Barrier;
  if (auto engine = isa::matrixEngineOf(inst.queue());
      engine && *engine >= options.matrixEngines)
    return fault(
        fmt::format("queue {} does not exist", isa::queueName(inst.queue())));
  Result<bool> taken = takeWaits(inst);
  if (!taken)
    return taken.status();
  if (!*taken)
    return Step::Waits;
  TESSERA_RETURN_IF_ERROR(execute(inst));
  if (!reason.empty())
    return Step::Unknown;
  return isHalted ? Step::Halted : Step::Done;
}

Status CheckedCore::execute(const Instruction &inst) {
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
      return giveUp("a loop's count is not known");
    return enterLoop(count.number, inst.get(isa::loopr::length),
                     inst.get(isa::loopr::rd));
  }
  case Opcode::SIGNALCORE:
    TESSERA_RETURN_IF_ERROR(signalCore(inst));
    break;
  case Opcode::LOADMULTICAST:
    TESSERA_RETURN_IF_ERROR(checkOperands(inst));
    TESSERA_RETURN_IF_ERROR(signalRectangle(inst));
    break;
  default:
    if (inst.info().group == isa::InstGroup::Scalar)
      TESSERA_RETURN_IF_ERROR(scalar(inst));
    else
      TESSERA_RETURN_IF_ERROR(checkOperands(inst));
  }
  if (!reason.empty())
    return Status::success();
  TESSERA_RETURN_IF_ERROR(addSignals(inst));
  if (!isa::branchOffset(inst))
    ++position;
  endIterations();
  return Status::success();
}

/// Bodies of nested loops may end at the same instruction.
void CheckedCore::endIterations() {
  while (!loops.empty() && position == loops.back().last + 1) {
    Loop &loop = loops.back();
    if (++loop.index < loop.count) {
      regs[loop.reg] = {loop.index};
      position = loop.first;
      break;
    }
    loops.pop_back();
  }
}

Status CheckedCore::enterLoop(int64_t count, uint64_t length, unsigned index) {
  if (length == 0 || position + length >= program.size())
    return fault("the loop's body leaves the program");
  if (loops.size() == isa::maxLoopDepth)
    return fault(
        fmt::format("loops are nested more than {} deep", isa::maxLoopDepth));
  size_t first = position + 1, last = position + length;
  if (!loops.empty() && last > loops.back().last)
    return fault("the loop's body leaves the loop around it");
  if (count > 0) {
    loops.push_back({first, last, 0, count, index});
    regs[index] = {0};
    position = first;
    return Status::success();
  }
  position = last + 1; // As if the last iteration had just ended.
  endIterations();
  return Status::success();
}

Status CheckedCore::branch(const Instruction &inst, bool isTaken) {
  position = isTaken ? position + *isa::branchOffset(inst) : position + 1;
  return Status::success();
}

Status CheckedCore::scalar(const Instruction &inst) {
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
      return giveUp("a branch's condition is not known");
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
    return set(sum(a(), b()));
  case Opcode::ADDI:
    return set(sum(a(), {inst.get(2)}));
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
    return set({int64_t(index)});
  case Opcode::NUMCORES:
    return set({int64_t(options.numCores)});
  case Opcode::TDLOAD: {
    if (uint64_t(inst.get(1)) >= descriptors.size())
      return fault(fmt::format("descriptor {} does not exist", inst.get(1)));
    const isa::Descriptor &td = descriptors[inst.get(1)];
    CheckedDescriptor loaded;
    loaded.descriptor = td;
    loaded.base = {int64_t(td.base)};
    loaded.isSet = true;
    tds[inst.get(0)] = loaded;
    return Status::success();
  }
  case Opcode::TDADD:
  case Opcode::TDADDI:
  case Opcode::TDEXTENT:
  case Opcode::TDSTRIDE:
  case Opcode::TDWINDOW:
    return changeDescriptor(inst);
  default:
    return fault(
        fmt::format("'{}' is not known to the check", inst.info().mnemonic));
  }
}

Status CheckedCore::changeDescriptor(const Instruction &inst) {
  CheckedDescriptor td = tds[inst.get(isa::td_add::src)];
  auto finish = [&] {
    tds[inst.get(isa::td_add::td)] = td;
    return Status::success();
  };
  if (inst.opcode == Opcode::TDADDI) {
    td.base = sum(td.base, {inst.get(isa::td_addi::imm)});
    return finish();
  }
  Value value = regs[inst.get(isa::td_add::ra)];
  if (inst.opcode == Opcode::TDADD) {
    td.base = sum(td.base, value);
    return finish();
  }
  bool isWindow = inst.opcode == Opcode::TDWINDOW;
  auto dim = unsigned(inst.get(isWindow ? unsigned(isa::td_window::dim)
                                        : unsigned(isa::td_extent::dim)));
  isa::Descriptor &shape = td.descriptor;
  if (dim >= shape.rank)
    return fault(fmt::format("dimension {} of a descriptor of rank {}", dim,
                             shape.rank));
  td.window.forget(dim);
  if (inst.opcode == Opcode::TDEXTENT) {
    // An extent that is not known is at most what it was.
    if (!value.isNumber())
      return finish();
    if (value.number < 1 || value.number > int64_t(shape.extents[dim]))
      return fault(fmt::format("sets extent {} to {}; accepted: 1 to {}", dim,
                               value.number, shape.extents[dim]));
    shape.extents[dim] = uint32_t(value.number);
    return finish();
  }
  if (!isWindow) {
    td.isLoose |= !value.isNumber();
    if (value.isNumber())
      shape.strides[dim] = value.number;
    return finish();
  }
  int64_t step = inst.get(isa::td_window::step);
  if (step == 0 || shape.strides[dim] % step != 0 ||
      shape.format == NumericFormat::I4)
    return fault(fmt::format("a window with the step {} over the stride {} of "
                             "{} elements",
                             step, shape.strides[dim],
                             formatName(shape.format)));
  Value size = regs[inst.get(isa::td_window::rb)];
  if (!value.isNumber() || !size.isNumber()) {
    td.isLoose = true;
    return finish();
  }
  uint64_t bytes = uint64_t(value.number) *
                   uint64_t(shape.strides[dim] / step) *
                   (bitWidth(shape.format) / 8);
  td.base = sum(td.base, {int64_t(bytes)});
  td.window.place(dim, shape.extents[dim], value.number, size.number,
                  uint32_t(step));
  return finish();
}

Result<bool> CheckedCore::takeWaits(const Instruction &inst) {
  bool there = true;
  for (const isa::SemaphoreStep &wait : inst.waits) {
    if (wait.count == 0)
      continue;
    if (wait.sem >= options.semaphores)
      return fault(fmt::format("semaphore s{} does not exist", wait.sem));
    Semaphore &semaphore = semaphores[wait.sem];
    if (semaphore.waiter && *semaphore.waiter != inst.queue())
      return fault(fmt::format("two queues wait on semaphore s{}", wait.sem));
    semaphore.waiter = inst.queue();
    there &= semaphore.value >= wait.count;
  }
  if (there)
    for (const isa::SemaphoreStep &wait : inst.waits)
      if (wait.count != 0)
        semaphores[wait.sem].value -= wait.count;
  return there;
}

std::string CheckedCore::explainWait() const {
  if (position < program.size())
    for (const isa::SemaphoreStep &wait : program[position].waits)
      if (wait.count != 0 && semaphores[wait.sem].value < wait.count)
        return fmt::format("waits for s{} >= {}, which is {} and that no "
                           "earlier instruction signals",
                           wait.sem, wait.count, semaphores[wait.sem].value);
  return "waits";
}

Status CheckedCore::add(uint32_t sem, uint32_t count) {
  if (sem >= options.semaphores)
    return fault(fmt::format("semaphore s{} does not exist", sem));
  semaphores[sem].value += count;
  if (semaphores[sem].value > UINT16_MAX)
    return fault(fmt::format("semaphore s{} overflows", sem));
  return Status::success();
}

Status CheckedCore::addSignals(const Instruction &inst) {
  for (const isa::SemaphoreStep &signal : inst.signals)
    if (signal.count != 0)
      TESSERA_RETURN_IF_ERROR(add(signal.sem, signal.count));
  return Status::success();
}

Status CheckedCore::signalCore(const Instruction &inst) {
  Value core = regs[inst.get(isa::signal_core::core)];
  if (!core.isNumber())
    return giveUp("the core of a 'signal.core' is not known");
  return send({uint64_t(core.number), uint32_t(inst.get(isa::signal_core::sem)),
               uint32_t(inst.get(isa::signal_core::count))});
}

Status CheckedCore::send(CheckedMessage message) {
  if (message.core >= options.numCores)
    return fault(fmt::format("signals core {} of a dispatch of {}",
                             message.core, options.numCores));
  if (message.sem >= options.semaphores)
    return fault(fmt::format("semaphore s{} does not exist", message.sem));
  if (message.count == 0)
    return fault(fmt::format("signals s{} with the count 0", message.sem));
  messages.push_back(message);
  return Status::success();
}

Status CheckedCore::signalRectangle(const Instruction &inst) {
  Value value = regs[inst.get(isa::load_multicast::ra)];
  if (!value.isNumber())
    return giveUp("the cores of a 'load.multicast' are not known");
  auto bits = uint64_t(value.number);
  uint64_t x = bits & 255, y = bits >> 8 & 255, width = bits >> 16 & 255,
           height = bits >> 24 & 255;
  uint64_t columns = std::max(1u, options.columns);
  if (bits >> 32 != 0 || width == 0 || height == 0 || x + width > columns ||
      (y + height) * columns > options.numCores)
    return fault(fmt::format("the rectangle {:#x} is not within the dispatch's "
                             "{} x {} cores",
                             bits, columns, options.numCores / columns));
  for (uint64_t row = y; row < y + height; ++row)
    for (uint64_t column = x; column < x + width; ++column)
      TESSERA_RETURN_IF_ERROR(send(
          {row * columns + column, uint32_t(inst.get(isa::load_multicast::sem)),
           uint32_t(inst.get(isa::load_multicast::count))}));
  return Status::success();
}

Status CheckedCore::receive(const CheckedMessage &received) {
  if (isHalted)
    return fault(fmt::format("core {} is signalled after its halt", index));
  return add(received.sem, received.count);
}

Status CheckedCore::checkSemaphoresLeft() const {
  for (size_t i = 0; i < semaphores.size(); ++i)
    if (semaphores[i].value != 0)
      return fault(
          fmt::format("semaphore s{} is {} at halt", i, semaphores[i].value));
  return Status::success();
}

Status CheckedCore::checkOperands(const Instruction &inst) {
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
    if (!isa::usesOperand(inst, unsigned(i), mapProgram))
      continue;
    TESSERA_RETURN_IF_ERROR(checkOperand(inst, i));
  }
  return Status::success();
}

/// The field that names the descriptor whose elements outside a window the
/// instruction knows how to treat.
static std::optional<unsigned> windowedField(const Instruction &inst) {
  if (inst.opcode == Opcode::LOAD && inst.get(isa::load::pad))
    return isa::load::src;
  if (inst.opcode == Opcode::LOADMULTICAST &&
      inst.get(isa::load_multicast::pad))
    return isa::load_multicast::src;
  if (inst.opcode == Opcode::STORE && inst.get(isa::store::clip))
    return isa::store::dst;
  return std::nullopt;
}

/// Whether the instruction writes the tensor that the field names.
static bool isWritten(const Instruction &inst, unsigned field) {
  std::string_view name = inst.info().fields[field].name;
  bool isIndices = name == "indices" && inst.opcode != Opcode::LOADGATHER &&
                   inst.opcode != Opcode::STORESCATTER;
  return name == "dst" || name == "acc" || name == "out0" || name == "out1" ||
         name == "total" || isIndices;
}

void CheckedCore::addAccess(const CheckedDescriptor &td, bool writes) {
  if (td.isLoose || !td.base.isNumber() ||
      td.descriptor.space == isa::Space::Global)
    return;
  OrderedAccess access{index, td.descriptor, writes};
  access.td.base = uint64_t(td.base.number);
  if (td.descriptor.space == isa::Space::Core) {
    access.core = uint32_t(isa::coreOfBase(access.td.base));
    access.td.base = isa::offsetOfBase(access.td.base);
    access.td.space = isa::Space::Spm;
  }
  accesses.push_back(access);
}

Status CheckedCore::checkOperand(const Instruction &inst, unsigned field) {
  auto reg = unsigned(inst.get(field));
  const CheckedDescriptor &td = tds[reg];
  if (!td.isSet)
    return fault(fmt::format("descriptor register t{} is not set", reg));
  if (td.window.covers(td.descriptor)) {
    TESSERA_RETURN_IF_ERROR(checkBounds(td, reg));
    addAccess(td, isWritten(inst, field));
    return Status::success();
  }
  if (windowedField(inst) != field)
    return fault(fmt::format("t{} has elements outside its window", reg));
  // Only what is inside is touched.
  isa::Descriptor shape = td.descriptor;
  shape.base = 0;
  std::optional<isa::Descriptor> inside = td.window.inside(shape);
  if (!inside)
    return Status::success();
  CheckedDescriptor rest = td;
  rest.base = sum(td.base, {int64_t(inside->base)});
  rest.descriptor = *inside;
  TESSERA_RETURN_IF_ERROR(checkBounds(rest, reg));
  addAccess(rest, isWritten(inst, field));
  return Status::success();
}

Status CheckedCore::checkBounds(const CheckedDescriptor &td, unsigned reg) {
  if (td.isLoose)
    return Status::success();
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
  case isa::Space::Core: {
    if (!td.base.isNumber())
      break;
    uint64_t core = isa::coreOfBase(uint64_t(td.base.number));
    if (core >= options.numCores)
      return fault(fmt::format("t{} names core {} of a dispatch of {}", reg,
                               core, options.numCores));
    bytes = options.spmBytes;
    memory = fmt::format("core {}'s SPM", core);
    break;
  }
  }
  if (!td.base.isKnown)
    return Status::success();
  if (td.descriptor.space != isa::Space::Global && td.base.argument >= 0)
    return fault(
        fmt::format("t{} uses an argument's address in {}", reg, memory));
  int64_t base = td.base.number;
  if (td.descriptor.space == isa::Space::Core)
    base = int64_t(isa::offsetOfBase(uint64_t(base)));
  int64_t low = base + range.low, high = base + range.high;
  if (low < 0 || uint64_t(high) > bytes)
    return fault(fmt::format("t{} reaches bytes {} to {} of {}, which has {}",
                             reg, low, high - 1, memory, bytes));
  return Status::success();
}
