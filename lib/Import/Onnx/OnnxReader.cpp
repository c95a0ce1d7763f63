//===- OnnxReader.cpp - Reading and checking an ONNX file -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include "tessera/Support/File.h"
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <onnx/onnx_pb.h>
#include <queue>
#include <set>

using namespace tessera;
using namespace tessera::onnx;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// Of a graph inside of a graph, inside of the model's graph …
static constexpr unsigned maxDepth = 16;

namespace {
/// Where what is being read stands.
struct Place {
  const std::string &directory;
  unsigned depth = 0; ///< Of graphs.
  bool isFunction = false;
};
} // namespace

static Status readGraph(::onnx::GraphProto &proto, const Place &place,
                        Graph &graph);

//===-- Attributes --------------------------------------------------------===//

static Result<Attribute> readAttribute(::onnx::AttributeProto &proto,
                                       const Place &place) {
  Attribute attribute;
  if (!proto.ref_attr_name().empty()) {
    if (!place.isFunction)
      return invalid("refers to an attribute of a function, but the node is in "
                     "none");
    attribute.kind = Attribute::Kind::Reference;
    attribute.stringValue = proto.ref_attr_name();
    return attribute;
  }
  switch (proto.type()) {
  case ::onnx::AttributeProto::FLOAT:
    attribute.kind = Attribute::Kind::Float;
    attribute.floatValue = proto.f();
    return attribute;
  case ::onnx::AttributeProto::INT:
    attribute.kind = Attribute::Kind::Int;
    attribute.intValue = proto.i();
    return attribute;
  case ::onnx::AttributeProto::STRING:
    attribute.kind = Attribute::Kind::String;
    attribute.stringValue = proto.s();
    return attribute;
  case ::onnx::AttributeProto::TENSOR: {
    attribute.kind = Attribute::Kind::Tensor;
    TESSERA_ASSIGN_OR_RETURN(attribute.tensorValue,
                             readTensor(*proto.mutable_t(), place.directory));
    return attribute;
  }
  case ::onnx::AttributeProto::GRAPH: {
    attribute.kind = Attribute::Kind::Graph;
    if (place.depth == maxDepth)
      return invalid(fmt::format("nests graphs deeper than {}", maxDepth));
    Place inner = place;
    ++inner.depth;
    auto graph = std::make_shared<Graph>();
    TESSERA_RETURN_IF_ERROR(readGraph(*proto.mutable_g(), inner, *graph));
    attribute.graphValue = std::move(graph);
    return attribute;
  }
  case ::onnx::AttributeProto::FLOATS:
    attribute.kind = Attribute::Kind::Floats;
    attribute.floats.assign(proto.floats().begin(), proto.floats().end());
    return attribute;
  case ::onnx::AttributeProto::INTS:
    attribute.kind = Attribute::Kind::Ints;
    attribute.ints.assign(proto.ints().begin(), proto.ints().end());
    return attribute;
  case ::onnx::AttributeProto::STRINGS:
    attribute.kind = Attribute::Kind::Strings;
    attribute.strings.assign(proto.strings().begin(), proto.strings().end());
    return attribute;
  case ::onnx::AttributeProto::UNDEFINED:
    // The number of a type that this version of the format does not know ends
    // up among the unknown fields.
    return invalid("has no known type");
  default:
    attribute.kind = Attribute::Kind::Other;
    return attribute;
  }
}

//===-- Nodes -------------------------------------------------------------===//

/// NodeProto.overload, which is newer than the generated classes.
static constexpr int overloadField = 8;

/// The values that a graph reads from around it.
static std::set<std::string> capturedBy(const Graph &graph) {
  std::set<std::string> own, captured;
  for (const auto &[name, tensor] : graph.initializers)
    own.insert(name);
  for (const ValueInfo &input : graph.inputs)
    own.insert(input.name);
  for (const Node &node : graph.nodes)
    own.insert(node.outputs.begin(), node.outputs.end());
  auto use = [&](const std::string &name) {
    if (!name.empty() && !own.count(name))
      captured.insert(name);
  };
  for (const Node &node : graph.nodes) {
    for (const std::string &input : node.inputs)
      use(input);
    for (const std::string &input : node.captured)
      use(input);
  }
  for (const ValueInfo &output : graph.outputs)
    use(output.name);
  return captured;
}

static Result<Node> readNode(::onnx::NodeProto &proto, const Place &place) {
  Node node;
  node.name = proto.name();
  node.opType = proto.op_type();
  node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
  node.inputs.assign(proto.input().begin(), proto.input().end());
  node.outputs.assign(proto.output().begin(), proto.output().end());
  std::string label =
      fmt::format("node '{}' ({})", node.displayName(), node.opType);
  if (node.opType.empty())
    return invalid(label + ": has no operator");
  const google::protobuf::UnknownFieldSet &unknown = proto.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const google::protobuf::UnknownField &field = unknown.field(i);
    if (field.number() == overloadField &&
        field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED &&
        !field.length_delimited().empty())
      return invalid(fmt::format("{}: names the overload '{}'; accepted are "
                                 "operators without overload",
                                 label, field.length_delimited()));
  }
  for (::onnx::AttributeProto &attribute : *proto.mutable_attribute()) {
    Result<Attribute> value = readAttribute(attribute, place);
    if (!value.ok())
      return value.status().withContext(
          fmt::format("{}: attribute '{}'", label, attribute.name()));
    if (!node.attributes.try_emplace(attribute.name(), std::move(*value))
             .second)
      return invalid(fmt::format("{}: attribute '{}' is given twice", label,
                                 attribute.name()));
  }
  std::set<std::string> captured;
  for (const auto &[name, attribute] : node.attributes)
    if (attribute.graphValue)
      captured.merge(capturedBy(*attribute.graphValue));
  node.captured.assign(captured.begin(), captured.end());
  return node;
}

/// Orders the nodes so that each comes after what it reads, keeping the file's
/// order where it is one. Every input must be in `known` or some node's output.
static Status sortNodes(std::vector<Node> &nodes, std::set<std::string> known) {
  std::map<std::string, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &output : nodes[i].outputs) {
      if (output.empty())
        continue;
      if (known.count(output) || !producers.emplace(output, i).second)
        return invalid(fmt::format("node '{}' ({}): defines the value '{}' a "
                                   "second time",
                                   nodes[i].displayName(), nodes[i].opType,
                                   output));
    }
  std::vector<size_t> missing(nodes.size(), 0);
  std::vector<std::vector<size_t>> users(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> needed = nodes[i].inputs;
    needed.insert(needed.end(), nodes[i].captured.begin(),
                  nodes[i].captured.end());
    for (const std::string &input : needed) {
      if (input.empty() || known.count(input))
        continue;
      auto producer = producers.find(input);
      if (producer == producers.end())
        return invalid(fmt::format("node '{}' ({}): reads '{}', which nothing "
                                   "defines",
                                   nodes[i].displayName(), nodes[i].opType,
                                   input));
      ++missing[i];
      users[producer->second].push_back(i);
    }
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] == 0)
      ready.push(i);
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  while (!ready.empty()) {
    size_t next = ready.top();
    ready.pop();
    for (size_t user : users[next])
      if (--missing[user] == 0)
        ready.push(user);
    sorted.push_back(std::move(nodes[next]));
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (missing[i] != 0)
      return invalid(fmt::format("node '{}' ({}): depends on its own result",
                                 nodes[i].displayName(), nodes[i].opType));
  nodes = std::move(sorted);
  return Status::success();
}

//===-- Graph -------------------------------------------------------------===//

static Result<ValueInfo> readValueInfo(const ::onnx::ValueInfoProto &proto) {
  ValueInfo info;
  info.name = proto.name();
  if (info.name.empty())
    return invalid("has no name");
  const ::onnx::TypeProto &kind = proto.type();
  info.kind = kind.has_sequence_type()        ? "a sequence"
              : kind.has_optional_type()      ? "an optional value"
              : kind.has_map_type()           ? "a map"
              : kind.has_sparse_tensor_type() ? "a sparse tensor"
                                              : "";
  if (!kind.has_tensor_type())
    return info;
  const ::onnx::TypeProto::Tensor &type = proto.type().tensor_type();
  info.elementType = type.elem_type();
  if (!type.has_shape())
    return info;
  info.shape.emplace();
  for (const ::onnx::TensorShapeProto::Dimension &dimension :
       type.shape().dim()) {
    Dimension result;
    if (dimension.has_dim_value()) {
      if (dimension.dim_value() < 0)
        return invalid(fmt::format("'{}' has the extent {}", info.name,
                                   dimension.dim_value()));
      result.size = static_cast<uint64_t>(dimension.dim_value());
    } else {
      result.symbol = dimension.dim_param();
    }
    info.shape->push_back(std::move(result));
  }
  return info;
}

/// A sparse tensor as a dense one.
static Result<Tensor> readSparse(::onnx::SparseTensorProto &proto,
                                 const std::string &directory) {
  TESSERA_ASSIGN_OR_RETURN(Tensor values,
                           readTensor(*proto.mutable_values(), directory));
  TESSERA_ASSIGN_OR_RETURN(Tensor indices,
                           readTensor(*proto.mutable_indices(), directory));
  Tensor dense;
  dense.name = values.name;
  dense.elementType = values.elementType;
  constexpr uint64_t maxElements = uint64_t(1) << 30;
  uint64_t count = 1;
  for (int64_t extent : proto.dims()) {
    if (extent < 1 || count > maxElements / extent)
      return invalid("has a shape without elements or with more than 2^30");
    count *= extent;
    dense.shape.push_back(extent);
  }
  uint64_t width = elementBytes(values.elementType);
  auto positions = indices.integers();
  uint64_t rank = dense.shape.size(), number = values.elementCount();
  bool linear = indices.shape.size() == 1;
  if (width == 0 || !positions || values.shape.size() != 1 || rank == 0 ||
      positions->size() != (linear ? number : number * rank))
    return invalid("has values and indices that do not fit each other");
  std::string bytes(count * width, '\0');
  for (uint64_t i = 0; i < number; ++i) {
    uint64_t at = 0;
    for (uint64_t dim = 0; dim < (linear ? 1 : rank); ++dim) {
      uint64_t extent = linear ? count : dense.shape[dim];
      int64_t index = (*positions)[linear ? i : i * rank + dim];
      if (index < 0 || static_cast<uint64_t>(index) >= extent)
        return invalid(
            fmt::format("has the index {} beyond {}", index, extent));
      at = at * extent + index;
    }
    bytes.replace(at * width, width, *values.data, i * width, width);
  }
  dense.data = std::make_shared<const std::string>(std::move(bytes));
  return dense;
}

static Status readInitializers(::onnx::GraphProto &proto,
                               const std::string &directory, Graph &graph) {
  auto add = [&](const std::string &name, Result<Tensor> tensor) {
    if (!tensor.ok())
      return invalid(
          fmt::format("initializer '{}' {}", name, tensor.status().message()));
    if (!graph.initializers.try_emplace(name, std::move(*tensor)).second)
      return invalid(fmt::format("initializer '{}' is given twice", name));
    return Status::success();
  };
  for (::onnx::TensorProto &tensor : *proto.mutable_initializer()) {
    std::string name = tensor.name();
    TESSERA_RETURN_IF_ERROR(add(name, readTensor(tensor, directory)));
  }
  for (::onnx::SparseTensorProto &tensor :
       *proto.mutable_sparse_initializer()) {
    std::string name = tensor.values().name();
    TESSERA_RETURN_IF_ERROR(add(name, readSparse(tensor, directory)));
  }
  return Status::success();
}

static Status readGraph(::onnx::GraphProto &proto, const Place &place,
                        Graph &graph) {
  graph.graphName = proto.name();
  TESSERA_RETURN_IF_ERROR(readInitializers(proto, place.directory, graph));
  std::set<std::string> known;
  for (const auto &[name, tensor] : graph.initializers)
    known.insert(name);
  for (const ::onnx::ValueInfoProto &input : proto.input()) {
    Result<ValueInfo> info = readValueInfo(input);
    if (!info.ok())
      return info.status().withContext("input");
    // An initializer is the default of the input that has its name; here it is
    // always taken.
    if (graph.initializers.count(info->name))
      continue;
    if (!known.insert(info->name).second)
      return invalid(fmt::format("input '{}' is given twice", info->name));
    graph.inputs.push_back(std::move(*info));
  }
  std::set<std::string> defined = known;
  for (::onnx::NodeProto &protoNode : *proto.mutable_node()) {
    TESSERA_ASSIGN_OR_RETURN(Node node, readNode(protoNode, place));
    defined.insert(node.outputs.begin(), node.outputs.end());
    graph.nodes.push_back(std::move(node));
  }
  std::set<std::string> outputs;
  bool isInner = place.depth != 0;
  for (const ::onnx::ValueInfoProto &output : proto.output()) {
    Result<ValueInfo> info = readValueInfo(output);
    if (!info.ok())
      return info.status().withContext("output");
    // What an inner graph does not define it takes from around it.
    if (!isInner && !defined.count(info->name))
      return invalid(
          fmt::format("output '{}' is not defined by any node", info->name));
    if (!isInner && !outputs.insert(info->name).second)
      return invalid(fmt::format("output '{}' is given twice", info->name));
    graph.outputs.push_back(std::move(*info));
  }
  if (graph.outputs.empty())
    return invalid("has no outputs");
  if (isInner)
    known.merge(capturedBy(graph));
  return sortNodes(graph.nodes, std::move(known));
}

static Result<Function> readFunction(::onnx::FunctionProto &proto,
                                     const std::string &directory) {
  Function function;
  Place place{directory, 0, /*isFunction=*/true};
  function.inputs.assign(proto.input().begin(), proto.input().end());
  function.outputs.assign(proto.output().begin(), proto.output().end());
  function.attributes.assign(proto.attribute().begin(),
                             proto.attribute().end());
  // Attributes with defaults are newer than the generated classes.
  constexpr int defaultsField = 11;
  const google::protobuf::UnknownFieldSet &unknown = proto.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i)
    if (unknown.field(i).number() == defaultsField)
      return invalid("has attributes with defaults; accepted are attributes "
                     "without");
  for (const ::onnx::OperatorSetIdProto &opset : proto.opset_import())
    function.opsets[opset.domain() == "ai.onnx" ? "" : opset.domain()] =
        opset.version();
  std::set<std::string> known(function.inputs.begin(), function.inputs.end());
  std::set<std::string> defined = known;
  for (::onnx::NodeProto &protoNode : *proto.mutable_node()) {
    TESSERA_ASSIGN_OR_RETURN(Node node, readNode(protoNode, place));
    defined.insert(node.outputs.begin(), node.outputs.end());
    function.nodes.push_back(std::move(node));
  }
  for (const std::string &output : function.outputs)
    if (!defined.count(output))
      return invalid(
          fmt::format("output '{}' is not defined by any node", output));
  TESSERA_RETURN_IF_ERROR(sortNodes(function.nodes, std::move(known)));
  return function;
}

//===-- Files -------------------------------------------------------------===//

static Result<Model> readModel(std::span<const uint8_t> bytes,
                               const std::string &directory) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return invalid("has more than 2 GiB; accepted are larger models with "
                   "external data");
  ::onnx::ModelProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("is no ONNX model, or not a whole one");
  if (!proto.has_graph() || proto.ir_version() <= 0)
    return invalid("is no ONNX model: it has no graph or no format version");
  Model model;
  model.irVersion = proto.ir_version();
  model.producer = proto.producer_name();
  for (const ::onnx::OperatorSetIdProto &opset : proto.opset_import()) {
    std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    if (!model.opsets.try_emplace(domain, opset.version()).second)
      return invalid(fmt::format("names the operator set '{}' twice", domain));
  }
  TESSERA_RETURN_IF_ERROR(
      readGraph(*proto.mutable_graph(), Place{directory}, model));
  for (::onnx::FunctionProto &function : *proto.mutable_functions()) {
    std::string domain =
        function.domain() == "ai.onnx" ? "" : function.domain();
    std::string name = function.name();
    Result<Function> read = readFunction(function, directory);
    if (!read.ok())
      return read.status().withContext(fmt::format("function '{}'", name));
    if (!model.functions.try_emplace({domain, name}, std::move(*read)).second)
      return invalid(fmt::format("function '{}' is given twice", name));
  }
  return model;
}

Result<Model> tessera::onnx::parseOnnxModel(std::span<const uint8_t> bytes,
                                            std::string_view name,
                                            const std::string &directory) {
  Result<Model> model = readModel(bytes, directory);
  if (!model.ok())
    return model.status().withContext(name);
  return model;
}

Result<Model> tessera::onnx::readOnnxModel(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(path));
  return parseOnnxModel(bytes, path,
                        std::filesystem::path(path).parent_path().string());
}
