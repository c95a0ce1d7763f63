//===- RandomProgramReference.h - What random programs mean ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operations of random programs, and an interpreter that runs them one
// after the other.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_RANDOMPROGRAMREFERENCE_H
#define TESSERA_TEST_UNIT_SIM_RANDOMPROGRAMREFERENCE_H

#include "SimFixture.h"
#include <algorithm>
#include <bit>
#include <optional>

namespace tessera::sim::test::random_program {

using isa::Opcode;
using isa::Queue;
using isa::Space;

constexpr uint32_t side = 8, tile = side * side;
constexpr uint32_t spmTiles = 8, accTiles = 3, globalTiles = 12;
/// Behind the scratchpad's tiles of f32: tiles of i32, their bits in floats.
constexpr uint32_t integerTiles = 2;
/// Loads read anywhere; results from the accumulators go to the last tiles.
constexpr uint32_t loadableTiles = 8;

/// A part of a memory: rows of adjacent f32.
struct View {
  Space space = Space::Spm;
  uint32_t base = 0, rows = 1, columns = 1, stride = side; ///< Elements.

  bool isInteger() const {
    return space == Space::Spm && base >= spmTiles * tile;
  }
  isa::Descriptor descriptor() const {
    uint64_t address = uint64_t(base) * 4;
    if (space == Space::Global)
      address += Machine::dataArea;
    NumericFormat format =
        isInteger() ? NumericFormat::I32 : NumericFormat::F32;
    isa::Descriptor td = tensor(space, format, {rows, columns}, address);
    td.strides[0] = stride;
    return td;
  }
  bool overlaps(const View &other) const {
    if (space != other.space)
      return false;
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t q = 0; q < other.rows; ++q) {
        uint32_t a = base + r * stride, b = other.base + q * other.stride;
        if (a < b + other.columns && b < a + columns)
          return true;
      }
    return false;
  }
};

struct Operation {
  Opcode opcode{};
  View out;
  std::vector<View> in;
  float value = 0;                           ///< fill.
  bool accumulate = false;                   ///< mma and the vector engine's.
  std::optional<View> second = std::nullopt; ///< Indices, or a scan's total.
  uint32_t kind = 0;                         ///< reduce's, scan's.
  uint32_t dims = 0;                         ///< reduce's, scan's.
  /// scan: exclusive, reverse, with_total; select: keep; topk: smallest.
  bool flags[3] = {};
  unsigned engine = 0; ///< Of mma.

  Queue queue() const {
    switch (opcode) {
    case Opcode::STORE:
      return Queue::St;
    case Opcode::MMA:
      return isa::matrixQueue(engine);
    case Opcode::LOAD:
    case Opcode::FILL:
      return Queue::Ld;
    default:
      return Queue::Vx;
    }
  }
  std::vector<View> reads() const {
    std::vector<View> views = in;
    // A scan's result is never read; its total is.
    if (accumulate && opcode != Opcode::SCAN)
      views.push_back(out);
    if (accumulate && second)
      views.push_back(*second);
    return views;
  }
  std::vector<View> writes() const {
    std::vector<View> views{out};
    if (second && (opcode != Opcode::SCAN || flags[2]))
      views.push_back(*second);
    return views;
  }
  bool conflicts(const Operation &later) const {
    auto overlap = [](const std::vector<View> &a, const std::vector<View> &b) {
      for (const View &v : a)
        for (const View &w : b)
          if (v.overlaps(w))
            return true;
      return false;
    };
    return overlap(writes(), later.writes()) ||
           overlap(writes(), later.reads()) || overlap(reads(), later.writes());
  }
};

/// Memories as the reference sees them.
struct Memories {
  std::vector<float> spm = std::vector<float>((spmTiles + integerTiles) * tile),
                     acc = std::vector<float>(accTiles * tile),
                     global = std::vector<float>(globalTiles * tile);
  float &at(const View &v, uint32_t r, uint32_t c) {
    std::vector<float> &memory = v.space == Space::Spm   ? spm
                                 : v.space == Space::Acc ? acc
                                                         : global;
    return memory.at(v.base + r * v.stride + c);
  }
  int32_t integer(const View &v, uint32_t r, uint32_t c) {
    return std::bit_cast<int32_t>(at(v, r, c));
  }
  /// A value as the vector engine's lanes see it.
  float lane(const View &v, uint32_t r, uint32_t c) {
    return v.isInteger() ? float(integer(v, r, c)) : at(v, r, c);
  }

  void run(const Operation &o) {
    std::vector<float> results, second;
    switch (o.opcode) {
    case Opcode::REDUCE:
      reduce(o, results, second);
      break;
    case Opcode::SCAN:
      scan(o, results, second);
      break;
    case Opcode::TOPK:
      topk(o, results, second);
      break;
    default:
      for (uint32_t r = 0; r < o.out.rows; ++r)
        for (uint32_t c = 0; c < o.out.columns; ++c)
          results.push_back(element(o, r, c));
    }
    put(o.out, results);
    if (!second.empty())
      put(*o.second, second);
  }

private:
  void put(const View &v, const std::vector<float> &values) {
    for (uint32_t r = 0; r < v.rows; ++r)
      for (uint32_t c = 0; c < v.columns; ++c)
        at(v, r, c) = values[r * v.columns + c];
  }

  float element(const Operation &o, uint32_t r, uint32_t c) {
    switch (o.opcode) {
    case Opcode::FILL:
      return o.value;
    case Opcode::MMA: {
      // All values are small integers: every order of addition is exact.
      float sum = o.accumulate ? at(o.out, r, c) : 0;
      for (uint32_t k = 0; k < o.in[0].columns; ++k)
        sum += at(o.in[0], r, k) * at(o.in[1], k, c);
      return sum;
    }
    case Opcode::MAP:
      return std::clamp(at(o.in[0], r, c) + at(o.in[1], r, c), -4.0f, 4.0f);
    case Opcode::SELECT:
      if (lane(o.in[0], r, c) != 0)
        return at(o.in[1], r, c);
      return o.flags[0] ? at(o.out, r, c) : at(o.in[2], r, c);
    case Opcode::CONVERT:
      return o.out.isInteger()
                 ? std::bit_cast<float>(int32_t(at(o.in[0], r, c)))
                 : float(integer(o.in[0], r, c));
    case Opcode::TRANSPOSE:
      return at(o.in[0], c, r);
    case Opcode::GATHER: {
      int32_t index = integer(o.in[1], 0, r);
      bool inside = index >= 0 && index < int32_t(o.in[0].rows);
      return inside ? at(o.in[0], uint32_t(index), c) : 0;
    }
    default:
      return at(o.in[0], r, c);
    }
  }

  /// The elements that a slice consists of, in order, for place (r, c) of the
  /// kept dimensions.
  std::vector<float *> slice(const Operation &o, uint32_t r, uint32_t c) {
    std::vector<float *> elements;
    const View &v = o.in[0];
    for (uint32_t i = 0; i < (o.dims & 1 ? v.rows : 1); ++i)
      for (uint32_t j = 0; j < (o.dims & 2 ? v.columns : 1); ++j)
        elements.push_back(&at(v, r + i, c + j));
    return elements;
  }
  static float combine(uint32_t kind, float a, float b) {
    return kind == 0 ? a + b : kind == 1 ? std::max(a, b) : std::min(a, b);
  }

  void reduce(const Operation &o, std::vector<float> &results,
              std::vector<float> &places) {
    for (uint32_t r = 0; r < o.out.rows; ++r)
      for (uint32_t c = 0; c < o.out.columns; ++c) {
        std::vector<float *> x = slice(o, r, c);
        float best = o.accumulate ? at(o.out, r, c) : *x[0];
        int32_t place = o.accumulate && o.second ? integer(*o.second, r, c) : 0;
        for (size_t j = o.accumulate ? 0 : 1; j < x.size(); ++j) {
          if (o.kind < 3) {
            best = combine(o.kind, best, *x[j]);
          } else if (o.kind == 4 ? *x[j] > best : *x[j] < best) {
            best = *x[j];
            place = int32_t(j);
          }
        }
        results.push_back(best);
        if (o.second)
          places.push_back(std::bit_cast<float>(place));
      }
  }

  void scan(const Operation &o, std::vector<float> &results,
            std::vector<float> &totals) {
    const View &v = o.in[0];
    results.resize(v.rows * v.columns);
    auto [exclusive, reverse, withTotal] = o.flags;
    for (uint32_t r = 0; r < (o.dims & 1 ? 1 : v.rows); ++r)
      for (uint32_t c = 0; c < (o.dims & 2 ? 1 : v.columns); ++c) {
        std::vector<float *> x = slice(o, r, c);
        // Places in the result, in the same order.
        std::vector<size_t> at;
        for (uint32_t i = 0; i < (o.dims & 1 ? v.rows : 1); ++i)
          for (uint32_t j = 0; j < (o.dims & 2 ? v.columns : 1); ++j)
            at.push_back((r + i) * v.columns + c + j);
        if (reverse) {
          std::reverse(x.begin(), x.end());
          std::reverse(at.begin(), at.end());
        }
        std::optional<float> running;
        if (o.accumulate)
          running = this->at(*o.second, r, c);
        for (size_t i = 0; i < x.size(); ++i) {
          float next = running ? combine(o.kind, *running, *x[i]) : *x[i];
          results[at[i]] = exclusive ? running.value_or(0) : next;
          running = next;
        }
        if (withTotal)
          totals.push_back(*running);
      }
  }

  void topk(const Operation &o, std::vector<float> &best,
            std::vector<float> &places) {
    for (uint32_t r = 0; r < o.out.rows; ++r) {
      std::vector<std::pair<float, int32_t>> all; // value, place
      if (o.accumulate)
        for (uint32_t i = 0; i < o.out.columns; ++i)
          all.push_back({at(o.out, r, i), integer(*o.second, r, i)});
      for (uint32_t c = 0; c < o.in[0].columns; ++c)
        all.push_back({at(o.in[0], r, c), int32_t(c)});
      // One after the other, the first of the best.
      for (uint32_t i = 0; i < o.out.columns; ++i) {
        auto found = all.begin();
        for (auto it = all.begin(); it != all.end(); ++it)
          if (o.flags[0] ? it->first < found->first : it->first > found->first)
            found = it;
        best.push_back(found->first);
        places.push_back(std::bit_cast<float>(found->second));
        all.erase(found);
      }
    }
  }
};

} // namespace tessera::sim::test::random_program

#endif // TESSERA_TEST_UNIT_SIM_RANDOMPROGRAMREFERENCE_H
