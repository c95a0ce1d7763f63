//===- TensorFiles.cpp - Tensors of a model in files ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorFiles.h"
#include "tessera/Import/OnnxModel.h"
#include "tessera/Support/Npy.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace tessera::tool {

namespace {
struct TypeRow {
  const char *type; ///< In the model.
  NpyType stored;   ///< In NumPy files.
  bool native;      ///< NumPy has the type itself.
};
} // namespace

static constexpr TypeRow types[] = {
    {"bool", NpyType::Bool, true},      {"i8", NpyType::I8, true},
    {"u8", NpyType::U8, true},          {"i16", NpyType::I16, true},
    {"u16", NpyType::U16, true},        {"i32", NpyType::I32, true},
    {"u32", NpyType::U32, true},        {"i64", NpyType::I64, true},
    {"u64", NpyType::U64, true},        {"f16", NpyType::F16, true},
    {"f32", NpyType::F32, true},        {"f64", NpyType::F64, true},
    {"bf16", NpyType::U16, false},      {"f8E4M3FN", NpyType::U8, false},
    {"f8E5M2", NpyType::U8, false},     {"f8E4M3FNUZ", NpyType::U8, false},
    {"f8E5M2FNUZ", NpyType::U8, false},
};

static const TypeRow *findType(const std::string &type) {
  for (const TypeRow &row : types)
    if (type == row.type)
      return &row;
  return nullptr;
}

bool acceptsAs(const std::string &fileType, const std::string &modelType) {
  if (fileType == modelType)
    return true;
  const TypeRow *file = findType(fileType), *model = findType(modelType);
  // bool and u8 have the same bytes; other types come as bits only where NumPy
  // lacks them.
  if (modelType == "bool" && fileType == "u8")
    return true;
  return file && model && !model->native && file->native &&
         file->stored == model->stored;
}

std::string typeText(const std::string &type,
                     const std::vector<uint64_t> &shape) {
  return fmt::format("{} [{}]", type, fmt::join(shape, ", "));
}

static std::vector<std::byte> toBytes(const void *data, size_t size) {
  std::vector<std::byte> bytes(size);
  if (size)
    std::memcpy(bytes.data(), data, size);
  return bytes;
}

Result<HostTensor> readTensorFile(const std::string &path) {
  HostTensor tensor;
  if (path.ends_with(".npy")) {
    TESSERA_ASSIGN_OR_RETURN(NpyArray array, readNpy(path));
    for (const TypeRow &row : types)
      if (row.native && row.stored == array.type)
        tensor.type = row.type;
    tensor.shape = array.shape;
    tensor.bytes = toBytes(array.data.data(), array.data.size());
    return tensor;
  }
  if (path.ends_with(".pb")) {
    TESSERA_ASSIGN_OR_RETURN(onnx::Tensor read, onnx::readOnnxTensor(path));
    tensor.name = read.name;
    tensor.type = onnx::signatureTypeName(read.elementType);
    if (!findType(tensor.type))
      return Status(
          StatusCode::Unsupported,
          fmt::format("{}: has elements of type {}; accepted are numbers "
                      "and booleans of whole bytes",
                      path, onnx::elementTypeName(read.elementType)));
    tensor.shape = read.shape;
    tensor.bytes = toBytes(read.data->data(), read.data->size());
    return tensor;
  }
  return Status(StatusCode::InvalidArgument,
                path + ": is neither a .npy nor a .pb file");
}

Result<std::vector<uint8_t>> formatTensor(const HostTensor &tensor) {
  const TypeRow *row = findType(tensor.type);
  if (!row)
    return Status(
        StatusCode::Unsupported,
        fmt::format("'{}': elements of type {} cannot be written to a "
                    "NumPy file",
                    tensor.name, tensor.type));
  NpyArray array;
  array.type = row->stored;
  array.shape = tensor.shape;
  array.data.resize(tensor.bytes.size());
  if (!tensor.bytes.empty())
    std::memcpy(array.data.data(), tensor.bytes.data(), tensor.bytes.size());
  return formatNpy(array);
}

std::string describeTensors(const std::vector<HostTensor> &tensors) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (size_t i = 0; i < tensors.size(); ++i)
    list.push_back({{"name", tensors[i].name},
                    {"type", tensors[i].type},
                    {"shape", tensors[i].shape},
                    {"file", fmt::format("{}.npy", i)}});
  // A name may hold bytes that are no UTF-8; they are replaced, not refused.
  return list.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace tessera::tool
