//===- BuildObject.h - The object of a compiled module --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The last step of a compilation: a module of isa.kernels and one placed
// device.program as an object.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_BUILDOBJECT_H
#define TESSERA_CONVERSION_BUILDOBJECT_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/Object/Object.h"
#include "tessera/Support/Status.h"

namespace tessera {

/// Builds everything but what only the importer knows (source name, workload).
/// Equal constants are stored once, each on a 64-byte boundary. Errors name the
/// kernel or operation and what would fit the architecture.
Result<Object> buildObject(mlir::ModuleOp module, const Architecture &arch);

} // namespace tessera

#endif // TESSERA_CONVERSION_BUILDOBJECT_H
