//===- ShapeInputs.h - Inputs of an ONNX model that decide shapes -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes are static. An input from which the model computes one is known only
// by its value: it must be given while compiling and is then a constant.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_SHAPEINPUTS_H
#define TESSERA_LIB_IMPORT_SHAPEINPUTS_H

#include "tessera/Import/Import.h"
#include "tessera/Import/OnnxModel.h"
#include "llvm/ADT/StringRef.h"
#include <set>

namespace tessera::onnx {

/// The operands of a node that must be known while importing, as a bit mask.
uint32_t decidingOperands(llvm::StringRef op);

/// The names of inputs whose elements decide a shape or a position.
std::set<std::string> inputsThatDecideShapes(const Model &model);

/// The value that the user gave to input `position`, if it has the bytes of the
/// shape; else null.
std::shared_ptr<const Tensor> givenValue(const ValueInfo &input,
                                         uint32_t position,
                                         llvm::ArrayRef<int64_t> shape,
                                         const ImportOptions &options);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_SHAPEINPUTS_H
