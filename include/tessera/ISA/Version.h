//===- Version.h - Version of the instruction set ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_VERSION_H
#define TESSERA_ISA_VERSION_H

#include <cstdint>

namespace tessera {

/// Raised when a word that meant something comes to mean something else, or
/// when instructions, operands, lane operations or packet fields are added:
/// objects carry it,
/// a device tells it (mmio::deviceId), and a loader refuses other values.
///
/// 1: the first one. 2: `map` has `rb`, the base of computed positions; mma's
/// `keep_b`; stores to another core's scratchpad; the options of
/// `load.multicast`. 3: dispatch packets have the flag `prefetch`. 4: queues of
/// several matrix engines: four bits of queue, `core` of `signal.core`
/// elsewhere, mma's `queue`.
inline constexpr uint32_t isaVersion = 4;

} // namespace tessera

#endif // TESSERA_ISA_VERSION_H
