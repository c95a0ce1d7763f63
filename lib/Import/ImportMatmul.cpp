//===- ImportMatmul.cpp - ONNX Gemm and MatMul
//------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NodeImport.h"
#include "TensorBuilders.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

static Value buildMatmul(ImplicitLocOpBuilder &b, Value left, Value right) {
  Value init = buildFilled(b, {shapeOf(left)[0], shapeOf(right)[1]}, 0);
  return linalg::MatmulOp::create(b, init.getType(), ValueRange{left, right},
                                  init)
      .getResult(0);
}

static tessera::Result<Value> buildScaled(ImplicitLocOpBuilder &b, Value value,
                                          float factor) {
  if (factor == 1)
    return value;
  return buildElementwise(
      b, value, [&](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
        return arith::MulFOp::create(b, e[0], buildScalar(b, factor));
      });
}

Status tessera::onnx::importGemm(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value left, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value right, node.input(1));
  TESSERA_ASSIGN_OR_RETURN(float alpha, node.floatAttribute("alpha", 1));
  TESSERA_ASSIGN_OR_RETURN(float beta, node.floatAttribute("beta", 1));
  TESSERA_ASSIGN_OR_RETURN(bool transposeLeft,
                           node.flagAttribute("transA", false));
  TESSERA_ASSIGN_OR_RETURN(bool transposeRight,
                           node.flagAttribute("transB", false));
  ArrayRef<int64_t> a = shapeOf(left), c = shapeOf(right);
  if (a.size() != 2 || c.size() != 2 ||
      a[transposeLeft ? 0 : 1] != c[transposeRight ? 1 : 0])
    return NodeImport::error(
        fmt::format("operands {}{} and {}{} do not multiply; accepted are "
                    "matrices with a common inner extent",
                    shapeText(a), transposeLeft ? " transposed" : "",
                    shapeText(c), transposeRight ? " transposed" : ""));
  SmallVector<int64_t> shape{a[transposeLeft ? 1 : 0],
                             c[transposeRight ? 0 : 1]};
  TESSERA_RETURN_IF_ERROR(checkShape(shape));
  Value bias;
  if (node.hasInput(2)) {
    TESSERA_ASSIGN_OR_RETURN(bias, node.input(2));
    ArrayRef<int64_t> own = shapeOf(bias);
    bool fits = own.size() <= 2;
    for (size_t i = 0; fits && i < own.size(); ++i)
      fits = own[i] == 1 || own[i] == shape[2 - own.size() + i];
    if (!fits)
      return NodeImport::error(fmt::format("operand 2 has the shape {}, which "
                                           "does not broadcast to {}",
                                           shapeText(own), shapeText(shape)));
  }

  if (transposeLeft)
    left = buildTranspose(node.b, left, {1, 0});
  if (transposeRight)
    right = buildTranspose(node.b, right, {1, 0});
  TESSERA_ASSIGN_OR_RETURN(
      Value result,
      buildScaled(node.b, buildMatmul(node.b, left, right), alpha));
  if (bias) {
    TESSERA_ASSIGN_OR_RETURN(bias, buildScaled(node.b, bias, beta));
    TESSERA_ASSIGN_OR_RETURN(
        result,
        buildElementwise(node.b, {result, bias},
                         [](ImplicitLocOpBuilder &b, ValueRange e) -> Value {
                           return arith::AddFOp::create(b, e[0], e[1]);
                         }));
  }
  node.setResult(0, result);
  return Status::success();
}

/// A contraction whose batch dimensions broadcast: `left` [..., M, K] and
/// `right` [..., K, N] with batch extents that are equal to `batch` or 1.
static Value buildBroadcastMatmul(ImplicitLocOpBuilder &b, Value left,
                                  Value right, ArrayRef<int64_t> batch) {
  size_t dims = batch.size() + 3;
  AffineExpr m = b.getAffineDimExpr(dims - 3), n = b.getAffineDimExpr(dims - 2),
             k = b.getAffineDimExpr(dims - 1);
  auto mapOf = [&](ArrayRef<int64_t> own, AffineExpr row, AffineExpr column) {
    SmallVector<AffineExpr> indices;
    size_t skipped = batch.size() + 2 - own.size();
    for (size_t i = 0; i + 2 < own.size(); ++i)
      indices.push_back(own[i] == batch[skipped + i]
                            ? b.getAffineDimExpr(skipped + i)
                            : b.getAffineConstantExpr(0));
    indices.append({row, column});
    return AffineMap::get(dims, 0, indices, b.getContext());
  };
  SmallVector<int64_t> shape(batch);
  shape.append({shapeOf(left).end()[-2], shapeOf(right).back()});
  SmallVector<AffineMap> maps{mapOf(shapeOf(left), m, k),
                              mapOf(shapeOf(right), k, n), mapOf(shape, m, n)};
  SmallVector<utils::IteratorType> iterators(dims,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  Value init = buildFilled(b, shape, 0);
  return linalg::GenericOp::create(
             b, init.getType(), ValueRange{left, right}, init, maps, iterators,
             [](OpBuilder &body, Location loc, ValueRange e) {
               Value product = arith::MulFOp::create(body, loc, e[0], e[1]);
               Value sum = arith::AddFOp::create(body, loc, e[2], product);
               linalg::YieldOp::create(body, loc, sum);
             })
      .getResult(0);
}

Status tessera::onnx::importMatMul(NodeImport &node) {
  TESSERA_ASSIGN_OR_RETURN(Value left, node.input(0));
  TESSERA_ASSIGN_OR_RETURN(Value right, node.input(1));
  SmallVector<int64_t> a(shapeOf(left)), c(shapeOf(right));
  if (a.empty() || c.empty())
    return NodeImport::error("has a scalar operand; accepted are at least one "
                             "dimension");
  // A vector is a row on the left and a column on the right; the result loses
  // that dimension again.
  bool rowVector = a.size() == 1, columnVector = c.size() == 1;
  if (rowVector)
    a.insert(a.begin(), 1);
  if (columnVector)
    c.push_back(1);
  int64_t rows = a.end()[-2], inner = a.back(), columns = c.back();
  size_t batchRank = std::max(a.size(), c.size()) - 2;
  SmallVector<int64_t> batch(batchRank, 1);
  bool fits = inner == c.end()[-2];
  for (ArrayRef<int64_t> own : {ArrayRef<int64_t>(a), ArrayRef<int64_t>(c)})
    for (size_t i = 0; i + 2 < own.size(); ++i) {
      int64_t &extent = batch[batchRank + 2 - own.size() + i];
      fits &= own[i] == 1 || extent == 1 || extent == own[i];
      extent = std::max(extent, own[i]);
    }
  if (!fits)
    return NodeImport::error(fmt::format("operands {} and {} do not multiply",
                                         shapeText(shapeOf(left)),
                                         shapeText(shapeOf(right))));
  SmallVector<int64_t> shape(batch);
  if (!rowVector)
    shape.push_back(rows);
  if (!columnVector)
    shape.push_back(columns);
  SmallVector<int64_t> full(batch);
  full.append({rows, columns});
  TESSERA_RETURN_IF_ERROR(checkShape(full));

  ImplicitLocOpBuilder &b = node.b;
  left = buildReshape(b, left, a);
  right = buildReshape(b, right, c);
  int64_t batches = product(batch);
  Value result;
  if (product(c) == inner * columns) {
    // One matrix on the right: the batches of the left are more rows.
    result = buildMatmul(b, buildReshape(b, left, {product(a) / inner, inner}),
                         buildReshape(b, right, {inner, columns}));
  } else if (product(a) == batches * rows * inner &&
             product(c) == batches * inner * columns &&
             llvm::count_if(batch, [](int64_t extent) { return extent != 1; }) <
                 2) {
    Value init = buildFilled(b, {batches, rows, columns}, 0);
    left = buildReshape(b, left, {batches, rows, inner});
    right = buildReshape(b, right, {batches, inner, columns});
    result = linalg::BatchMatmulOp::create(b, init.getType(),
                                           ValueRange{left, right}, init)
                 .getResult(0);
  } else {
    // Of several dimensions each stays one: what is done to the scores of an
    // attention over batches and heads then has the loops of the product.
    result = buildBroadcastMatmul(b, left, right, batch);
  }
  node.setResult(0, buildReshape(b, result, shape));
  return Status::success();
}
