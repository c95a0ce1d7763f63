//===- TileProblem.cpp - From a dispatch to a planner's problem -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileProblem.h"
#include "Attention.h"
#include "LinalgStructure.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tessera;
using Kind = TileProblem::Dim::Kind;
using Memory = TileProblem::Memory;
using Traffic = TileProblem::Traffic;

BodyOperations tessera::countOperations(Block &body) {
  BodyOperations count;
  for (Operation &op : body.without_terminator()) {
    if (isa<arith::ConstantOp, arith::ExtFOp, arith::TruncFOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(op))
      continue;
    bool special =
        isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp>(
            op) ||
        (isa<math::MathDialect>(op.getDialect()) &&
         !isa<math::AbsFOp, math::FloorOp, math::CeilOp, math::FmaOp,
              math::RoundEvenOp, math::AbsIOp>(op));
    ++(special ? count.sfu : count.alu);
  }
  return count;
}

NumericFormat tessera::formatOf(Type type) {
  if (type.isBF16())
    return NumericFormat::BF16;
  if (type.isF16())
    return NumericFormat::F16;
  if (isa<Float8E4M3FNType>(type))
    return NumericFormat::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return NumericFormat::F8E5M2;
  if (type.isInteger(8) || type.isInteger(1))
    return type.isUnsignedInteger() ? NumericFormat::U8 : NumericFormat::I8;
  if (type.isInteger(32))
    return NumericFormat::I32;
  return NumericFormat::F32;
}

/// `expr` as a sum of loops times factors; constants do not matter to an
/// extent.
static void addTerms(AffineExpr expr, int64_t factor, ArrayRef<unsigned> dims,
                     std::vector<TileProblem::Extent::Term> &terms) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    terms.push_back({dims[dim.getPosition()], factor});
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return;
  if (expr.getKind() == AffineExprKind::Add) {
    addTerms(binary.getLHS(), factor, dims, terms);
    addTerms(binary.getRHS(), factor, dims, terms);
  } else if (auto constant = dyn_cast<AffineConstantExpr>(binary.getRHS())) {
    addTerms(binary.getLHS(), factor * constant.getValue(), dims, terms);
  }
}

namespace {

class NestBuilder {
public:
  NestBuilder(linalg::LinalgOp root, StringRef name,
              const SharedTensors &shared)
      : shared(shared) {
    nest.root = root;
    nest.problem.name = name.str();
  }

  TileNest build() {
    collect(nest.root);
    llvm::sort(members, [](Operation *a, Operation *b) {
      return a->isBeforeInBlock(b);
    });
    findAttention();
    addRootDims();
    // Readers come before producers, so that their loops are known.
    for (Operation *member : llvm::reverse(members))
      for (OpOperand *operand :
           cast<linalg::LinalgOp>(member).getDpsInputOperands())
        if (Operation *producer = operand->get().getDefiningOp();
            isMember(producer))
          addProducer(cast<linalg::GenericOp>(producer), *operand);
    for (Operation *member : members) {
      restrict(cast<linalg::LinalgOp>(member));
      addBuffers(cast<linalg::LinalgOp>(member));
      addWork(cast<linalg::LinalgOp>(member));
    }
    if (nest.keyDim)
      addCarriedBuffers();
    if (nest.reducer)
      nest.reducerDims = dims.lookup(nest.reducer);
    nest.rootDims = dims.lookup(nest.root);
    return std::move(nest);
  }

private:
  void collect(Operation *op) {
    if (isMember(op))
      return;
    members.push_back(op);
    for (OpOperand *operand : cast<linalg::LinalgOp>(op).getDpsInputOperands())
      if (auto producer = operand->get().getDefiningOp<linalg::GenericOp>())
        collect(producer);
  }

  /// The keys of an attention are a dimension that all its parts share, with
  /// tiles of any size.
  void findAttention() {
    for (Operation *member : members)
      if (auto generic = dyn_cast<linalg::GenericOp>(member))
        if (auto found = matchAttention(generic);
            found && !found->quotient && isMember(found->scores))
          attention = found;
  }

  /// The loop over the keys of a part that sums or compares over them.
  std::optional<unsigned> reducedKeys(linalg::GenericOp op) {
    if (attention && op == attention->values)
      return matchContraction(op)->k[0];
    if (attention &&
        (op == attention->softmax.maximum || op == attention->softmax.sum))
      return attention->softmax.keyLoop;
    return std::nullopt;
  }

  /// What each block of keys needs for each row: its largest score and sum, and
  /// the factor of what came before; up to four copies.
  void addCarriedBuffers() {
    RowSoftmax &softmax = attention->softmax;
    for (const char *name : {"maximum", "sum", "factor"}) {
      addBuffer(softmax.maximum, softmax.maximum.getDpsInitOperand(0),
                Memory::Spm, Traffic::None);
      TileProblem::Buffer &buffer = nest.problem.buffers.back();
      buffer.name = std::string(name) + " of a block";
      buffer.elementBytes = 4;
      buffer.extents.push_back({{}, 4});
    }
  }

  bool isMember(Operation *op) { return op && llvm::is_contained(members, op); }

  unsigned addDim(int64_t extent, bool reduction, Kind kind) {
    TileProblem::Dim dim;
    dim.extent = extent;
    dim.reduction = reduction;
    dim.kind = kind;
    nest.problem.dims.push_back(dim);
    return nest.problem.dims.size() - 1;
  }

  void addRootDims() {
    linalg::LinalgOp root = nest.root;
    SmallVector<int64_t> extents = root.getStaticLoopRanges();
    SmallVector<unsigned> loops(extents.size());
    auto kinds = root.getIteratorTypesArray();
    // Reduction loops run inside the parallel ones.
    for (bool reduction : {false, true})
      for (auto [loop, kind] : llvm::enumerate(kinds))
        if ((kind == utils::IteratorType::reduction) == reduction)
          loops[loop] = addDim(extents[loop], reduction, Kind::Free);
    dims[root] = loops;
    if (root.getNumReductionLoops() != 0)
      nest.reducer = root;
  }

  /// Dimensions for the loops of a producer: its reader's where the result is
  /// read tile by tile, new ones else.
  void addProducer(linalg::GenericOp producer, OpOperand &operand) {
    SmallVector<int> mapped(producer.getNumLoops(), -1);
    SmallVector<int> readerDims = llvm::map_to_vector(
        dims.lookup(operand.getOwner()), [](unsigned dim) { return int(dim); });
    if (isa<linalg::GenericOp>(operand.getOwner()))
      if (auto loops = producerLoops(producer, operand, readerDims))
        mapped = *loops;
    std::optional<unsigned> keys = reducedKeys(producer);
    if (keys && nest.keyDim)
      mapped[*keys] = *nest.keyDim;
    for (int &dim : mapped) {
      // A reader's reduction over what the producer computes.
      if (dim >= 0 && nest.problem.dims[dim].reduction &&
          (!nest.keyDim || unsigned(dim) != *nest.keyDim)) {
        nest.problem.dims[dim].kind = Kind::Whole;
        dim = -1;
      }
    }
    // Along a tiled dimension that it does not have it would be repeated.
    for (auto [dim, info] : llvm::enumerate(nest.problem.dims))
      if (!info.reduction && !llvm::is_contained(mapped, int(dim)))
        info.kind = Kind::Whole;
    if (auto known = dims.find(producer); known != dims.end()) {
      for (auto [loop, dim] : llvm::enumerate(known->second))
        if (mapped[loop] != int(dim)) { // Read in two ways.
          nest.problem.dims[dim].kind = Kind::Whole;
          if (mapped[loop] >= 0)
            nest.problem.dims[mapped[loop]].kind = Kind::Whole;
        }
      return;
    }
    bool reduces = producer.getNumReductionLoops() != 0;
    bool mayTile =
        reduces && !attention && !nest.reducer && readsNoMember(producer);
    if (mayTile)
      nest.reducer = cast<linalg::LinalgOp>(producer.getOperation());
    SmallVector<int64_t> extents = producer.getStaticLoopRanges();
    SmallVector<unsigned> loops;
    for (auto [loop, kind] :
         llvm::enumerate(producer.getIteratorTypesArray())) {
      bool reduction = kind == utils::IteratorType::reduction;
      loops.push_back(
          mapped[loop] >= 0
              ? unsigned(mapped[loop])
              : addDim(extents[loop], true,
                       reduction && mayTile ? Kind::Free : Kind::Whole));
      if (keys == loop && !nest.keyDim) {
        nest.keyDim = loops.back();
        nest.problem.dims[loops.back()].kind = Kind::Free;
        nest.problem.dims[loops.back()].rotated = true;
      }
    }
    dims[producer] = loops;
  }

  bool readsNoMember(linalg::GenericOp op) {
    return llvm::none_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
      return isMember(operand->get().getDefiningOp());
    });
  }

  /// One contraction per `mma`.
  void restrict(linalg::LinalgOp op) {
    SmallVector<unsigned> loops = dims.lookup(op);
    if (auto contraction = matchContraction(op);
        contraction && usesMatrixEngine(op, *contraction))
      for (unsigned loop : contraction->batch)
        nest.problem.dims[loops[loop]].kind = Kind::Unit;
  }

  /// The dispatch's argument that a tile is loaded from or stored to; null if
  /// it is neither directly.
  static Value findTensor(OpOperand &operand, Traffic traffic) {
    if (traffic == Traffic::Store) {
      Value result =
          cast<linalg::LinalgOp>(operand.getOwner()).getTiedOpResult(&operand);
      Block *body = operand.getOwner()->getBlock();
      Operation *yield = body->getTerminator();
      unsigned first = body->getNumArguments() - yield->getNumOperands();
      for (auto [index, value] : llvm::enumerate(yield->getOperands()))
        if (value == result)
          return body->getArgument(first + index);
    }
    // Through views of it; what is made in the dispatch ends elsewhere.
    Value value = operand.get();
    while (Operation *op = value.getDefiningOp()) {
      if (!isa<tensor::PadOp, tensor::ExtractSliceOp, tensor::ExpandShapeOp,
               tensor::CollapseShapeOp>(op))
        return {};
      value = op->getOperand(0);
    }
    return value;
  }

  void addBuffer(linalg::LinalgOp op, OpOperand *operand, Memory memory,
                 Traffic traffic) {
    auto type = dyn_cast<RankedTensorType>(operand->get().getType());
    if (!type)
      return;
    TileProblem::Buffer buffer;
    buffer.name = "operand " + std::to_string(operand->getOperandNumber());
    buffer.elementBytes = (type.getElementTypeBitWidth() + 7) / 8;
    buffer.memory = memory;
    buffer.traffic = traffic;
    buffer.shared = traffic != Traffic::None &&
                    shared.contains(findTensor(*operand, traffic));
    AffineMap map = op.getMatchingIndexingMap(operand);
    SmallVector<unsigned> loops = dims.lookup(op);
    auto pad = operand->get().getDefiningOp<tensor::PadOp>();
    for (auto [i, expr, extent] :
         llvm::enumerate(map.getResults(), type.getShape())) {
      TileProblem::Extent &added = buffer.extents.emplace_back();
      added.whole = extent;
      if (pad) {
        int64_t low = pad.getStaticLow()[i], high = pad.getStaticHigh()[i];
        added.whole -= low + high;
        added.border = std::max(low, high);
      }
      addTerms(expr, 1, loops, added.terms);
      if (added.terms.empty()) // One element of it, at a constant position.
        added.whole = 1;
    }
    nest.problem.buffers.push_back(std::move(buffer));
  }

  void addBuffers(linalg::LinalgOp op) {
    auto contraction = matchContraction(op);
    bool matrix = contraction && usesMatrixEngine(op, *contraction);
    for (OpOperand *operand : op.getDpsInputOperands()) {
      Operation *producer = operand->get().getDefiningOp();
      if (isMember(producer) || isa_and_nonnull<tensor::EmptyOp>(producer))
        continue;
      bool made = isa_and_nonnull<linalg::FillOp>(producer);
      if (!isa<RankedTensorType>(operand->get().getType()))
        continue;
      addBuffer(op, operand, Memory::Spm, made ? Traffic::None : Traffic::Load);
      TileProblem::Buffer &added = nest.problem.buffers.back();
      if (matrix && operand->getOperandNumber() == 0)
        added.streams = true;
    }
    for (OpOperand &init : op.getDpsInitsMutable())
      addBuffer(op, &init, matrix ? Memory::Acc : Memory::Spm,
                op == nest.root ? Traffic::Store : Traffic::None);
  }

  void addWork(linalg::LinalgOp op) {
    SmallVector<unsigned> loops = dims.lookup(op);
    TileProblem::Work work;
    auto contraction = matchContraction(op);
    if (contraction && usesMatrixEngine(op, *contraction)) {
      auto mapped = [&](ArrayRef<unsigned> list) {
        std::vector<unsigned> result;
        for (unsigned loop : list)
          result.push_back(loops[loop]);
        return result;
      };
      work.matrix = true;
      work.format =
          formatOf(getElementTypeOrSelf(op.getDpsInputOperand(0)->get()));
      work.m = mapped(contraction->m);
      work.n = mapped(contraction->n);
      work.k = mapped(contraction->k);
    } else {
      work.points.assign(loops.begin(), loops.end());
      BodyOperations count = countOperations(*op.getBlock());
      work.aluOps = count.alu;
      work.sfuOps = count.sfu;
      work.inputs = op.getNumDpsInputs();
    }
    nest.problem.work.push_back(std::move(work));
  }

  const SharedTensors &shared;
  TileNest nest;
  std::optional<Attention> attention;
  SmallVector<Operation *> members;
  llvm::DenseMap<Operation *, SmallVector<unsigned>> dims;
};

} // namespace

TileNest tessera::buildTileNest(linalg::LinalgOp root, StringRef name,
                                const SharedTensors &shared) {
  return NestBuilder(root, name, shared).build();
}
