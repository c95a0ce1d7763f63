//===- ISAToObject.cpp - From isa operations to an object -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ISAToObject.h"
#include "mlir/IR/Location.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"

using namespace mlir;

namespace tessera {

std::string describeLocation(Location location) {
  std::string text;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      text = name.getName().str();
    else if (auto file = dyn_cast<FileLineColLoc>(part))
      text = file.getFilename().str() + ":" + std::to_string(file.getLine());
    return text.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return text;
}

Result<KernelCode> encodeKernel(isa::KernelOp kernel,
                                const Architecture &arch) {
  KernelCode code;
  code.name = kernel.getSymName().str();
  code.numArguments = kernel.getNumArguments();
  for (auto descriptor : kernel.getBody().getOps<isa::DescriptorOp>())
    code.descriptors.push_back(descriptor.getDescriptor());

  Status status;
  uint32_t position = 0;
  std::string last; // Of the instruction before; none at the start.
  isa::forEachInstruction(kernel, [&](Operation *op) {
    if (!status.ok())
      return;
    std::string location = describeLocation(op->getLoc());
    if (location != last)
      code.locations.push_back({position, location});
    last = std::move(location);
    isa::Instruction inst = isa::getInstruction(op);
    status = isa::verifyResources(inst, arch.semaphores, arch.matrix.count);
    if (status.ok())
      status = isa::encode(inst, code.text);
    if (!status.ok())
      status = status.withContext(last);
    ++position;
  });
  if (!status.ok())
    return status.withContext(code.name);
  return code;
}

Result<std::vector<uint8_t>> encodeMapPrograms(ModuleOp module) {
  std::vector<uint8_t> bytes;
  for (auto program : module.getOps<isa::MapProgramOp>())
    TESSERA_RETURN_IF_ERROR(isa::encode(program.getProgram(), bytes));
  return bytes;
}

Result<Object> encodeKernels(ModuleOp module, const Architecture &arch) {
  Object object;
  object.architectureName = arch.name;
  object.isaKeys = isaKeys(arch);
  object.timingHash = arch.timingHash();
  TESSERA_ASSIGN_OR_RETURN(object.mapPrograms, encodeMapPrograms(module));
  for (auto kernel : module.getOps<isa::KernelOp>()) {
    TESSERA_ASSIGN_OR_RETURN(KernelCode code, encodeKernel(kernel, arch));
    object.kernels.push_back(std::move(code));
  }
  TESSERA_RETURN_IF_ERROR(verifyObject(object));
  return object;
}

} // namespace tessera
