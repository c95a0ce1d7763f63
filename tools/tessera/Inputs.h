//===- Inputs.h - Inputs of a run -------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_INPUTS_H
#define TESSERA_TOOLS_TESSERA_INPUTS_H

#include "tessera/Pipelines/Compiler.h"
#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tool {

/// The input tensors that the user gives, by name or by position.
class Inputs {
public:
  /// Adds `--input`, `--inputs` and `--seed`.
  void addTo(CLI::App &command);

  /// Reads the files that were named.
  Status read();
  /// Tells the compiler the shapes, which may bind symbolic dimensions.
  void describeTo(CompileOptions &options) const;
  /// One tensor for each input of the program, in order: the given ones,
  /// checked against its types and shapes, or, if none was given, seeded random
  /// ones.
  Result<std::vector<HostTensor>>
  match(std::span<const TensorSignature> signature) const;

  /// No tensors given: all are random ones.
  static Inputs random(uint64_t seed) {
    Inputs inputs;
    inputs.seed = seed;
    return inputs;
  }

  uint64_t seedValue() const { return seed; }
  /// `labels.npy` of the folder of `--inputs`, if there is one.
  Result<std::optional<std::vector<int64_t>>> labels() const;

private:
  struct Given {
    HostTensor tensor;
    std::string file;
  };
  Status readFolder();
  static Status check(const Given &given, const TensorSignature &wanted);

  std::vector<std::string> named;
  std::string folder;
  uint64_t seed = 0;
  std::map<std::string, Given> byName;
  std::map<uint32_t, Given> byPosition;
};

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_INPUTS_H
