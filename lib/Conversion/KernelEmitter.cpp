//===- KernelEmitter.cpp - A planned kernel as instructions ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "ScalarRegisters.h"

using namespace mlir;
using namespace tessera;
using isa::Opcode;
using isa::Queue;

namespace {

/// Descriptor registers that operands with a changing address take in turn; an
/// instruction has at most 6 operands, and captures them when it is pushed.
constexpr unsigned numScratchDescriptors = 6;
constexpr unsigned numLoadedDescriptors =
    isa::numDescRegs - numScratchDescriptors;
/// Values are computed ahead of a loop only while so many registers are left
/// for what is inside.
constexpr unsigned reservedRegisters = 10;

class Emitter {
public:
  Emitter(const TileKernel &kernel, const KernelPlan &plan,
          const std::vector<std::optional<EngineInst>> &engineInsts)
      : kernel(kernel), plan(plan), engineInsts(engineInsts),
        loc(kernel.getOp().getLoc()), operands(kernel.nodes.size()),
        symbolRegisters(kernel.symbols.size()) {}

  FailureOr<EmittedKernel> run();

private:
  //===-- Operands --------------------------------------------------------===//
  /// An operand with its place in memory: descriptor `index` of the kernel, its
  /// base moved by `dynamic` bytes.
  struct PlacedOperand {
    unsigned field;
    unsigned index;
    LinearExpr dynamic;
    ArrayRef<OperandWindow> windows;
  };
  void placeOperands();
  unsigned descriptorIndex(const isa::Descriptor &descriptor);
  unsigned descriptorRegister(const PlacedOperand &operand, unsigned &scratch);

  //===-- Scalars ---------------------------------------------------------===//
  unsigned allocate();
  /// A register for the node at hand only.
  unsigned temporary();
  void releaseTemporaries();
  unsigned registerOf(SymbolId symbol);
  unsigned materialize(const LinearExpr &expr);
  /// The terms that are defined outside of loops deeper than `depth`.
  LinearExpr partDefinedAt(const LinearExpr &expr, uint32_t depth) const;
  void keepValue(const LinearExpr &value, unsigned reg);
  void hoist(const LinearExpr &expr, uint32_t depth);
  void hoistFor(uint32_t loop, uint32_t depth);

  //===-- Shared loads ----------------------------------------------------===//
  /// A buffer that the cores of a group fill in turn. `turn` is the rank of the
  /// one whose turn it is, the others are the same all the time. Buffers of one
  /// block and group are filled by the same core and share the register.
  struct Shared {
    const SyncPlanSolution::SharedFill *fill;
    tile::GroupAttr group;
    unsigned turn = 0;
    bool ownsTurn = true;
    std::optional<unsigned> rank, base, rectangle;
    uint32_t begin = 0, end = 0; ///< Segments of the load, of the last reader.
  };
  void findShared();
  const LocalBuffer &bufferOf(const Shared &shared) const {
    return kernel.buffers[shared.fill->buffer];
  }
  const Shared *turnOwner(const Shared &shared) const;
  unsigned coreId();
  /// `value` modulo a constant.
  unsigned modulo(unsigned value, int64_t divisor);
  unsigned rankOf(const Shared &shared);
  unsigned baseOf(const Shared &shared);
  unsigned rectangleOf(const Shared &shared);
  /// The core that does the load after `steps` more.
  unsigned coreAfter(const Shared &shared, int64_t steps);
  void startTurns(Shared &shared);
  void advanceTurn(const Shared &shared);
  void advanceTurns(uint32_t loop);
  void emitSharedLoad(const Shared &shared, isa::Instruction inst);
  void emitSharedSteps(uint32_t node, bool before);
  /// One of the instructions that `instruction` makes for each slot, by the
  /// slot that the buffer is at.
  void appendBySlot(const Shared &shared,
                    llvm::function_ref<isa::Instruction(unsigned)> instruction);
  /// What `emit` appends runs only unless the branch is taken.
  void appendUnless(Opcode branch, unsigned a, unsigned b,
                    llvm::function_ref<void()> emit);

  //===-- Code ------------------------------------------------------------===//
  CodeNode &append(Opcode opcode, std::initializer_list<int64_t> fields) {
    isa::Instruction inst;
    inst.opcode = opcode;
    std::copy(fields.begin(), fields.end(), inst.fields.begin());
    code->push_back({inst, loc, {}});
    return code->back();
  }
  /// Instructions that wait or signal, three semaphores each.
  template <typename Steps>
  void appendSync(bool isWait, Queue queue, const Steps &steps);
  void emitBody(uint32_t node);
  void emitNode(uint32_t node);
  void emitLoop(uint32_t node);
  void emitEngine(uint32_t node);
  void emitScalar(uint32_t node);
  void advanceSlots(uint32_t loop);
  void emitSegmentStart(uint32_t segment);
  void emitSegmentEnd(uint32_t segment);
  void emitJoin();
  std::vector<CodeNode> prologue();

  const TileKernel &kernel;
  const KernelPlan &plan;
  const std::vector<std::optional<EngineInst>> &engineInsts;
  Location loc;
  EmittedKernel result;
  std::vector<std::vector<PlacedOperand>> operands; ///< By node.
  std::vector<CodeNode> *code = nullptr;
  ScalarRegisters registers;
  std::vector<std::optional<unsigned>> symbolRegisters;
  std::vector<unsigned> temporaries;
  unsigned usedQueues = 0; ///< Mask.
  std::vector<Shared> sharedBuffers;
  bool outOfRegisters = false;
};

} // namespace

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

unsigned Emitter::descriptorIndex(const isa::Descriptor &descriptor) {
  auto known = llvm::find(result.descriptors, descriptor);
  unsigned index = known - result.descriptors.begin();
  if (known == result.descriptors.end())
    result.descriptors.push_back(descriptor);
  return index;
}

void Emitter::placeOperands() {
  for (auto [node, inst] : llvm::enumerate(engineInsts)) {
    if (!inst)
      continue;
    for (const EngineOperand &operand : inst->operands) {
      LinearExpr address = operand.offset;
      if (auto argument = dyn_cast<BlockArgument>(operand.root)) {
        address +=
            LinearExpr::ofSymbol(kernel.getArgument(argument.getArgNumber()));
      } else {
        uint32_t number = kernel.getBuffer(operand.root);
        const LocalBuffer &buffer = kernel.buffers[number];
        address += LinearExpr(plan.buffers[number].offset);
        if (buffer.slot)
          address += LinearExpr::ofSymbol(*buffer.slot) *
                     plan.buffers[number].slotStride;
      }
      isa::Descriptor descriptor = operand.descriptor;
      if (address.constant >= 0) {
        descriptor.base = address.constant;
        address.constant = 0;
      }
      operands[node].push_back({operand.field, descriptorIndex(descriptor),
                                address, operand.windows});
    }
  }
}

unsigned Emitter::descriptorRegister(const PlacedOperand &operand,
                                     unsigned &scratch) {
  bool isLoaded = operand.index < numLoadedDescriptors;
  bool isFixed = operand.dynamic == LinearExpr(0);
  if (isLoaded && isFixed && operand.windows.empty())
    return operand.index;
  unsigned td = numLoadedDescriptors + scratch++;
  unsigned source = operand.index;
  if (!isLoaded) {
    append(Opcode::TDLOAD, {td, operand.index});
    source = td;
  }
  if (!isFixed) {
    unsigned offset = materialize(operand.dynamic);
    append(Opcode::TDADD, {td, source, offset});
    keepValue(operand.dynamic, offset);
    source = td;
  }
  for (const OperandWindow &window : operand.windows) {
    LinearExpr extent(window.extent);
    unsigned first = materialize(window.coordinate), size = materialize(extent);
    append(Opcode::TDWINDOW, {td, source, first, size, window.dim, /*step=*/1});
    keepValue(window.coordinate, first);
    keepValue(extent, size);
    source = td;
  }
  return td;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

unsigned Emitter::allocate() {
  if (auto reg = registers.allocate())
    return *reg;
  if (!outOfRegisters)
    kernel.getOp().emitError("kernel '")
        << kernel.getOp().getSymName() << "': out of scalar registers ("
        << isa::numScalarRegs << " are available)";
  outOfRegisters = true;
  return 0;
}

unsigned Emitter::temporary() {
  unsigned reg = allocate();
  if (!outOfRegisters)
    temporaries.push_back(reg);
  return reg;
}

void Emitter::releaseTemporaries() {
  for (unsigned reg : temporaries)
    registers.release(reg);
  temporaries.clear();
}

unsigned Emitter::registerOf(SymbolId symbol) {
  if (symbolRegisters[symbol])
    return *symbolRegisters[symbol];
  // Arguments and core numbers are read again rather than kept.
  unsigned reg = temporary();
  switch (kernel.symbols[symbol].kind) {
  case KernelSymbol::Kind::Argument:
    append(Opcode::LDARG, {reg, kernel.symbols[symbol].index});
    break;
  case KernelSymbol::Kind::CoreId:
    append(Opcode::COREID, {reg});
    break;
  case KernelSymbol::Kind::NumCores:
    append(Opcode::NUMCORES, {reg});
    break;
  default:
    assert(outOfRegisters && "a symbol is used where it is not defined");
  }
  return reg;
}

LinearExpr Emitter::partDefinedAt(const LinearExpr &expr,
                                  uint32_t depth) const {
  LinearExpr part;
  for (auto [symbol, coefficient] : expr.terms)
    if (kernel.symbols[symbol].depth <= depth)
      part.terms[symbol] = coefficient;
  return part;
}

unsigned Emitter::materialize(const LinearExpr &expr) {
  if (auto known = registers.lookup(expr))
    return *known;
  if (auto symbol = expr.asSymbol())
    return registerOf(*symbol);
  if (expr.isConstant()) {
    unsigned reg = temporary();
    append(Opcode::LI, {reg, expr.constant});
    return reg;
  }
  // Start from what has been computed ahead of a loop.
  std::optional<unsigned> sum;
  LinearExpr rest = expr;
  for (uint32_t depth = kernel.depthOf(expr) + 1; depth-- > 0;) {
    LinearExpr part = partDefinedAt(expr, depth);
    auto known = registers.lookup(part);
    if (part.isConstant() || !known)
      continue;
    sum = known;
    rest = expr - part;
    break;
  }
  for (auto [symbol, coefficient] : rest.terms) {
    unsigned term = registerOf(symbol);
    if (coefficient != 1) {
      unsigned product = temporary();
      append(Opcode::MULI, {product, term, coefficient});
      term = product;
    }
    if (sum) {
      unsigned total = temporary();
      append(Opcode::ADD, {total, *sum, term});
      sum = total;
    } else {
      sum = term;
    }
  }
  if (rest.constant != 0) {
    unsigned total = temporary();
    append(Opcode::ADDI, {total, *sum, rest.constant});
    sum = total;
  }
  return *sum;
}

void Emitter::hoist(const LinearExpr &expr, uint32_t depth) {
  LinearExpr part = partDefinedAt(expr, depth);
  if (part.isConstant() || registers.numFree() <= reservedRegisters)
    return;
  if (auto symbol = part.asSymbol(); symbol && symbolRegisters[*symbol])
    return;
  if (registers.lookup(part))
    return;
  keepValue(part, materialize(part));
  releaseTemporaries();
}

/// Keeps a temporary and its value until the end of the block, if there is
/// room.
void Emitter::keepValue(const LinearExpr &value, unsigned reg) {
  auto owner = llvm::find(temporaries, reg);
  if (owner == temporaries.end() || registers.numFree() <= reservedRegisters)
    return;
  temporaries.erase(owner);
  registers.keepInScope(reg);
  registers.remember(value, reg);
}

/// Computes ahead of `loop` what the addresses inside need of values that are
/// known here, `depth` loops deep.
void Emitter::hoistFor(uint32_t loop, uint32_t depth) {
  for (uint32_t child : kernel.nodes[loop].body) {
    const KernelNode &node = kernel.nodes[child];
    if (node.kind == KernelNode::Kind::Loop)
      hoistFor(child, depth);
    for (const PlacedOperand &operand : operands[child]) {
      hoist(operand.dynamic, depth);
      for (const OperandWindow &window : operand.windows)
        hoist(window.coordinate, depth);
    }
  }
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

template <typename Steps>
void Emitter::appendSync(bool isWait, Queue queue, const Steps &steps) {
  static_assert(isa::maxWaits == isa::maxSignals);
  for (size_t i = 0; i < steps.size(); i += isa::maxWaits) {
    CodeNode &node =
        append(isWait ? Opcode::WAIT : Opcode::SIGNAL, {int64_t(queue)});
    for (size_t j = i; j < std::min(steps.size(), i + isa::maxWaits); ++j)
      (isWait ? node.inst.waits : node.inst.signals)[j - i] = steps[j];
  }
}

void Emitter::emitEngine(uint32_t node) {
  const EngineInst &selected = *engineInsts[node];
  isa::Instruction inst = selected.inst;
  unsigned scratch = 0;
  for (const PlacedOperand &operand : operands[node]) {
    inst.fields[operand.field] = descriptorRegister(operand, scratch);
    if (!outOfRegisters)
      releaseTemporaries();
  }
  if (selected.accumulateIf) {
    const LinearExpr &condition = *selected.accumulateIf;
    // Whether it is 0 doesn't depend on a factor.
    bool isMultiple = condition.constant == 0 && condition.terms.size() == 1;
    inst.fields[selected.accumulateField] =
        isMultiple ? registerOf(condition.terms.begin()->first)
                   : materialize(condition);
  }

  for (const Shared &shared : sharedBuffers)
    if (shared.fill->load == node)
      return emitSharedLoad(shared, inst);

  // The semaphores travel with the instruction; what is too many gets
  // instructions of its own.
  auto take = [&](bool wantWait,
                  const std::vector<SyncPlanSolution::Step> &steps) {
    std::vector<isa::SemaphoreStep> taken;
    for (const auto &step : steps)
      if (step.isWait == wantWait)
        taken.push_back({plan.semaphores[step.semaphore], 1});
    return taken;
  };
  Queue queue = kernel.nodes[node].queue;
  usedQueues |= 1u << unsigned(queue);
  auto waits = take(true, plan.sync.before[node]);
  auto signals = take(false, plan.sync.after[node]);
  if (waits.size() > isa::maxWaits) {
    appendSync(true, queue, llvm::ArrayRef(waits).drop_front(isa::maxWaits));
    waits.resize(isa::maxWaits);
  }
  std::copy(waits.begin(), waits.end(), inst.waits.begin());
  size_t attached = std::min<size_t>(signals.size(), isa::maxSignals);
  std::copy_n(signals.begin(), attached, inst.signals.begin());
  code->push_back({inst, loc, {}});
  appendSync(false, queue, llvm::ArrayRef(signals).drop_front(attached));
}

void Emitter::emitScalar(uint32_t node) {
  const KernelNode &info = kernel.nodes[node];
  unsigned a = materialize(info.a), b = materialize(info.b);
  unsigned result = allocate();
  if (outOfRegisters)
    return;
  registers.keepInScope(result);
  symbolRegisters[info.result] = result;
  append(info.opcode, {result, a, b});
}

void Emitter::advanceSlots(uint32_t loop) {
  for (const SlotCounter &counter : kernel.slotCounters) {
    if (counter.loop != loop)
      continue;
    unsigned slot = registerOf(counter.symbol);
    if (counter.depth == 2) {
      append(Opcode::XORI, {slot, slot, 1});
      continue;
    }
    append(Opcode::ADDI, {slot, slot, 1});
    append(Opcode::REMU, {slot, slot, materialize(LinearExpr(counter.depth))});
    releaseTemporaries();
  }
}

void Emitter::emitLoop(uint32_t node) {
  const KernelNode &info = kernel.nodes[node];
  auto emitSteps = [&](const std::vector<SyncPlanSolution::Step> &steps) {
    for (const auto &step : steps) {
      isa::SemaphoreStep semaphore{plan.semaphores[step.semaphore], 1};
      appendSync(step.isWait, step.queue, llvm::ArrayRef(semaphore));
      usedQueues |= 1u << unsigned(step.queue);
    }
  };
  emitSteps(plan.sync.before[node]);
  registers.openScope();
  hoistFor(node, info.depth - 1);

  unsigned index = allocate();
  if (!outOfRegisters)
    registers.keepInScope(index);
  symbolRegisters[info.index] = index;
  CodeNode loop{{}, loc, {}};
  if (info.count.isConstant() && info.count.constant <= UINT32_MAX) {
    loop.inst.opcode = Opcode::LOOP;
    loop.inst.fields[isa::loop::rd] = index;
    loop.inst.fields[isa::loop::count] = info.count.constant;
  } else {
    loop.inst.opcode = Opcode::LOOPR;
    loop.inst.fields[isa::loopr::rd] = index;
    loop.inst.fields[isa::loopr::ra] = materialize(info.count);
    releaseTemporaries();
  }
  std::vector<CodeNode> *outer = code;
  code = &loop.body;
  registers.openScope();
  emitBody(node);
  loc = info.op->getLoc();
  advanceSlots(node);
  advanceTurns(node);
  registers.closeScope();
  code = outer;
  registers.closeScope();
  if (!loop.body.empty())
    code->push_back(std::move(loop));
  emitSteps(plan.sync.after[node]);
}

void Emitter::emitNode(uint32_t node) {
  loc = kernel.nodes[node].op->getLoc();
  emitSharedSteps(node, /*before=*/true);
  switch (kernel.nodes[node].kind) {
  case KernelNode::Kind::Loop:
    emitLoop(node);
    break;
  case KernelNode::Kind::Engine:
    emitEngine(node);
    break;
  case KernelNode::Kind::Scalar:
    emitScalar(node);
    break;
  }
  if (!outOfRegisters)
    releaseTemporaries();
  loc = kernel.nodes[node].op->getLoc();
  emitSharedSteps(node, /*before=*/false);
}

void Emitter::emitBody(uint32_t node) {
  for (uint32_t child : kernel.nodes[node].body) {
    if (outOfRegisters)
      return;
    emitNode(child);
  }
}

/// The sequencer gives the semaphores of the segment their first units.
void Emitter::emitSegmentStart(uint32_t segment) {
  std::vector<isa::SemaphoreStep> signals;
  for (auto [semaphore, number] :
       llvm::zip_first(plan.sync.semaphores, plan.semaphores))
    if (semaphore.initial > 0 && plan.segments[semaphore.begin] == segment)
      signals.push_back({number, uint16_t(semaphore.initial)});
  appendSync(false, Queue::Seq, signals);
  // All slots of this core's shared buffers are free for the first loads.
  for (const Shared &shared : sharedBuffers)
    for (uint32_t slot = 0;
         shared.begin == segment && slot < shared.fill->data.size(); ++slot) {
      unsigned core = coreAfter(shared, slot);
      append(Opcode::SIGNALCORE, {int64_t(Queue::Seq), core,
                                  plan.semaphores[shared.fill->free], 1});
      releaseTemporaries();
    }
}

/// Takes back what the semaphores of the segment began with.
void Emitter::emitSegmentEnd(uint32_t segment) {
  for (unsigned queue = 0; queue < isa::numQueues; ++queue) {
    std::vector<isa::SemaphoreStep> waits;
    for (auto [semaphore, number] :
         llvm::zip_first(plan.sync.semaphores, plan.semaphores))
      if (semaphore.initial > 0 && semaphore.waiter == Queue(queue) &&
          plan.segments[semaphore.end] == segment)
        waits.push_back({number, uint16_t(semaphore.initial)});
    appendSync(true, Queue(queue), waits);
  }
  // The slots are free for loads that do not come. Those whose turn it would be
  // have been told so.
  for (const Shared &shared : sharedBuffers) {
    if (shared.end != segment)
      continue;
    if (bufferOf(shared).home == 0 && shared.ownsTurn)
      advanceTurn(shared); // No loop has ended the only iteration.
    int64_t size = shared.group.getSize(), slots = shared.fill->data.size();
    std::vector<isa::SemaphoreStep> all{
        {plan.semaphores[shared.fill->free], uint16_t(size)}};
    auto takeAll = [&] { appendSync(true, Queue::Ld, all); };
    if (slots == size) {
      takeAll();
      continue;
    }
    unsigned steps = temporary(), ahead = temporary();
    append(Opcode::SUB, {steps, rankOf(shared), shared.turn});
    append(Opcode::ADDI, {ahead, steps, size});
    appendUnless(Opcode::BGE, modulo(ahead, size),
                 materialize(LinearExpr(slots)), takeAll);
    releaseTemporaries();
  }
}

/// The sequencer goes on when every queue has done all that came before.
void Emitter::emitJoin() {
  uint16_t count = 0;
  for (unsigned queue = 0; queue < isa::numQueues; ++queue) {
    if (!(usedQueues & 1u << queue))
      continue;
    appendSync(false, Queue(queue),
               std::vector<isa::SemaphoreStep>{{*plan.joinSemaphore, 1}});
    ++count;
  }
  if (count > 0)
    appendSync(true, Queue::Seq,
               std::vector<isa::SemaphoreStep>{{*plan.joinSemaphore, count}});
}

//===----------------------------------------------------------------------===//
// Shared loads
//===----------------------------------------------------------------------===//

void Emitter::findShared() {
  std::vector<uint32_t> segments(kernel.nodes.size());
  for (auto [position, child] : llvm::enumerate(kernel.nodes[0].body))
    segments[child] = plan.segments[position];
  for (uint32_t node = 1; node < kernel.nodes.size(); ++node)
    for (uint32_t child : kernel.nodes[node].body)
      segments[child] = segments[node];
  for (const SyncPlanSolution::SharedFill &fill : plan.sync.sharedFills) {
    Shared shared;
    shared.fill = &fill;
    shared.group = kernel.buffers[fill.buffer].group;
    shared.begin = segments[fill.load];
    shared.end = segments[fill.last];
    sharedBuffers.push_back(shared);
  }
}

/// An earlier buffer whose turns are those of this one.
const Emitter::Shared *Emitter::turnOwner(const Shared &shared) const {
  for (const Shared &other : sharedBuffers)
    if (&other < &shared && other.ownsTurn && other.group == shared.group &&
        bufferOf(other).home == bufferOf(shared).home &&
        other.begin == shared.begin && other.end == shared.end)
      return &other;
  return nullptr;
}

unsigned Emitter::coreId() {
  for (auto [id, symbol] : llvm::enumerate(kernel.symbols))
    if (symbol.kind == KernelSymbol::Kind::CoreId)
      return registerOf(id);
  unsigned reg = temporary();
  append(Opcode::COREID, {reg});
  return reg;
}

unsigned Emitter::modulo(unsigned value, int64_t divisor) {
  unsigned reg = temporary();
  if (llvm::isPowerOf2_64(divisor))
    append(Opcode::ANDI, {reg, value, divisor - 1});
  else
    append(Opcode::REMU, {reg, value, materialize(LinearExpr(divisor))});
  return reg;
}

unsigned Emitter::rankOf(const Shared &shared) {
  if (shared.rank)
    return *shared.rank;
  unsigned number = coreId();
  if (int64_t stride = shared.group.getStride(); stride != 1) {
    unsigned quotient = temporary();
    append(Opcode::DIVU, {quotient, number, materialize(LinearExpr(stride))});
    number = quotient;
  }
  return modulo(number, shared.group.getSize());
}

unsigned Emitter::baseOf(const Shared &shared) {
  if (shared.base)
    return *shared.base;
  unsigned offset = temporary(), base = temporary();
  append(Opcode::MULI, {offset, rankOf(shared), shared.group.getStride()});
  append(Opcode::SUB, {base, coreId(), offset});
  return base;
}

unsigned Emitter::rectangleOf(const Shared &shared) {
  if (shared.rectangle)
    return *shared.rectangle;
  tile::GroupAttr group = shared.group;
  unsigned base = baseOf(shared), row = temporary(), shifted = temporary(),
           place = temporary(), rectangle = temporary();
  append(Opcode::DIVU,
         {row, base, materialize(LinearExpr(group.getColumns()))});
  append(Opcode::MULI, {shifted, row, 256});
  append(Opcode::ADD, {place, modulo(base, group.getColumns()), shifted});
  append(Opcode::ADDI,
         {rectangle, place, group.getWidth() << 16 | group.getHeight() << 24});
  return rectangle;
}

unsigned Emitter::coreAfter(const Shared &shared, int64_t steps) {
  tile::GroupAttr group = shared.group;
  unsigned rank = shared.turn;
  if (steps % group.getSize() != 0) {
    unsigned sum = temporary();
    append(Opcode::ADDI, {sum, rank, steps});
    rank = modulo(sum, group.getSize());
  }
  if (group.getStride() != 1) {
    unsigned product = temporary();
    append(Opcode::MULI, {product, rank, group.getStride()});
    rank = product;
  }
  unsigned core = temporary();
  append(Opcode::ADD, {core, rank, baseOf(shared)});
  return core;
}

/// Groups begin at different ranks, so that the cores' loads are spread.
void Emitter::startTurns(Shared &shared) {
  tile::GroupAttr group = shared.group;
  // Buffers of the same group share these.
  for (const Shared &other : sharedBuffers)
    if (&other < &shared && other.group == group) {
      shared.rank = other.rank;
      shared.base = other.base;
      shared.rectangle = other.rectangle;
    }
  auto keep = [&](std::optional<unsigned> &place, auto compute) {
    if (place || registers.numFree() <= reservedRegisters + 8)
      return;
    unsigned value = (this->*compute)(shared);
    unsigned reg = allocate();
    append(Opcode::ADDI, {reg, value, 0});
    if (outOfRegisters)
      return;
    releaseTemporaries();
    registers.keepInScope(reg);
    place = reg;
  };
  keep(shared.rank, &Emitter::rankOf);
  keep(shared.base, &Emitter::baseOf);
  keep(shared.rectangle, &Emitter::rectangleOf);
  if (!shared.ownsTurn)
    return;
  unsigned number = temporary();
  if (group.getStride() == 1)
    append(Opcode::DIVU,
           {number, baseOf(shared), materialize(LinearExpr(group.getSize()))});
  else
    append(Opcode::ADDI, {number, baseOf(shared), 1});
  append(Opcode::ADDI, {shared.turn, modulo(number, group.getSize()), 0});
  if (!outOfRegisters)
    releaseTemporaries();
}

void Emitter::advanceTurn(const Shared &shared) {
  int64_t size = shared.group.getSize();
  append(Opcode::ADDI, {shared.turn, shared.turn, 1});
  if (llvm::isPowerOf2_64(size))
    append(Opcode::ANDI, {shared.turn, shared.turn, size - 1});
  else
    append(Opcode::REMU,
           {shared.turn, shared.turn, materialize(LinearExpr(size))});
  releaseTemporaries();
}

void Emitter::advanceTurns(uint32_t loop) {
  for (const Shared &shared : sharedBuffers)
    if (bufferOf(shared).home == loop && shared.ownsTurn)
      advanceTurn(shared);
}

void Emitter::appendUnless(Opcode branch, unsigned a, unsigned b,
                           llvm::function_ref<void()> emit) {
  size_t at = code->size();
  append(branch, {a, b, 0});
  emit();
  (*code)[at].inst.fields[isa::bne::offset] = int64_t(code->size() - at);
}

void Emitter::appendBySlot(
    const Shared &shared,
    llvm::function_ref<isa::Instruction(unsigned)> instruction) {
  unsigned slots = shared.fill->data.size();
  if (slots == 1) {
    code->push_back({instruction(0), loc, {}});
    return;
  }
  unsigned slot = registerOf(*bufferOf(shared).slot);
  unsigned number = temporary();
  for (unsigned i = 0; i < slots; ++i) {
    // Of two slots the second is what is not the first.
    bool isOther = slots == 2 && i == 1;
    if (!isOther)
      append(Opcode::LI, {number, i});
    appendUnless(isOther ? Opcode::BEQ : Opcode::BNE, slot, number,
                 [&] { code->push_back({instruction(i), loc, {}}); });
  }
}

void Emitter::emitSharedLoad(const Shared &shared, isa::Instruction inst) {
  usedQueues |= 1u << unsigned(Queue::Ld);
  unsigned rectangle = rectangleOf(shared), rank = rankOf(shared);
  appendUnless(Opcode::BNE, shared.turn, rank, [&] {
    appendBySlot(shared, [&](unsigned slot) {
      isa::Instruction load = inst;
      load.fields[isa::load_multicast::ra] = rectangle;
      load.fields[isa::load_multicast::sem] =
          plan.semaphores[shared.fill->data[slot]];
      load.fields[isa::load_multicast::count] = 1;
      load.waits[0] = {plan.semaphores[shared.fill->free],
                       uint16_t(shared.group.getSize())};
      return load;
    });
  });
}

/// Readers wait until the slot is filled, and tell the core that will fill it
/// the next time that it is free.
void Emitter::emitSharedSteps(uint32_t node, bool before) {
  for (const Shared &shared : sharedBuffers) {
    const SyncPlanSolution::SharedFill &fill = *shared.fill;
    if (node != (before ? fill.first : fill.last))
      continue;
    usedQueues |= 1u << unsigned(fill.reader);
    if (before) {
      appendBySlot(shared, [&](unsigned slot) {
        isa::Instruction wait;
        wait.opcode = Opcode::WAIT;
        wait.fields[0] = int64_t(fill.reader);
        wait.waits[0] = {plan.semaphores[fill.data[slot]], 1};
        return wait;
      });
    } else {
      unsigned core = coreAfter(shared, fill.data.size());
      append(Opcode::SIGNALCORE,
             {int64_t(fill.reader), core, plan.semaphores[fill.free], 1});
    }
    if (!outOfRegisters)
      releaseTemporaries();
  }
}

/// What runs once before everything: constants of the kernel into registers.
std::vector<CodeNode> Emitter::prologue() {
  std::vector<CodeNode> nodes;
  code = &nodes;
  loc = kernel.getOp().getLoc();
  unsigned loaded =
      std::min<size_t>(result.descriptors.size(), numLoadedDescriptors);
  for (unsigned td = 0; td < loaded; ++td)
    append(Opcode::TDLOAD, {td, td});
  for (auto [id, symbol] : llvm::enumerate(kernel.symbols)) {
    if (!symbolRegisters[id])
      continue;
    if (symbol.kind == KernelSymbol::Kind::Argument)
      append(Opcode::LDARG, {*symbolRegisters[id], symbol.index});
    else if (symbol.kind == KernelSymbol::Kind::CoreId)
      append(Opcode::COREID, {*symbolRegisters[id]});
    else if (symbol.kind == KernelSymbol::Kind::NumCores)
      append(Opcode::NUMCORES, {*symbolRegisters[id]});
    else if (symbol.kind == KernelSymbol::Kind::Slot)
      append(Opcode::LI, {*symbolRegisters[id], 0});
  }
  for (Shared &shared : sharedBuffers)
    startTurns(shared);
  return nodes;
}

FailureOr<EmittedKernel> Emitter::run() {
  placeOperands();

  // Slots live through the whole kernel; arguments too while there is room.
  std::vector<bool> isUsed(kernel.symbols.size());
  for (const auto &placed : operands)
    for (const PlacedOperand &operand : placed)
      for (auto [symbol, coefficient] : operand.dynamic.terms)
        isUsed[symbol] = true;
  auto keep = [&](SymbolId id) {
    unsigned reg = allocate();
    if (!outOfRegisters)
      registers.keepInScope(reg);
    symbolRegisters[id] = reg;
  };
  using Kind = KernelSymbol::Kind;
  for (auto [id, symbol] : llvm::enumerate(kernel.symbols))
    if (symbol.kind == Kind::Slot)
      keep(id);
  findShared();
  for (Shared &shared : sharedBuffers) {
    if (const Shared *owner = turnOwner(shared)) {
      shared.turn = owner->turn;
      shared.ownsTurn = false;
      continue;
    }
    shared.turn = allocate();
    if (!outOfRegisters)
      registers.keepInScope(shared.turn);
  }
  for (auto [id, symbol] : llvm::enumerate(kernel.symbols)) {
    bool isInvariant = symbol.kind == Kind::CoreId ||
                       symbol.kind == Kind::NumCores ||
                       (symbol.kind == Kind::Argument && isUsed[id]);
    if (isInvariant && registers.numFree() > 2 * reservedRegisters)
      keep(id);
  }
  result.code = prologue();

  code = &result.code;
  const auto &body = kernel.nodes[0].body;
  for (uint32_t segment = 0; segment < plan.numSegments; ++segment) {
    if (segment > 0)
      emitJoin();
    emitSegmentStart(segment);
    for (auto [position, child] : llvm::enumerate(body))
      if (plan.segments[position] == segment && !outOfRegisters)
        emitNode(child);
    loc = kernel.getOp().getLoc();
    emitSegmentEnd(segment);
  }
  append(Opcode::HALT, {});
  if (outOfRegisters)
    return failure();
  return std::move(result);
}

FailureOr<EmittedKernel>
tessera::emitKernel(const TileKernel &kernel, const KernelPlan &plan,
                    const std::vector<std::optional<EngineInst>> &engineInsts) {
  return Emitter(kernel, plan, engineInsts).run();
}
