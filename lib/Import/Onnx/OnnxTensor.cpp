//===- OnnxTensor.cpp - Tensors of an ONNX file ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tensor's elements may be in raw_data, in one of the typed lists, or in
// another file. Sizes are computed from the shape with overflow checks and
// compared with what is there before anything is allocated.
//
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include <charconv>
#include <cstring>
#include <fmt/format.h>
#include <onnx/onnx_pb.h>

using namespace tessera;
using namespace tessera::onnx;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// No tensor that a device could hold has more elements; products below stay
/// far from overflow.
static constexpr uint64_t maxElements = uint64_t(1) << 48;

static Result<uint64_t> parseNumber(const std::string &key,
                                    const std::string &text) {
  uint64_t value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid(
        fmt::format("external data has {} '{}', accepted is a number "
                    "of bytes",
                    key, text));
  return value;
}

static Result<ExternalRange> externalRange(const ::onnx::TensorProto &proto) {
  ExternalRange range;
  for (const ::onnx::StringStringEntryProto &entry : proto.external_data()) {
    if (entry.key() == "location") {
      range.location = entry.value();
    } else if (entry.key() == "offset") {
      TESSERA_ASSIGN_OR_RETURN(range.offset,
                               parseNumber("offset", entry.value()));
    } else if (entry.key() == "length") {
      TESSERA_ASSIGN_OR_RETURN(range.length,
                               parseNumber("length", entry.value()));
    }
  }
  return range;
}

/// Packs a typed list into elements of type T.
template <typename T, typename List> static std::string pack(const List &list) {
  std::string data(list.size() * sizeof(T), '\0');
  for (int i = 0; i < list.size(); ++i) {
    T value = static_cast<T>(list.Get(i));
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
  return data;
}

/// The elements from the typed list that belongs to the type.
static std::string packTypedList(const ::onnx::TensorProto &proto) {
  switch (proto.data_type()) {
  case Float:
    return pack<float>(proto.float_data());
  case Double:
    return pack<double>(proto.double_data());
  case Int64:
    return pack<int64_t>(proto.int64_data());
  case Int32:
    return pack<int32_t>(proto.int32_data());
  case Uint16:
  case Int16:
  case Float16:
  case BFloat16:
    return pack<uint16_t>(proto.int32_data());
  case Uint64:
    return pack<uint64_t>(proto.uint64_data());
  case Uint32:
    return pack<uint32_t>(proto.uint64_data());
  default: // One byte.
    return pack<uint8_t>(proto.int32_data());
  }
}

/// Each half byte, the low one first, as a byte.
static std::string unpackHalfBytes(const std::string &packed, uint64_t count,
                                   bool isSigned) {
  std::string bytes(count, '\0');
  for (uint64_t i = 0; i < count; ++i) {
    int value = static_cast<uint8_t>(packed[i / 2]) >> (i % 2 * 4) & 15;
    bytes[i] = static_cast<char>(isSigned && value > 7 ? value - 16 : value);
  }
  return bytes;
}

Result<Tensor> tessera::onnx::readTensor(::onnx::TensorProto &proto,
                                         const std::string &directory) {
  Tensor tensor;
  tensor.name = proto.name();
  tensor.elementType = proto.data_type();
  uint64_t count = 1;
  for (int64_t extent : proto.dims()) {
    if (extent < 0)
      return invalid(fmt::format("has the extent {}", extent));
    if (extent != 0 && count > maxElements / extent)
      return invalid("has more than 2^48 elements");
    count *= static_cast<uint64_t>(extent);
    tensor.shape.push_back(static_cast<uint64_t>(extent));
  }
  // The product above is only bounded before a zero: bound the rest as well, so
  // that no part of the shape overflows.
  uint64_t nonZero = 1;
  for (uint64_t extent : tensor.shape) {
    if (extent != 0 && nonZero > maxElements / extent)
      return invalid("has extents whose product is more than 2^48");
    nonZero *= extent != 0 ? extent : 1;
  }
  if (proto.has_segment())
    return invalid("is stored in segments; accepted is a whole tensor");

  uint64_t width = elementBytes(tensor.elementType);
  if (width == 0) {
    // A string or packed tensor: the importer names the node that wants it.
    tensor.data = std::make_shared<std::string>();
    return tensor;
  }
  bool packed = tensor.elementType == Int4 || tensor.elementType == Uint4;
  uint64_t bytes = packed ? (count + 1) / 2 : count * width;
  std::string data;
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    TESSERA_ASSIGN_OR_RETURN(ExternalRange range, externalRange(proto));
    TESSERA_ASSIGN_OR_RETURN(data, readExternalData(directory, range, bytes));
  } else if (proto.has_raw_data()) {
    data = std::move(*proto.mutable_raw_data());
  } else {
    data = packTypedList(proto);
  }
  if (data.size() != bytes)
    return invalid(fmt::format("holds {} bytes, its type {} and shape need {}",
                               data.size(), elementTypeName(tensor.elementType),
                               bytes));
  if (packed)
    data = unpackHalfBytes(data, count, tensor.elementType == Int4);
  tensor.data = std::make_shared<const std::string>(std::move(data));
  return tensor;
}
