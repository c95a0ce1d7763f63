//===- GraphDialect.h - The graph dialect ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a model computes: graph.batch_norm, which linalg lacks, and
// graph.dispatch, the fusion group. The operations are described in
// GraphOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_GRAPH_GRAPHDIALECT_H
#define TESSERA_DIALECTS_GRAPH_GRAPHDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Graph/GraphDialect.h.inc"

#define GET_OP_CLASSES
#include "dialects/Graph/GraphOps.h.inc"

namespace tessera::graph {

/// The attribute of an argument or result of the entry function that holds its
/// name in the model (a string).
inline constexpr llvm::StringLiteral nameAttrName = "graph.name";
/// The attribute that holds its element type in the model (a type).
inline constexpr llvm::StringLiteral typeAttrName = "graph.type";

} // namespace tessera::graph

#endif // TESSERA_DIALECTS_GRAPH_GRAPHDIALECT_H
