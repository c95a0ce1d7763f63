//===- TileOps.cpp - Parsing and verification of tile operations ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tessera::tile;

#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What several operations check
//===----------------------------------------------------------------------===//

/// Static shape, static strides, and one of `spaces`.
static LogicalResult verifyBuffer(Operation *op, StringRef what, Type type,
                                  ArrayRef<Space> spaces) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape())
    return op->emitOpError() << what << " needs a static shape, not " << type;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)) ||
      llvm::is_contained(strides, ShapedType::kDynamic))
    return op->emitOpError() << what << " needs static strides, not " << type;
  std::optional<Space> space = getSpace(type);
  if (space && llvm::is_contained(spaces, *space))
    return success();
  InFlightDiagnostic diag = op->emitOpError() << what << " must be in ";
  llvm::interleave(
      spaces, diag,
      [&](Space allowed) {
        diag << "#tile.space<" << stringifySpace(allowed) << ">";
      },
      " or ");
  return diag << ", not " << type;
}

static LogicalResult verifyCopy(Operation *op, MemRefType source,
                                MemRefType target) {
  if (source.getShape() != target.getShape())
    return op->emitOpError() << "copies between different shapes: " << source
                             << " and " << target;
  if (source.getElementType() != target.getElementType())
    return op->emitOpError()
           << "copies between different element types: " << source << " and "
           << target;
  return success();
}

/// A window of `target`'s shape fits into `source` with its borders.
static LogicalResult verifyWindow(Operation *op, ShapedType source,
                                  ShapedType target, ArrayRef<int64_t> low,
                                  ArrayRef<int64_t> high, size_t numOffsets,
                                  TypedAttr padding) {
  if (source.getElementType() != target.getElementType() ||
      padding.getType() != source.getElementType())
    return op->emitOpError()
           << "has a window of other elements than the source's: " << source
           << ", " << target << " and a padding of " << padding.getType();
  size_t rank = source.getRank();
  if (size_t(target.getRank()) != rank || low.size() != rank ||
      high.size() != rank)
    return op->emitOpError()
           << "needs borders and a window of the source's rank, " << rank;
  size_t padded = 0;
  for (auto [dim, before, behind] : llvm::enumerate(low, high)) {
    int64_t extent = source.getDimSize(dim), size = target.getDimSize(dim);
    if (before < 0 || behind < 0)
      return op->emitOpError()
             << "has a border of less than 0 in dimension " << dim;
    padded += before + behind != 0;
    if (before + behind == 0 ? size != extent : size > before + extent + behind)
      return op->emitOpError()
             << "has a window of " << size << " elements in dimension " << dim
             << ", where the source has " << extent << " and a border of "
             << before << " and " << behind;
  }
  if (numOffsets != padded)
    return op->emitOpError() << "has " << numOffsets << " offsets for "
                             << padded << " dimensions with a border";
  return success();
}

/// Bounds, iterators and maps of `tile.mma` and `tile.map` fit each other and
/// stay inside the operands.
static LogicalResult verifyLoops(Operation *op, ArrayRef<int64_t> bounds,
                                 ArrayAttr iterators, ArrayRef<AffineMap> maps,
                                 ValueRange operands) {
  if (iterators.size() != bounds.size())
    return op->emitOpError() << "has " << iterators.size() << " iterators but "
                             << bounds.size() << " bounds";
  for (Attribute iterator : iterators) {
    auto kind =
        utils::symbolizeIteratorType(cast<StringAttr>(iterator).getValue());
    if (!kind)
      return op->emitOpError()
             << "iterators must be \"parallel\" or \"reduction\", not "
             << iterator;
  }
  for (int64_t bound : bounds)
    if (bound < 1)
      return op->emitOpError() << "bounds must be at least 1, not " << bound;
  if (maps.size() != operands.size())
    return op->emitOpError() << "has " << maps.size() << " maps for "
                             << operands.size() << " operands";
  for (auto [index, map, operand] : llvm::enumerate(maps, operands)) {
    auto shape = cast<MemRefType>(operand.getType()).getShape();
    if (map.getNumDims() != bounds.size() || map.getNumSymbols() != 0)
      return op->emitOpError() << "map " << index << " must have "
                               << bounds.size() << " dimensions and no symbols";
    if (map.getNumResults() != shape.size())
      return op->emitOpError()
             << "map " << index << " has " << map.getNumResults()
             << " results for an operand of rank " << shape.size();
    for (auto [expr, extent] : llvm::zip_equal(map.getResults(), shape)) {
      auto range = getRange(expr, bounds);
      if (!range)
        return op->emitOpError()
               << "map " << index
               << " must be a sum of dimensions times constants";
      if (range->first < 0 || range->second >= extent)
        return op->emitOpError()
               << "map " << index << " reaches from " << range->first << " to "
               << range->second << " in an extent of " << extent;
    }
  }
  return success();
}

static bool isReductionIterator(ArrayAttr iterators, unsigned dim) {
  return cast<StringAttr>(iterators[dim]).getValue() ==
         utils::stringifyIteratorType(utils::IteratorType::reduction);
}

/// An output's map names every dimension of `needed` once (those of bound 1 may
/// be left out), no other, and else only zeros.
static LogicalResult verifyOutputMap(Operation *op, unsigned index,
                                     AffineMap map, ArrayRef<int64_t> bounds,
                                     const llvm::SmallBitVector &needed) {
  llvm::SmallBitVector seen(bounds.size());
  for (AffineExpr expr : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr);
        constant && constant.getValue() == 0)
      continue;
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || seen.test(dim.getPosition()) || !needed.test(dim.getPosition()))
      return op->emitOpError()
             << "map " << index << ", an output's, must name each of its loop "
             << "dimensions once, and no reduced one: "
             << AffineMapAttr::get(map);
    seen.set(dim.getPosition());
  }
  for (auto [dim, bound] : llvm::enumerate(bounds))
    if (needed.test(dim) && !seen.test(dim) && bound != 1)
      return op->emitOpError()
             << "map " << index << ", an output's, leaves out "
             << "dimension " << dim << " of bound " << bound;
  return success();
}

static SmallVector<AffineMap> toMaps(ArrayAttr maps) {
  return llvm::map_to_vector(maps.getAsValueRange<AffineMapAttr>(),
                             [](AffineMap map) { return map; });
}

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

void KernelOp::build(OpBuilder &builder, OperationState &state, StringRef name,
                     TypeRange argumentTypes) {
  OpBuilder::InsertionGuard guard(builder);
  state.getOrAddProperties<Properties>().sym_name = builder.getStringAttr(name);
  Region *region = state.addRegion();
  SmallVector<Location> locations(argumentTypes.size(), state.location);
  builder.createBlock(region, {}, argumentTypes, locations);
}

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  result.addAttribute(getSymNameAttrName(result.name), name);
  return parser.parseRegion(*result.addRegion(), arguments);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(
      getBody().getArguments(), printer,
      [&](BlockArgument arg) { printer.printRegionArgument(arg); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(),
                                           {getSymNameAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult KernelOp::verifyRegions() {
  for (BlockArgument arg : getBody().getArguments()) {
    std::string what = "argument " + std::to_string(arg.getArgNumber());
    if (failed(verifyBuffer(*this, what, arg.getType(), {Space::Dram})))
      return failure();
    if (!cast<MemRefType>(arg.getType()).getLayout().isIdentity())
      return emitOpError() << what << " needs the identity layout, not "
                           << arg.getType();
  }
  if (!isa<ReturnOp>(getBody().front().back()))
    return emitOpError("must end in tile.return");
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers and data movement
//===----------------------------------------------------------------------===//

LogicalResult AllocOp::verify() {
  if (getDepth() < 1)
    return emitOpError() << "depth must be at least 1, not " << getDepth();
  if (failed(verifyBuffer(*this, "the buffer", getType(),
                          {Space::Spm, Space::Acc})))
    return failure();
  auto type = cast<MemRefType>(getType());
  auto [strides, offset] = type.getStridesAndOffset();
  int64_t least = 1;
  for (size_t dim = strides.size(); dim-- > 0;) {
    bool good =
        dim + 1 == strides.size() ? strides[dim] == 1 : strides[dim] >= least;
    if (offset != 0 || !good)
      return emitOpError() << "needs rows one after the other, not " << type;
    least = strides[dim] * type.getDimSize(dim);
  }
  return success();
}

LogicalResult LoadOp::verify() {
  if (failed(verifyBuffer(*this, "the source", getSource().getType(),
                          {Space::Dram})) ||
      failed(verifyBuffer(*this, "the target", getTarget().getType(),
                          {Space::Spm})))
    return failure();
  if (GroupAttr group = getSharedAttr()) {
    auto alloc = getBase(getTarget()).getDefiningOp<AllocOp>();
    if (!alloc || alloc->getBlock() != (*this)->getBlock())
      return emitOpError(
          "is shared: its target must be a buffer of this block");
    if (int64_t(alloc.getDepth()) > group.getSize())
      return emitOpError("is shared among ")
             << group.getSize() << " cores: its target has " << alloc.getDepth()
             << " slots, accepted: at most as many";
  }
  if (isWindow()) {
    if (!getHigh() || !getPadding())
      return emitOpError("has a window without `high` or `padding`");
    auto target = cast<MemRefType>(getTarget().getType());
    if (failed(verifyWindow(*this, cast<MemRefType>(getSource().getType()),
                            target, *getLow(), *getHigh(), getOffsets().size(),
                            getPaddingAttr())))
      return failure();
    for (auto [size, before, behind] :
         llvm::zip_equal(target.getShape(), *getLow(), *getHigh()))
      if (getShared() && size <= std::max(before, behind))
        return emitOpError("is shared: its window of ")
               << size << " elements may lie in a border of "
               << std::max(before, behind);
    return success();
  }
  if (getHigh() || getPadding() || !getOffsets().empty())
    return emitOpError("has a part of a window without `low`");
  return verifyCopy(*this, cast<MemRefType>(getSource().getType()),
                    cast<MemRefType>(getTarget().getType()));
}

LogicalResult WindowOp::verify() {
  return verifyWindow(*this, getSource().getType(), getTarget().getType(),
                      getLow(), getHigh(), getOffsets().size(), getPadding());
}

LogicalResult StoreOp::verify() {
  if (failed(verifyBuffer(*this, "the source", getSource().getType(),
                          {Space::Spm, Space::Acc})) ||
      failed(verifyBuffer(*this, "the target", getTarget().getType(),
                          {Space::Dram})))
    return failure();
  return verifyCopy(*this, cast<MemRefType>(getSource().getType()),
                    cast<MemRefType>(getTarget().getType()));
}

LogicalResult FillOp::verify() {
  if (failed(verifyBuffer(*this, "the buffer", getBuffer().getType(),
                          {Space::Spm})))
    return failure();
  if (!isa<FloatAttr, IntegerAttr>(getValue()))
    return emitOpError() << "the value must be a number, not " << getValue();
  Type element = cast<MemRefType>(getBuffer().getType()).getElementType();
  if (getValue().getType() != element)
    return emitOpError() << "fills " << element << " elements with "
                         << getValue();
  return success();
}

//===----------------------------------------------------------------------===//
// MmaOp
//===----------------------------------------------------------------------===//

SmallVector<AffineMap> MmaOp::getIndexingMapsArray() {
  return toMaps(getIndexingMaps());
}

bool MmaOp::isReduction(unsigned dim) {
  return isReductionIterator(getIteratorTypes(), dim);
}

LogicalResult MmaOp::verify() {
  if (failed(verifyBuffer(*this, "a", getA().getType(), {Space::Spm})) ||
      failed(verifyBuffer(*this, "b", getB().getType(), {Space::Spm})) ||
      failed(verifyBuffer(*this, "acc", getAcc().getType(), {Space::Acc})))
    return failure();
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  if (failed(verifyLoops(*this, getBounds(), getIteratorTypes(), maps,
                         {getA(), getB(), getAcc()})))
    return failure();
  if (getAccumulate() && getAccumulateIf())
    return emitOpError("has both accumulate and accumulate_if");

  Type a = cast<MemRefType>(getA().getType()).getElementType();
  Type b = cast<MemRefType>(getB().getType()).getElementType();
  Type acc = cast<MemRefType>(getAcc().getType()).getElementType();
  if (a != b || !(a.isFloat() ? acc.isF32() : acc.isInteger(32)))
    return emitOpError() << "needs a and b of one element type and accumulates "
                         << "floats in f32, integers in i32; not " << a << ", "
                         << b << " and " << acc;

  llvm::SmallBitVector parallel(getNumLoops());
  for (unsigned dim = 0; dim < getNumLoops(); ++dim) {
    bool inA = maps[0].isFunctionOfDim(dim), inB = maps[1].isFunctionOfDim(dim);
    if (getBounds()[dim] != 1 && isReduction(dim) && !(inA && inB))
      return emitOpError() << "reduction dimension " << dim
                           << " must index a and b";
    if (getBounds()[dim] != 1 && !isReduction(dim) && inA == inB)
      return emitOpError() << "parallel dimension " << dim
                           << " must index either a or b (or have bound 1)";
    parallel[dim] = !isReduction(dim);
  }
  return verifyOutputMap(*this, 2, maps[2], getBounds(), parallel);
}

//===----------------------------------------------------------------------===//
// MapOp
//===----------------------------------------------------------------------===//

SmallVector<AffineMap> MapOp::getIndexingMapsArray() {
  return toMaps(getIndexingMaps());
}

bool MapOp::isReduction(unsigned dim) {
  return isReductionIterator(getIteratorTypes(), dim);
}

LogicalResult MapOp::verify() {
  if (getInputs().size() > 4 || getOutputs().empty() || getOutputs().size() > 2)
    return emitOpError() << "takes at most 4 inputs and 1 or 2 outputs, not "
                         << getInputs().size() << " and "
                         << getOutputs().size();
  SmallVector<Value> operands(getInputs());
  llvm::append_range(operands, getOutputs());
  for (auto [index, operand] : llvm::enumerate(operands))
    if (failed(verifyBuffer(*this, "operand " + std::to_string(index),
                            operand.getType(), {Space::Spm, Space::Acc})))
      return failure();
  SmallVector<AffineMap> maps = getIndexingMapsArray();
  if (failed(
          verifyLoops(*this, getBounds(), getIteratorTypes(), maps, operands)))
    return failure();

  llvm::SmallBitVector all(getNumLoops(), true), parallel(getNumLoops());
  for (unsigned dim = 0; dim < getNumLoops(); ++dim)
    parallel[dim] = !isReduction(dim);
  bool reduces = getReduce() != Reduction::None;
  if (!parallel.all() && !reduces)
    return emitOpError("has reduction dimensions but reduce = none");
  for (unsigned i = 0; i < getOutputs().size(); ++i) {
    unsigned index = getInputs().size() + i;
    if (failed(verifyOutputMap(*this, index, maps[index], getBounds(),
                               i == 0 ? parallel : all)))
      return failure();
  }
  if (getAccumulate() && getAccumulateIf())
    return emitOpError("has both accumulate and accumulate_if");
  if ((getAccumulate() || getAccumulateIf()) && !reduces)
    return emitOpError("accumulates but has reduce = none");

  Block &body = getBody().front();
  auto elementType = [](Value value) {
    return cast<MemRefType>(value.getType()).getElementType();
  };
  if (!llvm::equal(body.getArgumentTypes(),
                   llvm::map_range(getInputs(), elementType)))
    return emitOpError("the body's arguments must be the inputs' elements");
  auto yield = dyn_cast_or_null<YieldOp>(body.empty() ? nullptr : &body.back());
  if (!yield)
    return emitOpError("the body must end in tile.yield");
  if (!llvm::equal(yield.getValues().getTypes(),
                   llvm::map_range(getOutputs(), elementType)))
    return emitOpError("the body must yield the outputs' elements");
  return success();
}
