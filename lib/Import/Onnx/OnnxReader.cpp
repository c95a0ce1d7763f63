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

//===-- Attributes --------------------------------------------------------===//

static Result<Attribute> readAttribute(::onnx::AttributeProto &proto,
                                       const std::string &directory) {
  Attribute attribute;
  if (!proto.ref_attr_name().empty())
    return invalid("refers to an attribute of a function, but the node is in "
                   "none");
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
                             readTensor(*proto.mutable_t(), directory));
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

static Result<Node> readNode(::onnx::NodeProto &proto,
                             const std::string &directory) {
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
    Result<Attribute> value = readAttribute(attribute, directory);
    if (!value.ok())
      return value.status().withContext(
          fmt::format("{}: attribute '{}'", label, attribute.name()));
    if (!node.attributes.try_emplace(attribute.name(), std::move(*value))
             .second)
      return invalid(fmt::format("{}: attribute '{}' is given twice", label,
                                 attribute.name()));
  }
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
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string &input : nodes[i].inputs) {
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
  if (!proto.type().has_tensor_type())
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

static Status readGraph(::onnx::GraphProto &graph, const std::string &directory,
                        Model &model) {
  model.graphName = graph.name();
  if (graph.sparse_initializer_size() != 0)
    return invalid("has sparse initializers; accepted are dense ones");
  for (::onnx::TensorProto &proto : *graph.mutable_initializer()) {
    std::string name = proto.name();
    Result<Tensor> tensor = readTensor(proto, directory);
    if (!tensor.ok())
      return invalid(
          fmt::format("initializer '{}' {}", name, tensor.status().message()));
    if (!model.initializers.try_emplace(name, std::move(*tensor)).second)
      return invalid(fmt::format("initializer '{}' is given twice", name));
  }
  std::set<std::string> known;
  for (const auto &[name, tensor] : model.initializers)
    known.insert(name);
  for (const ::onnx::ValueInfoProto &proto : graph.input()) {
    Result<ValueInfo> info = readValueInfo(proto);
    if (!info.ok())
      return info.status().withContext("input");
    // An initializer is the default of the input that has its name; here it is
    // always taken.
    if (model.initializers.count(info->name))
      continue;
    if (!known.insert(info->name).second)
      return invalid(fmt::format("input '{}' is given twice", info->name));
    model.inputs.push_back(std::move(*info));
  }
  std::set<std::string> defined = known;
  for (::onnx::NodeProto &proto : *graph.mutable_node()) {
    TESSERA_ASSIGN_OR_RETURN(Node node, readNode(proto, directory));
    defined.insert(node.outputs.begin(), node.outputs.end());
    model.nodes.push_back(std::move(node));
  }
  TESSERA_RETURN_IF_ERROR(sortNodes(model.nodes, std::move(known)));
  std::set<std::string> outputs;
  for (const ::onnx::ValueInfoProto &proto : graph.output()) {
    Result<ValueInfo> info = readValueInfo(proto);
    if (!info.ok())
      return info.status().withContext("output");
    if (!defined.count(info->name))
      return invalid(
          fmt::format("output '{}' is not defined by any node", info->name));
    if (!outputs.insert(info->name).second)
      return invalid(fmt::format("output '{}' is given twice", info->name));
    model.outputs.push_back(std::move(*info));
  }
  if (model.outputs.empty())
    return invalid("has no outputs");
  return Status::success();
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
  TESSERA_RETURN_IF_ERROR(readGraph(*proto.mutable_graph(), directory, model));
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
