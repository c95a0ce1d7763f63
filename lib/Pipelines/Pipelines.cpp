//===- Pipelines.cpp - The compiler's passes in order ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Pipelines/Pipelines.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Transforms/GraphPasses.h"
#include "tessera/Transforms/Passes.h"

using namespace mlir;
using namespace tessera;

void tessera::addFoldingPhase(OpPassManager &manager) {
  addGraphPasses(manager);
}

void tessera::addGraphPhase(OpPassManager &manager) {
  addFormDispatchesPasses(manager);
}

void tessera::addTilePhase(OpPassManager &manager, StringRef arch,
                           const PlanOptions &plans) {
  addLowerToTilePasses(manager, arch, plans);
}

void tessera::addIsaPhase(OpPassManager &manager, StringRef arch) {
  addLowerToIsaPasses(manager, arch);
}

void tessera::addDevicePhase(OpPassManager &manager, StringRef arch) {
  addDevicePasses(manager, arch);
}

namespace {
struct ArchOptions : PassPipelineOptions<ArchOptions> {
  Option<std::string> arch{*this, "arch",
                           llvm::cl::desc("architecture preset or file"),
                           llvm::cl::init("edge")};
};
} // namespace

void tessera::registerTesseraPipelines() {
  PassPipelineRegistration<ArchOptions>(
      "tessera-pipeline",
      "An imported module to isa kernels and a placed device program",
      [](OpPassManager &manager, const ArchOptions &options) {
        addFoldingPhase(manager);
        addGraphPhase(manager);
        addTilePhase(manager, options.arch);
        addIsaPhase(manager, options.arch);
        addDevicePhase(manager, options.arch);
      });
  PassPipelineRegistration<>("tessera-to-graph",
                             "An imported module to dispatches",
                             [](OpPassManager &manager) {
                               addFoldingPhase(manager);
                               addGraphPhase(manager);
                             });
  PassPipelineRegistration<ArchOptions>(
      "tessera-to-tile", "Dispatches to tile kernels and a device program",
      [](OpPassManager &manager, const ArchOptions &options) {
        addTilePhase(manager, options.arch);
      });
  PassPipelineRegistration<ArchOptions>(
      "tessera-to-isa", "Tile kernels to instructions",
      [](OpPassManager &manager, const ArchOptions &options) {
        addIsaPhase(manager, options.arch);
      });
  PassPipelineRegistration<ArchOptions>(
      "tessera-to-device", "The device program to its final form",
      [](OpPassManager &manager, const ArchOptions &options) {
        addDevicePhase(manager, options.arch);
      });
}
