//===- Compiler.h - Compile a model ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as a library: a model file and an architecture in, an object
// out. No LLVM type appears here, so tools stay thin.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_COMPILER_H
#define TESSERA_PIPELINES_COMPILER_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Object/Object.h"
#include "tessera/Support/HostTensor.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// One dimension of a model's input: a number, or a symbol still to be bound.
struct InputDim {
  int64_t value = -1; ///< -1 when symbolic.
  std::string symbol; ///< Empty when fixed.
};

struct ModelInput {
  std::string name;
  std::string type; ///< As in TensorSignature.
  std::vector<InputDim> dims;
};

/// The inputs as the model file declares them, in order.
Result<std::vector<ModelInput>> readModelInputs(const std::string &path);

/// Where compileModel stops when text is asked for.
enum class EmitLevel : uint8_t { Graph, Tile, Isa, Device, Object };

struct CompileOptions {
  Architecture arch;
  /// Values of symbolic dimensions.
  std::map<std::string, int64_t> dims;
  /// Stop there and give the IR as text; Object goes all the way.
  EmitLevel emit = EmitLevel::Object;
  /// Print the IR to stderr after each run of this pass ("all": every pass).
  std::string dumpAfter;
  /// Print the time of each pass to stderr.
  bool timing = false;
};

/// A compiled model together with its imported form, which the host reference
/// runs.
class CompiledModel {
public:
  struct Implementation;
  explicit CompiledModel(std::unique_ptr<Implementation> implementation);
  CompiledModel(CompiledModel &&) noexcept;
  CompiledModel &operator=(CompiledModel &&) noexcept;
  ~CompiledModel();

  /// Valid if `emit` was Object.
  const Object &object() const;
  /// The IR text if `emit` was another level.
  const std::string &text() const;
  /// Runs the imported model on the host through upstream lowering. `inputs` in
  /// the order of object().inputs; gives the outputs in order.
  Result<std::vector<HostTensor>>
  runReference(const std::vector<HostTensor> &inputs) const;

private:
  std::unique_ptr<Implementation> implementation;
};

/// Imports and compiles `path` (.onnx, .mlir, .mlirbc). Errors read
/// "file:line or model node: what is wrong; what would be accepted".
Result<CompiledModel> compileModel(const std::string &path,
                                   const CompileOptions &options);

/// "graph", "tile", "isa", "device", "object".
std::optional<EmitLevel> emitLevelFromName(std::string_view name);

} // namespace tessera

#endif // TESSERA_PIPELINES_COMPILER_H
