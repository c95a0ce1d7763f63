//===- TargetModel.cpp - What mapping asks about the hardware -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TargetModel.h"
#include "tessera/Arch/DramMapping.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/Support/NumericFormat.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tessera;

static uint64_t ceilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

uint64_t tessera::sharedUnit(const Architecture &arch) {
  return std::max<uint64_t>(arch.dma.burstBytes, arch.dram.atomBytes());
}

unsigned TargetModel::maxLoops() const { return isa::maxLoopDepth; }

bool TargetModel::isRectangle(uint32_t count) const {
  return columns(count) != 0;
}

uint32_t TargetModel::columns(uint32_t count) const {
  for (uint32_t width = std::min(arch.cores.meshX, count); width >= 1; --width)
    if (count % width == 0 && count / width <= arch.cores.meshY)
      return width;
  return 0;
}

TargetModel::TargetModel(const Architecture &arch, unsigned shares)
    : arch(arch), shares(shares) {
  channelBytes = std::max<uint64_t>(arch.dma.burstBytes, arch.dram.atomBytes());
  if (Result<DramMapping> mapping = DramMapping::create(arch.dram);
      mapping.ok()) {
    channelBytes = mapping->channelBytes();
    hashesChannels = mapping->hashesChannels();
  }
}

uint64_t TargetModel::allocatedBytes(uint64_t bytes) const {
  uint64_t unit = std::max<uint64_t>(64, arch.spm.bankWidth);
  return ceilDiv(bytes, unit) * unit;
}

uint64_t TargetModel::rowPitch(uint64_t bytes, uint64_t elementBytes) const {
  // So many places along a turn of the banks that the engine's two streams,
  // each a few banks wide, seldom meet.
  constexpr uint64_t enoughPlaces = 8;
  uint64_t turn = uint64_t(arch.spm.banks) * arch.spm.bankWidth;
  // And a step from row to row as wide as what is read of one, so that where
  // they meet they part in the next cycle.
  uint64_t width = arch.matrix.rows * std::max<uint64_t>(2, elementBytes);
  width = std::min({width, bytes, turn / 4});
  uint64_t unit = std::max<uint64_t>(64, arch.spm.bankWidth);
  for (uint64_t pitch = bytes; pitch < bytes + turn; pitch += unit) {
    uint64_t step = std::min(pitch % turn, turn - pitch % turn);
    if (turn / std::gcd(pitch, turn) >= enoughPlaces && step >= width)
      return pitch;
  }
  // Too few banks for that: off the same place at least.
  return bytes + unit;
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
  // The weights give way to the rows that stream.
  load *= 1 + conflictShare(format, blockRows(format) * bitWidth(format) / 8);
  double blocks =
      double(ceilDiv(k, blockRows(format)) * ceilDiv(n, blockColumns()));
  // Blocks along K add to the same accumulators.
  double again = arch.matrix.rows + arch.matrix.fillLatency;
  return blocks * std::max({rho * double(m), load, again});
}

double TargetModel::conflictShare(NumericFormat format, uint64_t bytes) const {
  // Both begin anywhere on a multiple of 64 bytes.
  uint64_t unit = std::max<uint64_t>(64, arch.spm.bankWidth);
  uint64_t row = allocatedBytes(blockRows(format) * bitWidth(format) / 8);
  uint64_t turn = uint64_t(arch.spm.banks) * arch.spm.bankWidth;
  return std::min(1.0,
                  double(row + allocatedBytes(bytes) - unit) / double(turn));
}

double TargetModel::bursts(const Transfer &transfer) const {
  return double(transfer.rows) *
         double(ceilDiv(transfer.rowBytes, arch.dma.burstBytes));
}

double TargetModel::matrixLatency(NumericFormat format) const {
  double load = arch.matrix.rows;
  if (scale(format) < 1)
    load *= double(ceilDiv(bitWidth(format), 16));
  return load + arch.matrix.rows + arch.matrix.cols + arch.matrix.fillLatency;
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

double TargetModel::channelShare(const Transfer &transfer) const {
  // Addresses go round the channels in units; rows may all start at the same
  // few channels.
  uint64_t channels = transfer.shared ? arch.shared.slices : arch.dram.channels;
  uint64_t unit = transfer.shared ? sharedUnit(arch) : channelBytes;
  uint64_t period = channels * unit;
  // A hash lets rows begin anywhere.
  bool anywhere = hashesChannels && !transfer.shared && transfer.stride != 0;
  uint64_t common =
      anywhere ? transfer.stride : std::gcd(transfer.stride, period);
  uint64_t starts =
      anywhere ? transfer.rows : std::min(transfer.rows, period / common);
  uint64_t run = std::min(transfer.rowBytes, common);
  // Runs of whole units, whole units apart, begin where one does.
  double units = run % unit == 0 && common % unit == 0
                     ? double(run / unit)
                     : double(run + unit - 1) / double(unit);
  double covered = double(starts) * units * double(transfer.beside);
  return std::min(1.0, covered / double(channels));
}

double TargetModel::sharedTransferCycles(const Transfer &transfer,
                                         unsigned sharers) const {
  // A slice begins a request a cycle, if its banks are as wide together.
  uint64_t wide = uint64_t(arch.shared.banks) * arch.shared.bankWidth;
  double each = std::max(1.0, double(arch.dma.burstBytes) / double(wide));
  double perCycle = double(arch.shared.slices) / each / std::max(1u, sharers);
  return std::max(bursts(transfer) / perCycle / channelShare(transfer),
                  bursts(transfer) / arch.dma.loadBursts);
}

double TargetModel::transferCycles(const Transfer &transfer,
                                   unsigned sharers) const {
  if (transfer.shared)
    return sharedTransferCycles(transfer, sharers);
  // Long runs reach about this much of the peak.
  constexpr double reachable = 0.95;
  double perCycle = arch.dramBytesPerCycle() * arch.dram.refreshFactor() *
                    reachable / std::max(1u, sharers);
  double rows = double(transfer.rows);
  // Memory moves whole atoms, and a run need not start where one does.
  uint64_t atom = std::max<uint64_t>(1, arch.dram.atomBytes());
  double bytes = rows * double(ceilDiv(transfer.rowBytes, atom) * atom);
  // A run that is not aligned moves one more; short ones open more of the
  // memory's rows, which was measured to cost about 64 bytes each.
  if (transfer.rows > 1) {
    bytes += rows * std::min(64.0, double(arch.dma.burstBytes));
    if (transfer.rowBytes % atom != 0)
      bytes += rows * double(atom) / 2;
  }
  return std::max(bytes / perCycle / channelShare(transfer),
                  bursts(transfer) / arch.dma.loadBursts);
}
