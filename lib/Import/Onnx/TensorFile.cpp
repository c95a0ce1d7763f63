//===- TensorFile.cpp - Files that hold one tensor ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include "tessera/Support/File.h"
#include <onnx/onnx_pb.h>

using namespace tessera;
using namespace tessera::onnx;

Result<Tensor> tessera::onnx::readOnnxTensor(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(path));
  ::onnx::TensorProto proto;
  // Protobuf takes sizes as int.
  if (bytes.size() > size_t(INT32_MAX) ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      !proto.has_data_type())
    return Status(StatusCode::InvalidArgument,
                  path + ": is no ONNX tensor; accepted is a serialised "
                         "TensorProto");
  size_t slash = path.rfind('/');
  Result<Tensor> tensor =
      readTensor(proto, slash == std::string::npos ? std::string()
                                                   : path.substr(0, slash));
  if (!tensor)
    return tensor.status().withContext(path);
  return tensor;
}
