//===- SplitLoads.cpp - Load tiles in pieces ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KPieces.h"
#include "LocalBuffers.h"
#include "TileProblem.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SPLITLOADSPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

namespace {

/// An operand of a contraction that is loaded whole, for it alone.
struct Operand {
  tile::AllocOp alloc;
  tile::LoadOp load;
  unsigned position; ///< Of K in the buffer.
};

/// A contraction with both operands.
struct Contraction {
  tile::MmaOp mma;
  unsigned k;                      ///< The only loop of the sum.
  std::array<Operand, 2> operands; ///< Rows and weights.
  std::vector<int64_t> pieces;     ///< Terms of each.
};

} // namespace

static std::optional<Operand> findOperand(Value value, AffineMap map,
                                          unsigned k, Operation *reader) {
  auto alloc = value.getDefiningOp<tile::AllocOp>();
  if (!alloc)
    return std::nullopt;
  Operand operand{alloc, nullptr, 0};
  unsigned places = 0;
  for (auto [position, result] : llvm::enumerate(map.getResults())) {
    if (!result.isFunctionOfDim(k))
      continue;
    if (!isa<AffineDimExpr>(result))
      return std::nullopt;
    operand.position = position;
    ++places;
  }
  for (Operation *user : alloc->getUsers()) {
    auto load = dyn_cast<tile::LoadOp>(user);
    if (user == reader)
      continue;
    if (!load || operand.load || load.isWindow() ||
        load->getBlock() != alloc->getBlock())
      return std::nullopt;
    operand.load = load;
  }
  if (places != 1 || !operand.load)
    return std::nullopt;
  return operand;
}

static std::optional<Contraction> findContraction(tile::MmaOp mma,
                                                  const TargetModel &target) {
  if (mma.getAccumulate() || mma.getAccumulateIf() || mma.getA() == mma.getB())
    return std::nullopt;
  std::optional<unsigned> k;
  for (unsigned dim = 0; dim < mma.getNumLoops(); ++dim) {
    if (!mma.isReduction(dim) || mma.getBounds()[dim] == 1)
      continue;
    if (k)
      return std::nullopt;
    k = dim;
  }
  if (!k)
    return std::nullopt;
  SmallVector<AffineMap> maps = mma.getIndexingMapsArray();
  std::optional<Operand> a = findOperand(mma.getA(), maps[0], *k, mma),
                         b = findOperand(mma.getB(), maps[1], *k, mma);
  if (!a || !b)
    return std::nullopt;
  NumericFormat format =
      formatOf(cast<MemRefType>(mma.getA().getType()).getElementType());
  Contraction found{mma,
                    *k,
                    {*a, *b},
                    kPieces(mma.getBounds()[*k], target.blockRows(format))};
  if (found.pieces.size() < 2)
    return std::nullopt;
  return found;
}

static int64_t tripCount(scf::ForOp loop) {
  std::optional<APInt> count = loop.getStaticTripCount();
  return count && getConstantIntValue(loop.getLowerBound()) &&
                 getConstantIntValue(loop.getStep())
             ? int64_t(count->getZExtValue())
             : 0;
}

namespace {

class Splitter {
public:
  Splitter(tile::KernelOp kernel, const Architecture &arch)
      : kernel(kernel), arch(arch), target(arch), builder(kernel) {}

  void run() {
    SmallVector<Contraction> found;
    kernel.walk([&](tile::MmaOp mma) {
      if (auto contraction = findContraction(mma, target))
        found.push_back(*contraction);
    });
    // Each takes semaphores and registers, of which there are enough for one.
    if (found.size() == 1)
      split(found.front());
  }

private:
  void split(Contraction &contraction);
  SmallVector<Value> loadPieces(Operand operand, ArrayRef<int64_t> sizes,
                                bool streams);
  SmallVector<Value> viewPieces(Operand operand, ArrayRef<int64_t> sizes);
  void cut(tile::MmaOp mma, unsigned k, ArrayRef<int64_t> sizes,
           const SmallVector<Value> (&operands)[2]);
  MemRefType pieceType(Operand operand, int64_t size, bool streams);
  uint64_t bytesOf(Operand operand, ArrayRef<int64_t> sizes, bool streams);
  bool fits(scf::ForOp loop, Contraction &contraction);
  IRMapping peelFirst(scf::ForOp loop);

  tile::KernelOp kernel;
  const Architecture &arch;
  TargetModel target;
  OpBuilder builder;
  bool dropsAccumulator = false; ///< The loop keeps one copy less than it had.
  int64_t loopCopies = 1;        ///< Of the operand that the loop changes.
};

} // namespace

static OpFoldResult constant(OpBuilder &builder, int64_t value) {
  return builder.getIndexAttr(value);
}

/// The parts of a view along one of its dimensions.
static Value viewPart(OpBuilder &builder, Location loc, Value view,
                      unsigned dim, int64_t begin, int64_t size) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), constant(builder, 0)),
      sizes, strides(type.getRank(), constant(builder, 1));
  for (int64_t extent : type.getShape())
    sizes.push_back(constant(builder, extent));
  offsets[dim] = constant(builder, begin);
  sizes[dim] = constant(builder, size);
  return memref::SubViewOp::create(builder, loc, view, offsets, sizes, strides);
}

MemRefType Splitter::pieceType(Operand operand, int64_t size, bool streams) {
  auto type = cast<MemRefType>(operand.alloc.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[operand.position] = size;
  MemRefType piece = MemRefType::get(shape, type.getElementType(), AffineMap(),
                                     type.getMemorySpace());
  return streams ? withRowPitch(piece, target) : piece;
}

/// Loads what `operand` loads in parts into buffers of their own.
SmallVector<Value> Splitter::loadPieces(Operand operand,
                                        ArrayRef<int64_t> sizes, bool streams) {
  builder.setInsertionPointAfter(operand.load);
  Location loc = operand.load.getLoc();
  SmallVector<Value> buffers;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    Value source = viewPart(builder, loc, operand.load.getSource(),
                            operand.position, begin, size);
    auto alloc =
        tile::AllocOp::create(builder, loc, pieceType(operand, size, streams),
                              builder.getI64IntegerAttr(1));
    auto load = tile::LoadOp::create(builder, loc, source, alloc);
    load.setSharedAttr(operand.load.getSharedAttr());
    buffers.push_back(alloc);
    begin += size;
  }
  return buffers;
}

/// The same parts of a buffer that is loaded whole.
SmallVector<Value> Splitter::viewPieces(Operand operand,
                                        ArrayRef<int64_t> sizes) {
  builder.setInsertionPointAfter(operand.load);
  SmallVector<Value> views;
  int64_t begin = 0;
  for (int64_t size : sizes) {
    views.push_back(viewPart(builder, operand.load.getLoc(),
                             operand.alloc.getBuffer(), operand.position, begin,
                             size));
    begin += size;
  }
  return views;
}

/// Makes a contraction of each piece. What is loaded in the same block comes
/// right before it is read for the first time.
void Splitter::cut(tile::MmaOp mma, unsigned k, ArrayRef<int64_t> sizes,
                   const SmallVector<Value> (&operands)[2]) {
  for (auto [number, size] : llvm::enumerate(sizes)) {
    builder.setInsertionPoint(mma);
    auto part = cast<tile::MmaOp>(builder.clone(*mma));
    SmallVector<int64_t> bounds(mma.getBounds());
    bounds[k] = size;
    part.setBounds(bounds);
    part.setAccumulate(number != 0);
    part.getAMutable().assign(operands[0][number]);
    part.getBMutable().assign(operands[1][number]);
    for (const auto &operand : operands)
      for (Operation *user : operand[number].getUsers())
        if (auto load = dyn_cast<tile::LoadOp>(user);
            load && load->getBlock() == part->getBlock()) {
          load->moveBefore(part);
          load.getSource().getDefiningOp()->moveBefore(load);
        }
  }
  mma.erase();
}

/// Bytes of the buffers of an operand's pieces.
uint64_t Splitter::bytesOf(Operand operand, ArrayRef<int64_t> sizes,
                           bool streams) {
  uint64_t bytes = 0;
  for (int64_t size : sizes)
    bytes += allocatedBytes(pieceType(operand, size, streams), target);
  return bytes;
}

/// Whether there is memory for the pieces, and beside a panel for the first
/// iteration's own buffers. Decides what the loop keeps.
bool Splitter::fits(scf::ForOp loop, Contraction &contraction) {
  bool peels = loop && tripCount(loop) > 1;
  uint64_t spm = 0, acc = 0, first = 0, changing = 0;
  bool hasSpare = true;
  for (auto [index, operand] : llvm::enumerate(contraction.operands))
    spm += bytesOf(operand, contraction.pieces, index == 0);
  kernel.walk([&](tile::AllocOp alloc) {
    auto type = cast<MemRefType>(alloc.getType());
    uint64_t bytes = allocatedBytes(type, target), copies = alloc.getDepth();
    bool isCopied = peels && loop->isProperAncestor(alloc);
    bool isOperand = llvm::any_of(contraction.operands, [&](Operand operand) {
      return operand.alloc == alloc;
    });
    if (tile::getSpace(type) == tile::Space::Acc) {
      acc += bytes * copies;
      if (isCopied) {
        first += bytes;
        hasSpare &= copies > 1;
      }
    } else if (!isOperand) {
      spm += bytes * (copies + isCopied);
    } else if (isCopied) {
      changing = bytes;
      loopCopies = copies;
    }
  });
  dropsAccumulator = acc + first > arch.acc.bytes;
  if (dropsAccumulator &&
      !(loop && hasSpare && tripCount(loop) <= fewIterations &&
        acc <= arch.acc.bytes))
    return false;
  // One copy less where there are several.
  if (loopCopies > 2 && spm + changing * loopCopies > arch.spm.bytes)
    --loopCopies;
  return spm + changing * loopCopies <= arch.spm.bytes;
}

/// Takes the first iteration out of a loop; maps its operations to those that
/// do it. The loop may be left without any.
IRMapping Splitter::peelFirst(scf::ForOp loop) {
  builder.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  int64_t lower = *getConstantIntValue(loop.getLowerBound()),
          step = *getConstantIntValue(loop.getStep());
  IRMapping mapping;
  mapping.map(loop.getInductionVar(),
              arith::ConstantIndexOp::create(builder, loc, lower).getResult());
  for (Operation &op : loop.getBody()->without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    mapping.map(&op, copy);
    copy->walk([](tile::AllocOp alloc) { alloc.setDepth(1); });
  }
  loop.setLowerBound(
      arith::ConstantIndexOp::create(builder, loc, lower + step));
  loop->walk([&](tile::AllocOp alloc) {
    if (dropsAccumulator && tile::getSpace(alloc.getType()) == tile::Space::Acc)
      alloc.setDepth(alloc.getDepth() - 1);
  });
  return mapping;
}

void Splitter::split(Contraction &contraction) {
  tile::MmaOp mma = contraction.mma;
  ArrayRef<int64_t> sizes = contraction.pieces;
  auto loop = dyn_cast<scf::ForOp>(mma->getParentOp());
  bool hasPanel = false;
  for (Operand operand : contraction.operands) {
    bool isPanel = loop && operand.load->getBlock() == loop->getBlock() &&
                   operand.load->isBeforeInBlock(loop);
    if (operand.load->getBlock() != mma->getBlock() && !isPanel)
      return;
    hasPanel |= isPanel;
  }
  // Where all operands change from one iteration to the next, whole ones come
  // ahead in their copies.
  int64_t iterations = 1;
  for (auto around = loop; around;
       around = around->getParentOfType<scf::ForOp>())
    iterations *= tripCount(around);
  if (iterations == 0 ||
      ((!hasPanel || tripCount(loop) == 1) && iterations != 1))
    return;
  if (!fits(loop, contraction))
    return;

  IRMapping first;
  if (hasPanel)
    first = peelFirst(loop);
  SmallVector<Value> early[2], late[2];
  for (auto [index, operand] : llvm::enumerate(contraction.operands)) {
    bool isPeeled = hasPanel && loop->isProperAncestor(operand.load);
    Operand ahead = operand;
    if (isPeeled) {
      ahead.alloc =
          cast<tile::AllocOp>(first.lookup(operand.alloc.getOperation()));
      ahead.load =
          cast<tile::LoadOp>(first.lookup(operand.load.getOperation()));
    }
    early[index] = loadPieces(ahead, sizes, index == 0);
    late[index] = early[index];
    if (isPeeled)
      late[index] = viewPieces(operand, sizes);
  }
  if (hasPanel)
    cut(cast<tile::MmaOp>(first.lookup(mma.getOperation())), contraction.k,
        sizes, early);
  cut(mma, contraction.k, sizes, late);
  for (Operand operand : contraction.operands) {
    bool isPeeled = hasPanel && loop->isProperAncestor(operand.load);
    if (isPeeled) {
      first.lookup(operand.load.getOperation())->erase();
      first.lookup(operand.alloc.getOperation())->erase();
      operand.alloc.setDepth(loopCopies);
      continue;
    }
    operand.load.erase();
    operand.alloc.erase();
  }
  if (hasPanel && tripCount(loop) == 0)
    loop.erase();
}

namespace {

struct SplitLoadsPass : tessera::impl::SplitLoadsPassBase<SplitLoadsPass> {
  using SplitLoadsPassBase::SplitLoadsPassBase;

  void runOnOperation() override {
    Result<Architecture> architecture = loadArchitecture(arch);
    if (!architecture.ok()) {
      getOperation().emitError() << architecture.status().message();
      return signalPassFailure();
    }
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (kernel->removeAttr("pieces"))
        Splitter(kernel, *architecture).run();
  }
};

} // namespace
