//===- TickingVector.cpp - The vector engine by itself -------------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TickingVector.h"
#include <deque>

namespace tessera::sim::test {

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

uint64_t tickTopk(const Architecture &arch,
                  const std::vector<std::vector<float>> &rows, uint32_t k,
                  std::vector<std::vector<int32_t>> &best) {
  Sorter sorter;
  uint64_t valuesRead = sortRows(sorter, rows, k, best);
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
