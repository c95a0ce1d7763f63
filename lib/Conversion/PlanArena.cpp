//===- PlanArena.cpp - Place buffers in the arena -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArchOption.h"
#include "dialects/Device/DeviceDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Conversion/MemoryPlan.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/SharedPlan.h"

namespace tessera {
#define GEN_PASS_DEF_PLANARENAPASS
#include "lib/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The arena is a multiple of it.
static constexpr uint64_t arenaAlignment = 64;

static LogicalResult planArena(device::ProgramOp program,
                               const Architecture &arch) {
  llvm::DenseMap<Operation *, uint32_t> positions;
  for (Operation &op : program.getBody().front())
    positions.insert({&op, positions.size()});

  MemoryPlanProblem all{"the arena", arch.shared.bytes, {}};
  SmallVector<device::AllocOp> allocs;
  std::vector<uint32_t> accesses;
  for (auto alloc : program.getBody().front().getOps<device::AllocOp>()) {
    MemoryPlanProblem::Buffer buffer;
    buffer.name = std::to_string(allocs.size());
    buffer.bytes = alloc.getBuffer().getType().getBytes();
    buffer.alignment = deviceAlignment(buffer.bytes);
    buffer.begin = UINT32_MAX;
    for (Operation *user : alloc.getBuffer().getUsers()) {
      buffer.begin = std::min(buffer.begin, positions[user]);
      buffer.end = std::max(buffer.end, positions[user]);
    }
    if (alloc.getBuffer().use_empty())
      buffer.begin = buffer.end = positions[alloc];
    allocs.push_back(alloc);
    accesses.push_back(llvm::range_size(alloc.getBuffer().getUsers()));
    all.buffers.push_back(std::move(buffer));
  }
  if (Status status = all.check(); !status.ok())
    return program.emitError(status.message());
  SharedPlan shared = planShared(all, accesses);
  if (Status status = shared.verify(all); !status.ok())
    return program.emitError(status.message());
  MemoryPlanProblem rest{"the arena", arch.dram.bytes, {}};
  SmallVector<device::AllocOp> inDram;
  for (auto [alloc, buffer, offset] :
       llvm::zip_equal(allocs, all.buffers, shared.offsets)) {
    if (offset) {
      alloc.setOffset(*offset);
      alloc.setShared(true);
      continue;
    }
    inDram.push_back(alloc);
    rest.buffers.push_back(buffer);
  }
  auto plan = planMemory(rest);
  if (!plan)
    return program.emitError(plan.status().message());
  if (Status status = plan->verify(rest); !status.ok())
    return program.emitError(status.message());
  for (auto [alloc, offset] : llvm::zip_equal(inDram, plan->offsets))
    alloc.setOffset(offset);
  program.setArenaBytes(llvm::alignTo(plan->peakBytes, arenaAlignment));
  if (shared.peakBytes)
    program.setSharedArenaBytes(
        llvm::alignTo(shared.peakBytes, arenaAlignment));
  return success();
}

namespace {
struct PlanArena : tessera::impl::PlanArenaPassBase<PlanArena> {
  using PlanArenaPassBase::PlanArenaPassBase;

  void runOnOperation() override {
    auto architecture = readArchOption(arch, getOperation());
    if (failed(architecture))
      return signalPassFailure();
    for (auto program : getOperation().getOps<device::ProgramOp>())
      if (failed(planArena(program, *architecture)))
        return signalPassFailure();
  }
};
} // namespace
