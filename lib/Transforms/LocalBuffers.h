//===- LocalBuffers.h - Buffers in SPM and ACC ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_LOCALBUFFERS_H
#define TESSERA_LIB_TRANSFORMS_LOCALBUFFERS_H

#include "TargetModel.h"
#include "mlir/IR/BuiltinTypes.h"

namespace tessera {

/// The type of a buffer in row-major order with room between the rows: those
/// that stream through the matrix engine from the same few banks would keep the
/// weights there from being read.
mlir::MemRefType withRowPitch(mlir::MemRefType type, const TargetModel &target);

/// Bytes that an allocator gives one copy of a buffer.
uint64_t allocatedBytes(mlir::MemRefType type, const TargetModel &target);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_LOCALBUFFERS_H
