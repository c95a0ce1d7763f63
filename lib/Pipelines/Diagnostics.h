//===- Diagnostics.h - Diagnostics as a Status ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects MLIR's errors while it lives and turns them into one Status that
// names the place: a model node or file:line.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_PIPELINES_DIAGNOSTICS_H
#define TESSERA_LIB_PIPELINES_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "tessera/Support/Status.h"
#include <string>
#include <vector>

namespace tessera {

class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext *context);
  /// The collected errors, one line each; `fallback` if there is none.
  Status status(StatusCode code, const std::string &fallback) const;

private:
  std::vector<std::string> errors;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace tessera

#endif // TESSERA_LIB_PIPELINES_DIAGNOSTICS_H
