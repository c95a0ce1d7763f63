//===- KernelOp.cpp - Kernels and descriptors -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tessera::isa {

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

KernelOp createKernel(OpBuilder &builder, Location location, StringRef name,
                      uint32_t numArguments) {
  auto kernel = KernelOp::create(builder, location, name, numArguments);
  kernel.getBody().emplaceBlock();
  return kernel;
}

namespace {

/// What can only be checked with the whole program in sight.
class KernelVerifier {
public:
  explicit KernelVerifier(KernelOp kernel) : kernel(kernel) {}

  LogicalResult verify() {
    Block &block = kernel.getBody().front();
    bool sawInstruction = false;
    for (Operation &op : block) {
      if (::llvm::isa<DescriptorOp>(op)) {
        ++numDescriptors;
        if (sawInstruction)
          return op.emitOpError() << "must stand before the instructions";
      } else if (getInstInfo(&op)) {
        sawInstruction = true;
      } else {
        return op.emitOpError() << "is no instruction and no descriptor";
      }
    }
    if (!sawInstruction)
      return kernel.emitOpError() << "has no instruction";
    if (Operation *parent = kernel->getParentOp())
      for (Region &region : parent->getRegions())
        for (auto program : region.getOps<MapProgramOp>()) {
          (void)program;
          ++numMapPrograms;
        }
    if (failed(verifyBlock(block, nullptr, 0)))
      return failure();
    return verifyBranches();
  }

private:
  /// Checks each instruction and notes its place in the flat program.
  LogicalResult verifyBlock(Block &block, Operation *loop, unsigned depth) {
    for (Operation &op : block) {
      const InstInfo *info = getInstInfo(&op);
      if (!info) {
        if (loop)
          return op.emitOpError() << "cannot stand in a loop";
        continue;
      }
      program.push_back({&op, loop});
      if (failed(verifyIndices(&op)) || failed(verifyWaiters(&op)))
        return failure();
      Block *body = getLoopBody(&op);
      if (!body)
        continue;
      if (depth == maxLoopDepth)
        return op.emitOpError() << "is nested " << depth + 1
                                << " deep; accepted: up to " << maxLoopDepth;
      if (failed(verifyBlock(*body, &op, depth + 1)))
        return failure();
    }
    return success();
  }

  LogicalResult verifyIndex(Operation *op, StringRef what, int64_t index,
                            int64_t count) {
    if (index < count)
      return success();
    return op->emitOpError()
           << "names " << what << " " << index << "; there are " << count;
  }

  LogicalResult verifyIndices(Operation *op) {
    Instruction inst = getInstruction(op);
    switch (inst.opcode) {
    case Opcode::TDLOAD:
      return verifyIndex(op, "descriptor", inst.get(td_load::index),
                         numDescriptors);
    case Opcode::MAP:
      return verifyIndex(op, "map program", inst.get(map::program),
                         numMapPrograms);
    case Opcode::LDARG:
      return verifyIndex(op, "argument", inst.get(ldarg::index),
                         kernel.getNumArguments());
    default:
      return success();
    }
  }

  /// A semaphore has one waiting queue.
  LogicalResult verifyWaiters(Operation *op) {
    Instruction inst = getInstruction(op);
    for (const SemaphoreStep &step : inst.waits) {
      if (step.count == 0)
        break;
      Waiter &waiter = waiters[step.sem];
      if (!waiter.op) {
        waiter = {op, inst.queue()};
      } else if (waiter.queue != inst.queue()) {
        InFlightDiagnostic diagnostic =
            op->emitOpError()
            << "waits for semaphore " << unsigned(step.sem) << " in queue "
            << queueName(inst.queue()) << ", and queue "
            << queueName(waiter.queue) << " waits for it too";
        diagnostic.attachNote(waiter.op->getLoc()) << "first waited for here";
        return diagnostic;
      }
    }
    return success();
  }

  LogicalResult verifyBranches() {
    for (auto [position, entry] : llvm::enumerate(program)) {
      std::optional<int64_t> offset = branchOffset(getInstruction(entry.op));
      if (!offset)
        continue;
      int64_t target = int64_t(position) + *offset;
      if (target < 0 || target >= int64_t(program.size()))
        return entry.op->emitOpError()
               << "goes to instruction " << target << "; the program has "
               << program.size();
      if (program[target].loop != entry.loop)
        return entry.op->emitOpError()
               << "goes to instruction " << target
               << ", which is not in the same loop body";
    }
    return success();
  }

  struct Entry {
    Operation *op;
    Operation *loop; ///< The innermost around it.
  };
  struct Waiter {
    Operation *op = nullptr;
    Queue queue = Queue::Seq;
  };

  KernelOp kernel;
  int64_t numDescriptors = 0, numMapPrograms = 0;
  std::vector<Entry> program;
  std::array<Waiter, maxSemaphores> waiters;
};

} // namespace

LogicalResult KernelOp::verifyRegions() {
  if (int32_t(getNumArguments()) < 0)
    return emitOpError() << "has a negative number of arguments";
  return KernelVerifier(*this).verify();
}

//===----------------------------------------------------------------------===//
// Descriptor
//===----------------------------------------------------------------------===//

DescriptorOp createDescriptor(OpBuilder &builder, Location location,
                              const Descriptor &td) {
  SmallVector<int64_t> extents(td.extents.begin(),
                               td.extents.begin() + td.rank);
  SmallVector<int64_t> strides(td.strides.begin(),
                               td.strides.begin() + td.rank);
  return DescriptorOp::create(builder, location, int64_t(td.space),
                              int64_t(td.format), int64_t(td.base), extents,
                              strides, td.padding);
}

Descriptor DescriptorOp::getDescriptor() {
  Descriptor td;
  td.space = Space(getSpace());
  td.format = NumericFormat(getFormat());
  td.rank = getExtents().size();
  td.base = getBase();
  llvm::copy(getExtents(), td.extents.begin());
  llvm::copy(getStrides(), td.strides.begin());
  td.padding = getPadding();
  return td;
}

LogicalResult DescriptorOp::verify() {
  if (getExtents().size() > maxRank)
    return emitOpError() << "has rank " << getExtents().size()
                         << "; accepted: up to " << maxRank;
  if (getStrides().size() != getExtents().size())
    return emitOpError() << "has " << getExtents().size() << " extents and "
                         << getStrides().size() << " strides";
  if (getSpace() >= numSpaces || getFormat() >= numNumericFormats ||
      getPadding() > std::numeric_limits<uint32_t>::max())
    return emitOpError()
           << "has an unknown space or format, or a padding value "
              "of more than 32 bits";
  for (int64_t extent : getExtents())
    if (extent < 1 || extent > std::numeric_limits<uint32_t>::max())
      return emitOpError() << "has the extent " << extent
                           << "; accepted: 1 to 4294967295";
  std::array<uint8_t, descriptorBytes> image;
  encode(getDescriptor(), image);
  if (Status status = decodeDescriptor(image).status(); !status.ok())
    return emitError() << status.message();
  return success();
}

void DescriptorOp::print(OpAsmPrinter &printer) {
  printer << ' ' << isa::print(getDescriptor());
  printer.printOptionalAttrDict(
      (*this)->getDiscardableAttrDictionary().getValue());
}

ParseResult DescriptorOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  SMLoc location = parser.getCurrentLocation();
  StringRef spaceText, formatText;
  if (failed(parser.parseKeyword(&spaceText)))
    return failure();
  std::optional<Space> space;
  for (Space candidate : {Space::Global, Space::Spm, Space::Acc, Space::Core})
    if (spaceText == StringRef(spaceName(candidate)))
      space = candidate;
  if (!space)
    return parser.emitError(location, "expected global, spm, acc or core");
  location = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&formatText)))
    return failure();
  std::optional<NumericFormat> format =
      formatFromName(std::string_view(formatText));
  if (!format)
    return parser.emitError(location)
           << "unknown format '" << formatText << "'";

  auto parseList = [&](SmallVector<int64_t> &list) {
    return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(list.emplace_back());
    });
  };
  SmallVector<int64_t> extents, strides;
  uint64_t base;
  uint32_t padding = 0;
  if (failed(parseList(extents)) || failed(parser.parseKeyword("strides")) ||
      failed(parseList(strides)) || failed(parser.parseKeyword("base")) ||
      failed(parser.parseInteger(base)))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("padding")) &&
      failed(parser.parseInteger(padding)))
    return failure();
  result.addAttribute("space", builder.getI64IntegerAttr(int64_t(*space)));
  result.addAttribute("format", builder.getI64IntegerAttr(int64_t(*format)));
  result.addAttribute("base", builder.getI64IntegerAttr(int64_t(base)));
  result.addAttribute("extents", builder.getDenseI64ArrayAttr(extents));
  result.addAttribute("strides", builder.getDenseI64ArrayAttr(strides));
  result.addAttribute("padding", builder.getI64IntegerAttr(padding));
  return parser.parseOptionalAttrDict(result.attributes);
}

} // namespace tessera::isa
