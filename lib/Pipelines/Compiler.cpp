//===- Compiler.cpp - From a model file to an object ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Pipelines/Compiler.h"
#include "Diagnostics.h"
#include "ImportedModel.h"
#include "dialects/Device/DeviceDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/Timing.h"
#include "tessera/Conversion/BuildObject.h"
#include "tessera/Pipelines/Pipelines.h"
#include "tessera/Transforms/ExposeDispatches.h"
#include "tessera/Transforms/Passes.h"
#include "tessera/Transforms/Workload.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <fmt/format.h>
#include <set>

using namespace mlir;
using namespace tessera;

namespace {

/// Counts the passes that run on the whole module.
class PassCounter final : public PassInstrumentation {
public:
  PassCounter(const ProgressFunction &progress, uint64_t &done, uint64_t total)
      : progress(progress), done(done), total(total) {}
  void runBeforePass(Pass *pass, Operation *op) override {
    if (llvm::isa<ModuleOp>(op))
      progress("compiling", done++, total, pass->getArgument().str());
  }

private:
  const ProgressFunction &progress;
  uint64_t &done;
  uint64_t total;
};

/// Passes of a whole compilation, those inside other ones not counted.
uint64_t countPasses(const std::string &arch) {
  OpPassManager all(ModuleOp::getOperationName());
  addFoldingPhase(all);
  addGraphPhase(all);
  addTilePhase(all, arch);
  addIsaPhase(all, arch);
  addDevicePhase(all, arch);
  uint64_t count = 0;
  for (Pass &pass : all.getPasses())
    count += !pass.getArgument().empty();
  return count;
}

/// Runs phases on a module and keeps what was asked to be seen of them.
class PhaseRunner {
public:
  PhaseRunner(ModuleOp module, const CompileOptions &options,
              uint64_t numPasses = 0)
      : module(module), options(options), numPasses(numPasses),
        dumpStream(dump), timingStream(timing) {
    if (options.timing) {
      timingManager.setEnabled(true);
      timingManager.setOutput(createOutputStrategy(
          DefaultTimingManager::OutputFormat::Text, timingStream));
      timingScope = timingManager.getRootScope();
    }
  }

  Status run(llvm::function_ref<void(OpPassManager &)> addPasses) {
    PassManager manager(module->getContext());
    addPasses(manager);
    if (!options.dumpAfter.empty())
      manager.enableIRPrinting(
          [](Pass *, Operation *) { return false; },
          [this](Pass *pass, Operation *) {
            passNames.insert(pass->getArgument().str());
            return pass->getArgument() == options.dumpAfter;
          },
          /*printModuleScope=*/true, /*printAfterOnlyOnChange=*/false,
          /*printAfterOnlyOnFailure=*/false, dumpStream);
    if (options.timing)
      manager.enableTiming(timingScope);
    if (options.progress && numPasses)
      manager.addInstrumentation(std::make_unique<PassCounter>(
          options.progress, passesDone, numPasses));
    DiagnosticCollector diagnostics(module->getContext());
    if (failed(manager.run(module)))
      return diagnostics.status(StatusCode::Unsupported,
                                "the compiler failed without saying why");
    return Status::success();
  }

  /// An error if --dump-after named a pass that no phase ran.
  Status finish(CompiledModel &model) {
    if (!options.dumpAfter.empty() && !passNames.count(options.dumpAfter)) {
      std::string known;
      for (const std::string &name : passNames)
        if (!name.empty())
          known += (known.empty() ? "" : ", ") + name;
      return Status(StatusCode::InvalidArgument, "--dump-after: no pass '" +
                                                     options.dumpAfter +
                                                     "' ran; passes: " + known);
    }
    timingScope.stop();
    timingManager.print();
    timingManager.setEnabled(false);
    dumpStream.flush();
    timingStream.flush();
    model.dumpText = dump;
    model.timingText = timing;
    return Status::success();
  }

private:
  ModuleOp module;
  const CompileOptions &options;
  uint64_t numPasses, passesDone = 0;
  std::string dump, timing;
  llvm::raw_string_ostream dumpStream, timingStream;
  std::set<std::string> passNames;
  DefaultTimingManager timingManager;
  TimingScope timingScope;
};

std::string printModule(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << "\n";
  return text;
}

/// Whether everything that the program keeps in DRAM fits there.
Status checkDeviceMemory(const Object &object, const Architecture &arch) {
  if (object.outputs.empty())
    return Status(StatusCode::InvalidArgument,
                  "the model has no outputs; accepted is one that gives "
                  "at least one tensor");
  uint64_t needed = object.rodata.size() + object.arenaBytes;
  for (const TensorSignature &tensor : object.inputs)
    needed += tensor.bytes;
  for (const TensorSignature &tensor : object.outputs)
    needed += tensor.bytes;
  if (needed <= arch.dram.bytes)
    return Status::success();
  return Status(StatusCode::OutOfMemory,
                fmt::format("weights, inputs, outputs and intermediate results "
                            "take {} bytes; the DRAM of '{}' has {}",
                            needed, arch.name, arch.dram.bytes));
}

/// Rounds what contractions read, in the module that the reference runs too:
/// both compute the same. After folding, so that what is folded into weights is
/// rounded with them.
Status roundContractions(ModuleOp module, const CompileOptions &options) {
  if (options.precision == "f32")
    return Status::success();
  PassManager manager(module->getContext());
  addFoldingPhase(manager);
  RoundContractionsPassOptions rounding;
  rounding.format = options.precision;
  manager.addNestedPass<func::FuncOp>(createRoundContractionsPass(rounding));
  DiagnosticCollector diagnostics(module->getContext());
  if (failed(manager.run(module)))
    return diagnostics.status(StatusCode::Unsupported,
                              "the operands of contractions cannot be rounded");
  return Status::success();
}

} // namespace

Result<ModelWork> tessera::countModelWork(const std::string &path,
                                          const CompileOptions &options) {
  TESSERA_ASSIGN_OR_RETURN(std::shared_ptr<ImportedModel> imported,
                           importForCompilation(path, options));
  TESSERA_RETURN_IF_ERROR(roundContractions(*imported->module, options));
  PhaseRunner runner(*imported->module, options);
  TESSERA_RETURN_IF_ERROR(runner.run(addFoldingPhase));
  Workload workload = countWorkload(*imported->module);
  ModelWork work;
  work.compulsoryBytes = workload.compulsoryBytes;
  for (size_t i = 0; i < workload.operators.size(); ++i)
    work.layers.push_back(
        {std::move(workload.operators[i]), workload.operandBytes[i]});
  return work;
}

Result<CompiledModel> tessera::compileModel(const std::string &path,
                                            const CompileOptions &options) {
  auto start = std::chrono::steady_clock::now();
  CompiledModel model;
  TESSERA_ASSIGN_OR_RETURN(model.imported, importForCompilation(path, options));
  model.expectations = expectationsOf(*model.imported->module);
  TESSERA_RETURN_IF_ERROR(roundContractions(*model.imported->module, options));

  OwningOpRef<ModuleOp> module = model.imported->module->clone();
  // The text of the architecture travels to the passes as their option, so that
  // a file and a preset are the same thing to them.
  std::string arch = printArchitecture(options.architecture);
  Workload workload;

  PhaseRunner runner(*module, options,
                     options.progress ? countPasses(arch) : 0);
  auto finish = [&]() -> Result<CompiledModel> {
    TESSERA_RETURN_IF_ERROR(runner.finish(model));
    model.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    return std::move(model);
  };

  TESSERA_RETURN_IF_ERROR(runner.run(addFoldingPhase));
  workload = countWorkload(*module);
  TESSERA_RETURN_IF_ERROR(runner.run(addGraphPhase));
  if (auto entry = module->lookupSymbol<func::FuncOp>("main"))
    model.outputCount = entry.getNumResults();
  if (options.exposeDispatches) {
    exposeDispatches(*module);
    model.imported->dispatches = module->clone();
    inlineDispatches(*model.imported->dispatches);
  }
  if (options.emit == EmitLevel::Graph) {
    model.emittedText = printModule(*module);
    return finish();
  }
  TESSERA_RETURN_IF_ERROR(runner.run([&](OpPassManager &manager) {
    addTilePhase(manager, arch, options.plans);
  }));
  module->walk([&](device::DispatchOp dispatch) {
    device::MappingAttr mapping = dispatch.getMappingAttr();
    model.problems.push_back(mapping ? mapping.getProblem() : 0);
  });
  if (options.emit == EmitLevel::Tile) {
    model.emittedText = printModule(*module);
    return finish();
  }
  TESSERA_RETURN_IF_ERROR(
      runner.run([&](OpPassManager &manager) { addIsaPhase(manager, arch); }));
  if (options.emit == EmitLevel::Isa) {
    model.emittedText = printModule(*module);
    return finish();
  }
  TESSERA_RETURN_IF_ERROR(runner.run(
      [&](OpPassManager &manager) { addDevicePhase(manager, arch); }));
  if (options.emit == EmitLevel::Device) {
    model.emittedText = printModule(*module);
    return finish();
  }

  TESSERA_ASSIGN_OR_RETURN(model.object,
                           buildObject(*module, options.architecture));
  TESSERA_RETURN_IF_ERROR(
      checkDeviceMemory(model.object, options.architecture).withContext(path));
  model.object.sourceName = path.substr(path.find_last_of('/') + 1);
  model.object.workload = std::move(workload.operators);
  model.object.compulsoryBytes = workload.compulsoryBytes;
  linkDispatchesToOperators(model.object);
  return finish();
}
