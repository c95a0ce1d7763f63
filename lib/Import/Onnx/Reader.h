//===- Reader.h - Parts of the ONNX reader ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the files of the ONNX reader share.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_ONNX_READER_H
#define TESSERA_LIB_IMPORT_ONNX_READER_H

#include "tessera/Import/OnnxModel.h"

namespace onnx {
class TensorProto;
} // namespace onnx

namespace tessera::onnx {

/// A range of a file beside the model.
struct ExternalRange {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// Reads exactly `bytes` bytes. The file must lie inside `directory`, links
/// resolved, and be long enough.
Result<std::string> readExternalData(const std::string &directory,
                                     const ExternalRange &range,
                                     uint64_t bytes);

/// Takes over the tensor's bytes where it can. Errors do not name the tensor.
Result<Tensor> readTensor(::onnx::TensorProto &proto,
                          const std::string &directory);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_ONNX_READER_H
