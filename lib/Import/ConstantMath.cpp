//===- ConstantMath.cpp - Arithmetic on constants while importing ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantMath.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace tessera;
using namespace tessera::onnx;

/// Larger constants are weights: the device computes with them.
static constexpr uint64_t maxFoldedElements = 1 << 16;

static bool isReal(int32_t type) { return type == Float || type == Double; }
static bool isInteger(int32_t type) {
  return type == Bool || type == Int8 || type == Uint8 || type == Int16 ||
         type == Uint16 || type == Int32 || type == Uint32 || type == Int64;
}

SmallVector<int64_t> tessera::onnx::shapeOf(const Tensor &tensor) {
  return SmallVector<int64_t>(tensor.shape.begin(), tensor.shape.end());
}

SmallVector<int64_t> tessera::onnx::rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Integers that do not fit lose their high bits.
template <typename Stored, typename T>
static std::string packAs(ArrayRef<T> elements) {
  std::string bytes(elements.size() * sizeof(Stored), '\0');
  for (size_t i = 0; i < elements.size(); ++i) {
    Stored stored;
    if constexpr (std::is_floating_point_v<Stored>)
      stored = static_cast<Stored>(elements[i]);
    else
      stored = static_cast<Stored>(static_cast<int64_t>(elements[i]));
    std::memcpy(bytes.data() + i * sizeof(Stored), &stored, sizeof(Stored));
  }
  return bytes;
}

/// Rounded to the nearest float of 16 bits, once.
template <typename T>
static std::string packAsNarrow(const fltSemantics &semantics,
                                ArrayRef<T> elements) {
  std::vector<uint16_t> bits;
  for (T element : elements) {
    APFloat number(static_cast<double>(element));
    bool losesInfo;
    number.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
    bits.push_back(
        static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue()));
  }
  return packAs<uint16_t>(ArrayRef<uint16_t>(bits));
}

template <typename T>
static std::string pack(int32_t type, ArrayRef<T> elements) {
  switch (type) {
  case Float16:
    return packAsNarrow(APFloat::IEEEhalf(), elements);
  case BFloat16:
    return packAsNarrow(APFloat::BFloat(), elements);
  case Float:
    return packAs<float>(elements);
  case Double:
    return packAs<double>(elements);
  case Int16:
  case Uint16:
    return packAs<uint16_t>(elements);
  case Int32:
  case Uint32:
    return packAs<uint32_t>(elements);
  case Int64:
    return packAs<int64_t>(elements);
  case Bool: {
    std::string bytes;
    for (T element : elements)
      bytes += static_cast<char>(element != T(0));
    return bytes;
  }
  default:
    return packAs<uint8_t>(elements);
  }
}

template <typename T>
static Tensor makeTensor(int32_t type, ArrayRef<int64_t> shape,
                         ArrayRef<T> elements) {
  Tensor tensor;
  tensor.elementType = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.data = std::make_shared<const std::string>(pack(type, elements));
  return tensor;
}

Tensor tessera::onnx::tensorOf(int32_t elementType, ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> elements) {
  return makeTensor(elementType, shape, elements);
}

Tensor tessera::onnx::tensorOf(int32_t elementType, ArrayRef<int64_t> shape,
                               ArrayRef<double> elements) {
  return makeTensor(elementType, shape, elements);
}

/// The elements of a tensor of integers or booleans.
static std::vector<int64_t> integersOf(const Tensor &tensor) {
  if (std::optional<std::vector<int64_t>> exact = tensor.integers())
    return *exact;
  std::vector<double> numbers = *tensor.numbers();
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

//===-- Element by element ------------------------------------------------===//

/// A result that is a number or, of a comparison, a truth value.
template <typename T> struct Computed {
  T value = 0;
  bool isTruth = false;
};

template <typename T>
static std::optional<Computed<T>> compare(StringRef op, T x, T y) {
  auto truth = [](bool value) { return Computed<T>{T(value), true}; };
  if (op == "Equal")
    return truth(x == y);
  if (op == "Less")
    return truth(x < y);
  if (op == "LessOrEqual")
    return truth(x <= y);
  if (op == "Greater")
    return truth(x > y);
  if (op == "GreaterOrEqual")
    return truth(x >= y);
  return std::nullopt;
}

static std::optional<Computed<double>> compute(StringRef op, double x,
                                               double y) {
  using R = Computed<double>;
  if (auto truth = compare(op, x, y))
    return truth;
  if (op == "Add" || op == "Sum")
    return R{x + y};
  if (op == "Sub")
    return R{x - y};
  if (op == "Mul")
    return R{x * y};
  if (op == "Div")
    return R{x / y};
  if (op == "Pow")
    return R{std::pow(x, y)};
  if (op == "Min")
    return R{std::isnan(x) || x < y ? x : y};
  if (op == "Max")
    return R{std::isnan(x) || x > y ? x : y};
  if (op == "Neg")
    return R{-x};
  if (op == "Abs")
    return R{std::fabs(x)};
  if (op == "Floor")
    return R{std::floor(x)};
  if (op == "Ceil")
    return R{std::ceil(x)};
  if (op == "Sqrt")
    return R{std::sqrt(x)};
  if (op == "Reciprocal")
    return R{1 / x};
  if (op == "Relu")
    return R{std::isnan(x) || x > 0 ? x : 0};
  if (op == "Round")
    return R{std::nearbyint(x)};
  return std::nullopt;
}

static std::optional<Computed<int64_t>> compute(StringRef op, int64_t x,
                                                int64_t y) {
  using R = Computed<int64_t>;
  if (auto truth = compare(op, x, y))
    return truth;
  // Wrapping, as the types do.
  auto wrap = [](uint64_t value) { return R{static_cast<int64_t>(value)}; };
  uint64_t a = x, b = y;
  if (op == "Add" || op == "Sum")
    return wrap(a + b);
  if (op == "Sub")
    return wrap(a - b);
  if (op == "Mul")
    return wrap(a * b);
  if (op == "Div") {
    if (y == 0 || (y == -1 && x == std::numeric_limits<int64_t>::min()))
      return std::nullopt;
    return R{x / y};
  }
  if (op == "Mod") {
    if (y == 0 || y == -1)
      return y == 0 ? std::nullopt : std::optional(R{0});
    int64_t rest = x % y;
    return R{rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest};
  }
  if (op == "Min")
    return R{std::min(x, y)};
  if (op == "Max")
    return R{std::max(x, y)};
  if (op == "Neg")
    return wrap(-a);
  if (op == "Abs")
    return wrap(x < 0 ? -a : a);
  if (op == "Relu")
    return R{std::max<int64_t>(x, 0)};
  if (op == "And")
    return R{x != 0 && y != 0, true};
  if (op == "Or")
    return R{x != 0 || y != 0, true};
  if (op == "Xor")
    return R{(x != 0) != (y != 0), true};
  if (op == "Not")
    return R{x == 0, true};
  return std::nullopt;
}

/// The common shape, or nothing if the shapes do not broadcast.
static std::optional<SmallVector<int64_t>>
commonShape(ArrayRef<const Tensor *> operands) {
  size_t rank = 0;
  for (const Tensor *operand : operands)
    rank = std::max(rank, operand->shape.size());
  SmallVector<int64_t> shape(rank, 1);
  for (const Tensor *operand : operands)
    for (size_t i = 0; i < operand->shape.size(); ++i) {
      int64_t own = operand->shape[i];
      int64_t &extent = shape[rank - operand->shape.size() + i];
      if (own != extent && own != 1 && extent != 1)
        return std::nullopt;
      if (own != 1)
        extent = own;
    }
  return shape;
}

/// The tensor repeated to `shape`, to which it broadcasts.
static Tensor broadcast(const Tensor &tensor, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = shapeOf(tensor), strides = rowMajorStrides(own);
  size_t skipped = shape.size() - own.size();
  return gatherElements(tensor, shape, [&](ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (size_t i = 0; i < own.size(); ++i)
      if (own[i] != 1)
        position += strides[i] * index[skipped + i];
    return position;
  });
}

template <typename T>
static std::optional<Tensor> apply(StringRef op, int32_t type,
                                   ArrayRef<int64_t> shape,
                                   ArrayRef<std::vector<T>> operands) {
  std::vector<T> results;
  bool isTruth = false;
  for (size_t i = 0; i < operands[0].size(); ++i) {
    T value = operands[0][i];
    if (operands.size() == 1) {
      auto result = compute(op, value, value);
      if (!result)
        return std::nullopt;
      value = result->value;
      isTruth = result->isTruth;
    }
    for (ArrayRef<T> operand : operands.drop_front()) {
      auto result = compute(op, value, operand[i]);
      if (!result)
        return std::nullopt;
      value = result->value;
      isTruth = result->isTruth;
    }
    results.push_back(value);
  }
  return makeTensor<T>(isTruth ? int32_t(Bool) : type, shape,
                       ArrayRef<T>(results));
}

std::optional<Tensor>
tessera::onnx::foldElementwise(StringRef op,
                               ArrayRef<const Tensor *> operands) {
  if (operands.empty() || is_contained(operands, nullptr))
    return std::nullopt;
  int32_t type = operands.back()->elementType;
  for (const Tensor *operand : operands)
    if (!isReal(operand->elementType) && !isInteger(operand->elementType))
      return std::nullopt;
  std::optional<SmallVector<int64_t>> shape = commonShape(operands);
  if (!shape)
    return std::nullopt;
  uint64_t count = 1;
  for (int64_t extent : *shape) {
    count *= extent;
    if (count > maxFoldedElements)
      return std::nullopt;
  }
  std::vector<Tensor> whole;
  for (const Tensor *operand : operands)
    whole.push_back(broadcast(*operand, *shape));
  if (op == "Where") {
    if (whole.size() != 3 || whole[0].elementType != Bool ||
        whole[1].elementType != type)
      return std::nullopt;
    std::string bytes;
    uint64_t width = elementBytes(type);
    for (uint64_t i = 0; i < count; ++i)
      bytes +=
          whole[(*whole[0].data)[i] ? 1 : 2].data->substr(i * width, width);
    Tensor result = whole[1];
    result.data = std::make_shared<const std::string>(std::move(bytes));
    return result;
  }
  for (const Tensor &operand : whole)
    if (operand.elementType != type)
      return std::nullopt;
  if (count == 0)
    return std::nullopt;
  if (isReal(type)) {
    std::vector<std::vector<double>> numbers;
    for (const Tensor &operand : whole)
      numbers.push_back(*operand.numbers());
    return apply<double>(op, type, *shape, numbers);
  }
  std::vector<std::vector<int64_t>> numbers;
  for (const Tensor &operand : whole)
    numbers.push_back(integersOf(operand));
  return apply<int64_t>(op, type, *shape, numbers);
}

std::optional<Tensor> tessera::onnx::foldCast(const Tensor &tensor,
                                              int32_t elementType) {
  if (!isReal(elementType) && !isInteger(elementType) &&
      elementType != Float16 && elementType != BFloat16)
    return std::nullopt;
  // Larger weights are converted by the device.
  if (tensor.elementCount() > maxFoldedElements &&
      (elementType == Float16 || elementType == BFloat16))
    return std::nullopt;
  SmallVector<int64_t> shape = shapeOf(tensor);
  if (isInteger(tensor.elementType))
    return tensorOf(elementType, shape, integersOf(tensor));
  std::optional<std::vector<double>> numbers = tensor.numbers();
  if (!numbers)
    return std::nullopt;
  if (isInteger(elementType) && elementType != Bool)
    for (double number : *numbers)
      if (!(std::fabs(number) < 0x1p62))
        return std::nullopt;
  return tensorOf(elementType, shape, *numbers);
}

template <typename T>
static std::optional<std::vector<T>> reduce(StringRef op, ArrayRef<T> elements,
                                            ArrayRef<int64_t> positions,
                                            int64_t count) {
  std::vector<T> results(count);
  std::vector<bool> started(count);
  for (size_t i = 0; i < elements.size(); ++i) {
    T &result = results[positions[i]];
    T element = elements[i];
    if (!started[positions[i]]) {
      result = element;
      started[positions[i]] = true;
    } else if (op == "ReduceSum") {
      result += element;
    } else if (op == "ReduceProd") {
      result *= element;
    } else if (op == "ReduceMax") {
      result = std::max(result, element);
    } else if (op == "ReduceMin") {
      result = std::min(result, element);
    } else {
      return std::nullopt;
    }
  }
  return results;
}

std::optional<Tensor> tessera::onnx::foldReduction(StringRef op,
                                                   const Tensor &tensor,
                                                   ArrayRef<int64_t> axes,
                                                   bool keep) {
  SmallVector<int64_t> own = shapeOf(tensor), shape, kept;
  if (tensor.elementCount() == 0 || tensor.elementCount() > maxFoldedElements)
    return std::nullopt;
  int64_t count = 1;
  for (size_t i = 0; i < own.size(); ++i) {
    bool reduced = is_contained(axes, static_cast<int64_t>(i));
    kept.push_back(reduced ? 1 : own[i]);
    count *= kept.back();
    if (!reduced || keep)
      shape.push_back(kept.back());
  }
  SmallVector<int64_t> strides = rowMajorStrides(own),
                       target = rowMajorStrides(kept), positions;
  for (uint64_t i = 0; i < tensor.elementCount(); ++i) {
    int64_t position = 0;
    for (size_t dim = 0; dim < own.size(); ++dim)
      if (kept[dim] != 1)
        position += (i / strides[dim]) % own[dim] * target[dim];
    positions.push_back(position);
  }
  if (isReal(tensor.elementType)) {
    auto results = reduce<double>(op, *tensor.numbers(), positions, count);
    return results ? std::optional(tensorOf(tensor.elementType, shape,
                                            ArrayRef<double>(*results)))
                   : std::nullopt;
  }
  if (!isInteger(tensor.elementType))
    return std::nullopt;
  auto results = reduce<int64_t>(op, integersOf(tensor), positions, count);
  return results ? std::optional(tensorOf(tensor.elementType, shape,
                                          ArrayRef<int64_t>(*results)))
                 : std::nullopt;
}

//===-- Moving elements ---------------------------------------------------===//

Tensor tessera::onnx::gatherElements(
    const Tensor &source, ArrayRef<int64_t> shape,
    function_ref<int64_t(ArrayRef<int64_t>)> sourceOf) {
  Tensor result;
  result.elementType = source.elementType;
  result.shape.assign(shape.begin(), shape.end());
  uint64_t width = elementBytes(source.elementType);
  uint64_t count = result.elementCount();
  std::string bytes;
  bytes.reserve(count * width);
  SmallVector<int64_t> index(shape.size(), 0);
  for (uint64_t i = 0; i < count; ++i) {
    bytes.append(*source.data, sourceOf(index) * width, width);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
  result.data = std::make_shared<const std::string>(std::move(bytes));
  return result;
}
