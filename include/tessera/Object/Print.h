//===- Print.h - Objects as text --------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_OBJECT_PRINT_H
#define TESSERA_OBJECT_PRINT_H

#include "tessera/Object/Object.h"
#include <string>

namespace tessera {

/// "rodata + 64", "input.0 (%image)", "kernel conv1".
std::string print(const Object &object, const Reference &reference);

/// `tessera info`: versions, signature, sizes, what it computes.
std::string describeObject(const Object &object);

/// `tessera disasm`: everything in the object, section by section, instructions
/// with the model node that they come from. The object must be verified.
std::string disassembleObject(const Object &object);

} // namespace tessera

#endif // TESSERA_OBJECT_PRINT_H
