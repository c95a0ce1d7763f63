//===- DeviceDialect.cpp - The device dialect -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Device/DeviceDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::device;

#include "dialects/Device/DeviceDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Device/DeviceTypes.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Device/DeviceAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Device/DeviceOps.cpp.inc"

void DeviceDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Device/DeviceTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Device/DeviceAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Device/DeviceOps.cpp.inc"
      >();
}

//===-- Types and attributes ----------------------------------------------===//

/// Device virtual addresses have 48 bits.
static constexpr int64_t maxBufferBytes = int64_t(1) << 48;

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t bytes) {
  // A tensor without elements has none.
  if (bytes < 0 || bytes >= maxBufferBytes)
    return emitError() << "a buffer has 0 to 2^48 - 1 bytes, not " << bytes;
  return success();
}

LogicalResult TensorAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef name, StringRef type,
                                 ArrayRef<int64_t> shape) {
  for (int64_t extent : shape)
    if (extent < 0)
      return emitError() << "tensor '" << name << "' has a negative extent "
                         << extent;
  return success();
}

//===-- Program -----------------------------------------------------------===//

LogicalResult ProgramOp::verifyRegions() {
  Block &block = getBody().front();
  size_t expected = getInputs().size() + getOutputs().size();
  if (block.getNumArguments() != expected)
    return emitOpError("has ")
           << getInputs().size() << " inputs and " << getOutputs().size()
           << " outputs, but " << block.getNumArguments() << " block arguments";
  for (BlockArgument argument : block.getArguments())
    if (!isa<BufferType>(argument.getType()))
      return emitOpError("block argument ")
             << argument.getArgNumber() << " must be a !device.buffer";
  if (!isa<ReturnOp>(block.back()))
    return emitOpError("must end with device.return");
  for (Operation &op : block.without_terminator())
    if (op.getDialect() != (*this)->getDialect())
      return op.emitOpError("is not a device operation; a device.program holds "
                            "only these");
  return success();
}

/// Bytes of one element in memory, or failure if it has no whole bytes.
static FailureOr<int64_t> elementBytes(Type type) {
  if (!type.isIntOrFloat() || type.getIntOrFloatBitWidth() % 8 != 0)
    return failure();
  return type.getIntOrFloatBitWidth() / 8;
}

LogicalResult ConstantOp::verify() {
  auto type = cast<ShapedType>(getValue().getType());
  FailureOr<int64_t> bytes = elementBytes(type.getElementType());
  if (failed(bytes))
    return emitOpError("elements of type ")
           << type.getElementType() << " are not whole bytes";
  int64_t total = *bytes * type.getNumElements();
  if (total != getBuffer().getType().getBytes())
    return emitOpError("has ") << total << " bytes of elements, but its buffer "
                               << getBuffer().getType().getBytes();
  return success();
}

LogicalResult AllocOp::verify() {
  if (getOffset() && (*getOffset() < 0 || *getOffset() % 64 != 0))
    return emitOpError("offset ")
           << *getOffset() << " is not a multiple of 64, 0 or more";
  return success();
}

LogicalResult DispatchOp::verify() {
  ArrayRef<int32_t> cores = getCores();
  if (cores.size() != 2 || cores[0] < 1 || cores[1] < 1 || cores[0] > 255 ||
      cores[1] > 255)
    return emitOpError("cores must be a width and a height of 1 to 255");
  return success();
}

LogicalResult DispatchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!symbolTable.lookupNearestSymbolFrom(*this, getKernelAttr()))
    return emitOpError("dispatches ")
           << getKernelAttr() << ", which the module does not define";
  return success();
}

LogicalResult CopyOp::verify() {
  if (getSource().getType() != getTarget().getType())
    return emitOpError("copies ")
           << getSource().getType().getBytes() << " bytes to a buffer of "
           << getTarget().getType().getBytes();
  return success();
}

LogicalResult FillOp::verify() {
  if (getBuffer().getType().getBytes() % 4 != 0)
    return emitOpError("fills whole 32-bit words, but the buffer has ")
           << getBuffer().getType().getBytes() << " bytes";
  return success();
}
