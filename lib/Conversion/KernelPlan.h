//===- KernelPlan.h - Memory and order of a kernel ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asks the planners where a kernel's local buffers lie and which semaphores
// order its queues. If everything fits at once, the whole kernel is one segment
// and its loop nests overlap. If not, or if one nest reads from memory what an
// earlier one has stored, each nest is a segment: all queues are joined between
// segments, and the next reuses the memory and the semaphores of the last.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_KERNELPLAN_H
#define TESSERA_LIB_CONVERSION_KERNELPLAN_H

#include "TileKernel.h"
#include "tessera/Arch/Architecture.h"
#include "tessera/Conversion/SyncPlan.h"

namespace tessera {

struct KernelPlan {
  /// A local buffer's place, in bytes.
  struct Place {
    uint64_t offset = 0;
    uint64_t slotStride = 0;
  };
  std::vector<Place> buffers;      ///< As TileKernel::buffers.
  SyncPlanSolution sync;           ///< Nodes as TileKernel::nodes.
  std::vector<uint8_t> semaphores; ///< Numbers of the plan's semaphores.
  std::vector<uint32_t> segments;  ///< Of each child of the root.
  uint32_t numSegments = 1;
  /// Joins the queues between segments, if there are several.
  std::optional<uint8_t> joinSemaphore;
};

/// Emits an error that names the kernel, what it needs and what there is.
mlir::FailureOr<KernelPlan> planKernel(const TileKernel &kernel,
                                       const Architecture &arch);

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_KERNELPLAN_H
