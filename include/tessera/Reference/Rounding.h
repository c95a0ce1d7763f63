//===- Rounding.h - How the host rounds ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REFERENCE_ROUNDING_H
#define TESSERA_REFERENCE_ROUNDING_H

#include <cstdint>

namespace tessera {

/// How a run of the reference rounds every floating-point operation. Nearest is
/// the reference proper. What changes with the others tells how much its
/// results depend on roundings.
enum class HostRounding : uint8_t { Nearest, Up, Down };

} // namespace tessera

#endif // TESSERA_REFERENCE_ROUNDING_H
