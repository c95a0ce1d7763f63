//===- ModelDescription.h - What a model file declares ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_MODELDESCRIPTION_H
#define TESSERA_IMPORT_MODELDESCRIPTION_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// What a model file declares, before any dimension is bound.
struct ModelDescription {
  struct Tensor {
    std::string name, type;
    /// Numbers, or the names of symbolic dimensions ("?" if unnamed).
    std::vector<std::string> shape;
  };
  std::string format; ///< "onnx", "mlir" or "mlirbc".
  std::vector<Tensor> inputs, outputs;
  /// Operators by kind, with their number.
  std::map<std::string, uint64_t> operators;
  uint64_t parameters = 0;     ///< Elements of weights and other constants.
  uint64_t parameterBytes = 0; ///< Theirs, as the file has them.
};

} // namespace tessera

#endif // TESSERA_IMPORT_MODELDESCRIPTION_H
