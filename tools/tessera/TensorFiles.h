//===- TensorFiles.h - Tensors of a model in files --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy files hold tensors as they are; element types that NumPy lacks are kept
// as their bits in unsigned integers. ONNX test data (`.pb`) can be read.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_TENSORFILES_H
#define TESSERA_TOOLS_TESSERA_TENSORFILES_H

#include "tessera/Pipelines/Compiler.h"
#include "tessera/Support/ElementType.h"
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tool {

/// Reads `.npy` or `.pb`. The type is that of the file: an unsigned integer may
/// stand for the bits of another type (acceptsAs).
Result<HostTensor> readTensorFile(const std::string &path);
/// Whether a file's element type can be taken for the type of the model.
bool acceptsAs(const std::string &fileType, const std::string &modelType);

/// The `.npy` image of a tensor.
Result<std::vector<uint8_t>> formatTensor(const HostTensor &tensor);
/// `outputs.json`: names, types and shapes, in order.
std::string describeTensors(const std::vector<HostTensor> &tensors);

/// "f32 [360, 8]", for messages.
std::string typeText(const std::string &type,
                     const std::vector<uint64_t> &shape);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_TENSORFILES_H
