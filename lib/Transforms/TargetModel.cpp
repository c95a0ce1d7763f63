//===- TargetModel.cpp - What mapping asks about the hardware -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetModel.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/Support/NumericFormat.h"
#include <algorithm>
#include <cmath>

using namespace tessera;

static uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

unsigned TargetModel::maxLoops() const { return isa::maxLoopDepth; }

uint64_t TargetModel::allocatedBytes(uint64_t bytes) const {
  uint64_t unit = std::max<uint64_t>(64, arch.spm.bankWidth);
  return ceilDiv(bytes, unit) * unit;
}

double TargetModel::scale(NumericFormat format) const {
  auto it = arch.matrix.macsScale.find(format);
  return it == arch.matrix.macsScale.end() ? 1.0 : it->second;
}

uint64_t TargetModel::blockRows(NumericFormat format) const {
  return uint64_t(std::max(1.0, scale(format)) * arch.matrix.rows);
}

double TargetModel::matrixCycles(NumericFormat format, uint64_t m, uint64_t k,
                                 uint64_t n) const {
  double s = scale(format);
  double rho = s >= 1 ? 1.0 : 1.0 / s;
  double load = arch.matrix.rows;
  if (s < 1)
    load *= double(ceilDiv(bitWidth(format), 16));
  double blocks =
      double(ceilDiv(k, blockRows(format)) * ceilDiv(n, blockColumns()));
  return load + blocks * std::max(rho * double(m), load) + arch.matrix.rows +
         arch.matrix.cols + arch.matrix.fillLatency;
}

double TargetModel::vectorCycles(uint64_t elements, unsigned aluOps,
                                 unsigned sfuOps, unsigned inputs) const {
  const VectorConfig &vector = arch.vector;
  double perStep = std::max<double>(
      {1.0, double(ceilDiv(aluOps, vector.aluSlots)),
       double(ceilDiv(uint64_t(sfuOps) * vector.lanes, vector.sfuLanes)),
       double(ceilDiv(inputs, vector.readPorts))});
  return double(ceilDiv(elements, vector.lanes)) * perStep + vector.latency;
}

double TargetModel::transferCycles(uint64_t rows, uint64_t rowBytes) const {
  double perCycle =
      arch.dram.peakBytesPerNs() / arch.clockGhz / arch.cores.count;
  // Memory moves whole atoms, and a run need not start where one does.
  uint64_t atom = std::max<uint64_t>(1, arch.dram.atomBytes());
  double bytes = double(rows) * double(ceilDiv(rowBytes, atom) * atom);
  double bursts = double(rows) * double(ceilDiv(rowBytes, arch.dma.burstBytes));
  if (rows > 1 && rowBytes % atom != 0)
    bytes += double(rows) * double(atom) / 2;
  // Long runs are a little better than short ones of the same bytes.
  return std::max(bytes / perCycle, bursts / arch.dma.loadBursts) +
         double(rows) * 0.05;
}
