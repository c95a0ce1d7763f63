//===- DeviceDialect.h - The device dialect -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The command stream: device.program, its buffers and its packets. The
// operations are described in DeviceOps.td.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_DEVICE_DEVICEDIALECT_H
#define TESSERA_DIALECTS_DEVICE_DEVICEDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Device/DeviceDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/Device/DeviceTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Device/DeviceAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Device/DeviceOps.h.inc"

#endif // TESSERA_DIALECTS_DEVICE_DEVICEDIALECT_H
