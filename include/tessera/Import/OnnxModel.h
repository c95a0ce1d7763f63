//===- OnnxModel.h - ONNX files as plain structs ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An ONNX file as plain structs, free of LLVM and of protobuf. Files come from
// anywhere, so the reader checks everything that its users rely on: that the
// file is whole, that every value is defined once and before its use (nodes
// come back in an order that a cycle cannot have), that a tensor has the bytes
// that its type and shape ask for, and that external data lies inside the
// model's folder. What an operator means is the importer's business, not the
// reader's.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_ONNXMODEL_H
#define TESSERA_IMPORT_ONNXMODEL_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::onnx {

/// Element types by their number in the file. Numbers beyond these exist and
/// are kept as they are.
enum ElementType : int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21, ///< Held as one byte each, as is the next.
  Int4 = 22,
};

/// The specification's name, e.g. "float"; "type 99" for an unknown number.
std::string elementTypeName(int32_t type);
/// As TensorSignature::type spells it, e.g. "f32", "i64", "bool"; else the
/// name.
std::string signatureTypeName(int32_t type);
/// Bytes of one element of a Tensor; 0 for strings and unknown types. Elements
/// of four bits, which a file packs, have a byte each.
uint64_t elementBytes(int32_t type);

/// A dimension: a size, or the name of a symbolic one, or neither.
struct Dimension {
  std::optional<uint64_t> size;
  std::string symbol;
};

struct ValueInfo {
  std::string name;
  int32_t elementType = Undefined; ///< Undefined: not a tensor.
  std::string kind; ///< Of what is no tensor: "a sequence", "a map", ….
  std::optional<std::vector<Dimension>> shape;
};

struct Tensor {
  std::string name;
  int32_t elementType = Undefined;
  std::vector<uint64_t> shape; ///< Empty: a scalar.
  /// Row-major, little endian, packed: elementCount() * elementBytes() bytes.
  /// Shared so that weights are never copied.
  std::shared_ptr<const std::string> data;

  uint64_t elementCount() const;
  /// The elements of an int64 or int32 tensor; nothing for another type.
  std::optional<std::vector<int64_t>> integers() const;
  /// The elements as numbers, exact but for 64-bit integers; nothing for a type
  /// that is neither a float, an integer nor a boolean.
  std::optional<std::vector<double>> numbers() const;
  /// The elements of a float tensor; nothing for another type.
  std::optional<std::vector<float>> floats() const;
};

struct Graph;

struct Attribute {
  enum class Kind : uint8_t {
    Float,
    Int,
    String,
    Tensor,
    Floats,
    Ints,
    Strings,
    Graph,
    /// In a function's body: an attribute of the node that calls it.
    Reference,
    /// A sparse tensor or a type, or a list of graphs: without content.
    Other,
  };
  Kind kind = Kind::Other;
  float floatValue = 0;
  int64_t intValue = 0;
  std::string stringValue; ///< Of a reference: the attribute's name.
  Tensor tensorValue;
  std::shared_ptr<const Graph> graphValue;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
};

/// The kind's name for messages, e.g. "a list of integers".
std::string_view attributeKindName(Attribute::Kind kind);

struct Node {
  std::string name; ///< May be empty.
  std::string opType;
  std::string domain; ///< Empty: the standard operators ("ai.onnx" too).
  std::vector<std::string> inputs;  ///< Empty name: an omitted optional input.
  std::vector<std::string> outputs; ///< Empty name: an output nobody reads.
  std::map<std::string, Attribute> attributes;
  /// What its graphs read from around the node.
  std::vector<std::string> captured;
  /// The node's name, or else its first output's.
  const std::string &displayName() const;
};

/// A model's graph, or that of a node's attribute, which may also read what is
/// defined around the node.
struct Graph {
  std::string graphName;
  std::vector<Node> nodes;       ///< Each after the nodes that it depends on.
  std::vector<ValueInfo> inputs; ///< Without those that have an initializer.
  std::vector<ValueInfo> outputs;
  std::map<std::string, Tensor> initializers;
};

/// An operator that the model defines by a body.
struct Function {
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes; ///< Names; all of them optional.
  std::vector<Node> nodes;
  std::map<std::string, int64_t> opsets;
};

struct Model : Graph {
  int64_t irVersion = 0;
  std::string producer;
  /// Operator set versions by domain; the standard domain is "".
  std::map<std::string, int64_t> opsets;
  /// By domain and name.
  std::map<std::pair<std::string, std::string>, Function> functions;
};

/// Parses a file's bytes. `name` starts every error; `directory` is where
/// external data is looked for (empty: the current one).
Result<Model> parseOnnxModel(std::span<const uint8_t> bytes,
                             std::string_view name,
                             const std::string &directory);
Result<Model> readOnnxModel(const std::string &path);

/// A file that holds one tensor, as in ONNX test data (`input_0.pb`).
Result<Tensor> readOnnxTensor(const std::string &path);

} // namespace tessera::onnx

#endif // TESSERA_IMPORT_ONNXMODEL_H
