//===- Expectations.h - What a module expects of its values -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations check.expect_eq and check.expect_close of an imported module
// are pairs of further outputs: a value, and next to it what it should be.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_IMPORT_EXPECTATIONS_H
#define TESSERA_IMPORT_EXPECTATIONS_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tessera {

struct Expectation {
  struct Tolerance {
    double atol = 0, rtol = 0; ///< |got - want| <= atol + rtol * |want|.
  };
  std::string name;  ///< Of the operation, with its place.
  size_t output = 0; ///< Of the value; that after it is the expected one.
  std::optional<Tolerance> tolerance; ///< None: the elements are equal.
};

/// Those of an imported module, in its order.
std::vector<Expectation> expectationsOf(mlir::ModuleOp module);

} // namespace tessera

#endif // TESSERA_IMPORT_EXPECTATIONS_H
