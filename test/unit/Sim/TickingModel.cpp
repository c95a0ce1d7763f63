//===- TickingModel.cpp - Engines cycle by cycle ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include "TickingVector.h"
#include <algorithm>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <tuple>

namespace tessera::sim::test {

//===----------------------------------------------------------------------===//
// Matrix: a grid of processing elements that hold weights
//===----------------------------------------------------------------------===//

namespace {

/// An access that takes `pace` cycles, or more if its words do.
class PacedAccess {
public:
  PacedAccess(WordsToServe words, uint32_t pace)
      : words(std::move(words)), cyclesLeft(pace) {}
  /// True if one of the cycles is over.
  bool tick(std::set<size_t> &busyBanks) {
    if (words.cyclesLeft() == 0 || words.serve(busyBanks))
      begun = true;
    if (!begun || words.cyclesLeft() > cyclesLeft - 1)
      return false;
    --cyclesLeft;
    return true;
  }
  bool over() const { return cyclesLeft == 0; }

private:
  WordsToServe words;
  uint32_t cyclesLeft;
  bool begun = false;
};

/// A row that enters the grid: its words in the scratchpad, the sums that it
/// takes along in its last cycle, and where it is written when it comes out. It
/// enters only if the banks are free for all of these.
class RowAccess {
public:
  RowAccess(WordsToServe words, WordsToServe addends, WordsToServe sums,
            uint32_t pace, uint32_t gap)
      : words(std::move(words)), addends(std::move(addends)),
        sums(std::move(sums)), pace(pace), gap(gap), cyclesLeft(pace) {
    levels = std::max({this->words.cyclesLeft(), this->addends.cyclesLeft(),
                       this->sums.cyclesLeft()});
  }
  /// True if one of the cycles is over. `later` says what those that go first
  /// will need in so many cycles; `own` banks are the engine's.
  template <typename Later>
  bool tick(BusyBanks &busy, const BusyBanks &own, Later later) {
    if (levels == 0 || serve(busy, own, later))
      begun = true;
    if (!begun || levels > cyclesLeft - 1)
      return false;
    --cyclesLeft;
    return true;
  }
  bool over() const { return cyclesLeft == 0; }

private:
  template <typename Later>
  bool serve(BusyBanks &busy, const BusyBanks &own, Later later) {
    BusyBanks others;
    std::set_difference(busy.begin(), busy.end(), own.begin(), own.end(),
                        std::inserter(others, others.end()));
    uint32_t reads = pace - 1, writes = reads + gap - 1;
    bool adds = addends.cyclesLeft() == levels,
         writesNow = sums.cyclesLeft() == levels;
    // In the present cycle what went before is known.
    auto free = [&](const WordsToServe &w, uint32_t delay) {
      return w.canServe(delay == 0 ? others : later(delay));
    };
    if (!words.canServe(others) || (adds && !free(addends, reads)) ||
        (writesNow && !free(sums, writes)))
      return false;
    words.serve(busy);
    if (adds)
      addends.serve(taken[reads]);
    if (writesNow)
      sums.serve(taken[writes]);
    --levels;
    return true;
  }

  WordsToServe words, addends, sums;
  uint32_t pace, gap;
  size_t levels, cyclesLeft;
  bool begun = false;

public:
  std::map<uint32_t, BusyBanks> taken; ///< By this cycle's row, so much later.
};

/// A stationary piece of `b`.
struct Block {
  size_t job = 0;
  uint32_t n = 0, k = 0;
  /// When each row of `a` was taken in, as if its last beat's predecessors had
  /// come right before it.
  std::vector<uint64_t> rowTaken;
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
      uint32_t depth = rowsOfBlock(j);
      uint32_t kb = (jobs[j].k + depth - 1) / depth,
               nb = (jobs[j].n + columns - 1) / columns;
      for (uint32_t n = 0; n < nb; ++n)
        for (uint32_t k = 0; k < kb; ++k) {
          Block b;
          b.job = j, b.n = n, b.k = k;
          b.firstOfColumn = k == 0, b.lastOfColumn = k + 1 == kb;
          b.firstOfJob = b.firstOfColumn && n == 0;
          b.lastOfJob = b.lastOfColumn && n + 1 == nb;
          blocks.push_back(b);
        }
    }
  }

  std::vector<Span> run() {
    for (uint64_t cycle = 0; !over() && cycle < 1'000'000; ++cycle) {
      busyBanks.clear();
      prepare(cycle);
      moveBeats(busyBanks);
      loadWeights(busyBanks);
    }
    return spans;
  }

  /// What those that go before the streaming row will need in a later cycle.
  std::function<BusyBanks(uint64_t cycle)> ahead;
  /// What rows that have entered need in a cycle.
  BusyBanks reserved(uint64_t cycle) const {
    auto it = later.find(cycle);
    return it == later.end() ? BusyBanks() : it->second;
  }

  // A cycle: what starts in it; then the accesses of rows, and of weights.
  bool over() const { return completed == jobs.size(); }
  /// No instruction that was taken has rows or weights to come.
  bool isIdle() const {
    return streaming < 0 && shadow < 0 &&
           (next == blocks.size() || blocks[next].job >= taken);
  }
  void prepare(uint64_t cycle);
  void moveBeats(std::set<size_t> &busy);
  void loadWeights(std::set<size_t> &busy);
  /// When the instructions began that these belong to.
  uint64_t rowsAge() const {
    return streaming < 0 ? 0 : spans[blocks[size_t(streaming)].job].begin;
  }
  uint64_t weightsAge() const {
    return shadow < 0 ? 0 : spans[blocks[size_t(shadow)].job].begin;
  }
  const std::vector<Span> &results() const { return spans; }

private:
  double scale(size_t j) const {
    return arch.matrix.macsScale.at(jobs[j].format);
  }
  uint32_t beatsPerRow(size_t j) const {
    return scale(j) >= 1 ? 1 : uint32_t(1 / scale(j));
  }
  uint32_t beats(size_t j) const { return jobs[j].m * beatsPerRow(j); }
  uint32_t rowsOfBlock(size_t j) const {
    return scale(j) >= 1 ? uint32_t(scale(j) * rows) : rows;
  }
  /// Cycles for one row of weights to shift in by one place, and places.
  uint32_t loadPace(size_t j) const {
    bool wide = scale(j) < 1 && bitWidth(jobs[j].format) > 16;
    return wide ? bitWidth(jobs[j].format) / 16 : 1;
  }
  uint32_t loadCycles(size_t j) const {
    return (jobs[j].byColumn ? columns : rows) * loadPace(j);
  }

  /// Whether a block that starts now takes each row in late enough behind
  /// `earlier`, whose rows are the same.
  bool rowsFollow(const Block &earlier) const {
    for (uint32_t m = 0; m < earlier.rowTaken.size(); ++m)
      if (earlier.rowTaken[m] + rows + arch.matrix.fillLatency >
          now + uint64_t(m) * beatsPerRow(earlier.job))
        return false;
    return earlier.firstBeatWritten;
  }

  bool accumulatorsReady(const Block &b) const {
    if (!b.firstOfColumn) // the block before it writes the same rows
      return rowsFollow(blocks[next - 1]);
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
                      other.n == mine.n && beats(earlier.job) == beats(b.job) &&
                      isFloat(other.format) == isFloat(mine.format);
      if (sameRows ? earlier.n == b.n && !rowsFollow(earlier)
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

  /// What a row of a block's `a` needs.
  WordsToServe wordsOfRow(const Block &b, uint32_t row) const {
    const MatrixJob &j = jobs[b.job];
    WordsToServe words(arch);
    uint64_t bits = bitWidth(j.format);
    uint32_t depth = rowsOfBlock(b.job);
    for (uint32_t k = b.k * depth; k < std::min(j.k, (b.k + 1) * depth); ++k)
      words.add(j.aBase + (row * j.rowOfA() + k) * bits / 8, bits);
    return words;
  }
  /// The sums of a row.
  void addSums(const Block &b, uint32_t row, WordsToServe &words) const {
    const MatrixJob &j = jobs[b.job];
    for (uint32_t n = b.n * columns; n < std::min(j.n, (b.n + 1) * columns);
         ++n)
      words.add(j.accBase + (uint64_t(row) * j.n + n) * 4, 32);
  }
  /// What a step of the load of a block's weights needs.
  WordsToServe wordsOfLoad(const Block &b, uint32_t step) const {
    const MatrixJob &j = jobs[b.job];
    WordsToServe words(arch);
    uint64_t bits = bitWidth(j.format);
    uint32_t depth = rowsOfBlock(b.job), perStep = depth / rows;
    for (uint32_t k = b.k * depth; k < std::min(j.k, (b.k + 1) * depth); ++k)
      for (uint32_t n = b.n * columns; n < std::min(j.n, (b.n + 1) * columns);
           ++n) {
        uint32_t at = j.byColumn ? n - b.n * columns
                                 : (k - b.k * depth) / std::max(1u, perStep);
        if (at == step)
          words.add(j.bBase +
                        (j.byColumn ? n * j.rowOfB() + k : k * j.rowOfB() + n) *
                            bits / 8,
                    bits);
      }
    return words;
  }

  void start() {
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
  }

  void writeAccumulators() {
    if (now == 0)
      return;
    for (uint32_t c = 0; c < columns; ++c) {
      if (outputs[c].empty()) // of a copy in which this grid stands still
        continue;
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
  std::set<size_t> busyBanks; ///< In this cycle, of run().
  std::optional<RowAccess> row;
  std::optional<PacedAccess> step;
  std::map<uint64_t, BusyBanks> later; ///< Of rows that have entered.
};

void MatrixGrid::prepare(uint64_t cycle) {
  now = cycle;
  start();
}

/// One cycle of the load of the next weights.
void MatrixGrid::loadWeights(std::set<size_t> &busy) {
  if (shadow < 0)
    return;
  const Block &b = blocks[size_t(shadow)];
  if (shadowCycles == loadCycles(b.job))
    return;
  uint32_t pace = loadPace(b.job);
  if (!step)
    step.emplace(wordsOfLoad(b, shadowCycles / pace), pace);
  if (step->tick(busy))
    ++shadowCycles;
  if (step->over())
    step.reset();
}

/// Everything moves by one element; a row's elements enter one after another.
void MatrixGrid::moveBeats(std::set<size_t> &busy) {
  for (uint32_t r = 0; r < rows; ++r)
    for (uint32_t c = columns; c-- > 1;)
      grid[r][c] = grid[r][c - 1];
  for (uint32_t r = rows; r-- > 1;)
    skew[r] = skew[r - 1];
  skew[0] = {};
  if (streaming >= 0) {
    Block &b = blocks[size_t(streaming)];
    uint32_t pace = beatsPerRow(b.job);
    if (!row) {
      WordsToServe addends = WordsToServe::accRead(arch),
                   sums = WordsToServe::accWrite(arch);
      addSums(b, beat / pace, sums);
      if (!b.firstOfColumn || jobs[b.job].accumulate)
        addSums(b, beat / pace, addends);
      row.emplace(wordsOfRow(b, beat / pace), addends, sums, pace,
                  rows + arch.matrix.fillLatency);
    }
    if (row->tick(busy, reserved(now), [&](uint32_t delay) {
          return ahead ? ahead(now + delay) : BusyBanks();
        }))
      skew[0] = {streaming, beat++};
    for (auto &[delay, banks] : row->taken) {
      later[now + delay].insert(banks.begin(), banks.end());
      if (delay == 0)
        busy.insert(banks.begin(), banks.end());
    }
    row->taken.clear();
    if (row->over()) {
      row.reset();
      b.rowTaken.push_back(now + 1 - pace);
    }
    if (beat == beats(b.job))
      streaming = -1;
  }
  for (uint32_t r = 0; r < rows; ++r)
    grid[r][0] = skew[r];
  for (uint32_t c = 0; c < columns; ++c)
    outputs[c].push_back(grid[rows - 1][c]);
}

} // namespace

std::vector<Span> tickMatrix(const Architecture &arch,
                             const std::vector<MatrixJob> &jobs) {
  return MatrixGrid(arch, jobs).run();
}

//===----------------------------------------------------------------------===//
// Vector: lanes, slots, ports and banks
//===----------------------------------------------------------------------===//

namespace {

/// The vector engine a cycle at a time, for operands in the scratchpad.
class VectorLanes {
public:
  VectorLanes(const Architecture &arch, const std::vector<VectorJob> &jobs)
      : arch(arch), jobs(jobs), spans(jobs.size()) {}

  bool over() const { return job == jobs.size(); }
  uint64_t age() const { return running ? spans[job].begin : 0; }
  bool isRunning() const { return running; }
  size_t current() const { return job; }
  const std::vector<Span> &results() const { return spans; }

  void prepare(uint64_t now) {
    if (running || over() || jobs[job].visible > now)
      return;
    for (size_t e = 0; e < job; ++e)
      for (const VectorOperand &output : jobs[e].outputs)
        for (const VectorOperand &input : jobs[job].inputs)
          if (spans[e].end > now &&
              overlap(output, input, jobs[e].elements, jobs[job].elements))
            return;
    running = true;
    spans[job].begin = now;
    first = 0;
    if (jobs[job].transposed)
      beginTiles();
    else if (jobs[job].sorted)
      beginSort();
    else
      beginGroup();
  }

  void access(std::set<size_t> &busy, uint64_t now) {
    if (!running)
      return;
    if (jobs[job].transposed) {
      moveTiles(busy);
      if (waitingTiles.empty() && buffers.empty())
        finish(now);
      return;
    }
    if (jobs[job].sorted) {
      BusyBanks needed;
      if (!values.empty())
        serveRow(values, arch.vector.readPorts, busy, needed);
      if (!sortResults.empty())
        serveResults(busy, needed);
      busy.insert(needed.begin(), needed.end());
      workLeft -= arch.vector.lanes * arch.vector.aluSlots;
      if (workLeft <= 0 && values.empty() && sortResults.empty())
        finish(now);
      return;
    }
    serve(busy);
    workLeft -= 1;
    auto left = [](const std::vector<WordsToServe> &operands) {
      size_t cycles = 0;
      for (const WordsToServe &words : operands)
        cycles += words.cyclesLeft();
      return cycles;
    };
    if (workLeft > 0 || indicesLeft > 0 || left(reads) > 0 || left(writes) > 0)
      return;
    first += arch.vector.lanes;
    if (first < jobs[job].elements)
      return beginGroup();
    finish(now);
  }

private:
  /// A tile of a transpose: the words of the rows that are to be read, and of
  /// those that are to be written.
  struct Tile {
    std::deque<WordsToServe> reading, writing;
  };

  void finish(uint64_t now) {
    lastEnd = std::max(lastEnd, now + 1 + arch.vector.latency);
    spans[job].end = lastEnd;
    running = false;
    ++job;
  }

  void beginTiles() {
    const isa::Descriptor &src = *jobs[job].transposed;
    uint64_t destination = jobs[job].outputs[0].base;
    uint32_t side = std::min<uint32_t>(arch.vector.lanes, 64);
    uint32_t rows = src.extents[0], columns = src.extents[1];
    for (uint32_t r = 0; r < rows; r += side)
      for (uint32_t c = 0; c < columns; c += side) {
        Tile &tile = waitingTiles.emplace_back();
        uint32_t lastRow = std::min(rows, r + side),
                 lastColumn = std::min(columns, c + side);
        for (uint32_t i = r; i < lastRow; ++i) {
          tile.reading.emplace_back(arch);
          for (uint32_t j = c; j < lastColumn; ++j)
            tile.reading.back().add(
                src.base +
                    uint64_t(i * src.strides[0] + j * src.strides[1]) * 4,
                32);
        }
        for (uint32_t j = c; j < lastColumn; ++j) {
          tile.writing.emplace_back(arch);
          for (uint32_t i = r; i < lastRow; ++i)
            tile.writing.back().add(destination + (uint64_t(j) * rows + i) * 4,
                                    32);
        }
      }
  }

  void beginSort() {
    const VectorJob::Sort &sort = *jobs[job].sorted;
    Sorter sorter;
    std::vector<std::vector<int32_t>> unused;
    sortRows(sorter,
             std::vector<std::vector<float>>(sort.rows,
                                             std::vector<float>(sort.row)),
             sort.k, unused);
    workLeft = int64_t(sorter.operations);
    uint32_t block = 1;
    while (block < sort.row && block < 64)
      block *= 2;
    uint32_t padded = (sort.row + block - 1) / block * block;
    uint32_t lanes = arch.vector.lanes;
    for (uint32_t i = 0; i < sort.rows * padded; ++i) {
      if (i % lanes == 0)
        values.emplace_back(arch);
      if (i % padded < sort.row)
        values.back().add(jobs[job].inputs[0].base +
                              (i / padded * sort.row + i % padded) * 4,
                          32);
    }
    for (uint32_t i = 0; i < sort.rows * sort.k; ++i) {
      if (i % lanes == 0)
        sortResults.push_back({WordsToServe(arch), WordsToServe(arch)});
      for (size_t o = 0; o < 2; ++o)
        sortResults.back()[o].add(jobs[job].outputs[o].base + i * 4, 32);
    }
  }

  /// A cycle of the first group of results: both outputs share the ports.
  void serveResults(const BusyBanks &busy, BusyBanks &needed) {
    std::vector<WordsToServe> group = sortResults.front();
    BusyBanks mine;
    uint32_t ports = arch.vector.writePorts;
    for (WordsToServe &words : group)
      for (; ports > 0 && words.cyclesLeft() > 0; --ports) {
        BusyBanks level;
        words.serve(level);
        mine.insert(level.begin(), level.end());
      }
    for (size_t bank : mine)
      if (busy.count(bank))
        return;
    needed.insert(mine.begin(), mine.end());
    if (group[0].cyclesLeft() == 0 && group[1].cyclesLeft() == 0)
      sortResults.pop_front();
    else
      sortResults.front() = std::move(group);
  }

  /// A cycle of the first row: as much of it as there are ports, or nothing.
  void serveRow(std::deque<WordsToServe> &rows, uint32_t ports,
                const std::set<size_t> &busy, std::set<size_t> &needed) {
    WordsToServe row = rows.front();
    std::set<size_t> mine;
    for (; ports > 0 && row.cyclesLeft() > 0; --ports) {
      std::set<size_t> level;
      row.serve(level);
      mine.insert(level.begin(), level.end());
    }
    for (size_t bank : mine)
      if (busy.count(bank))
        return;
    needed.insert(mine.begin(), mine.end());
    rows.front() = std::move(row);
    if (rows.front().cyclesLeft() == 0)
      rows.pop_front();
  }

  /// Reading and writing do not disturb each other.
  void moveTiles(std::set<size_t> &busy) {
    if (buffers.size() < 2 && !waitingTiles.empty() &&
        (buffers.empty() || buffers.back().reading.empty())) {
      buffers.push_back(std::move(waitingTiles.front()));
      waitingTiles.pop_front();
    }
    bool drains = buffers.front().reading.empty();
    std::set<size_t> needed;
    if (!buffers.back().reading.empty())
      serveRow(buffers.back().reading, arch.vector.readPorts, busy, needed);
    if (drains)
      serveRow(buffers.front().writing, arch.vector.writePorts, busy, needed);
    busy.insert(needed.begin(), needed.end());
    if (buffers.front().reading.empty() && buffers.front().writing.empty())
      buffers.pop_front();
  }

  void beginGroup() {
    const VectorJob &j = jobs[job];
    workLeft = std::max<int64_t>(
        {1, (j.aluOps + arch.vector.aluSlots - 1) / arch.vector.aluSlots,
         (int64_t(j.sfuOps) * arch.vector.lanes + arch.vector.sfuLanes - 1) /
             arch.vector.sfuLanes});
    auto fill = [&](const std::vector<VectorOperand> &operands, bool written) {
      std::vector<WordsToServe> all;
      uint64_t last = std::min<uint64_t>(first + arch.vector.lanes, j.elements);
      for (const VectorOperand &o : operands) {
        all.push_back(!o.isAcc  ? WordsToServe(arch)
                      : written ? WordsToServe::accWrite(arch)
                                : WordsToServe::accRead(arch));
        for (uint64_t e = first; e < last; ++e)
          all.back().add(o.base + e * o.stride * 4, 32);
      }
      return all;
    };
    reads = fill(j.inputs, false);
    writes = fill(j.outputs, true);
    indicesLeft = j.gathered.empty() ? 0 : 1;
    if (indicesLeft > 0) {
      reads.emplace_back(arch);
      for (uint64_t e = first;
           e < std::min<uint64_t>(first + arch.vector.lanes, j.elements); ++e)
        reads.back().add(j.gathered[e], 32);
    }
  }

  /// As many operands, or parts of one, as there are ports: all or none.
  void serve(std::set<size_t> &busy) {
    std::vector<WordsToServe> newReads = reads, newWrites = writes;
    std::set<size_t> needed;
    auto take = [&](std::vector<WordsToServe> &operands, uint32_t ports) {
      for (WordsToServe &words : operands)
        for (; ports > 0 && words.cyclesLeft() > 0; --ports) {
          // An instruction's own accesses do not disturb each other.
          std::set<size_t> mine;
          words.serve(mine);
          needed.insert(mine.begin(), mine.end());
        }
    };
    // Indices take a port, wherever they lie.
    take(newReads, arch.vector.readPorts - indicesLeft);
    take(newWrites, arch.vector.writePorts);
    for (size_t bank : needed)
      if (busy.count(bank))
        return;
    busy.insert(needed.begin(), needed.end());
    reads = std::move(newReads);
    writes = std::move(newWrites);
    indicesLeft = 0;
  }

  const Architecture &arch;
  const std::vector<VectorJob> &jobs;
  std::vector<Span> spans;
  size_t job = 0;
  bool running = false;
  uint64_t first = 0, lastEnd = 0; ///< The group's first element.
  int64_t workLeft = 0;
  uint32_t indicesLeft = 0;
  std::vector<WordsToServe> reads, writes;
  std::deque<Tile> waitingTiles, buffers; ///< Two buffers, oldest first.
  std::deque<WordsToServe> values;        ///< Groups of a topk.
  std::deque<std::vector<WordsToServe>> sortResults;
};

/// All engines of a core. A copy goes on by itself: what it does shows what
/// will be needed.
class CoreEngines {
public:
  CoreEngines(const Architecture &arch, const CoreJobs &jobs)
      : vector(arch, jobs.vector),
        load(tickingDma(arch, {16, 4}, jobs.loads, false)),
        store(tickingDma(arch, {0, 0, true}, jobs.stores, true)) {
    matrix.emplace_back(arch, jobs.matrix);
    for (const std::vector<MatrixJob> &further : jobs.furtherMatrix)
      matrix.emplace_back(arch, further);
    bind();
  }
  CoreEngines(const CoreEngines &other)
      : now(other.now), matrix(other.matrix), vector(other.vector),
        load(other.load->clone()), store(other.store->clone()) {
    bind();
  }
  CoreEngines &operator=(const CoreEngines &) = delete;

  bool over() const {
    return std::all_of(matrix.begin(), matrix.end(),
                       [](const MatrixGrid &grid) { return grid.over(); }) &&
           vector.over() && load->over() && store->over();
  }
  CoreSpans results() const {
    CoreSpans spans{matrix[0].results(),
                    vector.results(),
                    load->results(),
                    store->results(),
                    {}};
    for (size_t i = 1; i < matrix.size(); ++i)
      spans.furtherMatrix.push_back(matrix[i].results());
    return spans;
  }

  /// Turns of a cycle, by what asked first and then by the engines' order.
  struct Turn {
    uint64_t age;
    int rank, who;
    bool operator<(const Turn &other) const {
      return std::tie(age, rank) < std::tie(other.age, other.rank);
    }
  };
  /// A cycle, or the part of it that goes before a turn; the banks it needs.
  BusyBanks tick(uint64_t cycle, std::optional<Turn> before = {}) {
    now = cycle;
    BusyBanks busy;
    for (MatrixGrid &grid : matrix)
      busy.merge(grid.reserved(now));
    for (TickingDma *engine : {load.get(), store.get()}) {
      engine->arrive(now);
      engine->complete();
    }
    for (MatrixGrid &grid : matrix)
      grid.prepare(now);
    vector.prepare(now);
    std::set<Turn> order = waiting();
    order.insert({askedAt(now, Asks::Begins), 2, loads});
    order.insert({askedAt(now, Asks::Begins), 3, stores});
    for (const Turn &turn : order) {
      if (before && !(turn < *before))
        break;
      if (turn.who == loadBursts)
        load->serve(turn.age, busy);
      else if (turn.who == storeBursts)
        store->serve(turn.age, busy);
      else if (turn.who == loads)
        load->step(busy);
      else if (turn.who == stores)
        store->step(busy);
      else if (turn.who == lanes)
        vector.access(busy, now);
      else if ((turn.who - grids) % 2 == 0)
        matrix[size_t(turn.who - grids) / 2].moveBeats(busy);
      else
        matrix[size_t(turn.who - grids) / 2].loadWeights(busy);
    }
    return busy;
  }

private:
  static constexpr int loadBursts = 0, storeBursts = 1, loads = 2, stores = 3,
                       lanes = 4, grids = 5;

  Turn rowsTurn(size_t i) const {
    return {askedAt(matrix[i].rowsAge(), Asks::Begins), 4 + 2 * int(i),
            grids + 2 * int(i)};
  }
  std::set<Turn> waiting() const {
    std::set<Turn> order;
    for (uint64_t age : load->ages())
      order.insert({age, 0, loadBursts});
    for (uint64_t age : store->ages())
      order.insert({age, 1, storeBursts});
    for (size_t i = 0; i < matrix.size(); ++i) {
      order.insert(rowsTurn(i));
      order.insert({askedAt(matrix[i].weightsAge(), Asks::Begins),
                    5 + 2 * int(i), grids + 2 * int(i) + 1});
    }
    order.insert({askedAt(vector.age(), Asks::Begins), 1000, lanes});
    return order;
  }
  /// What those that go before a grid's row will need in a later cycle: they go
  /// on as if nothing younger were there.
  BusyBanks ahead(size_t grid, uint64_t cycle) const {
    Turn row = rowsTurn(grid);
    auto isBefore = [&](uint64_t age, int rank) {
      return Turn{age, rank, 0} < row;
    };
    bool any = vector.isRunning() &&
               isBefore(askedAt(vector.age(), Asks::Begins), 1000);
    for (uint64_t age : load->ages())
      any |= isBefore(age, 0);
    for (uint64_t age : store->ages())
      any |= isBefore(age, 1);
    for (size_t i = 0; i < matrix.size(); ++i)
      any |= i != grid && !matrix[i].isIdle();
    BusyBanks busy;
    for (size_t i = 0; i < matrix.size(); ++i)
      if (i != grid)
        busy.merge(matrix[i].reserved(cycle));
    if (!any)
      return busy;
    CoreEngines copy(*this);
    for (uint64_t at = now + 1; at <= cycle; ++at)
      busy = copy.tick(at, row);
    for (size_t own : matrix[grid].reserved(cycle))
      busy.erase(own);
    return busy;
  }
  void bind() {
    for (size_t i = 0; i < matrix.size(); ++i)
      matrix[i].ahead = [this, i](uint64_t cycle) { return ahead(i, cycle); };
  }

  uint64_t now = 0;
  std::deque<MatrixGrid> matrix;
  VectorLanes vector;
  std::unique_ptr<TickingDma> load, store;
};

} // namespace

CoreSpans tickCore(const Architecture &arch, const CoreJobs &jobs) {
  CoreEngines core(arch, jobs);
  for (uint64_t now = 0; !core.over() && now < 1'000'000; ++now)
    core.tick(now);
  return core.results();
}

} // namespace tessera::sim::test
