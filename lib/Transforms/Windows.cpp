//===- Windows.cpp - Tiles of padded tensors ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Windows.h"
#include "dialects/Graph/GraphDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "tessera/Transforms/Windows.h"

using namespace mlir;
using namespace tessera;

/// What begins at `offsets` of the padded tensor, with these sizes: a slice of
/// the source where there is no border, a window where there is.
static Value createWindow(RewriterBase &rewriter, tensor::PadOp pad,
                          ArrayRef<OpFoldResult> offsets,
                          ArrayRef<int64_t> sizes) {
  Location loc = pad.getLoc();
  RankedTensorType source = pad.getSourceType();
  SmallVector<OpFoldResult> sliceOffsets, sliceSizes, strides;
  SmallVector<Value> windowOffsets;
  bool cuts = false;
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    bool padded = pad.getStaticLow()[dim] + pad.getStaticHigh()[dim] != 0;
    int64_t size = padded ? source.getDimSize(dim) : sizes[dim];
    cuts |= size != source.getDimSize(dim);
    sliceOffsets.push_back(padded ? rewriter.getIndexAttr(0) : offset);
    sliceSizes.push_back(rewriter.getIndexAttr(size));
    strides.push_back(rewriter.getIndexAttr(1));
    if (padded)
      windowOffsets.push_back(
          getValueOrCreateConstantIndexOp(rewriter, loc, offset));
  }
  Value slice = pad.getSource();
  if (cuts)
    slice = tensor::ExtractSliceOp::create(rewriter, loc, slice, sliceOffsets,
                                           sliceSizes, strides);
  TypedAttr padding;
  matchPattern(pad.getConstantPaddingValue(), m_Constant(&padding));
  Value target =
      tensor::EmptyOp::create(rewriter, loc, sizes, source.getElementType());
  return tile::WindowOp::create(
             rewriter, loc, target.getType(), slice, windowOffsets, target,
             rewriter.getDenseI64ArrayAttr(pad.getStaticLow()),
             rewriter.getDenseI64ArrayAttr(pad.getStaticHigh()), padding)
      .getResult();
}

static void replacePad(RewriterBase &rewriter, tensor::PadOp pad) {
  for (OpOperand &use : llvm::make_early_inc_range(pad->getUses())) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner());
    if (!slice || !slice.hasUnitStride()) {
      rewriter.setInsertionPoint(use.getOwner());
      SmallVector<OpFoldResult> origin(pad.getResultType().getRank(),
                                       rewriter.getIndexAttr(0));
      Value all =
          createWindow(rewriter, pad, origin, pad.getResultType().getShape());
      rewriter.modifyOpInPlace(use.getOwner(), [&] { use.set(all); });
      continue;
    }
    rewriter.setInsertionPoint(slice);
    Value window = createWindow(rewriter, pad, slice.getMixedOffsets(),
                                slice.getStaticSizes());
    if (window.getType() == slice.getType()) {
      rewriter.replaceOp(slice, window);
      continue;
    }
    // The slice drops dimensions.
    SmallVector<OpFoldResult> origin(slice.getSourceType().getRank(),
                                     rewriter.getIndexAttr(0));
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        slice, slice.getType(), window, origin, slice.getMixedSizes(),
        slice.getMixedStrides());
  }
  rewriter.eraseOp(pad);
}

void tessera::makeWindows(RewriterBase &rewriter, Operation *root) {
  SmallVector<tensor::PadOp> pads;
  root->walk([&](tensor::PadOp pad) {
    if (pad->getParentOfType<graph::DispatchOp>())
      pads.push_back(pad);
  });
  for (tensor::PadOp pad : pads)
    replacePad(rewriter, pad);
}

namespace {

/// A window becomes a load into its target.
struct WindowBufferization
    : bufferization::DstBufferizableOpInterfaceExternalModel<
          WindowBufferization, tile::WindowOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const bufferization::AnalysisState &) const {
    return operand.get() == cast<tile::WindowOp>(op).getSource();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const bufferization::BufferizationOptions &options,
                          bufferization::BufferizationState &state) const {
    auto window = cast<tile::WindowOp>(op);
    FailureOr<Value> source =
        bufferization::getBuffer(rewriter, window.getSource(), options, state);
    FailureOr<Value> target =
        bufferization::getBuffer(rewriter, window.getTarget(), options, state);
    if (failed(source) || failed(target))
      return failure();
    tile::LoadOp::create(rewriter, op->getLoc(), *source, *target,
                         window.getOffsets(), window.getLowAttr(),
                         window.getHighAttr(), window.getPaddingAttr(),
                         /*shared=*/tile::GroupAttr());
    bufferization::replaceOpWithBufferizedValues(rewriter, op, *target);
    return success();
  }
};

} // namespace

void tessera::registerWindowBufferization(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tile::TileDialect *) {
    tile::WindowOp::attachInterface<WindowBufferization>(*context);
  });
}
