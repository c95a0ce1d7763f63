//===- OnnxModel.cpp - ONNX files as plain structs ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/OnnxModel.h"
#include "tessera/Support/ElementType.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

using namespace tessera;
using namespace tessera::onnx;

namespace {
struct ElementTypeRow {
  int32_t type;
  const char *name, *signature;
  /// Of types that no tensor of a program has.
  uint64_t bytes = 0;
};
} // namespace

// Names as in the specification's TensorProto.DataType, in lower case.
static constexpr ElementTypeRow elementTypes[] = {
    {Undefined, "undefined", "undefined"},
    {Float, "float", "f32"},
    {Uint8, "uint8", "u8"},
    {Int8, "int8", "i8"},
    {Uint16, "uint16", "u16"},
    {Int16, "int16", "i16"},
    {Int32, "int32", "i32"},
    {Int64, "int64", "i64"},
    {String, "string", "string"},
    {Bool, "bool", "bool"},
    {Float16, "float16", "f16"},
    {Double, "double", "f64"},
    {Uint32, "uint32", "u32"},
    {Uint64, "uint64", "u64"},
    {14, "complex64", "complex64", 8},
    {15, "complex128", "complex128", 16},
    {BFloat16, "bfloat16", "bf16"},
    {Float8E4M3FN, "float8e4m3fn", "f8E4M3FN"},
    {Float8E4M3FNUZ, "float8e4m3fnuz", "f8E4M3FNUZ", 1},
    {Float8E5M2, "float8e5m2", "f8E5M2"},
    {Float8E5M2FNUZ, "float8e5m2fnuz", "f8E5M2FNUZ", 1},
    {Uint4, "uint4", "u4", 1},
    {Int4, "int4", "i4"},
};

static const ElementTypeRow *findElementType(int32_t type) {
  for (const ElementTypeRow &row : elementTypes)
    if (row.type == type)
      return &row;
  return nullptr;
}

std::string tessera::onnx::elementTypeName(int32_t type) {
  const ElementTypeRow *row = findElementType(type);
  return row ? row->name : fmt::format("type {}", type);
}

std::string tessera::onnx::signatureTypeName(int32_t type) {
  const ElementTypeRow *row = findElementType(type);
  return row ? row->signature : fmt::format("type {}", type);
}

uint64_t tessera::onnx::elementBytes(int32_t type) {
  const ElementTypeRow *row = findElementType(type);
  if (!row)
    return 0;
  uint64_t bytes = tessera::elementBytes(row->signature);
  return bytes ? bytes : row->bytes;
}

std::string_view tessera::onnx::attributeKindName(Attribute::Kind kind) {
  switch (kind) {
  case Attribute::Kind::Float:
    return "a number";
  case Attribute::Kind::Int:
    return "an integer";
  case Attribute::Kind::String:
    return "a string";
  case Attribute::Kind::Tensor:
    return "a tensor";
  case Attribute::Kind::Floats:
    return "a list of numbers";
  case Attribute::Kind::Ints:
    return "a list of integers";
  case Attribute::Kind::Strings:
    return "a list of strings";
  case Attribute::Kind::Graph:
    return "a graph";
  case Attribute::Kind::Reference:
    return "an attribute of the function";
  case Attribute::Kind::Other:
    return "a sparse tensor, a type or a list of graphs";
  }
  return "unknown";
}

uint64_t Tensor::elementCount() const {
  uint64_t count = 1;
  for (uint64_t extent : shape)
    count *= extent; // The reader refused what overflows.
  return count;
}

std::optional<std::vector<int64_t>> Tensor::integers() const {
  if (elementType != Int64 && elementType != Int32)
    return std::nullopt;
  std::vector<int64_t> values(elementCount());
  if (elementType == Int64) {
    if (!values.empty())
      std::memcpy(values.data(), data->data(), values.size() * 8);
    return values;
  }
  std::vector<int32_t> narrow(values.size());
  if (!narrow.empty())
    std::memcpy(narrow.data(), data->data(), narrow.size() * 4);
  std::copy(narrow.begin(), narrow.end(), values.begin());
  return values;
}

template <typename T>
static std::vector<double> toNumbers(const Tensor &tensor) {
  std::vector<T> elements(tensor.elementCount());
  if (!elements.empty())
    std::memcpy(elements.data(), tensor.data->data(),
                elements.size() * sizeof(T));
  return std::vector<double>(elements.begin(), elements.end());
}

/// The value of a half-precision number.
static double halfToNumber(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  double magnitude =
      exponent == 31  ? (bits & 1023 ? std::numeric_limits<double>::quiet_NaN()
                                     : std::numeric_limits<double>::infinity())
      : exponent == 0 ? std::ldexp(bits & 1023, -24)
                      : std::ldexp((bits & 1023) | 1024, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

/// The value of a number of eight bits, of which `mantissaBits` are fraction.
/// Types with `unsignedZero` have one NaN, in the place of -0.
static double byteToNumber(uint8_t bits, int mantissaBits, bool unsignedZero) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  int exponentBits = 7 - mantissaBits;
  int bias = (1 << (exponentBits - 1)) - (unsignedZero ? 0 : 1);
  int exponent = (bits & 127) >> mantissaBits;
  int fraction = bits & ((1 << mantissaBits) - 1);
  if (unsignedZero) {
    if (bits == 0x80)
      return nan;
  } else if (mantissaBits == 3) {
    if ((bits & 127) == 127) // No infinities, one NaN.
      return nan;
  } else if (exponent == (1 << exponentBits) - 1) {
    double magnitude =
        fraction != 0 ? nan : std::numeric_limits<double>::infinity();
    return bits >> 7 ? -magnitude : magnitude;
  }
  double magnitude = exponent == 0
                         ? std::ldexp(fraction, 1 - bias - mantissaBits)
                         : std::ldexp(fraction | 1 << mantissaBits,
                                      exponent - bias - mantissaBits);
  return bits >> 7 ? -magnitude : magnitude;
}

std::optional<std::vector<double>> Tensor::numbers() const {
  switch (elementType) {
  case Float:
    return toNumbers<float>(*this);
  case Double:
    return toNumbers<double>(*this);
  case Uint8:
  case Uint4:
  case Bool:
    return toNumbers<uint8_t>(*this);
  case Int8:
  case Int4:
    return toNumbers<int8_t>(*this);
  case Uint16:
    return toNumbers<uint16_t>(*this);
  case Int16:
    return toNumbers<int16_t>(*this);
  case Uint32:
    return toNumbers<uint32_t>(*this);
  case Int32:
    return toNumbers<int32_t>(*this);
  case Int64:
    return toNumbers<int64_t>(*this);
  case Uint64:
    return toNumbers<uint64_t>(*this);
  case Float16:
  case BFloat16: {
    std::vector<double> result;
    for (double bits : toNumbers<uint16_t>(*this))
      result.push_back(
          elementType == Float16
              ? halfToNumber(static_cast<uint16_t>(bits))
              : std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
    return result;
  }
  case Float8E4M3FN:
  case Float8E4M3FNUZ:
  case Float8E5M2:
  case Float8E5M2FNUZ: {
    bool wide = elementType == Float8E5M2 || elementType == Float8E5M2FNUZ;
    std::vector<double> result;
    for (double bits : toNumbers<uint8_t>(*this))
      result.push_back(byteToNumber(static_cast<uint8_t>(bits), wide ? 2 : 3,
                                    elementType == Float8E4M3FNUZ ||
                                        elementType == Float8E5M2FNUZ));
    return result;
  }
  default:
    return std::nullopt;
  }
}

std::optional<std::vector<float>> Tensor::floats() const {
  if (elementType != Float)
    return std::nullopt;
  std::vector<float> values(elementCount());
  if (!values.empty())
    std::memcpy(values.data(), data->data(), values.size() * 4);
  return values;
}

const std::string &Node::displayName() const {
  if (!name.empty())
    return name;
  for (const std::string &output : outputs)
    if (!output.empty())
      return output;
  return name;
}
