//===- tessera-translate.cpp - Between IR and files -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   --isa-to-object   a module of isa.kernel and isa.map_program to an object;
//                     with a device.program, one that `tessera run` runs
//   --object-to-isa   an object's kernels to the isa dialect, i.e. assembly
//   --import-onnx, --import-mlir   a model as it is after import
//
// The first two are an assembler and a disassembler whose output assembles.
//
//===----------------------------------------------------------------------===//

#include "dialects/Device/DeviceDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/Conversion/BuildObject.h"
#include "tessera/Conversion/ISAToObject.h"
#include "tessera/Import/Import.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace tessera;

static llvm::cl::opt<std::string>
    archName("arch", llvm::cl::init("edge"),
             llvm::cl::desc("Architecture that the object is for: a preset or "
                            "a file"));

static LogicalResult writeKernels(Operation *op, llvm::raw_ostream &os) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    return op->emitError("expected a module of isa.kernel operations");
  Result<Architecture> arch = loadArchitecture(archName.getValue());
  if (!arch.ok())
    return op->emitError(arch.status().message());
  bool runs = !module.getOps<device::ProgramOp>().empty();
  Result<Object> object =
      runs ? buildObject(module, *arch) : encodeKernels(module, *arch);
  if (!object.ok())
    return op->emitError(object.status().message());
  std::vector<uint8_t> file = writeObject(*object);
  os.write(reinterpret_cast<const char *>(file.data()), file.size());
  return success();
}

static OwningOpRef<Operation *> readKernels(llvm::SourceMgr &sources,
                                            MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      sources.getMemoryBuffer(sources.getMainFileID());
  StringRef bytes = buffer->getBuffer();
  auto fail = [&](const Status &status) -> OwningOpRef<Operation *> {
    emitError(UnknownLoc::get(context), status.message());
    return nullptr;
  };
  Result<Object> object = readObject(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()},
      std::string_view(buffer->getBufferIdentifier()));
  if (!object.ok())
    return fail(object.status());
  Result<OwningOpRef<ModuleOp>> module = decodeKernels(*context, *object);
  if (!module.ok())
    return fail(module.status());
  return OwningOpRef<Operation *>(module->release().getOperation());
}

int main(int argc, char **argv) {
  TranslateFromMLIRRegistration toObject(
      "isa-to-object", "isa kernels to an object", writeKernels,
      [](DialectRegistry &registry) {
        registry.insert<isa::ISADialect, device::DeviceDialect>();
      });
  TranslateToMLIRRegistration fromObject(
      "object-to-isa", "An object's kernels to isa", readKernels,
      [](DialectRegistry &registry) { registry.insert<isa::ISADialect>(); });
  registerImportTranslations();
  return failed(
      mlirTranslateMain(argc, argv, "Tessera's translation driver\n"));
}
