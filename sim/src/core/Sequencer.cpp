//===- Sequencer.cpp - The scalar part of a core ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Sequencer.h"
#include "check/Checker.h"
#include "tessera/ISA/Operands.h"
#include "tessera/Support/Bytes.h"

namespace tessera::sim {

using isa::Instruction;
using isa::Opcode;

void Sequencer::start() {
  reset();
  block = Block::None;
  nextCycle = core.services.now();
  wake(nextCycle);
}

void Sequencer::reset() {
  position = 0;
  regs.fill(0);
  descriptors.fill(isa::Descriptor());
  windows.fill(isa::Window());
  loops.clear();
  block = Block::Halted;
  haltCycle = never;
  released = waitsAtBarrier = false;
  pendingRemote = {};
  forgetWake();
}

bool Sequencer::halted() const {
  return block == Block::Halted && haltCycle <= core.services.now();
}

const Instruction *Sequencer::waitingInstruction() const {
  return block == Block::Semaphore ? &core.task.image->program[position]
                                   : nullptr;
}

void Sequencer::handle(const Event &event) {
  // Of another core's life: what it carries says whether it still counts.
  if (event.code == BroadcastArrived)
    return core.receive(event.payload);
  if (!accept(event))
    return;
  if (event.code == Signalled) {
    const Instruction &inst = core.task.image->program[event.payload];
    core.signal(inst.signals, Engine::Sequencer, uint32_t(event.payload));
    if (inst.opcode == Opcode::SIGNALCORE)
      core.signalCore(pendingRemote, Engine::Sequencer,
                      uint32_t(event.payload));
  } else if (event.code == HaltCheck) {
    core.checkDone();
  } else if (event.code == MessageArrived) {
    core.receive(event.payload);
  }
}

void Sequencer::stall(Block reason, Cycle now) {
  block = reason;
  account.executing(position);
  account.waitingAt(position);
  const Instruction &inst = core.task.image->program[position];
  switch (reason) {
  case Block::Semaphore:
    lacking = core.missing(inst.waits);
    account.wait(core.waitCause(inst.waits), now);
    break;
  case Block::Queue:
    account.wait(waitFor(fullQueue), now);
    break;
  case Block::Fence:
    account.wait(StallCause::WaitStore, now);
    break;
  case Block::Barrier:
    account.wait(StallCause::Barrier, now);
    break;
  case Block::None:
  case Block::Halted:
    break;
  }
}

RemoteSignal Sequencer::remoteSignal(const Instruction &inst) const {
  return {uint32_t(std::min<uint64_t>(
              uint64_t(reg(inst.get(isa::signal_core::core))), ~uint32_t(0))),
          uint16_t(inst.get(isa::signal_core::sem)),
          uint16_t(inst.get(isa::signal_core::count))};
}

void Sequencer::barrierOver() {
  released = true;
  wake(core.services.now());
}

void Sequencer::step(Cycle now) {
  if (block == Block::Halted)
    return;
  if (now < nextCycle)
    return wake(nextCycle);
  const KernelImage &image = *core.task.image;
  if (position >= image.program.size())
    return core.fault(FaultCause::IllegalInstruction, position, position);

  const Instruction &inst = image.program[position];
  Block was = block;
  uint32_t pc = position;
  block = Block::None;
  if (!execute(inst, now))
    return; // stalled, or faulted
  if (was == Block::Semaphore)
    account.resolve(core.signalledBy(lacking));
  Cycle cycles = inst.opcode == Opcode::LDS ? 2 : 1;
  account.wait(StallCause::FillDrain, now);
  account.executing(pc);
  account.charge(StallCause::Busy, now + cycles);
  account.executing(EngineAccount::noInstruction);
  ++core.counters.instructions;
  if (pc < core.executions.size())
    ++core.executions[pc];
  nextCycle = now + cycles;
  if (block != Block::Halted)
    wake(nextCycle);
}

bool Sequencer::validRemoteSignal(const Instruction &inst) {
  int64_t sem = inst.get(isa::signal_core::sem);
  if (inst.get(isa::signal_core::count) != 0 &&
      sem < int64_t(core.semaphores.size()))
    return true;
  core.fault(FaultCause::IllegalInstruction, position, uint64_t(sem));
  return false;
}

bool Sequencer::execute(const Instruction &inst, Cycle now) {
  isa::Queue queue = inst.queue();
  if (!core.has(engineOf(queue))) {
    core.fault(FaultCause::NoSuchQueue, position,
               *matrixNumber(engineOf(queue)));
    return false;
  }
  switch (inst.opcode) {
  case Opcode::WAIT:
    if (queue != isa::Queue::Seq)
      break;
    if (!core.take(inst.waits, Engine::Sequencer, position)) {
      if (core.running())
        stall(Block::Semaphore, now);
      return false;
    }
    goOn(uint64_t(position) + 1);
    return true;
  case Opcode::SIGNAL:
    if (queue != isa::Queue::Seq)
      break;
    if (Checker *checker = core.services.checker)
      checker->executed(core, position);
    post(now + 1, Phase::Signal, Signalled, position);
    goOn(uint64_t(position) + 1);
    return true;
  case Opcode::SIGNALCORE:
    if (!validRemoteSignal(inst))
      return false;
    if (queue != isa::Queue::Seq)
      break;
    if (Checker *checker = core.services.checker)
      checker->executed(core, position);
    pendingRemote = remoteSignal(inst);
    post(now + 1, Phase::Signal, Signalled, position);
    goOn(uint64_t(position) + 1);
    return true;
  case Opcode::BARRIER:
    if (core.task.numCores > 1 && !released) {
      stall(Block::Barrier, now);
      if (!waitsAtBarrier) {
        waitsAtBarrier = true;
        core.arriveAtBarrier();
      }
      return false;
    }
    released = waitsAtBarrier = false;
    goOn(uint64_t(position) + 1);
    return true;
  case Opcode::FENCE:
    if (!core.engine(Engine::Store).idle()) {
      stall(Block::Fence, now);
      return false;
    }
    if (Checker *checker = core.services.checker)
      checker->fenced(core);
    goOn(uint64_t(position) + 1);
    return true;
  default:
    if (queue == isa::Queue::Seq)
      return executeScalar(inst, now);
  }
  return push(inst, queue, now);
}

/// Leaves loops whose last iteration is over, or goes back to their first
/// instruction.
void Sequencer::goOn(uint64_t next) {
  while (!loops.empty() && next == uint64_t(loops.back().last) + 1) {
    Loop &loop = loops.back();
    if (++loop.iteration < loop.count) {
      regs[loop.reg] = uint64_t(loop.iteration);
      position = loop.first;
      return;
    }
    loops.pop_back();
  }
  position = uint32_t(next);
}

bool Sequencer::branch(int64_t offset) {
  const KernelImage &image = *core.task.image;
  int64_t target = int64_t(position) + offset;
  bool inside =
      target >= 0 && target < int64_t(image.program.size()) &&
      image.enclosingLoop[size_t(target)] == image.enclosingLoop[position];
  if (inside && !loops.empty())
    inside = target >= loops.back().first && target <= loops.back().last;
  if (!inside) {
    core.fault(FaultCause::IllegalBranch, position, uint64_t(target));
    return false;
  }
  position = uint32_t(target);
  return true;
}

bool Sequencer::enterLoop(const Instruction &inst, uint8_t reg, int64_t count,
                          uint32_t length) {
  uint64_t last = uint64_t(position) + length;
  uint64_t limit =
      loops.empty() ? core.task.image->program.size() - 1 : loops.back().last;
  if (length == 0 || last > limit ||
      (inst.opcode == Opcode::LOOP && count <= 0)) {
    core.fault(FaultCause::IllegalLoop, position, last);
    return false;
  }
  if (count <= 0) {
    goOn(last + 1);
    return true;
  }
  if (loops.size() == isa::maxLoopDepth) {
    core.fault(FaultCause::LoopNesting, position, loops.size());
    return false;
  }
  loops.push_back({position + 1, uint32_t(last), count, 0, reg});
  regs[reg] = 0;
  ++position;
  return true;
}

bool Sequencer::executeScalar(const Instruction &inst, Cycle now) {
  auto field = [&](unsigned index) { return inst.get(index); };
  auto set = [&](uint64_t value) { regs[size_t(field(isa::add::rd))] = value; };
  // Binary and immediate instructions have rd, ra, rb or imm in this order.
  uint64_t a = 0, b = 0;
  switch (inst.opcode) {
  case Opcode::ADD:
  case Opcode::SUB:
  case Opcode::MUL:
  case Opcode::AND:
  case Opcode::OR:
  case Opcode::XOR:
  case Opcode::SHL:
  case Opcode::SHR:
  case Opcode::SLT:
  case Opcode::MIN:
  case Opcode::MAX:
  case Opcode::DIVU:
  case Opcode::REMU:
    a = uint64_t(reg(field(isa::add::ra))),
    b = uint64_t(reg(field(isa::add::rb)));
    break;
  case Opcode::ADDI:
  case Opcode::MULI:
  case Opcode::ANDI:
  case Opcode::XORI:
    a = uint64_t(reg(field(isa::addi::ra))),
    b = uint64_t(field(isa::addi::imm));
    break;
  default:
    break;
  }
  switch (inst.opcode) {
  case Opcode::HALT:
    block = Block::Halted;
    haltCycle = now + 1;
    post(now + 1, Phase::Complete, HaltCheck);
    return true;
  case Opcode::TRAP:
    core.fault(FaultCause::Trap, position, uint64_t(field(isa::trap::code)));
    return false;
  case Opcode::MARK:
    core.trace(TraceEvent::Kind::Mark, Engine::Sequencer, inst.opcode, position,
               0, uint64_t(field(isa::mark::id)));
    break;
  case Opcode::LI:
    set(uint64_t(field(isa::li::imm)));
    break;
  case Opcode::ADD:
  case Opcode::ADDI:
    set(a + b);
    break;
  case Opcode::SUB:
    set(a - b);
    break;
  case Opcode::MUL:
  case Opcode::MULI:
    set(a * b);
    break;
  case Opcode::AND:
  case Opcode::ANDI:
    set(a & b);
    break;
  case Opcode::OR:
    set(a | b);
    break;
  case Opcode::XOR:
  case Opcode::XORI:
    set(a ^ b);
    break;
  case Opcode::SHL:
    set(a << (b % 64));
    break;
  case Opcode::SHR:
    set(a >> (b % 64));
    break;
  case Opcode::SLT:
    set(int64_t(a) < int64_t(b));
    break;
  case Opcode::MIN:
    set(uint64_t(std::min(int64_t(a), int64_t(b))));
    break;
  case Opcode::MAX:
    set(uint64_t(std::max(int64_t(a), int64_t(b))));
    break;
  case Opcode::DIVU:
  case Opcode::REMU:
    if (b == 0) {
      core.fault(FaultCause::DivideByZero, position, 0);
      return false;
    }
    set(inst.opcode == Opcode::DIVU ? a / b : a % b);
    break;
  case Opcode::JUMP:
    return branch(field(isa::jump::offset));
  case Opcode::BEQ:
  case Opcode::BNE:
  case Opcode::BLT:
  case Opcode::BGE: {
    int64_t x = reg(field(isa::beq::ra)), y = reg(field(isa::beq::rb));
    bool taken = inst.opcode == Opcode::BEQ   ? x == y
                 : inst.opcode == Opcode::BNE ? x != y
                 : inst.opcode == Opcode::BLT ? x < y
                                              : x >= y;
    if (taken)
      return branch(field(isa::beq::offset));
    break;
  }
  case Opcode::LOOP:
    return enterLoop(inst, uint8_t(field(isa::loop::rd)),
                     field(isa::loop::count),
                     uint32_t(field(isa::loop::length)));
  case Opcode::LOOPR:
    return enterLoop(inst, uint8_t(field(isa::loopr::rd)),
                     reg(field(isa::loopr::ra)),
                     uint32_t(field(isa::loopr::length)));
  case Opcode::LDARG: {
    auto index = uint64_t(field(isa::ldarg::index));
    if (index >= core.task.arguments.size()) {
      core.fault(FaultCause::ArgumentIndex, position, index);
      return false;
    }
    regs[size_t(field(isa::ldarg::rd))] = core.task.arguments[index];
    break;
  }
  case Opcode::LDS: {
    uint64_t address =
        uint64_t(reg(field(isa::lds::ra))) + uint64_t(field(isa::lds::imm));
    if (address % 4 != 0) {
      core.fault(FaultCause::Misaligned, position, address);
      return false;
    }
    if (core.spm.size() < 4 || address > core.spm.size() - 4) {
      core.fault(FaultCause::SpmOutOfBounds, position, address);
      return false;
    }
    auto value = loadLittleEndian<int32_t>(core.spm.data() + address);
    regs[size_t(field(isa::lds::rd))] = uint64_t(int64_t(value));
    if (Checker *checker = core.services.checker) {
      checker->executed(core, position);
      checker->readBytes(core, kind, isa::Space::Spm, address, address + 4);
    }
    core.counters.spmBytesRead += 4;
    break;
  }
  case Opcode::COREID:
    regs[size_t(field(isa::coreid::rd))] = core.task.indexInDispatch;
    break;
  case Opcode::NUMCORES:
    regs[size_t(field(isa::numcores::rd))] = core.task.numCores;
    break;
  case Opcode::TDLOAD:
  case Opcode::TDADD:
  case Opcode::TDADDI:
  case Opcode::TDEXTENT:
  case Opcode::TDSTRIDE:
  case Opcode::TDWINDOW:
    if (!executeDescriptor(inst))
      return false;
    break;
  default:
    core.fault(FaultCause::IllegalInstruction, position, uint64_t(inst.opcode));
    return false;
  }
  goOn(uint64_t(position) + 1);
  return true;
}

bool Sequencer::aimMulticast(const Instruction &inst, Multicast &multicast) {
  auto value = uint64_t(reg(inst.get(isa::load_multicast::ra)));
  uint64_t x = value & 255, y = value >> 8 & 255, width = value >> 16 & 255,
           height = value >> 24 & 255;
  const Noc::Rectangle &all = core.task.cores;
  if (value >> 32 != 0 || width == 0 || height == 0 || x + width > all.width ||
      y + height > all.height) {
    core.fault(FaultCause::CoreNotRunning, position, value);
    return false;
  }
  int64_t sem = inst.get(isa::load_multicast::sem);
  if (inst.get(isa::load_multicast::count) == 0 ||
      sem >= int64_t(core.semaphores.size())) {
    core.fault(FaultCause::IllegalInstruction, position, uint64_t(sem));
    return false;
  }
  multicast.cores = {uint16_t(all.x + x), uint16_t(all.y + y), uint16_t(width),
                     uint16_t(height)};
  multicast.sem = uint8_t(sem);
  multicast.count = uint16_t(inst.get(isa::load_multicast::count));
  return true;
}

bool Sequencer::executeDescriptor(const Instruction &inst) {
  auto to = size_t(inst.get(isa::td_load::td));
  auto fail = [&](FaultCause cause, uint64_t address) {
    core.fault(cause, position, address);
    return false;
  };
  if (inst.opcode == Opcode::TDLOAD) {
    auto index = uint64_t(inst.get(isa::td_load::index));
    const auto &constants = core.task.image->descriptors;
    if (index >= constants.size())
      return fail(FaultCause::DescriptorIndex, index);
    if (!constants[index])
      return fail(FaultCause::IllegalDescriptor, index);
    descriptors[to] = *constants[index];
    windows[to] = isa::Window();
    return true;
  }
  auto from = size_t(inst.get(isa::td_add::src));
  isa::Descriptor td = descriptors[from];
  isa::Window window = windows[from];
  if (inst.opcode == Opcode::TDADDI) {
    td.base += uint64_t(inst.get(isa::td_addi::imm));
  } else if (inst.opcode == Opcode::TDADD) {
    td.base += uint64_t(reg(inst.get(isa::td_add::ra)));
  } else {
    int64_t value = reg(inst.get(isa::td_extent::ra));
    auto dim = unsigned(inst.get(inst.opcode == Opcode::TDWINDOW
                                     ? unsigned(isa::td_window::dim)
                                     : unsigned(isa::td_extent::dim)));
    if (dim >= td.rank)
      return fail(FaultCause::IllegalDescriptor, uint64_t(value));
    window.forget(dim);
    if (inst.opcode == Opcode::TDEXTENT) {
      if (value < 1 || value > int64_t(td.extents[dim]))
        return fail(FaultCause::IllegalDescriptor, uint64_t(value));
      td.extents[dim] = uint32_t(value);
    } else if (inst.opcode == Opcode::TDSTRIDE) {
      td.strides[dim] = value;
    } else {
      int64_t step = inst.get(isa::td_window::step);
      if (step == 0 || td.strides[dim] % step != 0 ||
          td.format == NumericFormat::I4)
        return fail(FaultCause::IllegalDescriptor, uint64_t(value));
      td.base += uint64_t(value) * uint64_t(td.strides[dim] / step) *
                 (bitWidth(td.format) / 8);
      window.place(dim, td.extents[dim], value,
                   reg(inst.get(isa::td_window::rb)), uint32_t(step));
    }
  }
  descriptors[to] = td;
  windows[to] = window;
  return true;
}

const isa::Descriptor *Sequencer::captureVector(const Instruction &inst,
                                                QueueEntry &entry) {
  unsigned operands = 0;
  auto how = isa::Accumulate::No;
  const isa::Descriptor *clipped = nullptr;
  const isa::MapProgram *program = nullptr;
  if (inst.opcode == Opcode::MAP) {
    const auto &maps = core.task.image->maps;
    auto number = uint64_t(inst.get(isa::map::program));
    program = number < maps.size() ? &maps[number] : nullptr;
  }
  const isa::InstInfo &info = inst.info();
  for (unsigned i = 0; i < info.fields.size(); ++i) {
    int64_t value = inst.get(i);
    switch (info.fields[i].kind) {
    case isa::OperandKind::DescReg:
      entry.operands[operands++] = descriptors[size_t(value)];
      if (isa::usesOperand(inst, i, program) &&
          !windows[size_t(value)].covers(descriptors[size_t(value)]))
        clipped = &descriptors[size_t(value)];
      break;
    case isa::OperandKind::Accumulate:
      how = isa::Accumulate(value);
      entry.accumulate = how == isa::Accumulate::Yes;
      break;
    case isa::OperandKind::ScalarReg: // `ra`, then `rb`
      if (info.fields[i].name == "rb")
        entry.indexBase = uint32_t(reg(value));
      else if (how == isa::Accumulate::Reg)
        entry.accumulate = reg(value) != 0;
      break;
    default:
      break;
    }
  }
  return clipped;
}

bool Sequencer::push(const Instruction &inst, isa::Queue queue, Cycle now) {
  QueueEngine &engine = core.engine(engineOf(queue));
  if (engine.full()) {
    fullQueue = engineOf(queue);
    stall(Block::Queue, now);
    return false;
  }
  // Only `pad` and `clip` say what becomes of elements outside a window.
  const isa::Descriptor *clipped = nullptr;
  auto td = [&](unsigned index) {
    auto number = size_t(inst.get(index));
    if (!windows[number].covers(descriptors[number]))
      clipped = &descriptors[number];
    return descriptors[number];
  };
  auto takeWindowed = [&](QueueEntry &entry, unsigned operand, unsigned index) {
    auto number = size_t(inst.get(index));
    entry.operands[operand] = descriptors[number];
    if (entry.pad)
      entry.window = windows[number];
    else
      td(index);
  };
  auto flag = [&](unsigned accumulate, unsigned ra) {
    auto how = isa::Accumulate(inst.get(accumulate));
    return how == isa::Accumulate::Yes ||
           (how == isa::Accumulate::Reg && reg(inst.get(ra)) != 0);
  };
  QueueEntry entry;
  entry.opcode = inst.opcode;
  entry.pc = position;
  entry.visible = now + 1;
  entry.waits = inst.waits;
  entry.signals = inst.signals;
  entry.options = inst.fields;
  switch (inst.opcode) {
  case Opcode::WAIT:
  case Opcode::SIGNAL:
    break;
  case Opcode::SIGNALCORE:
    entry.remote = remoteSignal(inst);
    break;
  case Opcode::LOAD:
    entry.operands = {td(isa::load::dst)};
    entry.pad = inst.get(isa::load::pad) != 0;
    entry.convert = inst.get(isa::load::convert) != 0;
    entry.transpose = inst.get(isa::load::transpose) != 0;
    takeWindowed(entry, 1, isa::load::src);
    break;
  case Opcode::STORE:
    entry.operands[1] = td(isa::store::src);
    entry.pad = inst.get(isa::store::clip) != 0;
    entry.convert = inst.get(isa::store::convert) != 0;
    entry.transpose = inst.get(isa::store::transpose) != 0;
    entry.posted = inst.get(isa::store::posted) != 0;
    takeWindowed(entry, 0, isa::store::dst);
    break;
  case Opcode::LOADMULTICAST:
    entry.operands = {td(isa::load_multicast::dst)};
    entry.pad = inst.get(isa::load_multicast::pad) != 0;
    entry.convert = inst.get(isa::load_multicast::convert) != 0;
    entry.transpose = inst.get(isa::load_multicast::transpose) != 0;
    takeWindowed(entry, 1, isa::load_multicast::src);
    if (!aimMulticast(inst, entry.multicast))
      return false;
    break;
  case Opcode::LOADGATHER:
    entry.operands = {td(isa::load_gather::dst), td(isa::load_gather::src),
                      td(isa::load_gather::index)};
    entry.pad = inst.get(isa::load_gather::pad) != 0;
    entry.convert = inst.get(isa::load_gather::convert) != 0;
    break;
  case Opcode::STORESCATTER:
    entry.operands = {td(isa::store_scatter::dst), td(isa::store_scatter::src),
                      td(isa::store_scatter::index)};
    entry.pad = inst.get(isa::store_scatter::clip) != 0;
    entry.convert = inst.get(isa::store_scatter::convert) != 0;
    entry.posted = inst.get(isa::store_scatter::posted) != 0;
    break;
  case Opcode::FILL:
    entry.operands = {td(isa::fill::dst)};
    entry.value = uint64_t(inst.get(isa::fill::value));
    break;
  case Opcode::MMA:
    entry.operands = {td(isa::mma::acc), td(isa::mma::a), td(isa::mma::b)};
    entry.maskA = uint8_t(inst.get(isa::mma::m_dims));
    entry.maskB = uint8_t(inst.get(isa::mma::n_dims));
    entry.accumulate = flag(isa::mma::accumulate, isa::mma::ra);
    entry.keepWeights = inst.get(isa::mma::keep_b) != 0;
    break;
  default:
    if (inst.info().group != isa::InstGroup::Vector) {
      core.fault(FaultCause::IllegalInstruction, position,
                 uint64_t(inst.opcode));
      return false;
    }
    clipped = captureVector(inst, entry);
  }
  if (clipped) {
    core.fault(FaultCause::IllegalDescriptor, position, clipped->base);
    return false;
  }
  engine.push(entry);
  goOn(uint64_t(position) + 1);
  return true;
}

} // namespace tessera::sim
