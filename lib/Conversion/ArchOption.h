//===- ArchOption.h - The passes' architecture ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_ARCHOPTION_H
#define TESSERA_LIB_CONVERSION_ARCHOPTION_H

#include "mlir/IR/Operation.h"
#include "tessera/Arch/Architecture.h"

namespace tessera {

/// The architecture that a pass option names: a preset, a path, or a file's
/// text. Emits an error at `op` if there is none.
inline mlir::FailureOr<Architecture> readArchOption(llvm::StringRef arch,
                                                    mlir::Operation *op) {
  Result<Architecture> result =
      loadArchitecture(std::string_view(arch.data(), arch.size()));
  if (!result)
    return op->emitError(result.status().message());
  return std::move(*result);
}

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_ARCHOPTION_H
