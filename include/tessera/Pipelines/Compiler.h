//===- Compiler.h - From a model file to an object -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The compiler as a function, free of LLVM in its declarations, so that tools
// stay thin. Diagnostics come back in the Status: one line, "file:line or model
// node: what is wrong; what would be accepted".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_COMPILER_H
#define TESSERA_PIPELINES_COMPILER_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Import/Expectations.h"
#include "tessera/Import/ModelDescription.h"
#include "tessera/Object/Object.h"
#include "tessera/Reference/Rounding.h"
#include "tessera/Support/Progress.h"
#include "tessera/Support/Status.h"
#include "tessera/Transforms/PlanOptions.h"
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// A tensor in host memory: row-major, densely packed, little endian.
struct HostTensor {
  std::string name;
  /// The element type as TensorSignature::type spells it: "f32", "i64", "bool",
  /// ….
  std::string type;
  std::vector<uint64_t> shape;
  std::vector<std::byte> bytes;
};

/// How far to compile; every level below Object leaves its text in
/// CompiledModel::emittedText.
enum class EmitLevel : uint8_t { Graph, Tile, Isa, Device, Object };

struct CompileOptions {
  Architecture architecture;
  /// Values of symbolic dimensions by name (`--dim`).
  std::map<std::string, uint64_t> dims;
  /// Shapes of the inputs that the user gave; they bind symbolic dimensions and
  /// must agree with the model. By input name, or by position.
  std::map<std::string, std::vector<uint64_t>> inputShapes;
  std::map<uint32_t, std::vector<uint64_t>> inputShapesByPosition;
  /// The bytes of small inputs by their position: an input that decides shapes
  /// is compiled in with this value.
  std::map<uint32_t, std::string> inputBytesByPosition;
  std::map<std::string, std::string> inputBytes; ///< Likewise, by name.
  /// "f32", or the format to which contractions of f32 round their operands:
  /// "bf16" or "f16".
  std::string precision = "f32";
  PlanOptions plans;
  EmitLevel emit = EmitLevel::Object;
  /// Pass whose result is printed into `dumpText`; empty: none. An unknown name
  /// is an error that lists the known ones.
  std::string dumpAfter;
  /// Make the result of every dispatch an output, after those of the model.
  bool exposeDispatches = false;
  /// Fill `timingText` with the time that each pass took.
  bool timing = false;
  /// Hears of nodes imported and passes run.
  ProgressFunction progress;
};

/// What a model asks for, once its shapes are known.
struct ModelWork {
  struct Layer {
    OperatorRecord work;
    uint64_t bytes = 0; ///< Of what it reads and writes.
  };
  std::vector<Layer> layers;
  uint64_t compulsoryBytes = 0; ///< Inputs, weights and outputs, once each.
};

/// The imported module and what else ReferenceModel needs (MLIR inside).
struct ImportedModel;

/// A finished compilation.
struct CompiledModel {
  Object object; ///< Valid when emit was EmitLevel::Object.
  std::string emittedText, dumpText, timingText;
  /// Of each of the object's dispatches the hash of what was planned, by which
  /// a PlanBook knows it; 0: nothing was.
  std::vector<uint64_t> problems;
  double seconds = 0; ///< Wall time of the compilation.
  /// Outputs of the model; the object's further ones are those of dispatches.
  size_t outputCount = 0;
  /// What the model expects of some of its outputs (`check` operations).
  std::vector<Expectation> expectations;
  std::shared_ptr<ImportedModel> imported;
};

/// Reads the declarations of `path` (.onnx, .mlir, .mlirbc).
Result<ModelDescription> describeModel(const std::string &path);

/// Imports the model and counts its work; the error of a model that cannot be
/// imported names every node that stands in the way.
Result<ModelWork> countModelWork(const std::string &path,
                                 const CompileOptions &options);

Result<CompiledModel> compileModel(const std::string &path,
                                   const CompileOptions &options);

/// The same model lowered by upstream passes, to run on the host: the reference
/// of `--verify`. Inputs and outputs are in signature order. Outputs of
/// dispatches are those of the dispatches as they were formed, lowered
/// likewise.
class ReferenceModel {
public:
  static Result<ReferenceModel> compile(const CompiledModel &model);
  ReferenceModel(ReferenceModel &&) noexcept;
  ReferenceModel &operator=(ReferenceModel &&) noexcept;
  ~ReferenceModel();

  Result<std::vector<HostTensor>>
  run(std::span<const HostTensor> inputs,
      HostRounding rounding = HostRounding::Nearest) const;

private:
  struct Programs;
  explicit ReferenceModel(std::unique_ptr<Programs> programs);
  std::unique_ptr<Programs> programs;
};

} // namespace tessera

#endif // TESSERA_PIPELINES_COMPILER_H
