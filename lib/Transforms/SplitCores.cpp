//===- SplitCores.cpp - Share a kernel's outer loop among cores -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Device/DeviceDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_SPLITCORESPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Whether `value` changes with `index`, through arithmetic and views.
static bool dependsOn(Value value, Value index) {
  if (value == index)
    return true;
  Operation *op = value.getDefiningOp();
  return op && llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, index);
         });
}

/// The buffer behind views.
static Value baseOf(Value view) {
  while (auto subview = view.getDefiningOp<memref::SubViewOp>())
    view = subview.getSource();
  return view;
}

static SmallVector<Value> writtenBuffers(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return {load.getTarget()};
  if (auto fill = dyn_cast<tile::FillOp>(op))
    return {fill.getBuffer()};
  if (auto mma = dyn_cast<tile::MmaOp>(op))
    return {mma.getAcc()};
  if (auto map = dyn_cast<tile::MapOp>(op))
    return SmallVector<Value>(map.getOutputs());
  return {};
}

/// The only loop of the kernel's body, if its iterations may run on different
/// cores: each stores to a place of its own, nothing is carried in a local
/// buffer from one to the next, and nothing is stored outside of it.
static scf::ForOp findSharedLoop(tile::KernelOp kernel) {
  scf::ForOp loop;
  for (Operation &op : kernel.getBody().front()) {
    if (isa<tile::StoreOp>(op))
      return nullptr;
    if (auto found = dyn_cast<scf::ForOp>(op)) {
      if (loop)
        return nullptr;
      loop = found;
    }
  }
  if (!loop)
    return nullptr;
  bool independent = true;
  loop.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      independent &= dependsOn(store.getTarget(), loop.getInductionVar());
    for (Value buffer : writtenBuffers(op)) {
      Operation *alloc = baseOf(buffer).getDefiningOp();
      independent &= alloc && loop->isProperAncestor(alloc);
    }
  });
  return independent ? loop : nullptr;
}

namespace {

struct SplitCoresPass : tessera::impl::SplitCoresPassBase<SplitCoresPass> {
  using SplitCoresPassBase::SplitCoresPassBase;

  void runOnOperation() override {
    Result<Architecture> architecture = loadArchitecture(arch);
    if (!architecture.ok()) {
      getOperation().emitError() << architecture.status().message();
      return signalPassFailure();
    }
    llvm::StringMap<SmallVector<int32_t>> shapes;
    for (auto kernel : getOperation().getOps<tile::KernelOp>())
      if (scf::ForOp loop = findSharedLoop(kernel))
        shapes[kernel.getSymName()] = split(loop, architecture->cores);
    getOperation().walk([&](device::DispatchOp dispatch) {
      auto shape = shapes.find(dispatch.getKernel());
      if (shape != shapes.end())
        dispatch.setCores(shape->second);
    });
  }

  /// Deals the iterations out to the cores in turn; returns the width and
  /// height of the rectangle of cores that have work.
  static SmallVector<int32_t> split(scf::ForOp loop, const CoresConfig &cores) {
    std::optional<APInt> trips = loop.getStaticTripCount();
    if (!trips)
      return {1, 1};
    uint64_t count = trips->getZExtValue();
    uint64_t width = std::min<uint64_t>(cores.meshX, count);
    uint64_t height = std::min<uint64_t>(cores.meshY, count / width);
    if (width * height <= 1)
      return {1, 1};
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    Type index = builder.getIndexType();
    Value core = tile::CoreIdOp::create(builder, loc, index);
    Value number = tile::NumCoresOp::create(builder, loc, index);
    Value first = arith::MulIOp::create(builder, loc, core, loop.getStep());
    Value lower =
        arith::AddIOp::create(builder, loc, loop.getLowerBound(), first);
    Value step = arith::MulIOp::create(builder, loc, number, loop.getStep());
    loop.setLowerBound(lower);
    loop.setStep(step);
    return {int32_t(width), int32_t(height)};
  }
};

} // namespace
