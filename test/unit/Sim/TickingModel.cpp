//===- TickingModel.cpp - Engines cycle by cycle ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingModel.h"
#include "TickingBanks.h"
#include <algorithm>
#include <deque>
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

  // A cycle: what starts in it; then the accesses of rows, and of weights.
  bool over() const { return completed == jobs.size(); }
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
  std::optional<PacedAccess> row, step;
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
    if (!row)
      row.emplace(wordsOfRow(b, beat / pace), pace);
    if (row->tick(busy))
      skew[0] = {streaming, beat++};
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

namespace {

/// The vector engine a cycle at a time, for operands in the scratchpad.
class VectorLanes {
public:
  VectorLanes(const Architecture &arch, const std::vector<VectorJob> &jobs)
      : arch(arch), jobs(jobs), spans(jobs.size()) {}

  bool over() const { return job == jobs.size(); }
  uint64_t age() const { return running ? spans[job].begin : 0; }
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
    auto fill = [&](const std::vector<VectorOperand> &operands) {
      std::vector<WordsToServe> all;
      uint64_t last = std::min<uint64_t>(first + arch.vector.lanes, j.elements);
      for (const VectorOperand &o : operands) {
        all.emplace_back(arch);
        for (uint64_t e = first; e < last; ++e)
          all.back().add(o.base + e * o.stride * 4, 32);
      }
      return all;
    };
    reads = fill(j.inputs);
    writes = fill(j.outputs);
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
};

} // namespace

CoreSpans tickCore(const Architecture &arch, const CoreJobs &jobs) {
  std::deque<MatrixGrid> matrix;
  matrix.emplace_back(arch, jobs.matrix);
  for (const std::vector<MatrixJob> &further : jobs.furtherMatrix)
    matrix.emplace_back(arch, further);
  VectorLanes vector(arch, jobs.vector);
  auto load = tickingDma(arch, {16, 4}, jobs.loads, false),
       store = tickingDma(arch, {0, 0, true}, jobs.stores, true);
  auto over = [&] {
    return std::all_of(matrix.begin(), matrix.end(),
                       [](const MatrixGrid &grid) { return grid.over(); }) &&
           vector.over() && load->over() && store->over();
  };
  // Turns of a cycle, by what asked first and then by the engines' order.
  constexpr int loadBursts = 0, storeBursts = 1, loads = 2, stores = 3,
                lanes = 4, grids = 5;
  for (uint64_t now = 0; !over() && now < 1'000'000; ++now) {
    BusyBanks busy;
    load->arrive(now);
    store->arrive(now);
    for (MatrixGrid &grid : matrix)
      grid.prepare(now);
    vector.prepare(now);
    struct Turn {
      uint64_t age;
      int rank, who;
      bool operator<(const Turn &other) const {
        return std::tie(age, rank) < std::tie(other.age, other.rank);
      }
    };
    std::set<Turn> order;
    for (uint64_t age : load->ages())
      order.insert({age, 0, loadBursts});
    for (uint64_t age : store->ages())
      order.insert({age, 1, storeBursts});
    order.insert({askedAt(now, Asks::Begins), 2, loads});
    order.insert({askedAt(now, Asks::Begins), 3, stores});
    for (size_t i = 0; i < matrix.size(); ++i) {
      int first = 2 * int(i);
      order.insert({askedAt(matrix[i].rowsAge(), Asks::Begins), 4 + first,
                    grids + first});
      order.insert({askedAt(matrix[i].weightsAge(), Asks::Begins), 5 + first,
                    grids + first + 1});
    }
    order.insert({askedAt(vector.age(), Asks::Begins), 1000, lanes});
    for (const Turn &turn : order) {
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
  }
  CoreSpans spans{matrix[0].results(), vector.results(), load->results(),
                  store->results(), {}};
  for (size_t i = 1; i < matrix.size(); ++i)
    spans.furtherMatrix.push_back(matrix[i].results());
  return spans;
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
        for (const VectorOperand &input : job.inputs) {
          if (spans[e].end <= now)
            continue;
          for (const VectorOperand &output : jobs[e].outputs)
            if (overlap(output, input, jobs[e].elements, job.elements))
              return true;
          if (jobs[e].result &&
              overlap(*jobs[e].result, input, 1, job.elements))
            return true;
        }
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
      writes += job.result.has_value();
      // Work of a group goes on side by side; the slowest part decides.
      do {
        alu -= arch.vector.aluSlots;
        sfu -= arch.vector.sfuLanes;
        reads -= arch.vector.readPorts;
        writes -= arch.vector.writePorts;
        ++now;
      } while (alu > 0 || sfu > 0 || reads > 0 || writes > 0);
    }
    lastEnd = spans[j].end =
        std::max(lastEnd, now + arch.vector.latency + job.tree);
  }
  return spans;
}

//===----------------------------------------------------------------------===//
// Vector: transposer, gather, sorter
//===----------------------------------------------------------------------===//

namespace {

/// A tile on its way: for each row that is to be read, and for each that is to
/// be written, the cycles that its words take in the banks.
struct TileBuffer {
  std::deque<uint32_t> reading, writing;
};

/// A cycle passes at one side of the transposer: as many of a row's bank cycles
/// as there are ports. The next row begins in the next cycle.
void serveRow(std::deque<uint32_t> &rows, uint32_t ports) {
  if (rows.front() > ports)
    rows.front() -= ports;
  else
    rows.pop_front();
}

} // namespace

uint64_t tickTranspose(const Architecture &arch, const isa::Descriptor &src,
                       uint64_t destination) {
  uint32_t side = std::min<uint32_t>(arch.vector.lanes, 64);
  uint32_t matrices = src.extents[0], rows = src.extents[1],
           columns = src.extents[2];
  std::deque<TileBuffer> waiting;
  for (uint32_t m = 0; m < matrices; ++m)
    for (uint32_t r = 0; r < rows; r += side)
      for (uint32_t c = 0; c < columns; c += side) {
        uint32_t height = std::min(side, rows - r),
                 width = std::min(side, columns - c);
        TileBuffer &tile = waiting.emplace_back();
        for (uint32_t i = 0; i < height; ++i) {
          int64_t element = m * src.strides[0] + (r + i) * src.strides[1] +
                            c * src.strides[2];
          tile.reading.push_back(serveBanks(
              arch,
              {src.base + uint64_t(element) * 4, uint32_t(src.strides[2])}, 0,
              width));
        }
        for (uint32_t i = 0; i < width; ++i) {
          uint64_t element = (uint64_t(m) * columns + c + i) * rows + r;
          tile.writing.push_back(
              serveBanks(arch, {destination + element * 4, 1}, 0, height));
        }
      }
  std::deque<TileBuffer> buffers; // at most two, oldest first
  uint64_t now = 0;
  while (!waiting.empty() || !buffers.empty()) {
    if (buffers.size() < 2 && !waiting.empty() &&
        (buffers.empty() || buffers.back().reading.empty())) {
      buffers.push_back(waiting.front());
      waiting.pop_front();
    }
    bool drains = buffers.front().reading.empty();
    if (!buffers.back().reading.empty())
      serveRow(buffers.back().reading, arch.vector.readPorts);
    if (drains)
      serveRow(buffers.front().writing, arch.vector.writePorts);
    if (buffers.front().reading.empty() && buffers.front().writing.empty())
      buffers.pop_front();
    ++now;
  }
  return now;
}

uint64_t tickGather(const Architecture &arch, uint64_t table,
                    uint32_t rowElements, const std::vector<int32_t> &indices,
                    uint64_t destination) {
  std::vector<uint64_t> addresses; // of the elements, in the results' order
  for (int32_t index : indices)
    for (uint32_t e = 0; e < rowElements; ++e)
      addresses.push_back(table + (uint64_t(index) * rowElements + e) * 4);
  uint64_t now = 0;
  for (size_t first = 0; first < addresses.size(); first += arch.vector.lanes) {
    std::vector<std::set<uint64_t>> banks(arch.spm.banks);
    size_t last = std::min(addresses.size(), first + arch.vector.lanes);
    for (size_t i = first; i < last; ++i)
      for (uint64_t byte = 0; byte < 4; ++byte) {
        uint64_t word = (addresses[i] + byte) / arch.spm.bankWidth;
        banks[word % arch.spm.banks].insert(word);
      }
    int64_t reads = 1; // the indices
    for (bool any = true; any;) {
      any = false;
      for (std::set<uint64_t> &bank : banks)
        if (!bank.empty()) {
          bank.erase(bank.begin());
          any = true;
        }
      reads += any;
    }
    int64_t writes = serveBanks(arch, {destination, 1}, first, last - first);
    do {
      reads -= arch.vector.readPorts;
      writes -= arch.vector.writePorts;
      ++now;
    } while (reads > 0 || writes > 0);
  }
  return now;
}

namespace {

/// A network of comparators over blocks; counts what its values go through.
class Sorter {
public:
  using Value = std::pair<float, int32_t>; ///< Place −1: nothing.
  using Block = std::vector<Value>;

  static bool better(const Value &a, const Value &b) {
    if (a.second < 0 || b.second < 0)
      return a.second >= 0;
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  }
  void sort(Block &block) {
    for (size_t length = 2; length <= block.size(); length *= 2)
      for (size_t distance = length / 2; distance > 0; distance /= 2)
        stage(block, distance, length);
  }
  /// `best` and `block` are sorted; afterwards too, and no value of `block` is
  /// better than one of `best`.
  void merge(Block &best, Block &block, bool sortsBoth) {
    for (size_t i = 0; i < best.size(); ++i) {
      Value &other = block[block.size() - 1 - i];
      if (better(other, best[i]))
        std::swap(best[i], other);
    }
    operations += best.size();
    for (Block *b : {&best, &block})
      if (b == &best || sortsBoth)
        for (size_t distance = b->size() / 2; distance > 0; distance /= 2)
          stage(*b, distance, 2 * b->size());
  }
  uint64_t operations = 0;

private:
  void stage(Block &block, size_t distance, size_t length) {
    for (size_t i = 0; i < block.size(); ++i) {
      size_t partner = i ^ distance;
      bool falling = (i & length) == 0;
      if (partner > i && better(block[partner], block[i]) == falling)
        std::swap(block[i], block[partner]);
    }
    operations += block.size();
  }
};

} // namespace

uint64_t tickTopk(const Architecture &arch,
                  const std::vector<std::vector<float>> &rows, uint32_t k,
                  std::vector<std::vector<int32_t>> &best) {
  Sorter sorter;
  uint64_t valuesRead = 0;
  for (const std::vector<float> &row : rows) {
    size_t size = 1;
    while (size < row.size() && size < 64)
      size *= 2;
    std::vector<Sorter::Block> list;
    for (size_t first = 0; first < row.size(); first += size) {
      Sorter::Block block(size, {0.0f, -1});
      for (size_t i = first; i < std::min(first + size, row.size()); ++i)
        block[i - first] = {row[i], int32_t(i)};
      valuesRead += size;
      sorter.sort(block);
      if (list.empty()) {
        list.resize((k + size - 1) / size, Sorter::Block(size, {0.0f, -1}));
        list[0] = block;
        continue;
      }
      for (size_t b = 0; b < list.size(); ++b)
        sorter.merge(list[b], block, b + 1 < list.size());
    }
    std::vector<int32_t> places;
    for (const Sorter::Block &block : list)
      for (const Sorter::Value &v : block)
        if (places.size() < k)
          places.push_back(v.second);
    best.push_back(places);
  }
  // Reading, comparing and writing go on side by side.
  auto operations = int64_t(sorter.operations), reading = int64_t(valuesRead);
  auto writing = int64_t(rows.size() * k);
  uint64_t now = 0;
  int64_t writePause = 0; // two operands share the ports
  do {
    operations -= int64_t(arch.vector.lanes) * arch.vector.aluSlots;
    reading -= arch.vector.lanes;
    writePause += arch.vector.writePorts;
    if (writePause >= 2 && writing > 0) {
      writing -= arch.vector.lanes;
      writePause = 0;
    }
    ++now;
  } while (operations > 0 || reading > 0 || writing > 0);
  return now;
}

} // namespace tessera::sim::test
