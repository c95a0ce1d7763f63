//===- ProtobufBytes.h - Writing protobuf messages by hand ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Enough of the wire format to write ONNX files, well formed or not, without
// the library that reads them. Field numbers are those of onnx.proto.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_IMPORT_PROTOBUFBYTES_H
#define TESSERA_TEST_UNIT_IMPORT_PROTOBUFBYTES_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::onnx::test {

inline std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
  return out;
}

inline std::string number(unsigned field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}

inline std::string bytes(unsigned field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

/// A TensorProto with raw data.
inline std::string tensor(std::string_view name, int32_t type,
                          const std::vector<int64_t> &shape,
                          std::string_view data) {
  std::string out;
  for (int64_t extent : shape)
    out += number(1, extent);
  return out + number(2, type) + bytes(8, name) + bytes(9, data);
}

/// A ValueInfoProto of float elements; a negative extent is written as it is.
inline std::string valueInfo(std::string_view name,
                             const std::vector<int64_t> &shape) {
  std::string dims;
  for (int64_t extent : shape)
    dims += bytes(1, number(1, extent));
  return bytes(1, name) + bytes(2, bytes(1, number(1, 1) + bytes(2, dims)));
}

/// A NodeProto.
inline std::string node(std::string_view name, std::string_view op,
                        const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs,
                        std::string_view more = "") {
  std::string out;
  for (const std::string &input : inputs)
    out += bytes(1, input);
  for (const std::string &output : outputs)
    out += bytes(2, output);
  return out + bytes(3, name) + bytes(4, op) + std::string(more);
}

struct GraphBytes {
  std::string fields;
  GraphBytes &node(const std::string &value) { return add(1, value); }
  GraphBytes &initializer(const std::string &value) { return add(5, value); }
  GraphBytes &input(const std::string &value) { return add(11, value); }
  GraphBytes &output(const std::string &value) { return add(12, value); }
  GraphBytes &add(unsigned field, const std::string &value) {
    fields += bytes(field, value);
    return *this;
  }
  /// The ModelProto around the graph.
  std::string model(int64_t opset = 17) const {
    return number(1, 8) + bytes(7, fields) + bytes(8, number(2, opset));
  }
};

} // namespace tessera::onnx::test

#endif // TESSERA_TEST_UNIT_IMPORT_PROTOBUFBYTES_H
