//===- SplitCores.cpp - Share a kernel's outer loops among cores ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CoreOrder.h"
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

/// The only loop of a block that stores nothing outside of it.
static scf::ForOp findOnlyLoop(Block &block) {
  scf::ForOp loop;
  for (Operation &op : block) {
    if (isa<tile::StoreOp>(op))
      return nullptr;
    if (auto found = dyn_cast<scf::ForOp>(op)) {
      if (loop)
        return nullptr;
      loop = found;
    }
  }
  return loop;
}

/// Whether a loop's iterations may run on different cores: each stores to a
/// place of its own, or what another one stores there too, and nothing is
/// carried in a local buffer from one to the next.
static bool isIndependent(scf::ForOp loop) {
  bool independent = true;
  loop.walk([&](Operation *op) {
    if (auto store = dyn_cast<tile::StoreOp>(op))
      independent &= dependsOn(store.getTarget(), loop.getInductionVar());
    for (Value buffer : writtenBuffers(op)) {
      Operation *alloc = tile::getBase(buffer).getDefiningOp();
      independent &= alloc && loop->isProperAncestor(alloc);
    }
  });
  return independent;
}

/// The loops around a kernel's work, outermost first, that cores may share.
static SmallVector<scf::ForOp> findSharedLoops(tile::KernelOp kernel) {
  SmallVector<scf::ForOp> loops;
  Block *block = &kernel.getBody().front();
  while (scf::ForOp loop = findOnlyLoop(*block)) {
    if (!isIndependent(loop) || !loop.getStaticTripCount())
      break;
    loops.push_back(loop);
    block = loop.getBody();
  }
  return loops;
}

/// Width and height of a rectangle of that many cores; nothing if there is
/// none.
static std::optional<std::pair<int32_t, int32_t>>
findRectangle(int64_t count, const CoresConfig &cores) {
  for (int64_t width = std::min<int64_t>(cores.meshX, count); width >= 1;
       --width)
    if (count % width == 0 && count / width <= cores.meshY)
      return std::pair(int32_t(width), int32_t(count / width));
  return std::nullopt;
}

/// A loop that cores share. They count through these loops, the last one
/// fastest.
struct SharedLoop {
  scf::ForOp loop;
  int64_t cores;  ///< That share its iterations.
  int64_t stride; ///< From a core to the one with the next iteration.
};

/// Operations that use a buffer through views.
static void collectUsers(Value buffer, SmallVectorImpl<Operation *> &users) {
  for (Operation *user : buffer.getUsers()) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(user))
      collectUsers(view->getResult(0), users);
    else
      users.push_back(user);
  }
}

/// Whether nothing but this load writes its target, a buffer of its block, and
/// one engine reads it.
static bool fillsBuffer(tile::LoadOp load) {
  auto alloc = tile::getBase(load.getTarget()).getDefiningOp<tile::AllocOp>();
  if (!alloc || alloc->getBlock() != load->getBlock())
    return false;
  SmallVector<Operation *> users;
  collectUsers(alloc.getBuffer(), users);
  auto allRead = [&](auto isReader) {
    return llvm::all_of(users, [&](Operation *user) {
      return user == load ||
             (isReader(user) &&
              load->isBeforeInBlock(
                  load->getBlock()->findAncestorOpInBlock(*user)) &&
              llvm::none_of(writtenBuffers(user), [&](Value v) {
                return tile::getBase(v) == alloc.getBuffer();
              }));
    });
  };
  return users.size() > 1 &&
         (allRead([](Operation *op) { return isa<tile::MmaOp>(op); }) ||
          allRead([](Operation *op) { return isa<tile::MapOp>(op); }));
}

/// Whether a window may lie in the border alone.
static bool mayMissSource(tile::LoadOp load) {
  if (!load.isWindow())
    return false;
  auto target = cast<MemRefType>(load.getTarget().getType());
  for (auto [size, low, high] :
       llvm::zip_equal(target.getShape(), *load.getLow(), *load.getHigh()))
    if (size <= std::max(low, high))
      return true;
  return false;
}

/// How the cores of a kernel stand.
struct CoreLayout {
  int64_t count, interleave, columns;
};

/// The cores that do the same load at the same time: neighbours along loops
/// that the load does not depend on. Nothing if there are none.
static tile::GroupAttr findGroup(tile::LoadOp load, ArrayRef<SharedLoop> loops,
                                 CoreLayout layout) {
  if (!fillsBuffer(load) || mayMissSource(load))
    return {};
  // All around it run equally often on all cores.
  for (auto loop = load->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    if (!loop.getStaticTripCount())
      return {};
  auto alloc = tile::getBase(load.getTarget()).getDefiningOp<tile::AllocOp>();
  tile::GroupAttr best;
  for (size_t first = 0; first < loops.size(); ++first) {
    int64_t size = 1;
    for (size_t last = first; last < loops.size(); ++last) {
      scf::ForOp loop = loops[last].loop;
      if (llvm::any_of(load->getOperands(), [&](Value operand) {
            return operand != load.getTarget() &&
                   dependsOn(operand, loop.getInductionVar());
          }))
        break;
      size *= loops[last].cores;
      std::optional<int64_t> stride =
          coreStride(size, loops[last].stride, layout.count, layout.interleave);
      if (size >= int64_t(alloc.getDepth()) && size > 1 && stride &&
          tile::GroupAttr::isRectangle(size, *stride, layout.columns) &&
          (!best || best.getSize() < size))
        best = tile::GroupAttr::get(load.getContext(), size, *stride,
                                    layout.columns);
    }
  }
  return best;
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
    for (auto kernel : getOperation().getOps<tile::KernelOp>()) {
      SmallVector<scf::ForOp> loops = findSharedLoops(kernel);
      int64_t planned = 1;
      if (auto attribute = kernel->getAttrOfType<DenseI64ArrayAttr>("cores"))
        for (int64_t cores : attribute.asArrayRef())
          planned *= cores;
      SmallVector<int64_t> grid =
          chooseGrid(kernel, loops, architecture->cores);
      kernel->removeAttr("cores");
      int64_t interleave = 1;
      if (auto attribute =
              dyn_cast_or_null<IntegerAttr>(kernel->removeAttr("interleave")))
        interleave = attribute.getInt();
      int64_t count = 1;
      for (int64_t cores : grid)
        count *= cores;
      dropIdleCopies(kernel, loops, grid, count >= planned);
      auto shape = findRectangle(count, architecture->cores);
      bool multicasts = kernel->removeAttr("multicast") != nullptr;
      if (count <= 1 || !shape)
        continue;
      shapes[kernel.getSymName()] = {shape->first, shape->second};
      if (count % interleave != 0)
        interleave = 1;
      SmallVector<SharedLoop> shared = split(loops, grid, interleave);
      if (multicasts)
        kernel.walk([&](tile::LoadOp load) {
          load.setSharedAttr(
              findGroup(load, shared, {count, interleave, shape->first}));
        });
    }
    getOperation().walk([&](device::DispatchOp dispatch) {
      auto shape = shapes.find(dispatch.getKernel());
      if (shape != shapes.end())
        dispatch.setCores(shape->second);
    });
  }

  /// Cores for each of the loops: as the attribute `cores` says, or as many as
  /// possible for the outermost one.
  static SmallVector<int64_t> chooseGrid(tile::KernelOp kernel,
                                         ArrayRef<scf::ForOp> loops,
                                         const CoresConfig &cores) {
    SmallVector<int64_t> grid(loops.size(), 1);
    if (auto wanted = kernel->getAttrOfType<DenseI64ArrayAttr>("cores")) {
      for (auto [count, given] : llvm::zip(grid, wanted.asArrayRef()))
        count = given;
    } else if (!loops.empty()) {
      uint64_t trips = tripCount(loops.front());
      uint64_t width = std::min<uint64_t>(cores.meshX, trips);
      grid[0] = width * std::min<uint64_t>(cores.meshY, trips / width);
    }
    return grid;
  }

  /// A buffer that each core fills only once needs no second copy. If fewer
  /// cores share the loops than planned, there may be no room for any.
  static void dropIdleCopies(tile::KernelOp kernel, ArrayRef<scf::ForOp> loops,
                             ArrayRef<int64_t> grid, bool asPlanned) {
    auto runsOnce = [&](scf::ForOp loop) {
      if (!loop.getStaticTripCount())
        return false;
      auto shared = llvm::find(loops, loop);
      uint64_t cores = shared == loops.end() ? 1 : grid[shared - loops.begin()];
      return tripCount(loop) <= cores;
    };
    kernel.walk([&](tile::AllocOp alloc) {
      for (auto loop = alloc->getParentOfType<scf::ForOp>(); loop && asPlanned;
           loop = loop->getParentOfType<scf::ForOp>())
        if (!runsOnce(loop))
          return;
      alloc.setDepth(1);
    });
  }

  static uint64_t tripCount(scf::ForOp loop) {
    return loop.getStaticTripCount()->getZExtValue();
  }

  /// Deals the iterations of each loop out to the cores in turn: the core's
  /// number counts through the grid, the last loop fastest.
  /// With an interleaving of q, neighbours are a q-th of the grid apart. Loops
  /// of which each core gets as many iterations keep constant bounds.
  static SmallVector<SharedLoop> split(MutableArrayRef<scf::ForOp> loops,
                                       ArrayRef<int64_t> grid,
                                       int64_t interleave) {
    SmallVector<SharedLoop> shared;
    OpBuilder builder(loops.front());
    Location loc = loops.front().getLoc();
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    Value rest = tile::CoreIdOp::create(builder, loc, builder.getIndexType());
    int64_t outer = 1;
    for (int64_t cores : grid)
      outer *= cores;
    if (interleave > 1) {
      Value part =
          arith::RemUIOp::create(builder, loc, rest, constant(interleave));
      part = arith::MulIOp::create(builder, loc, part,
                                   constant(outer / interleave));
      rest = arith::DivUIOp::create(builder, loc, rest, constant(interleave));
      rest = arith::AddIOp::create(builder, loc, rest, part);
    }
    for (auto [loop, cores] : llvm::zip_equal(loops, grid)) {
      outer /= cores;
      if (cores == 1)
        continue;
      uint64_t trips = tripCount(loop);
      Value position = rest;
      if (outer > 1) {
        position = arith::DivUIOp::create(builder, loc, rest, constant(outer));
        rest = arith::RemUIOp::create(builder, loc, rest, constant(outer));
      }
      auto lower = getConstantIntValue(loop.getLowerBound());
      auto step = getConstantIntValue(loop.getStep());
      Value first =
          arith::MulIOp::create(builder, loc, position, constant(*step));
      loop.setStep(constant(*step * cores));
      shared.push_back({loop, cores, outer});
      if (trips % uint64_t(cores) == 0) {
        OpBuilder inside = OpBuilder::atBlockBegin(loop.getBody());
        Value index = loop.getInductionVar();
        auto moved = arith::AddIOp::create(inside, loc, index, first);
        index.replaceAllUsesExcept(moved, moved);
        continue;
      }
      if (*lower != 0)
        first = arith::AddIOp::create(builder, loc, first, constant(*lower));
      loop.setLowerBound(first);
    }
    return shared;
  }
};

} // namespace
