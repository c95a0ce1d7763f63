//===- EngineSelection.cpp - Tile operations as instructions --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineSelection.h"
#include "LaneProgram.h"
#include "LoopDims.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;

namespace {

/// An operand as a function of the operation's loop dimensions.
struct IndexedView {
  View view;
  NumericFormat format = NumericFormat::F32;
  isa::Space space = isa::Space::Global;
  SmallVector<int64_t> strides; ///< Along each loop dimension, elements.
};

class Selection {
public:
  Selection(const TileKernel &kernel, Operation *op) : kernel(kernel), op(op) {}

  FailureOr<EngineInst> selectCopy(isa::Opcode opcode, Value source,
                                   unsigned sourceField, Value target,
                                   unsigned targetField);
  FailureOr<EngineInst> selectLoad(tile::LoadOp load);
  FailureOr<EngineInst> selectFill(tile::FillOp fill);
  FailureOr<EngineInst> selectMma(tile::MmaOp mma);
  FailureOr<EngineInst> selectMap(tile::MapOp map,
                                  std::vector<isa::MapProgram> &programs);

private:
  /// The operand indexed by `map`, or by its own dimensions if there is none.
  FailureOr<IndexedView> getOperand(Value value, AffineMap map = {});
  /// Adds operand `number` with a descriptor over `dims`, along which it has
  /// the strides at `position`.
  LogicalResult addOperand(unsigned field, const IndexedView &operand,
                           unsigned number, const std::vector<LoopDim> &dims,
                           unsigned position = 0);
  void setAccumulate(bool always, Value condition, unsigned field,
                     unsigned registerField);

  const TileKernel &kernel;
  Operation *op;
  EngineInst result;
};

} // namespace

static isa::Space spaceOf(Type type) {
  switch (*tile::getSpace(type)) {
  case tile::Space::Spm:
    return isa::Space::Spm;
  case tile::Space::Acc:
    return isa::Space::Acc;
  default:
    return isa::Space::Global;
  }
}

/// Adds `factor * expr`, a sum of dimensions times constants, to the strides
/// and the constant.
static void addLinear(AffineExpr expr, int64_t factor,
                      MutableArrayRef<int64_t> strides, int64_t &constant) {
  if (auto value = dyn_cast<AffineConstantExpr>(expr)) {
    constant += factor * value.getValue();
  } else if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    strides[dim.getPosition()] += factor;
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    if (expr.getKind() == AffineExprKind::Add) {
      addLinear(binary.getLHS(), factor, strides, constant);
      addLinear(binary.getRHS(), factor, strides, constant);
      return;
    }
    // The tile dialect's verifier admits products with constants only.
    auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
    AffineExpr scaled = binary.getLHS();
    if (!scale) {
      scale = cast<AffineConstantExpr>(binary.getLHS());
      scaled = binary.getRHS();
    }
    addLinear(scaled, factor * scale.getValue(), strides, constant);
  }
}

FailureOr<IndexedView> Selection::getOperand(Value value, AffineMap map) {
  IndexedView operand;
  FailureOr<View> view = kernel.getView(value);
  if (failed(view))
    return failure();
  operand.view = *view;
  Type element = cast<MemRefType>(value.getType()).getElementType();
  auto format = elementFormatOf(element);
  if (!format)
    return op->emitError("elements of type ")
           << element << " have no format on the device";
  operand.format = *format;
  operand.space = spaceOf(value.getType());
  if (!map) {
    operand.strides = operand.view.strides;
    return operand;
  }
  operand.strides.assign(map.getNumDims(), 0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), view->strides)) {
    int64_t constant = 0;
    addLinear(expr, stride, operand.strides, constant);
    operand.view.offset += LinearExpr(constant);
  }
  return operand;
}

LogicalResult Selection::addOperand(unsigned field, const IndexedView &operand,
                                    unsigned number,
                                    const std::vector<LoopDim> &dims,
                                    unsigned position) {
  if (dims.size() > isa::maxRank)
    return op->emitError("operand ")
           << number << " needs a descriptor of rank " << dims.size()
           << "; at most " << isa::maxRank << " dimensions fit";
  EngineOperand added;
  added.field = field;
  added.root = operand.view.root;
  added.descriptor.space = operand.space;
  added.descriptor.format = operand.format;
  added.descriptor.rank = dims.size();
  for (auto [i, dim] : llvm::enumerate(dims)) {
    if (dim.extent > UINT32_MAX)
      return op->emitError("extent ") << dim.extent << " is beyond 2^32 - 1";
    added.descriptor.extents[i] = dim.extent;
    added.descriptor.strides[i] = dim.strides[position];
  }
  added.offset = operand.view.offset * (bitWidth(operand.format) / 8);
  result.operands.push_back(std::move(added));
  return success();
}

void Selection::setAccumulate(bool always, Value condition, unsigned field,
                              unsigned registerField) {
  auto mode = condition ? isa::Accumulate::Reg
              : always  ? isa::Accumulate::Yes
                        : isa::Accumulate::No;
  result.inst.fields[field] = int64_t(mode);
  if (!condition)
    return;
  result.accumulateIf = kernel.getIndex(condition);
  result.accumulateField = registerField;
}

/// Dimensions with the given extents along which the operands have `strides`.
static std::vector<LoopDim> makeDims(ArrayRef<int64_t> extents,
                                     ArrayRef<const IndexedView *> operands) {
  std::vector<LoopDim> dims(extents.size());
  for (auto [i, extent] : llvm::enumerate(extents)) {
    dims[i].extent = extent;
    for (const IndexedView *operand : operands)
      dims[i].strides.push_back(operand->strides[i]);
  }
  return dims;
}

FailureOr<EngineInst> Selection::selectCopy(isa::Opcode opcode, Value source,
                                            unsigned sourceField, Value target,
                                            unsigned targetField) {
  result.inst.opcode = opcode;
  auto from = getOperand(source), to = getOperand(target);
  if (failed(from) || failed(to))
    return failure();
  auto dims = simplifyDims(makeDims(from->view.shape, {&*from, &*to}));
  if (failed(addOperand(sourceField, *from, 0, dims, 0)) ||
      failed(addOperand(targetField, *to, 1, dims, 1)))
    return failure();
  return std::move(result);
}

FailureOr<EngineInst> Selection::selectLoad(tile::LoadOp load) {
  // Of a shared load one core of the group does it; the emitter says where it
  // goes.
  bool isShared = load.getSharedAttr() != nullptr;
  isa::Opcode opcode =
      isShared ? isa::Opcode::LOADMULTICAST : isa::Opcode::LOAD;
  unsigned sourceField =
      isShared ? unsigned(isa::load_multicast::src) : unsigned(isa::load::src);
  unsigned targetField =
      isShared ? unsigned(isa::load_multicast::dst) : unsigned(isa::load::dst);
  if (!load.isWindow())
    return selectCopy(opcode, load.getSource(), sourceField, load.getTarget(),
                      targetField);
  result.inst.opcode = opcode;
  result.inst.fields[isShared ? unsigned(isa::load_multicast::pad)
                              : unsigned(isa::load::pad)] = 1;
  auto from = getOperand(load.getSource()), to = getOperand(load.getTarget());
  if (failed(from) || failed(to))
    return failure();
  std::vector<LoopDim> dims = makeDims(to->view.shape, {&*from, &*to});
  SmallVector<OperandWindow> windows;
  for (auto [dim, low, high] :
       llvm::enumerate(*load.getLow(), *load.getHigh())) {
    dims[dim].windowed = low + high != 0;
    if (!dims[dim].windowed)
      continue;
    LinearExpr offset = kernel.getIndex(load.getOffsets()[windows.size()]);
    windows.push_back({0, offset - LinearExpr(low), from->view.shape[dim]});
  }
  dims = simplifyDims(dims);
  OperandWindow *window = windows.begin();
  for (auto [position, dim] : llvm::enumerate(dims))
    if (dim.windowed)
      (window++)->dim = position;
  if (failed(addOperand(sourceField, *from, 0, dims, 0)) ||
      failed(addOperand(targetField, *to, 1, dims, 1)))
    return failure();
  result.operands[0].descriptor.padding = elementBits(load.getPaddingAttr());
  result.operands[0].windows = std::move(windows);
  return std::move(result);
}

FailureOr<EngineInst> Selection::selectFill(tile::FillOp fill) {
  result.inst.opcode = isa::Opcode::FILL;
  auto target = getOperand(fill.getBuffer());
  if (failed(target))
    return failure();
  auto dims = simplifyDims(makeDims(target->view.shape, {&*target}));
  if (failed(addOperand(isa::fill::dst, *target, 0, dims)))
    return failure();
  result.inst.fields[isa::fill::value] = elementBits(fill.getValue());
  return std::move(result);
}

FailureOr<EngineInst> Selection::selectMma(tile::MmaOp mma) {
  enum Kind : unsigned { M, N, K };
  SmallVector<AffineMap> maps = mma.getIndexingMapsArray();
  result.inst.opcode = isa::Opcode::MMA;
  auto a = getOperand(mma.getA(), maps[0]), b = getOperand(mma.getB(), maps[1]),
       acc = getOperand(mma.getAcc(), maps[2]);
  if (failed(a) || failed(b) || failed(acc))
    return failure();

  std::vector<LoopDim> loops = makeDims(mma.getBounds(), {&*a, &*b, &*acc});
  for (auto [i, loop] : llvm::enumerate(loops))
    loop.kind = mma.isReduction(i) ? K : maps[0].isFunctionOfDim(i) ? M : N;
  // M, N and K are the flattenings of their dimensions, so each operand's are
  // merged as its own strides allow.
  auto select = [&](std::initializer_list<Kind> kinds, unsigned operand) {
    std::vector<LoopDim> dims;
    for (Kind kind : kinds)
      for (const LoopDim &loop : loops)
        if (loop.kind == kind)
          dims.push_back({loop.extent, kind, {loop.strides[operand]}});
    return simplifyDims(dims);
  };
  auto maskOf = [](const std::vector<LoopDim> &dims, Kind kind) {
    int64_t mask = 0;
    for (auto [i, dim] : llvm::enumerate(dims))
      if (dim.kind == kind)
        mask |= int64_t(1) << i;
    return mask;
  };
  auto aDims = select({M, K}, 0);
  // b is read along its contiguous dimension.
  auto kDims = select({K}, 1), nDims = select({N}, 1);
  bool isNByK = !kDims.empty() && !nDims.empty() &&
                kDims.back().strides[0] == 1 && nDims.back().strides[0] != 1;
  auto bDims = isNByK ? select({N, K}, 1) : select({K, N}, 1);
  if (failed(addOperand(isa::mma::a, *a, 0, aDims)) ||
      failed(addOperand(isa::mma::b, *b, 1, bDims)) ||
      failed(addOperand(isa::mma::acc, *acc, 2, select({M, N}, 2))))
    return failure();
  result.inst.fields[isa::mma::m_dims] = maskOf(aDims, M);
  result.inst.fields[isa::mma::n_dims] = maskOf(bDims, N);
  setAccumulate(mma.getAccumulate(), mma.getAccumulateIf(),
                isa::mma::accumulate, isa::mma::ra);
  return std::move(result);
}

FailureOr<EngineInst>
Selection::selectMap(tile::MapOp map, std::vector<isa::MapProgram> &programs) {
  enum Kind : unsigned { Parallel, Reduced };
  result.inst.opcode = isa::Opcode::MAP;
  if (map.getInputs().empty() && map.getReduce() != tile::Reduction::None)
    return op->emitError("a reduction needs an input");
  FailureOr<isa::MapProgram> program = buildLaneProgram(map.getBody().front());
  if (failed(program))
    return failure();
  auto known = std::find(programs.begin(), programs.end(), *program);
  result.inst.fields[isa::map::program] = known - programs.begin();
  if (known == programs.end())
    programs.push_back(*program);
  if (programs.size() > UINT16_MAX)
    return op->emitError("the module needs more than 65535 map programs");

  SmallVector<AffineMap> maps = map.getIndexingMapsArray();
  SmallVector<Value> values(map.getInputs());
  llvm::append_range(values, map.getOutputs());
  std::vector<IndexedView> operands;
  for (auto [value, indexing] : llvm::zip_equal(values, maps)) {
    auto operand = getOperand(value, indexing);
    if (failed(operand))
      return failure();
    operands.push_back(std::move(*operand));
  }
  SmallVector<const IndexedView *> pointers;
  for (const IndexedView &operand : operands)
    pointers.push_back(&operand);
  std::vector<LoopDim> dims = makeDims(map.getBounds(), pointers);
  for (auto [i, dim] : llvm::enumerate(dims))
    dim.kind = map.isReduction(i) ? Reduced : Parallel;
  dims = simplifyDims(dims);

  const unsigned inputFields[] = {isa::map::in0, isa::map::in1, isa::map::in2,
                                  isa::map::in3};
  const unsigned outputFields[] = {isa::map::out0, isa::map::out1};
  unsigned numInputs = map.getInputs().size();
  for (unsigned i = 0; i < numInputs; ++i)
    if (failed(addOperand(inputFields[i], operands[i], i, dims, i)))
      return failure();
  int64_t reduceMask = 0;
  for (unsigned i = numInputs; i < operands.size(); ++i) {
    std::vector<LoopDim> outputDims = dims;
    if (i == numInputs)
      for (auto [position, dim] : llvm::enumerate(outputDims))
        if (dim.kind == Reduced) {
          dim.extent = 1;
          reduceMask |= int64_t(1) << position;
        }
    if (failed(addOperand(outputFields[i - numInputs], operands[i], i,
                          outputDims, i)))
      return failure();
  }
  result.inst.fields[isa::map::reduce] = int64_t(map.getReduce());
  result.inst.fields[isa::map::reduce_dims] = reduceMask;
  setAccumulate(map.getAccumulate(), map.getAccumulateIf(),
                isa::map::accumulate, isa::map::ra);
  return std::move(result);
}

FailureOr<EngineInst>
tessera::selectEngineInst(const TileKernel &kernel, Operation *op,
                          std::vector<isa::MapProgram> &programs) {
  static_assert(int(tile::Reduction::Sum) == int(isa::Reduce::Sum) &&
                int(tile::Reduction::Max) == int(isa::Reduce::Max) &&
                int(tile::Reduction::Min) == int(isa::Reduce::Min));
  Selection selection(kernel, op);
  return llvm::TypeSwitch<Operation *, FailureOr<EngineInst>>(op)
      .Case<tile::LoadOp>([&](auto load) { return selection.selectLoad(load); })
      .Case<tile::StoreOp>([&](auto store) {
        return selection.selectCopy(isa::Opcode::STORE, store.getSource(),
                                    isa::store::src, store.getTarget(),
                                    isa::store::dst);
      })
      .Case<tile::FillOp>([&](auto fill) { return selection.selectFill(fill); })
      .Case<tile::MmaOp>([&](auto mma) { return selection.selectMma(mma); })
      .Case<tile::MapOp>(
          [&](auto map) { return selection.selectMap(map, programs); });
}
