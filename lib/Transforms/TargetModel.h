//===- TargetModel.h --------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Answers the questions that mapping has about the hardware. Free of IR.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_TARGETMODEL_H
#define TESSERA_LIB_TRANSFORMS_TARGETMODEL_H

#include "tessera/Arch/Architecture.h"

namespace tessera {

/// Estimates are in core cycles, from the timing rules of docs/isa.md.
class TargetModel {
public:
  /// A kernel of several loop nests gives each one `shares`-th of the memories.
  explicit TargetModel(const Architecture &arch, unsigned shares = 1)
      : arch(arch), shares(shares) {}

  uint64_t spmBytes() const { return arch.spm.bytes / shares; }
  uint64_t accBytes() const { return arch.acc.bytes / shares; }
  uint32_t cores() const { return arch.cores.count; }
  /// Hardware loops nest this deep.
  unsigned maxLoops() const;
  /// What a local buffer of `bytes` takes: buffers start on bank boundaries.
  uint64_t allocatedBytes(uint64_t bytes) const;

  /// Rows of K in one block of the matrix engine.
  uint64_t blockRows(NumericFormat format) const;
  uint64_t blockColumns() const { return arch.matrix.cols; }
  uint64_t lanes() const { return arch.vector.lanes; }

  /// One `mma` of that size, alone.
  double matrixCycles(NumericFormat format, uint64_t m, uint64_t k,
                      uint64_t n) const;
  /// One `map` over `elements` points.
  double vectorCycles(uint64_t elements, unsigned aluOps, unsigned sfuOps,
                      unsigned inputs) const;
  /// Moving `rows` runs of `rowBytes` contiguous bytes between DRAM and SPM.
  double transferCycles(uint64_t rows, uint64_t rowBytes) const;
  /// From a load's issue to its first data.
  double transferLatency() const { return 100; }
  /// Issue and synchronization of the instructions of one tile.
  double tileOverhead() const { return 24; }

private:
  double scale(NumericFormat format) const;
  const Architecture &arch;
  unsigned shares;
};

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_TARGETMODEL_H
