//===- Autotune.h - Plans chosen by simulation ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_AUTOTUNE_H
#define TESSERA_TOOLS_TESSERA_AUTOTUNE_H

#include "CompileFlags.h"

namespace tessera::tool {

/// compileModel(). With `--autotune=N` the model is compiled and simulated N
/// times without values before, each time with another plan of the mapper's
/// ranking in all kernels at once; every kernel gets the plan with which it
/// took the fewest cycles, unless the whole then takes more than with the
/// mapper's best ones. With `--plans`, kernels that the file knows are not
/// tuned, and it gets the plans of the others.
Result<CompiledModel> compileTuned(const std::string &path,
                                   const CompileOptions &options,
                                   const CompileFlags &flags);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_AUTOTUNE_H
