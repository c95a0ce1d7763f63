//===- ISAToObject.h - Between isa operations and objects -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_CONVERSION_ISATOOBJECT_H
#define TESSERA_CONVERSION_ISATOOBJECT_H

#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "tessera/Object/Object.h"
#include "tessera/Support/Status.h"

namespace tessera {

/// Where IR comes from, as a user knows it: a model node's name, else
/// file:line, else nothing.
std::string describeLocation(mlir::Location location);

/// Encodes a verified kernel; its locations are those of its operations.
Result<KernelCode> encodeKernel(isa::KernelOp kernel, const Architecture &arch);

/// Encodes the lane programs of a module, in order.
Result<std::vector<uint8_t>> encodeMapPrograms(mlir::ModuleOp module);

/// An object with the kernels and lane programs of a module and nothing to run
/// them with: no commands, no inputs.
Result<Object> encodeKernels(mlir::ModuleOp module, const Architecture &arch);

/// The kernels and lane programs of a verified object as isa operations, loops
/// with bodies. InvalidArgument if a loop's body leaves the loop around it.
Result<mlir::OwningOpRef<mlir::ModuleOp>>
decodeKernels(mlir::MLIRContext &context, const Object &object);

} // namespace tessera

#endif // TESSERA_CONVERSION_ISATOOBJECT_H
