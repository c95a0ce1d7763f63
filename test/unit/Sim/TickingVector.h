//===- TickingVector.h - What models of vectors share --------------*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_TICKINGVECTOR_H
#define TESSERA_TEST_UNIT_SIM_TICKINGVECTOR_H

#include "TickingModel.h"

namespace tessera::sim::test {

inline bool overlap(const VectorOperand &a, const VectorOperand &b,
                    uint32_t elementsA, uint32_t elementsB) {
  auto end = [](const VectorOperand &o, uint32_t n) {
    return o.base + uint64_t(n - 1) * o.stride * 4 + 4;
  };
  return a.isAcc == b.isAcc && a.base < end(b, elementsB) &&
         b.base < end(a, elementsA);
}

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

/// Sorts all rows; the values that are read.
inline uint64_t sortRows(Sorter &sorter,
                         const std::vector<std::vector<float>> &rows,
                         uint32_t k, std::vector<std::vector<int32_t>> &best) {
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
  return valuesRead;
}

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_TICKINGVECTOR_H
