//===- ObjectFile.h - Objects and models by their first bytes ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_OBJECTFILE_H
#define TESSERA_TOOLS_TESSERA_OBJECTFILE_H

#include "tessera/Object/Object.h"
#include <string>

namespace tessera::tool {

/// By name (`.tsr`) or content (ELF); an error if it cannot be read.
Result<bool> isObjectFile(const std::string &path);
Result<Object> readObjectFile(const std::string &path);
/// The machine for an object read from `path`: the one that it was built for,
/// or `name` if that is not empty. An error if the object cannot run on it.
Result<Architecture> architectureFor(const Object &object,
                                     const std::string &path,
                                     const std::string &name);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_OBJECTFILE_H
