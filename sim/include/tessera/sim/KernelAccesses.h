//===- KernelAccesses.h - What dispatches read and wrote --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bytes of device memory that the load and store engines of a dispatch's
// cores moved, as virtual addresses of its context. Of dispatches still under
// way those until now.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNELACCESSES_H
#define TESSERA_SIM_KERNELACCESSES_H

#include "tessera/Support/RangeSet.h"
#include <cstdint>

namespace tessera::sim {

/// A dispatch among the packets of its queue.
struct DispatchPlace {
  uint32_t queue = 0;   ///< The device's queue slot.
  uint64_t packet = 0;  ///< Index in the ring.
  uint32_t command = 0; ///< In a command buffer; noCommand: it is in the ring.
  static constexpr uint32_t noCommand = ~uint32_t(0);
  auto operator<=>(const DispatchPlace &) const = default;
};

struct KernelAccesses {
  DispatchPlace place;
  RangeSet read, written;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNELACCESSES_H
