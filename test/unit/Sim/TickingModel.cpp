//===- TickingModel.cpp - Engines cycle by cycle ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include <deque>
#include <set>

namespace tessera::sim::test {

//===----------------------------------------------------------------------===//
// Matrix: a grid of processing elements that hold weights
//===----------------------------------------------------------------------===//

namespace {

/// A stationary piece of `b`.
struct Block {
  size_t job = 0;
  uint32_t n = 0;
  bool firstOfJob = false, lastOfJob = false, firstOfColumn = false,
       lastOfColumn = false;
  // What has left the grid and was written into the accumulators.
  bool started = false, firstBeatWritten = false, lastBeatWritten = false,
       allWritten = false;
};

/// A beat of a block: a row, or part of one at a lower rate.
struct Beat {
  int block = -1;
  uint32_t index = 0;
};

class MatrixGrid {
public:
  MatrixGrid(const Architecture &arch, const std::vector<MatrixJob> &jobs)
      : arch(arch), jobs(jobs), rows(arch.matrix.rows),
        columns(arch.matrix.cols), skew(rows),
        grid(rows, std::vector<Beat>(columns)),
        outputs(columns, std::deque<Beat>(arch.matrix.fillLatency)),
        spans(jobs.size()) {
    for (size_t j = 0; j < jobs.size(); ++j) {
      uint32_t rowsOfBlock = scale(j) >= 1 ? uint32_t(scale(j) * rows) : rows;
      uint32_t kb = (jobs[j].k + rowsOfBlock - 1) / rowsOfBlock,
               nb = (jobs[j].n + columns - 1) / columns;
      for (uint32_t n = 0; n < nb; ++n)
        for (uint32_t k = 0; k < kb; ++k) {
          Block b;
          b.job = j, b.n = n;
          b.firstOfColumn = k == 0, b.lastOfColumn = k + 1 == kb;
          b.firstOfJob = b.firstOfColumn && n == 0;
          b.lastOfJob = b.lastOfColumn && n + 1 == nb;
          blocks.push_back(b);
        }
    }
  }

  std::vector<Span> run() {
    for (now = 0; completed < jobs.size() && now < 1'000'000; ++now)
      tick();
    return spans;
  }

private:
  double scale(size_t j) const {
    return arch.matrix.macsScale.at(jobs[j].format);
  }
  uint32_t beatsPerRow(size_t j) const {
    return scale(j) >= 1 ? 1 : uint32_t(1 / scale(j));
  }
  uint32_t beats(size_t j) const { return jobs[j].m * beatsPerRow(j); }
  /// Cycles for one row of weights to shift in by one place, and places.
  uint32_t loadCycles(size_t j) const {
    uint32_t places = jobs[j].byColumn ? columns : rows;
    bool wide = scale(j) < 1 && bitWidth(jobs[j].format) > 16;
    return places * (wide ? bitWidth(jobs[j].format) / 16 : 1);
  }

  bool accumulatorsReady(const Block &b) const {
    if (!b.firstOfColumn) // the block before it writes the same rows
      return blocks[next - 1].firstBeatWritten;
    if (!jobs[b.job].accumulate)
      return true;
    const MatrixJob &mine = jobs[b.job];
    for (const Block &earlier : blocks) {
      if (earlier.job >= b.job)
        break;
      const MatrixJob &other = jobs[earlier.job];
      bool overlaps = other.accBase < mine.accBase + mine.m * mine.n * 4 &&
                      mine.accBase < other.accBase + other.m * other.n * 4;
      if (!overlaps || !earlier.lastOfColumn)
        continue;
      bool sameRows = other.accBase == mine.accBase && other.m == mine.m &&
                      other.n == mine.n && beats(earlier.job) == beats(b.job);
      if (sameRows ? earlier.n == b.n && !earlier.firstBeatWritten
                   : earlier.lastOfJob && !earlier.lastBeatWritten)
        return false;
    }
    return true;
  }

  bool weightsReady() const {
    const Block &b = blocks[next];
    if (jobs[b.job].keepWeights)
      return b.job < taken;
    return shadow == int(next) && shadowCycles == loadCycles(b.job);
  }

  void tick() {
    writeAccumulators();
    // The weights in the shadow registers are swapped in, and rows follow.
    if (next < blocks.size() && weightsReady() && streaming < 0 &&
        accumulatorsReady(blocks[next])) {
      streaming = int(next);
      beat = 0;
      blocks[next].started = true;
      if (!jobs[blocks[next].job].keepWeights)
        shadow = -1;
      ++next;
    }
    // The next instruction is taken once its predecessor's last block runs, or
    // with a predecessor that needs no weights.
    while (
        taken < jobs.size() && jobs[taken].visible <= now &&
        (taken == 0 || jobs[taken - 1].keepWeights ||
         (next > 0 && blocks[next - 1].job + 1 >= taken &&
          (blocks[next - 1].job + 1 > taken || blocks[next - 1].lastOfJob)))) {
      spans[taken].begin = now;
      ++taken;
    }
    // The first block to come that needs weights may load them.
    size_t wanted = next;
    while (wanted < blocks.size() && jobs[blocks[wanted].job].keepWeights)
      ++wanted;
    if (shadow < 0 && wanted < blocks.size() && blocks[wanted].job < taken) {
      shadow = int(wanted);
      shadowCycles = 0;
    }
    // What was taken in this cycle and needs no weights may start in it.
    if (streaming < 0 && next < blocks.size() &&
        jobs[blocks[next].job].keepWeights && weightsReady() &&
        accumulatorsReady(blocks[next])) {
      streaming = int(next);
      beat = 0;
      blocks[next].started = true;
      ++next;
    }
    if (shadow >= 0 && shadowCycles < loadCycles(blocks[size_t(shadow)].job))
      ++shadowCycles;
    moveBeats();
  }

  /// Everything moves by one element; a row's elements enter one after another.
  void moveBeats() {
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = columns; c-- > 1;)
        grid[r][c] = grid[r][c - 1];
    for (uint32_t r = rows; r-- > 1;)
      skew[r] = skew[r - 1];
    skew[0] = {};
    if (streaming >= 0) {
      skew[0] = {streaming, beat};
      if (++beat == beats(blocks[size_t(streaming)].job))
        streaming = -1;
    }
    for (uint32_t r = 0; r < rows; ++r)
      grid[r][0] = skew[r];
    for (uint32_t c = 0; c < columns; ++c)
      outputs[c].push_back(grid[rows - 1][c]);
  }

  void writeAccumulators() {
    if (now == 0)
      return;
    for (uint32_t c = 0; c < columns; ++c) {
      Beat b = outputs[c].front();
      outputs[c].pop_front();
      if (b.block < 0)
        continue;
      Block &block = blocks[size_t(b.block)];
      bool isLast = b.index + 1 == beats(block.job);
      if (c == 0 && b.index == 0)
        block.firstBeatWritten = true;
      if (c == 0 && isLast)
        block.lastBeatWritten = true;
      if (c + 1 == columns && isLast) {
        block.allWritten = true;
        if (block.lastOfJob) {
          spans[block.job].end = now;
          ++completed;
        }
      }
    }
  }

  const Architecture &arch;
  const std::vector<MatrixJob> &jobs;
  uint32_t rows, columns;
  std::vector<Block> blocks;
  std::vector<Beat> skew;
  std::vector<std::vector<Beat>> grid;
  std::vector<std::deque<Beat>> outputs; ///< From the last row to the ACC.
  std::vector<Span> spans;
  uint64_t now = 0;
  size_t next = 0; ///< Block to start.
  size_t taken = 0, completed = 0;
  int shadow = -1, streaming = -1;
  uint32_t shadowCycles = 0, beat = 0;
};

} // namespace

std::vector<Span> tickMatrix(const Architecture &arch,
                             const std::vector<MatrixJob> &jobs) {
  return MatrixGrid(arch, jobs).run();
}

//===----------------------------------------------------------------------===//
// Vector: lanes, slots, ports and banks
//===----------------------------------------------------------------------===//

/// Serves the words that the lanes of one group touch, each bank one a cycle.
static uint32_t serveBanks(const Architecture &arch, const VectorOperand &o,
                           uint64_t firstElement, uint64_t lanes) {
  std::vector<std::set<uint64_t>> words(arch.spm.banks);
  for (uint64_t lane = 0; lane < lanes; ++lane)
    for (uint64_t byte = 0; byte < 4; ++byte) {
      uint64_t address = o.base + (firstElement + lane) * o.stride * 4 + byte;
      uint64_t word = address / arch.spm.bankWidth;
      words[word % arch.spm.banks].insert(word);
    }
  for (uint32_t cycles = 0;; ++cycles) {
    bool any = false;
    for (std::set<uint64_t> &bank : words)
      if (!bank.empty()) {
        bank.erase(bank.begin());
        any = true;
      }
    if (!any)
      return cycles;
  }
}

static bool overlap(const VectorOperand &a, const VectorOperand &b,
                    uint32_t elementsA, uint32_t elementsB) {
  auto end = [](const VectorOperand &o, uint32_t n) {
    return o.base + uint64_t(n - 1) * o.stride * 4 + 4;
  };
  return a.base < end(b, elementsB) && b.base < end(a, elementsA);
}

std::vector<Span> tickVector(const Architecture &arch,
                             const std::vector<VectorJob> &jobs) {
  std::vector<Span> spans(jobs.size());
  uint64_t now = 0, lastEnd = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const VectorJob &job = jobs[j];
    auto mustWait = [&] {
      if (job.visible > now)
        return true;
      for (size_t e = 0; e < j; ++e)
        for (const VectorOperand &output : jobs[e].outputs)
          for (const VectorOperand &input : job.inputs)
            if (spans[e].end > now &&
                overlap(output, input, jobs[e].elements, job.elements))
              return true;
      return false;
    };
    while (mustWait())
      ++now;
    spans[j].begin = now;
    for (uint64_t first = 0; first < job.elements; first += arch.vector.lanes) {
      uint64_t lanes =
          std::min<uint64_t>(arch.vector.lanes, job.elements - first);
      int64_t alu = job.aluOps;
      int64_t sfu = int64_t(job.sfuOps) * arch.vector.lanes;
      int64_t reads = 0, writes = 0;
      for (const VectorOperand &o : job.inputs)
        reads += serveBanks(arch, o, first, lanes);
      for (const VectorOperand &o : job.outputs)
        writes += serveBanks(arch, o, first, lanes);
      // Work of a group goes on side by side; the slowest part decides.
      do {
        alu -= arch.vector.aluSlots;
        sfu -= arch.vector.sfuLanes;
        reads -= arch.vector.readPorts;
        writes -= arch.vector.writePorts;
        ++now;
      } while (alu > 0 || sfu > 0 || reads > 0 || writes > 0);
    }
    lastEnd = spans[j].end = std::max(lastEnd, now + arch.vector.latency);
  }
  return spans;
}

} // namespace tessera::sim::test
