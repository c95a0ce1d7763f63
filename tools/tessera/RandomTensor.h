//===- RandomTensor.h - Seeded random tensors -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_RANDOMTENSOR_H
#define TESSERA_TOOLS_TESSERA_RANDOMTENSOR_H

#include "tessera/Pipelines/Compiler.h"

namespace tessera::tool {

/// Floats are uniform in [-1, 1), booleans 0 or 1, integers 0 to 7: small
/// enough for sums and, mostly, for indices. The same seed and position give
/// the same bytes anywhere.
Result<HostTensor> makeRandomTensor(const TensorSignature &signature,
                                    uint64_t seed, uint32_t position);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_RANDOMTENSOR_H
