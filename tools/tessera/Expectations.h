//===- Expectations.h - Values against what a model expects -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_EXPECTATIONS_H
#define TESSERA_TOOLS_TESSERA_EXPECTATIONS_H

#include "tessera/Pipelines/Compiler.h"
#include <span>
#include <string>
#include <vector>

namespace tessera::tool {

/// Says of each expectation that does not hold how many elements depart, where
/// the first one is, and what would be accepted. Takes the values of all
/// expectations out of the outputs.
std::vector<std::string> takeUnmet(std::span<const Expectation> expectations,
                                   std::vector<HostTensor> &outputs);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_EXPECTATIONS_H
