//===- MlirImport.cpp - From MLIR text or bytecode to a module ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MlirImport.h"
#include "BooleanBoundary.h"
#include "Trial.h"
#include "WideBoundary.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Conversion/TosaToArith/TosaToArith.h"
#include "mlir/Conversion/TosaToLinalg/TosaToLinalg.h"
#include "mlir/Conversion/TosaToTensor/TosaToTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Tosa/Transforms/Passes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace mlir;
using namespace tessera;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

std::string tessera::placeOf(Location loc) {
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    return fmt::format("line {}", file.getLine());
  if (auto name = loc->findInstanceOf<NameLoc>())
    return fmt::format("'{}'", name.getName().str());
  return "unknown place";
}

namespace {
/// Keeps the first error of a context's diagnostics.
class FirstError {
public:
  explicit FirstError(MLIRContext *context)
      : handler(context, [this](Diagnostic &diagnostic) {
          if (text.empty() &&
              diagnostic.getSeverity() == DiagnosticSeverity::Error) {
            text = placeOf(diagnostic.getLocation()) + ": " + diagnostic.str();
            // One line, whatever the diagnostic holds.
            std::replace(text.begin(), text.end(), '\n', ' ');
          }
          return success();
        }) {}
  std::string text;

private:
  ScopedDiagnosticHandler handler;
};
} // namespace

/// Parses and verifies. Errors do not name the file.
static tessera::Result<OwningOpRef<ModuleOp>>
parse(MLIRContext &context, StringRef bytes, StringRef fileName) {
  FirstError error(&context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(bytes, fileName), llvm::SMLoc());
  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return invalid(error.text.empty() ? "cannot be parsed" : error.text);
  return module;
}

/// The parsers of text and bytecode trust their input in places: damaged
/// bytecode and text that nests deeply can end the process. What may be such is
/// parsed in a copy of it first, which shows whether and how it ends.
static Status tryToParse(MLIRContext &context, StringRef bytes) {
  std::optional<MLIRContext> fresh;
  auto prepare = [&] {
    // The other one's threads do not exist in the copy.
    DialectRegistry registry;
    context.getDialectRegistry().appendTo(registry);
    fresh.emplace(registry, MLIRContext::Threading::DISABLED);
    fresh->loadAllAvailableDialects();
  };
  auto action = [&] { return parse(*fresh, bytes, "").status(); };
  // Time and memory grow with the length; the parsers need a tenth of this.
  return runTrial(prepare, action,
                  {.bytes = (uint64_t(100) << 20) + 32 * bytes.size(),
                   .microseconds = 500000 + bytes.size()});
}

tessera::Result<OwningOpRef<ModuleOp>>
tessera::parseMlir(MLIRContext &context, std::string bytes,
                   const std::string &name) {
  auto named = [&](const Status &status) -> Status {
    // "file:3: …", as compilers say it, where the place is a line.
    constexpr StringRef line = "line ";
    StringRef text = status.message();
    return {status.code(), text.consume_front(line) ? name + ":" + text.str()
                                                    : name + ": " + text.str()};
  };
  if (Status trial = tryToParse(context, bytes); !trial.ok())
    return named(
        trial.code() == StatusCode::ResourceExhausted
            ? trial.withContext("is damaged or nests too deep: its parser")
            : trial);
  // Places in it go into objects: of the file, not of its folder.
  auto module = parse(context, bytes, llvm::sys::path::filename(name));
  if (!module.ok())
    return named(module.status());
  return module;
}

/// The function to import, renamed to `@main`; others are erased if nothing
/// calls them.
static tessera::Result<func::FuncOp> findEntry(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  func::FuncOp entry;
  for (func::FuncOp function : functions)
    if (function.getName() == "main" || functions.size() == 1)
      entry = function;
  if (!entry)
    return invalid(fmt::format("has {} functions; accepted are one, or one "
                               "called @main",
                               functions.size()));
  if (entry.isExternal())
    return invalid(
        fmt::format("function @{} has no body", entry.getName().str()));
  entry.setName("main");
  entry.setPublic();
  for (func::FuncOp function : functions)
    if (function != entry && SymbolTable::symbolKnownUseEmpty(function, module))
      function.erase();
  return entry;
}

static Status checkSignature(func::FuncOp entry, const ImportOptions &options) {
  if (!options.dims.empty())
    return invalid(fmt::format("--dim {}: the model has no symbolic dimensions",
                               options.dims.begin()->first));
  auto check = [](StringRef what, unsigned index, Type type) -> Status {
    auto tensor = dyn_cast<RankedTensorType>(type);
    std::string text;
    llvm::raw_string_ostream(text) << type;
    if (!tensor)
      return invalid(fmt::format("{} {} has the type {}; accepted are ranked "
                                 "tensors",
                                 what.str(), index, text));
    if (!tensor.hasStaticShape())
      return invalid(fmt::format("{} {} has the type {}; accepted are tensors "
                                 "without dynamic dimensions",
                                 what.str(), index, text));
    return Status::success();
  };
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    TESSERA_RETURN_IF_ERROR(check("argument", i, type));
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    TESSERA_RETURN_IF_ERROR(check("result", i, type));
  for (const auto &[position, shape] : options.inputShapesByPosition) {
    if (position >= entry.getNumArguments())
      return invalid(fmt::format("there is no input {}; the model has {}",
                                 position, entry.getNumArguments()));
    auto type = cast<RankedTensorType>(entry.getArgumentTypes()[position]);
    if (!llvm::equal(type.getShape(), shape))
      return invalid(fmt::format(
          "input {}: given is the shape [{}], the model has [{}]", position,
          fmt::join(shape, ", "),
          fmt::join(type.getShape().begin(), type.getShape().end(), ", ")));
  }
  return Status::success();
}

static Status lowerTosa(ModuleOp module) {
  bool present = false;
  module.walk([&](Operation *op) {
    present |= isa_and_nonnull<tosa::TosaDialect>(op->getDialect());
  });
  if (!present)
    return Status::success();
  PassManager manager(module.getContext());
  OpPassManager &function = manager.nest<func::FuncOp>();
  function.addPass(tosa::createTosaOptionalDecompositionsPass());
  function.addPass(tosa::createTosaMakeBroadcastablePass());
  function.addPass(tosa::createTosaToLinalgNamed());
  function.addPass(tosa::createTosaToLinalg());
  function.addPass(createTosaToTensorPass());
  // With products of 32 by 32 bits in two halves: lanes have no 64 bits.
  TosaToArithPassOptions arith;
  arith.includeApplyRescale = true;
  arith.use32Bit = true;
  function.addPass(createTosaToArithPass(arith));
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  FirstError error(module.getContext());
  if (failed(manager.run(module)))
    return invalid("TOSA cannot be lowered: " + error.text);
  return Status::success();
}

/// Operations on whole tensors of the dialects arith and math get bodies.
static Status toGenerics(func::FuncOp entry) {
  PassManager manager(entry->getContext(), func::FuncOp::getOperationName());
  manager.addPass(createConvertElementwiseToLinalgPass());
  FirstError error(entry->getContext());
  if (failed(manager.run(entry)))
    return invalid("operations on tensors get no bodies: " + error.text);
  return Status::success();
}

/// The element types that tensors may have. Unsigned integers are signless in
/// operations and named at the boundary.
static bool isAccepted(Type element) {
  return element.isF32() || element.isF16() || element.isBF16() ||
         element.isInteger(1) || element.isSignlessInteger(8) ||
         element.isSignlessInteger(32) || element.isSignlessInteger(64);
}

static constexpr const char *acceptedElements =
    "accepted are tensors of f32, f16, bf16, i64, i32, i8 and i1";

/// Lists what is neither known nor of accepted static tensors, each kind once.
static Status checkContents(ModuleOp module) {
  std::vector<std::string> problems;
  auto add = [&](Operation *op, std::string what) {
    std::string text =
        fmt::format("'{}' ({}): {}", op->getName().getStringRef().str(),
                    placeOf(op->getLoc()), what);
    if (!llvm::is_contained(problems, text))
      problems.push_back(text);
  };
  auto textOf = [](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  module.walk([&](Operation *op) {
    if (isa<ModuleOp, func::FuncOp, func::ReturnOp, scf::YieldOp,
            scf::ConditionOp>(op))
      return;
    StringRef dialect = op->getName().getDialectNamespace();
    if (dialect != "linalg" && dialect != "tensor" && dialect != "arith" &&
        dialect != "math" && dialect != "graph") {
      add(op, dialect == "scf" || dialect == "cf"
                  ? "control flow that values decide; accepted are loops with "
                    "constant bounds, and conditions that are constants"
                  : "unknown operation; accepted are the dialects tosa, "
                    "linalg, tensor, arith, math, graph and check");
      return;
    }
    for (Type type : op->getResultTypes()) {
      auto tensor = dyn_cast<TensorType>(type);
      if (!tensor)
        continue;
      if (!tensor.hasStaticShape())
        add(op,
            fmt::format("result {}; accepted are static shapes", textOf(type)));
      else if (!isAccepted(tensor.getElementType()))
        add(op, fmt::format("result {}; {}", textOf(type), acceptedElements));
    }
  });
  for (func::FuncOp function : module.getOps<func::FuncOp>())
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      if (auto tensor = dyn_cast<TensorType>(type);
          tensor && !isAccepted(tensor.getElementType()))
        problems.push_back(fmt::format("argument {}: {}; {}", i, textOf(type),
                                       acceptedElements));
  if (problems.empty())
    return Status::success();
  if (problems.size() == 1)
    return {StatusCode::Unsupported, problems.front()};
  return {StatusCode::Unsupported,
          fmt::format("{} problems:\n  {}", problems.size(),
                      fmt::join(problems, "\n  "))};
}

/// Gives every argument and result a name and its type in the model.
static void nameBoundary(func::FuncOp entry) {
  OpBuilder builder(entry.getContext());
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    if (!entry.getArgAttr(i, graph::nameAttrName))
      entry.setArgAttr(i, graph::nameAttrName,
                       builder.getStringAttr(fmt::format("arg{}", i)));
    if (!entry.getArgAttr(i, graph::typeAttrName))
      entry.setArgAttr(
          i, graph::typeAttrName,
          TypeAttr::get(getElementTypeOrSelf(entry.getArgumentTypes()[i])));
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    if (!entry.getResultAttr(i, graph::nameAttrName))
      entry.setResultAttr(i, graph::nameAttrName,
                          builder.getStringAttr(fmt::format("result{}", i)));
    if (!entry.getResultAttr(i, graph::typeAttrName))
      entry.setResultAttr(
          i, graph::typeAttrName,
          TypeAttr::get(getElementTypeOrSelf(entry.getResultTypes()[i])));
  }
}

Status tessera::normalizeMlir(ModuleOp module, const ImportOptions &options) {
  TESSERA_ASSIGN_OR_RETURN(func::FuncOp entry, findEntry(module));
  TESSERA_RETURN_IF_ERROR(checkSignature(entry, options));
  nameBoundary(entry);
  TESSERA_RETURN_IF_ERROR(flattenMlir(module, entry));
  takeExpectations(entry);
  nameBoundary(entry);
  TESSERA_RETURN_IF_ERROR(lowerTosa(module));
  TESSERA_RETURN_IF_ERROR(checkContents(module));
  TESSERA_RETURN_IF_ERROR(toGenerics(entry));
  clampPositions(entry);
  tabulateIndexValues(entry);
  expandScalars(entry);
  expandReductions(entry);
  storeBooleansAsBytes(entry);
  storeIntegersAsPairs(entry);
  return Status::success();
}

ModelDescription tessera::descriptionOf(ModuleOp module, bool bytecode) {
  ModelDescription description;
  description.format = bytecode ? "mlirbc" : "mlir";
  module.walk([&](Operation *op) {
    if (!isa<ModuleOp, func::FuncOp, func::ReturnOp>(op))
      ++description.operators[op->getName().getStringRef().str()];
    if (op->hasTrait<OpTrait::ConstantLike>() && op->getNumResults() == 1)
      if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
          type && type.hasStaticShape() &&
          type.getElementType().isIntOrFloat()) {
        description.parameters += type.getNumElements();
        description.parameterBytes +=
            type.getNumElements() *
            llvm::divideCeil(type.getElementTypeBitWidth(), 8);
      }
  });
  tessera::Result<func::FuncOp> entry = findEntry(module);
  if (!entry.ok())
    return description;
  nameBoundary(*entry);
  auto convert = [](StringAttr name, Type type) {
    ModelDescription::Tensor tensor;
    tensor.name = name.getValue().str();
    llvm::raw_string_ostream(tensor.type) << getElementTypeOrSelf(type);
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      for (int64_t extent : ranked.getShape())
        tensor.shape.push_back(
            ShapedType::isDynamic(extent) ? "?" : std::to_string(extent));
    return tensor;
  };
  for (unsigned i = 0; i < entry->getNumArguments(); ++i)
    description.inputs.push_back(
        convert(entry->getArgAttrOfType<StringAttr>(i, graph::nameAttrName),
                entry->getArgumentTypes()[i]));
  for (unsigned i = 0; i < entry->getNumResults(); ++i)
    description.outputs.push_back(
        convert(entry->getResultAttrOfType<StringAttr>(i, graph::nameAttrName),
                entry->getResultTypes()[i]));
  return description;
}
