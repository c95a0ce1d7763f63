//===- Statistics.cpp - What the simulator counts ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/Statistics.h"
#include <algorithm>
#include <numeric>

namespace tessera::sim {

std::string_view engineName(Engine engine) {
  static constexpr std::array<std::string_view, maxEngines> names = {
      "sequencer", "load",    "store",   "matrix",  "vector",  "matrix1",
      "matrix2",   "matrix3", "matrix4", "matrix5", "matrix6", "matrix7"};
  return size_t(engine) < names.size() ? names[size_t(engine)] : "?";
}

std::string_view stallCauseName(StallCause cause) {
  static constexpr std::array<std::string_view, numStallCauses> names = {
      "busy",
      "fill_drain",
      "weight_load",
      "wait_sequencer",
      "wait_load",
      "wait_store",
      "wait_matrix",
      "wait_vector",
      "bank_conflict",
      "back_pressure",
      "dram",
      "tlb",
      "instruction_fetch",
      "barrier",
      "queue_empty",
      "no_kernel"};
  return size_t(cause) < names.size() ? names[size_t(cause)] : "?";
}

uint64_t EngineCycles::total() const {
  return std::accumulate(byCause.begin(), byCause.end(), uint64_t(0));
}

EngineCycles &EngineCycles::operator+=(const EngineCycles &other) {
  for (size_t i = 0; i < byCause.size(); ++i)
    byCause[i] += other.byCause[i];
  return *this;
}

EngineCycles &EngineCycles::operator-=(const EngineCycles &other) {
  for (size_t i = 0; i < byCause.size(); ++i)
    byCause[i] -= other.byCause[i];
  return *this;
}

EngineCycles EngineTable::matrix() const {
  EngineCycles sum;
  for (unsigned i = 0; i < isa::maxMatrixEngines; ++i)
    if (auto row = size_t(matrixEngine(i)); row < rows.size())
      sum += rows[row];
  return sum;
}

EngineTable &EngineTable::operator+=(const EngineTable &other) {
  rows.resize(std::max(rows.size(), other.rows.size()));
  for (size_t i = 0; i < other.rows.size(); ++i)
    rows[i] += other.rows[i];
  return *this;
}

EngineTable &EngineTable::operator-=(const EngineTable &other) {
  rows.resize(std::max(rows.size(), other.rows.size()));
  for (size_t i = 0; i < other.rows.size(); ++i)
    rows[i] -= other.rows[i];
  return *this;
}

uint64_t CoreStatistics::totalMacs() const {
  return std::accumulate(macs.begin(), macs.end(), uint64_t(0));
}

EngineTable Statistics::engineTotals() const {
  EngineTable totals;
  for (const CoreStatistics &core : cores)
    totals += core.engines;
  return totals;
}

MacCounts Statistics::macs() const {
  MacCounts totals{};
  for (const CoreStatistics &core : cores)
    for (size_t f = 0; f < totals.size(); ++f)
      totals[f] += core.macs[f];
  return totals;
}

uint64_t Statistics::totalMacs() const {
  MacCounts totals = macs();
  return std::accumulate(totals.begin(), totals.end(), uint64_t(0));
}

uint64_t Statistics::spmPeakBytes() const {
  uint64_t peak = 0;
  for (const CoreStatistics &core : cores)
    peak = std::max(peak, core.spmPeakBytes);
  return peak;
}

uint64_t Statistics::busy(Engine engine) const {
  EngineTable totals = engineTotals();
  const EngineCycles &cycles =
      engine == Engine::Matrix ? totals.matrix() : totals[size_t(engine)];
  return cycles[StallCause::Busy];
}

} // namespace tessera::sim
