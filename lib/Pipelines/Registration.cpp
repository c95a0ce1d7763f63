//===- Registration.cpp - Everything a tool can parse and run -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Pipelines/Registration.h"
#include "dialects/Check/CheckDialect.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/Graph/GraphDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Pipelines/Pipelines.h"
#include "tessera/Transforms/GraphPasses.h"
#include "tessera/Transforms/Passes.h"
#include "tessera/Transforms/Windows.h"

namespace tessera {

void registerTesseraDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<check::CheckDialect>();
  registry.insert<device::DeviceDialect>();
  registry.insert<graph::GraphDialect>();
  registry.insert<isa::ISADialect>();
  registry.insert<tile::TileDialect>();
  registerWindowBufferization(registry);
}

void registerTesseraPasses() {
  mlir::registerAllPasses();
  registerGraphPasses();
  registerTransformsPasses();
  registerConversionPasses();
  registerTesseraPipelines();
}

} // namespace tessera
