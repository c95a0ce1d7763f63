//===- VerifyISA.cpp - Checks at the end of the lowering ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArchOption.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/Conversion/ProgramCheck.h"

namespace tessera {
#define GEN_PASS_DEF_VERIFYISAPROGRAMPASS
#define GEN_PASS_DEF_VERIFYLOWEREDTOISAPASS
#include "lib/Conversion/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

//===----------------------------------------------------------------------===//
// verify-isa-program
//===----------------------------------------------------------------------===//

static LogicalResult verifyProgram(isa::KernelOp kernel,
                                   ArrayRef<device::DispatchOp> dispatches,
                                   ArrayRef<isa::MapProgram> mapPrograms,
                                   ProgramCheckOptions options) {
  std::vector<isa::Descriptor> descriptors;
  for (auto descriptor : kernel.getBody().front().getOps<isa::DescriptorOp>())
    descriptors.push_back(descriptor.getDescriptor());
  std::vector<isa::Instruction> program;
  SmallVector<Operation *> operations;
  isa::forEachInstruction(kernel, [&](Operation *op) {
    program.push_back(isa::getInstruction(op));
    operations.push_back(op);
  });

  // Arguments are as large as the smallest buffer that a dispatch gives.
  for (device::DispatchOp dispatch : dispatches) {
    ArrayRef<int32_t> shape = dispatch.getCores();
    if (uint32_t(shape[0] * shape[1]) > options.numCores) {
      options.numCores = shape[0] * shape[1];
      options.columns = shape[0];
    }
    options.argumentBytes.resize(dispatch.getBuffers().size(), UINT64_MAX);
    for (auto [bytes, buffer] :
         llvm::zip_first(options.argumentBytes, dispatch.getBuffers()))
      bytes = std::min<uint64_t>(
          bytes, cast<device::BufferType>(buffer.getType()).getBytes());
  }
  if (!dependsOnCore(program))
    options.numCores = options.columns = 1;
  auto result = checkProgram(program, descriptors, mapPrograms, options);
  Operation *at = result.instruction && *result.instruction < operations.size()
                      ? operations[*result.instruction]
                      : kernel;
  if (!result.status.ok())
    return at->emitError("kernel '")
           << kernel.getSymName() << "': " << result.status.message();
  if (!result.unproven.empty())
    at->emitWarning("kernel '")
        << kernel.getSymName()
        << "': checked up to here only: " << result.unproven;
  return success();
}

namespace {
struct VerifyISAProgram
    : tessera::impl::VerifyISAProgramPassBase<VerifyISAProgram> {
  using VerifyISAProgramPassBase::VerifyISAProgramPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto architecture = readArchOption(arch, module);
    if (failed(architecture))
      return signalPassFailure();
    ProgramCheckOptions options;
    options.spmBytes = architecture->spm.bytes;
    options.accBytes = architecture->acc.bytes;
    options.semaphores = architecture->semaphores;
    options.matrixEngines = architecture->matrix.count;
    options.maxSteps = maxSteps;

    llvm::StringMap<SmallVector<device::DispatchOp>> dispatches;
    module.walk([&](device::DispatchOp dispatch) {
      dispatches[dispatch.getKernel()].push_back(dispatch);
    });
    std::vector<isa::MapProgram> mapPrograms;
    for (auto program : module.getOps<isa::MapProgramOp>())
      mapPrograms.push_back(program.getProgram());
    for (auto kernel : module.getOps<isa::KernelOp>())
      if (failed(verifyProgram(kernel, dispatches[kernel.getSymName()],
                               mapPrograms, options)))
        return signalPassFailure();
  }
};

//===----------------------------------------------------------------------===//
// verify-lowered-to-isa
//===----------------------------------------------------------------------===//

struct VerifyLoweredToISA
    : tessera::impl::VerifyLoweredToISAPassBase<VerifyLoweredToISA> {
  using VerifyLoweredToISAPassBase::VerifyLoweredToISAPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool isGood = true;
    for (Operation &op : *module.getBody()) {
      if (llvm::isa<isa::KernelOp, isa::MapProgramOp, device::ProgramOp>(op))
        continue;
      op.emitError("'") << op.getName() << "' is not lowered to instructions";
      isGood = false;
    }
    module.walk([&](device::DispatchOp dispatch) {
      auto kernel =
          module.lookupSymbol<isa::KernelOp>(dispatch.getKernelAttr());
      if (kernel && kernel.getNumArguments() == dispatch.getBuffers().size())
        return;
      auto diagnostic = dispatch.emitError("gives ")
                        << dispatch.getBuffers().size() << " buffers to '"
                        << dispatch.getKernel() << "', which ";
      if (kernel)
        diagnostic << "takes " << kernel.getNumArguments();
      else
        diagnostic << "is no isa.kernel";
      isGood = false;
    });
    if (!isGood)
      signalPassFailure();
  }
};
} // namespace
