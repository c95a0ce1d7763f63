//===- MatrixEngine.cpp - The matrix engine ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/MatrixEngine.h"
#include "check/Checker.h"
#include "numerics/Formats.h"
#include "numerics/MatrixKernels.h"
#include <bit>
#include <cmath>

namespace tessera::sim {

/// The most multiply-accumulates of one instruction.
static constexpr uint64_t maxMacs = uint64_t(1) << 32;

MatrixEngine::MatrixEngine(Core &core, unsigned number)
    : InOrderEngine(core, matrixEngine(number)), number(number),
      weights(matrixUser(number, MatrixStream::Weights)) {}

void MatrixEngine::reset() {
  InOrderEngine::reset();
  chained = holds = false;
  held.clear();
  lastSwap = streamEnd = 0;
}

void MatrixEngine::step(Cycle now) {
  while (core.running() && headReady(now)) {
    QueueEntry entry = pop(now);
    if (entry.isSync())
      startSync(entry, now);
    else if (!startMma(entry, now))
      return;
  }
  if (core.running())
    rest(now);
}

FaultCause MatrixEngine::check(const QueueEntry &entry, Plan &plan,
                               ByteInterval &interval,
                               uint64_t &address) const {
  const isa::Descriptor &acc = entry.operands[0], &a = entry.operands[1],
                        &b = entry.operands[2];
  const Architecture &arch = core.services.arch;
  address = acc.base;
  auto rate = arch.matrix.macsScale.find(a.format);
  auto rateB = arch.matrix.macsScale.find(b.format);
  bool isFloatOp = isFloat(a.format);
  bool bytes = bitWidth(a.format) == 8 && bitWidth(b.format) == 8;
  if (acc.space != isa::Space::Acc || a.space != isa::Space::Spm ||
      b.space != isa::Space::Spm || rate == arch.matrix.macsScale.end() ||
      rateB == arch.matrix.macsScale.end() || isFloatOp != isFloat(b.format) ||
      (a.format != b.format && !bytes) ||
      acc.format != (isFloatOp ? NumericFormat::F32 : NumericFormat::I32))
    return FaultCause::IllegalDescriptor;

  ByteInterval unused;
  FaultCause fault = core.checkLocal(acc, true, interval);
  if (fault != FaultCause::None)
    return fault;
  address = a.base;
  if ((fault = core.checkLocal(a, false, unused)) != FaultCause::None)
    return fault;
  address = b.base;
  if ((fault = core.checkLocal(b, false, unused)) != FaultCause::None)
    return fault;

  plan.m = maskedElements(a, entry.maskA);
  plan.k = maskedElements(a, ~unsigned(entry.maskA));
  plan.n = maskedElements(b, entry.maskB);
  address = acc.base;
  if (maskedElements(b, ~unsigned(entry.maskB)) != plan.k ||
      maskedElements(acc, ~0u) != plan.m * plan.n ||
      plan.m * plan.n > maxMacs / plan.k)
    return FaultCause::IllegalDescriptor;

  for (unsigned d = b.rank; d-- > 0;)
    if (b.extents[d] > 1) {
      plan.weightsByColumn = !(entry.maskB >> d & 1);
      break;
    }
  double scale = std::min(rate->second, rateB->second);
  uint64_t rows = arch.matrix.rows, columns = arch.matrix.cols;
  plan.loads = plan.weightsByColumn ? columns : rows;
  plan.blockRows = rows;
  if (scale >= 1.0) {
    plan.blockRows = uint64_t(scale * double(rows));
    if (!plan.weightsByColumn)
      plan.loadRows = ceilDiv(plan.blockRows, rows);
  } else {
    plan.pace = Cycle(std::lround(1.0 / scale)); // whole, as the schema has it
    plan.loadPace = ceilDiv(bitWidth(b.format), 16);
  }
  plan.stream = plan.m * plan.pace;
  uint64_t blockRows = plan.blockRows;
  plan.blocksK = ceilDiv(plan.k, blockRows);
  plan.blocksN = ceilDiv(plan.n, columns);
  address = b.base;
  if (entry.keepWeights && (plan.blocksK * plan.blocksN != 1 || !holds ||
                            !(heldOperand == b) || heldDims != entry.maskB))
    return FaultCause::IllegalDescriptor;
  return FaultCause::None;
}

/// How many of the dimensions are in `mask`.
static unsigned dimensionsIn(const isa::Descriptor &td, unsigned mask) {
  return unsigned(std::popcount(mask & ((1u << td.rank) - 1)));
}

Cycle MatrixEngine::rowsFree(const MatrixResults &results, uint64_t n) const {
  const MatrixConfig &matrix = core.services.arch.matrix;
  Cycle gap = matrix.rows + matrix.fillLatency;
  Cycle earliest = 0;
  for (const Operation &operation : operations) {
    const MatrixResults &earlier = operation.results;
    if (earlier.written.empty() || !earlier.interval.overlaps(results.interval))
      continue;
    // The same rows in the same order at the same pace follow at a distance;
    // otherwise all rows must be done.
    bool same = earlier.acc == results.acc &&
                earlier.stream == results.stream && n < earlier.written.size();
    earliest = std::max(earliest, same ? earlier.written[n] + gap
                                       : earlier.written.back() +
                                             earlier.stream - 1 + gap);
  }
  return earliest;
}

AccessPattern MatrixEngine::rowsOf(const QueueEntry &entry, const Plan &plan,
                                   uint64_t k) const {
  AccessPattern rows;
  rows.td = maskFirst(entry.operands[1], entry.maskA);
  rows.outer = uint8_t(dimensionsIn(entry.operands[1], entry.maskA));
  rows.setEnds();
  rows.outerStep = 1;
  rows.innerFirst = k * plan.blockRows;
  rows.innerCount = plan.blockRows;
  return rows;
}

AccessPattern MatrixEngine::weightsOf(const QueueEntry &entry, const Plan &plan,
                                      uint64_t n, uint64_t k) const {
  const isa::Descriptor &b = entry.operands[2];
  uint64_t columns = core.services.arch.matrix.cols;
  unsigned all = (1u << b.rank) - 1;
  unsigned first = plan.weightsByColumn ? entry.maskB : all & ~entry.maskB;
  AccessPattern weights;
  weights.td = maskFirst(b, first);
  weights.outer = uint8_t(dimensionsIn(b, first));
  weights.setEnds();
  uint64_t row = k * plan.blockRows, column = n * columns;
  weights.outerFirst = plan.weightsByColumn ? column : row;
  weights.outerStep = weights.outerCount = plan.loadRows;
  weights.innerFirst = plan.weightsByColumn ? row : column;
  weights.innerCount = plan.weightsByColumn ? plan.blockRows : columns;
  return weights;
}

AccessPattern MatrixEngine::sumsOf(const isa::Descriptor &acc, const Plan &plan,
                                   uint64_t n) const {
  AccessPattern sums;
  sums.td = acc;
  sums.written = true;
  uint64_t columns = core.services.arch.matrix.cols,
           count = std::min(columns, plan.n - n * columns);
  // The accumulator's dimensions are M's, then N's; these may be merged.
  uint64_t rows = 1;
  while (sums.outer < acc.rank && rows < plan.m)
    rows *= acc.extents[sums.outer++];
  bool splits = rows == plan.m;
  if (!splits)
    sums.outer = 0;
  sums.setEnds();
  sums.outerStep = splits ? 1 : 0;
  sums.innerFirst = n * columns;
  sums.innerStep = splits ? 0 : plan.n;
  sums.innerCount = count;
  return sums;
}

Cycle MatrixEngine::schedule(const QueueEntry &entry, const Plan &plan,
                             MatrixResults &results, Cycle now) {
  const MatrixConfig &matrix = core.services.arch.matrix;
  Cycle gap = matrix.rows + matrix.fillLatency;
  Banks &banks = core.banks;
  banks.passTo(now);
  results.stream = plan.stream;
  results.written.assign(plan.blocksN, 0);
  account.wait(StallCause::FillDrain, now);
  Cycle lastStart = now;
  for (uint64_t n = 0; n < plan.blocksN; ++n) {
    for (uint64_t k = 0; k < plan.blocksK; ++k) {
      Cycle loaded = now, unhindered = now;
      if (!entry.keepWeights) {
        Cycle from = chained ? std::max(now, lastSwap) : now;
        unhindered = from + plan.loads * plan.loadPace;
        loaded = banks.place(weights, weightsOf(entry, plan, n, k), plan.loads,
                             from, plan.loadPace);
      }
      Cycle start = std::max(loaded, chained ? streamEnd : 0);
      account.charge(StallCause::WeightLoad, unhindered);
      account.charge(StallCause::BankConflict, start);
      if (k > 0)
        start = std::max(start, results.written[n] + gap);
      else if (entry.accumulate)
        start = std::max(start, rowsFree(results, n));
      account.charge(StallCause::FillDrain, start);
      account.charge(StallCause::Busy, start + plan.stream);
      chained = true;
      lastStart = start;
      if (!entry.keepWeights)
        lastSwap = start;
      RowAccesses rows;
      rows.engine = number;
      rows.rows = rowsOf(entry, plan, k);
      rows.sums = sumsOf(results.acc, plan, n);
      // With its last beat a row takes the old sums along.
      rows.readDelay = plan.pace - 1;
      rows.writeDelay = rows.readDelay + gap - 1;
      if (k > 0 || entry.accumulate) {
        rows.addends = rows.sums;
        rows.addends->written = false;
      }
      streamEnd = banks.place(rows, plan.m, start, plan.pace);
      account.charge(StallCause::BankConflict, streamEnd);
      results.written[n] = streamEnd - plan.stream;
    }
  }
  // The next mma's weights can load from here on; its waits are taken then. A
  // kept block leaves the place for the next one's free.
  nextStart = entry.keepWeights ? now : lastStart;
  return streamEnd + matrix.rows + matrix.cols - 2 + matrix.fillLatency;
}

static uint8_t *bytesOf(std::vector<uint32_t> &lanes) {
  return reinterpret_cast<uint8_t *>(lanes.data());
}
static const uint8_t *bytesOf(const std::vector<uint32_t> &lanes) {
  return reinterpret_cast<const uint8_t *>(lanes.data());
}

void MatrixEngine::gatherAccumulator(const isa::Descriptor &acc,
                                     const ByteInterval &interval,
                                     uint8_t *dense) {
  // Results under way are put in place, and what they cover is put back.
  uint8_t *memory = core.acc.data();
  std::vector<std::pair<const MatrixResults *, std::vector<uint8_t>>> covered;
  for (const Operation &operation : operations) {
    const MatrixResults &o = operation.results;
    if (o.sums.empty() || !o.interval.overlaps(interval))
      continue;
    std::vector<uint8_t> old(o.sums.size() * 4);
    gatherLocal(memory, o.acc, old.data());
    scatterLocal(memory, o.acc, bytesOf(o.sums));
    covered.emplace_back(&o, std::move(old));
  }
  gatherLocal(memory, acc, dense);
  for (auto it = covered.rbegin(); it != covered.rend(); ++it)
    scatterLocal(memory, it->first->acc, it->second.data());
}

/// Dense 32-bit elements of a scratchpad operand, masked dimensions first.
static std::vector<uint32_t>
gatherLanes(const uint8_t *memory, const isa::Descriptor &td, unsigned mask) {
  isa::Descriptor order = maskFirst(td, mask);
  std::vector<uint8_t> dense(denseSize(order));
  gatherLocal(memory, order, dense.data());
  std::vector<uint32_t> lanes(maskedElements(td, ~0u));
  widen(td.format, dense.data(), lanes.size(), lanes.data());
  return lanes;
}

void MatrixEngine::compute(const QueueEntry &entry, const Plan &plan,
                           MatrixResults &results) {
  const isa::Descriptor &a = entry.operands[1], &b = entry.operands[2];
  unsigned all = (1u << b.rank) - 1;
  std::vector<uint32_t> left = gatherLanes(core.spm.data(), a, entry.maskA);
  if (!entry.keepWeights)
    held = gatherLanes(core.spm.data(), b, all & ~unsigned(entry.maskB));
  std::vector<uint32_t> &sums = results.sums;
  sums.resize(plan.m * plan.n);
  if (entry.accumulate)
    gatherAccumulator(results.acc, results.interval, bytesOf(sums));
  MatrixShape shape{plan.m, plan.n, plan.k};
  auto *multiply = isFloat(a.format) ? multiplyFloat : multiplyInteger;
  multiply(shape, left.data(), held.data(), sums.data());
}

bool MatrixEngine::startMma(const QueueEntry &entry, Cycle now) {
  MatrixResults results;
  results.acc = entry.operands[0];
  Plan plan;
  uint64_t address = 0;
  FaultCause fault = check(entry, plan, results.interval, address);
  if (fault != FaultCause::None) {
    core.fault(fault, entry.pc, address);
    return false;
  }
  if (Checker *checker = core.services.checker) {
    checker->read(core, kind, entry.operands[1]);
    if (!entry.keepWeights)
      checker->read(core, kind, entry.operands[2]);
    if (entry.accumulate)
      checker->read(core, kind, entry.operands[0]);
    checker->write(core, kind, entry.operands[0]);
  }
  if (!core.services.options.timingOnly)
    compute(entry, plan, results);
  Cycle ready = schedule(entry, plan, results, now);
  holds = plan.blocksK * plan.blocksN == 1;
  heldOperand = entry.operands[2];
  heldDims = entry.maskB;
  core.counters.macs[size_t(entry.operands[1].format)] +=
      plan.m * plan.n * plan.k;
  core.countRead(entry.operands[1]);
  if (!entry.keepWeights)
    core.countRead(entry.operands[2]);
  if (entry.accumulate)
    core.countRead(entry.operands[0]);
  started(entry, ready, std::move(results));
  return true;
}

void MatrixEngine::commit(const MatrixResults &results) {
  if (results.written.empty()) // no mma
    return;
  if (!results.sums.empty())
    scatterLocal(core.acc.data(), results.acc, bytesOf(results.sums));
  core.countWrite(results.acc, results.interval);
}

} // namespace tessera::sim
