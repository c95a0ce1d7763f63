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

/// Adjacent bytes that lie in one slice of the shared SRAM (docs/timing.md).
uint64_t sharedUnit(const Architecture &arch);

/// Estimates are in core cycles, from the timing rules of docs/isa.md.
class TargetModel {
public:
  /// A kernel of several loop nests gives each one `shares`-th of the memories,
  /// and runs on one core.
  explicit TargetModel(const Architecture &arch, unsigned shares = 1);

  const Architecture &architecture() const { return arch; }
  uint64_t spmBytes() const { return arch.spm.bytes / shares; }
  uint64_t accBytes() const { return arch.acc.bytes / shares; }
  /// Whether some rectangle of the mesh has that many cores.
  bool isRectangle(uint32_t count) const;
  uint32_t cores() const { return shares > 1 ? 1 : arch.cores.count; }
  /// Hardware loops nest this deep.
  unsigned maxLoops() const;
  /// What a local buffer of `bytes` takes: buffers start on bank boundaries.
  uint64_t allocatedBytes(uint64_t bytes) const;

  /// From one row of `bytes` that streams through the matrix engine to the next
  /// in SPM, so that they do not all lie in the same few banks and keep the
  /// weights there from being read: `bytes`, or a little more.
  uint64_t rowPitch(uint64_t bytes, uint64_t elementBytes) const;

  /// Rows of K in one block of the matrix engine.
  uint64_t blockRows(NumericFormat format) const;
  uint64_t blockColumns() const { return arch.matrix.cols; }
  uint64_t lanes() const { return arch.vector.lanes; }

  /// One `mma` of that size among others.
  double matrixCycles(NumericFormat format, uint64_t m, uint64_t k,
                      uint64_t n) const;
  /// From operands to results through the array, beside the rows' own time.
  double matrixLatency(NumericFormat format) const;
  /// One `map` over `elements` points.
  double vectorCycles(uint64_t elements, unsigned aluOps, unsigned sfuOps,
                      unsigned inputs) const;
  /// A tile in DRAM: runs of contiguous bytes, `stride` bytes apart, while
  /// others of `beside` cores ask for other parts of the same rows.
  struct Transfer {
    uint64_t rows, rowBytes, stride, beside;
    bool shared = false; ///< It is in the shared SRAM instead.
  };
  /// The bursts that it takes.
  double bursts(const Transfer &transfer) const;
  /// Moving it between DRAM and SPM, while `sharers` cores do the same.
  double transferCycles(const Transfer &transfer, unsigned sharers) const;
  /// From a load's issue to its first data.
  double transferLatency() const { return 100; }
  /// From a core's signal to another core that waits for it.
  double messageLatency() const { return 40; }
  /// The rectangle of the mesh that a dispatch on so many cores gets is so
  /// wide; 0 if there is none.
  uint32_t columns(uint32_t count) const;
  /// From the end of a dispatch to the first instruction of one that needs it.
  double dispatchOverhead() const { return 300; }
  /// Issue and synchronization of the instructions of one tile.
  double tileOverhead() const { return 24; }

private:
  /// The part of the memory channels, or of the shared SRAM's slices, that
  /// serve a transfer.
  double channelShare(const Transfer &transfer) const;
  double sharedTransferCycles(const Transfer &transfer, unsigned sharers) const;
  double scale(NumericFormat format) const;
  /// The part of a turn of the SPM's banks in which an access of so many bytes
  /// meets one of the matrix engine's.
  double conflictShare(NumericFormat format, uint64_t bytes) const;
  const Architecture &arch;
  unsigned shares;
  uint64_t channelBytes;       ///< Adjacent bytes of one memory channel.
  bool hashesChannels = false; ///< Rows of any pitch begin on all channels.
};

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_TARGETMODEL_H
