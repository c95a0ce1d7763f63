//===- ImportReduction.cpp - ONNX reductions ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

/// The axes, from 0 and ascending. They are an attribute, and from some version
/// on an operand; absent or empty they mean all, or none with
/// noop_with_empty_axes.
static tessera::Result<std::vector<int64_t>> readAxes(NodeImport &node,
                                                      int64_t rank) {
  int64_t operandFrom = node.node.opType == "ReduceSum" ? 13 : 18;
  std::optional<std::vector<int64_t>> axes;
  if (node.opset < operandFrom) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.intsAttribute("axes"));
  } else if (node.hasInput(1)) {
    TESSERA_ASSIGN_OR_RETURN(axes, node.integerInput(1));
  }
  TESSERA_ASSIGN_OR_RETURN(bool none,
                           node.flagAttribute("noop_with_empty_axes", false));
  std::vector<int64_t> result;
  if (axes && !axes->empty())
    result = *axes;
  else if (!none)
    for (int64_t i = 0; i < rank; ++i)
      result.push_back(i);
  for (int64_t &axis : result) {
    TESSERA_ASSIGN_OR_RETURN(axis, node.axis(axis, rank, rank - 1));
  }
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return NodeImport::error("names an axis twice");
  return result;
}

Status tessera::onnx::importReduction(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value value, node.input(0));
  SmallVector<int64_t> shape(shapeOf(value));
  TESSERA_ASSIGN_OR_RETURN(std::vector<int64_t> axes,
                           readAxes(node, shape.size()));
  TESSERA_ASSIGN_OR_RETURN(bool keep, node.flagAttribute("keepdims", true));
  Reduction reduction =
      node.node.opType == "ReduceMax" ? Reduction::Max : Reduction::Sum;
  int64_t count = 1;
  // From the last: the numbers of those before stay.
  for (size_t i = axes.size(); i-- > 0;) {
    count *= shape[axes[i]];
    value = buildReduction(node.b, value, axes[i], reduction);
    if (keep)
      shape[axes[i]] = 1;
    else
      shape.erase(shape.begin() + axes[i]);
  }
  if (node.node.opType == "ReduceMean") {
    TESSERA_ASSIGN_OR_RETURN(
        value, buildElementwise(node.b, value,
                                [&](ImplicitLocOpBuilder &b, ValueRange e) {
                                  return buildDivision(b, e[0], count);
                                }));
  }
  node.setResult(0, buildReshape(node.b, value, shape));
  return Status::success();
}
