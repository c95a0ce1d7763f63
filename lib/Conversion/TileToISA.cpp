//===- TileToISA.cpp - Tile kernels to instructions -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArchOption.h"
#include "KernelEmitter.h"
#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Conversion/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_CONVERTTILETOISAPASS
#include "lib/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// The matrix engine takes the formats that the architecture gives a rate.
static LogicalResult checkFormat(Operation *op, const Architecture &arch) {
  auto mma = dyn_cast<tile::MmaOp>(op);
  if (!mma)
    return success();
  Type element =
      cast<MemRefType>(mma->getOperand(0).getType()).getElementType();
  std::string name, known;
  llvm::raw_string_ostream(name) << element;
  for (const auto &[format, scale] : arch.matrix.macsScale) {
    known += (known.empty() ? "" : ", ") + std::string(formatName(format));
    if (formatName(format) == name ||
        (element.isInteger(8) && bitWidth(format) == 8 && !isFloat(format)))
      return success();
  }
  return op->emitError() << "the matrix engine of '" << arch.name << "' has no "
                         << name << "; accepted: " << known;
}

static FailureOr<EmittedKernel>
convertAsItIs(tile::KernelOp op, const Architecture &arch,
              std::vector<isa::MapProgram> &programs) {
  FailureOr<TileKernel> kernel = TileKernel::analyse(op);
  if (failed(kernel))
    return failure();
  std::vector<std::optional<EngineInst>> engineInsts(kernel->nodes.size());
  for (auto [index, node] : llvm::enumerate(kernel->nodes)) {
    if (node.kind != KernelNode::Kind::Engine)
      continue;
    if (failed(checkFormat(node.op, arch)))
      return failure();
    FailureOr<EngineInst> inst = selectEngineInst(*kernel, node.op, programs);
    if (failed(inst))
      return failure();
    engineInsts[index] = std::move(*inst);
  }
  FailureOr<KernelPlan> plan = planKernel(*kernel, arch);
  if (failed(plan))
    return failure();
  return emitKernel(*kernel, *plan, engineInsts);
}

/// Shared loads take registers and semaphores of their own. Where these do not
/// suffice each core loads for itself.
static FailureOr<EmittedKernel>
convertKernel(tile::KernelOp op, const Architecture &arch,
              std::vector<isa::MapProgram> &programs) {
  SmallVector<tile::LoadOp> shared;
  op.walk([&](tile::LoadOp load) {
    if (load.getSharedAttr())
      shared.push_back(load);
  });
  if (!shared.empty()) {
    ScopedDiagnosticHandler silent(op.getContext(),
                                   [](Diagnostic &) { return success(); });
    size_t known = programs.size();
    FailureOr<EmittedKernel> code = convertAsItIs(op, arch, programs);
    if (succeeded(code))
      return code;
    programs.resize(known);
    for (tile::LoadOp load : shared)
      load.removeSharedAttr();
  }
  return convertAsItIs(op, arch, programs);
}

/// Creates the instructions' operations; the number of them, or failure if a
/// value does not fit its field.
static FailureOr<size_t> createCode(OpBuilder &builder,
                                    const std::vector<CodeNode> &code) {
  size_t count = 0;
  for (const CodeNode &node : code) {
    isa::Instruction inst = node.inst;
    bool isLoop = !node.body.empty();
    if (isLoop) // Derived from the body.
      inst.fields[inst.opcode == isa::Opcode::LOOP
                      ? unsigned(isa::loop::length)
                      : unsigned(isa::loopr::length)] = 1;
    if (Status status = isa::verify(inst); !status.ok())
      return emitError(node.loc) << status.message();
    Operation *op = isa::createInstruction(builder, node.loc, inst);
    ++count;
    if (!isLoop)
      continue;
    OpBuilder body = OpBuilder::atBlockEnd(isa::getLoopBody(op));
    FailureOr<size_t> length = createCode(body, node.body);
    if (failed(length))
      return failure();
    if (*length > UINT16_MAX)
      return emitError(node.loc)
             << "the loop's body has " << *length
             << " instructions; a hardware loop takes at most " << UINT16_MAX;
    count += *length;
  }
  return count;
}

namespace {
struct ConvertTileToISA
    : tessera::impl::ConvertTileToISAPassBase<ConvertTileToISA> {
  using ConvertTileToISAPassBase::ConvertTileToISAPassBase;

  void runOnOperation() override {
    if (failed(convertModule(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult convertModule(ModuleOp module) {
    auto architecture = readArchOption(arch, module);
    if (failed(architecture))
      return failure();
    std::vector<isa::MapProgram> programs;
    for (auto program : module.getOps<isa::MapProgramOp>())
      programs.push_back(program.getProgram());

    SymbolTable symbols(module);
    OpBuilder builder(module.getContext());
    for (auto op :
         llvm::make_early_inc_range(module.getOps<tile::KernelOp>())) {
      size_t known = programs.size();
      FailureOr<EmittedKernel> code =
          convertKernel(op, *architecture, programs);
      if (failed(code))
        return failure();
      // Programs stand before the kernels that first use them.
      builder.setInsertionPoint(op);
      for (size_t i = known; i < programs.size(); ++i)
        symbols.insert(
            isa::createMapProgram(builder, op.getLoc(), "map", programs[i]));
      auto kernel = isa::createKernel(builder, op.getLoc(), op.getSymName(),
                                      op.getBody().getNumArguments());
      builder.setInsertionPointToEnd(&kernel.getBody().front());
      for (const isa::Descriptor &descriptor : code->descriptors)
        isa::createDescriptor(builder, op.getLoc(), descriptor);
      if (failed(createCode(builder, code->code)))
        return failure();
      op.erase();
    }
    return success();
  }
};
} // namespace
