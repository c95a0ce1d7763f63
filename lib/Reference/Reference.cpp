//===- Reference.cpp - Running a model on the host
//--------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Reference/Reference.h"
#include "Lowering.h"
#include "dialects/Graph/GraphConstants.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include <cfenv>
#include <cstring>
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;

namespace {
/// Memory as aligned as the compiled code assumes.
class AlignedBuffer {
public:
  explicit AlignedBuffer(size_t bytes)
      : size(bytes), data(static_cast<std::byte *>(::operator new(
                         std::max<size_t>(bytes, 1), alignment))) {}
  AlignedBuffer(AlignedBuffer &&other) noexcept
      : size(other.size), data(std::exchange(other.data, nullptr)) {}
  ~AlignedBuffer() {
    if (data)
      ::operator delete(data, alignment);
  }
  void fill(const void *from) {
    if (size != 0)
      std::memcpy(data, from, size);
  }

  static constexpr std::align_val_t alignment{64};
  size_t size;
  std::byte *data;
};

/// Rounds as asked for until the end of the scope. Compiled functions do not
/// assume a mode: nothing of them was computed in advance but constants.
class RoundingScope {
public:
  explicit RoundingScope(HostRounding rounding) : before(std::fegetround()) {
    std::fesetround(rounding == HostRounding::Up     ? FE_UPWARD
                    : rounding == HostRounding::Down ? FE_DOWNWARD
                                                     : FE_TONEAREST);
  }
  ~RoundingScope() { std::fesetround(before); }
  RoundingScope(const RoundingScope &) = delete;
  RoundingScope &operator=(const RoundingScope &) = delete;

private:
  int before;
};
} // namespace

struct HostReference::Compiled {
  std::unique_ptr<ExecutionEngine> engine;
  std::vector<size_t> inputs, outputs; ///< Bytes of each.
  std::vector<AlignedBuffer> constants;
};

HostReference::HostReference(std::unique_ptr<Compiled> compiled)
    : compiled(std::move(compiled)) {}
HostReference::HostReference(HostReference &&) noexcept = default;
HostReference &HostReference::operator=(HostReference &&) noexcept = default;
HostReference::~HostReference() = default;

size_t HostReference::numInputs() const { return compiled->inputs.size(); }
size_t HostReference::inputBytes(size_t index) const {
  return compiled->inputs[index];
}
size_t HostReference::numOutputs() const { return compiled->outputs.size(); }
size_t HostReference::outputBytes(size_t index) const {
  return compiled->outputs[index];
}

static Status failure(llvm::Error error) {
  return {StatusCode::Internal,
          "host reference: " + llvm::toString(std::move(error))};
}

static tessera::Result<std::vector<size_t>> sizesOf(ArrayRef<Type> types) {
  std::vector<size_t> sizes;
  for (Type type : types) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() ||
        !tensor.getElementType().isIntOrFloat() ||
        tensor.getElementTypeBitWidth() % 8 != 0)
      return Status(StatusCode::Unsupported,
                    "host reference: accepted are tensors of static shape with "
                    "elements of whole bytes");
    sizes.push_back(tensor.getNumElements() * tensor.getElementTypeBitWidth() /
                    8);
  }
  return sizes;
}

static tessera::Result<std::unique_ptr<ExecutionEngine>>
createEngine(ModuleOp module) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return failure(builder.takeError());
  // Multiplications and additions stay apart, as they are written.
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return failure(machine.takeError());
  // The transformer runs inside create(); it borrows a machine of its own.
  auto optimizing = builder->createTargetMachine();
  if (!optimizing)
    return failure(optimizing.takeError());
  auto transformer = makeOptimizingTransformer(
      /*optLevel=*/2, /*sizeLevel=*/0, optimizing->get());
  ExecutionEngineOptions options;
  options.transformer = transformer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  options.enableGDBNotificationListener = false;
  options.enablePerfNotificationListener = false;
  auto engine = ExecutionEngine::create(module, options, std::move(*machine));
  if (!engine)
    return failure(engine.takeError());
  return std::move(*engine);
}

tessera::Result<HostReference> HostReference::compile(ModuleOp original) {
  DialectRegistry registry;
  registerLoweringDialects(registry);
  original->getContext()->appendDialectRegistry(registry);
  original->getContext()->loadAllAvailableDialects();

  OwningOpRef<ModuleOp> module = original.clone();
  auto function = module->lookupSymbol<func::FuncOp>("main");
  if (!function)
    return Status(StatusCode::InvalidArgument,
                  "host reference: the module has no function @main");
  auto compiled = std::make_unique<Compiled>();
  TESSERA_ASSIGN_OR_RETURN(compiled->inputs,
                           sizesOf(function.getArgumentTypes()));
  TESSERA_ASSIGN_OR_RETURN(compiled->outputs,
                           sizesOf(function.getResultTypes()));
  for (ElementsAttr constant : constantsToArguments(*module)) {
    std::optional<SmallVector<char>> bytes = graph::getBytes(constant);
    if (!bytes)
      return Status(StatusCode::Unsupported,
                    "host reference: a constant has no bytes");
    compiled->constants.emplace_back(bytes->size()).fill(bytes->data());
  }
  TESSERA_RETURN_IF_ERROR(lowerToHost(*module));
  TESSERA_ASSIGN_OR_RETURN(compiled->engine, createEngine(*module));
  return HostReference(std::move(compiled));
}

tessera::Result<std::vector<std::vector<std::byte>>>
HostReference::run(std::span<const std::span<const std::byte>> inputs,
                   HostRounding rounding) const {
  if (inputs.size() != compiled->inputs.size())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("host reference: {} inputs given, the model has "
                              "{}",
                              inputs.size(), compiled->inputs.size()));
  std::vector<AlignedBuffer> buffers;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].size() != compiled->inputs[i])
      return Status(StatusCode::InvalidArgument,
                    fmt::format("host reference: input {} has {} bytes, the "
                                "model wants {}",
                                i, inputs[i].size(), compiled->inputs[i]));
    buffers.emplace_back(inputs[i].size()).fill(inputs[i].data());
  }
  for (size_t bytes : compiled->outputs)
    buffers.emplace_back(bytes);

  // Inputs, constants, outputs: a pointer to each argument that has elements.
  std::vector<void *> pointers, arguments;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (buffers[i].size != 0)
      pointers.push_back(buffers[i].data);
  for (const AlignedBuffer &constant : compiled->constants)
    pointers.push_back(constant.data);
  for (size_t i = 0; i < compiled->outputs.size(); ++i)
    if (compiled->outputs[i] != 0)
      pointers.push_back(buffers[inputs.size() + i].data);
  for (void *&pointer : pointers)
    arguments.push_back(&pointer);
  {
    RoundingScope scope(rounding);
    if (llvm::Error error = compiled->engine->invokePacked("main", arguments))
      return failure(std::move(error));
  }

  std::vector<std::vector<std::byte>> outputs;
  for (size_t i = 0; i < compiled->outputs.size(); ++i) {
    const AlignedBuffer &buffer = buffers[inputs.size() + i];
    outputs.emplace_back(buffer.data, buffer.data + buffer.size);
  }
  return outputs;
}
