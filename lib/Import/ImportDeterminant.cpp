//===- ImportDeterminant.cpp - ONNX Det -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gaussian elimination with the largest element of each column as pivot. A step
// takes the pivot's row out, puts the first row in its place and drops a
// column: the matrix shrinks until one element is left.
//
//===----------------------------------------------------------------------===//

#include "Expansion.h"
#include "TensorBuilders.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;
using namespace tessera::onnx;

Status tessera::onnx::importDet(NodeImport &node) {
  Expansion e(node);
  std::vector<int64_t> shape = e.shape(node.node.inputs[0]);
  TESSERA_RETURN_IF_ERROR(e.status);
  constexpr int64_t mostRows = 64;
  int64_t rank = shape.size();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2] ||
      shape[rank - 1] > mostRows)
    return NodeImport::error(
        fmt::format("input {}: accepted are square matrices of up to {} rows",
                    shapeText(shape), mostRows));
  int64_t rows = shape[rank - 1];
  std::vector<int64_t> outer(shape.begin(), shape.end() - 2);
  int64_t batch = product(outer);
  int32_t type = node.inputType(0);
  NewAttributes toFloat{{"to", attributeOf(int64_t(Float))}};
  std::string matrix = e.reshape(node.node.inputs[0], {batch, rows, rows});
  if (type != Float)
    matrix = e("Cast", {matrix}, toFloat);
  std::string zero = e.scalar(0), one = e.scalar(1), result;
  for (int64_t left = rows; left > 0 && e.ok(); --left) {
    std::string column = e.slice(matrix, 2, 0, 1); // [batch, left, 1]
    std::string at =
        e("ArgMax", {e("Abs", {column})}, {{"axis", attributeOf(int64_t(1))}});
    std::vector<int64_t> numbers(left);
    for (int64_t i = 0; i < left; ++i)
      numbers[i] = i;
    std::string isPivot =
        e("Equal", {e.reshape(e.integers(numbers), {1, left, 1}), at});
    auto rowOf = [&](const std::string &from) {
      return e("ReduceSum", {e("Where", {isPivot, from, zero}), e.integers(1)});
    };
    std::string row = rowOf(matrix); // [batch, 1, left]
    std::string pivot = e.slice(row, 2, 0, 1);
    result = result.empty() ? pivot : e("Mul", {result, pivot});
    if (left == 1)
      break;
    // Another row than the first swaps two.
    std::string swaps = e("Greater", {at, e.number(0)});
    result = e("Where", {swaps, e("Neg", {result}), result});
    std::string rest = e("Where", {isPivot, e.slice(matrix, 1, 0, 1), matrix});
    rest = e.slice(rest, 1, 1, left);
    // Without a pivot the determinant is 0 already.
    std::string divisor = e("Where", {e("Equal", {pivot, zero}), one, pivot});
    std::string factors = e("Div", {e.slice(rest, 2, 0, 1), divisor});
    matrix = e("Sub", {e.slice(rest, 2, 1, left),
                       e("Mul", {factors, e.slice(row, 2, 1, left)})});
  }
  result = e.reshape(result, outer);
  if (type != Float)
    result = e("Cast", {result}, {{"to", attributeOf(int64_t(type))}});
  e.result(0, result);
  return e.status;
}
