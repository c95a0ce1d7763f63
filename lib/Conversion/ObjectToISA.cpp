//===- ObjectToISA.cpp - From an object to isa operations -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/ISAToObject.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace tessera {

namespace {

class KernelDecoder {
public:
  KernelDecoder(OpBuilder &builder, const KernelCode &code)
      : builder(builder), code(code), nextLocation(code.locations.begin()),
        location(builder.getUnknownLoc()) {}

  Status decode() {
    TESSERA_ASSIGN_OR_RETURN(program, isa::decodeProgram(code.text));
    auto kernel = isa::createKernel(builder, builder.getUnknownLoc(), code.name,
                                    code.numArguments);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&kernel.getBody().front());
    for (const isa::Descriptor &descriptor : code.descriptors)
      isa::createDescriptor(builder, builder.getUnknownLoc(), descriptor);
    return decodeBody(program.size());
  }

private:
  /// Adds the instructions from `position` to `end` where the builder stands.
  Status decodeBody(size_t end) {
    while (position < end) {
      if (nextLocation != code.locations.end() &&
          nextLocation->firstInstruction == position)
        location = toLocation((nextLocation++)->location);
      const isa::Instruction &inst = program[position];
      Operation *op = isa::createInstruction(builder, location, inst);
      ++position;
      std::optional<uint64_t> length = isa::loopLength(inst);
      if (!length)
        continue;
      if (*length > end - position)
        return {StatusCode::InvalidArgument,
                ("the body of the loop at instruction " + Twine(position - 1) +
                 " goes beyond what is around it")
                    .str()};
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToEnd(isa::getLoopBody(op));
      TESSERA_RETURN_IF_ERROR(decodeBody(position + *length));
    }
    return Status::success();
  }

  Location toLocation(const std::string &text) {
    if (text.empty())
      return builder.getUnknownLoc();
    return NameLoc::get(builder.getStringAttr(text));
  }

  OpBuilder &builder;
  const KernelCode &code;
  std::vector<LocationEntry>::const_iterator nextLocation;
  Location location;
  std::vector<isa::Instruction> program;
  size_t position = 0;
};

} // namespace

Result<OwningOpRef<ModuleOp>> decodeKernels(MLIRContext &context,
                                            const Object &object) {
  context.loadDialect<isa::ISADialect>();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  TESSERA_ASSIGN_OR_RETURN(std::vector<isa::MapProgram> programs,
                           isa::decodeMapPrograms(object.mapPrograms));
  for (auto [i, program] : llvm::enumerate(programs))
    isa::createMapProgram(builder, builder.getUnknownLoc(),
                          ("map." + Twine(i)).str(), program);
  for (const KernelCode &code : object.kernels)
    if (Status status = KernelDecoder(builder, code).decode(); !status.ok())
      return status.withContext(code.name);
  return module;
}

} // namespace tessera
