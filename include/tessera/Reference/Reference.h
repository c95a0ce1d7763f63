//===- Reference.h - Running a model on the host ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An imported module lowered by upstream passes and run by the ExecutionEngine:
// what a compiled model's outputs are compared with. Nothing of the compiler
// after import takes part, so it checks everything after import, and only that.
//
// Sums are taken in the order of the reduced dimensions, without fused
// multiply-add and without reassociation.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REFERENCE_REFERENCE_H
#define TESSERA_REFERENCE_REFERENCE_H

#include "mlir/IR/BuiltinOps.h"
#include "tessera/Reference/Rounding.h"
#include "tessera/Support/Status.h"
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tessera {

/// A model compiled for the host. It does not need the module any more.
class HostReference {
public:
  /// Compiles `@main` of an imported module, which is left as it is.
  static Result<HostReference> compile(mlir::ModuleOp module);

  HostReference(HostReference &&) noexcept;
  HostReference &operator=(HostReference &&) noexcept;
  ~HostReference();

  size_t numInputs() const;
  /// Bytes of an input or output: row-major, densely packed.
  size_t inputBytes(size_t index) const;
  size_t numOutputs() const;
  size_t outputBytes(size_t index) const;

  /// Runs the model; inputs and outputs in signature order.
  Result<std::vector<std::vector<std::byte>>>
  run(std::span<const std::span<const std::byte>> inputs,
      HostRounding rounding = HostRounding::Nearest) const;

private:
  struct Compiled;
  explicit HostReference(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled;
};

} // namespace tessera

#endif // TESSERA_REFERENCE_REFERENCE_H
