//===- VectorValuesTest.cpp - Results of vector instructions --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorFixture.h"
#include "tessera/Support/Random.h"
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Space;
using F = NumericFormat;

static std::vector<float> randomFloats(Random &random, size_t count) {
  std::vector<float> values(count);
  for (float &v : values)
    v = random.uniformFloat(-4, 4);
  return values;
}

static const float inf = std::numeric_limits<float>::infinity();
static const float nan = std::numeric_limits<float>::quiet_NaN();

//===----------------------------------------------------------------------===//
// reduce
//===----------------------------------------------------------------------===//

namespace {
/// What the ISA fixes for sums and products, written once more.
template <typename T, typename Combine>
T interleavedThenTree(const std::vector<T> &values, T identity,
                      Combine combine) {
  std::vector<T> level(64, identity);
  for (size_t j = 0; j < values.size(); ++j)
    level[j % 64] = combine(level[j % 64], values[j]);
  while (level.size() > 1) {
    std::vector<T> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(combine(level[i], level[i + 1]));
    level = next;
  }
  return level[0];
}
} // namespace

TEST(VectorValues, ReduceOverAnyDimensions) {
  Random random(1);
  const uint32_t extents[] = {3, 5, 47};
  std::vector<float> x = randomFloats(random, 3 * 5 * 47);
  for (unsigned dims = 0; dims < 8; ++dims)
    for (bool accumulate : {false, true}) {
      Scratchpad s;
      s.put(0, x);
      isa::Descriptor out = tensor(Space::Spm, F::F32, {3, 5, 47}, 8192);
      int64_t stride = 1;
      for (unsigned d = 3; d-- > 0;) {
        if (dims >> d & 1)
          out.extents[d] = 1;
        out.strides[d] = stride;
        stride *= out.extents[d];
      }
      std::vector<float> old = randomFloats(random, size_t(stride));
      s.put(8192, old);
      s.spm(F::F32, {3, 5, 47}, 0);
      s.operand(out);
      s.add(Opcode::REDUCE, {{isa::reduce::src, 0},
                             {isa::reduce::dst, 1},
                             {isa::reduce::dims, dims},
                             {isa::reduce::accumulate, accumulate}});
      s.run();
      auto got = s.get<float>(8192, old.size());
      for (uint32_t i = 0; i < out.extents[0]; ++i)
        for (uint32_t j = 0; j < out.extents[1]; ++j)
          for (uint32_t k = 0; k < out.extents[2]; ++k) {
            std::vector<float> values;
            for (uint32_t a = 0; a < (dims & 1 ? extents[0] : 1); ++a)
              for (uint32_t b = 0; b < (dims & 2 ? extents[1] : 1); ++b)
                for (uint32_t c = 0; c < (dims & 4 ? extents[2] : 1); ++c)
                  values.push_back(x[((i + a) * 5 + j + b) * 47 + k + c]);
            size_t at = (i * out.extents[1] + j) * out.extents[2] + k;
            float want = interleavedThenTree(values, 0.0f, std::plus<>());
            if (accumulate)
              want = want + old[at];
            ASSERT_EQ(got[at], want) << "dims " << dims << " at " << at;
          }
    }
}

TEST(VectorValues, ReduceOfIntegersIsWideAndWraps) {
  Scratchpad s;
  Random random(2);
  std::vector<int8_t> x(300);
  for (int8_t &v : x)
    v = int8_t(random.between(-128, 127));
  s.put(0, x);
  const unsigned kinds[] = {0, 1, 2, 3};
  s.spm(F::I8, {300}, 0);
  for (unsigned kind : kinds)
    s.spm(F::I32, {1}, 4096 + 4 * kind);
  for (unsigned kind : kinds)
    s.add(Opcode::REDUCE, {{isa::reduce::src, 0},
                           {isa::reduce::dst, 1 + kind},
                           {isa::reduce::dims, 1},
                           {isa::reduce::kind, kind}});
  s.run();
  uint32_t product = 1;
  for (int8_t v : x)
    product *= uint32_t(int32_t(v));
  EXPECT_EQ(s.get<int32_t>(4096, 4),
            (std::vector<int32_t>{std::accumulate(x.begin(), x.end(), 0),
                                  *std::max_element(x.begin(), x.end()),
                                  *std::min_element(x.begin(), x.end()),
                                  int32_t(product)}));
}

TEST(VectorValues, ProductOfFloatsFollowsTheTree) {
  Random random(3);
  std::vector<float> x(130);
  for (float &v : x)
    v = random.uniformFloat(0.5f, 1.5f);
  Scratchpad s;
  s.put(0, x);
  s.spm(F::F32, {130}, 0);
  s.spm(F::F32, {1}, 4096);
  s.add(Opcode::REDUCE, {{isa::reduce::src, 0},
                         {isa::reduce::dst, 1},
                         {isa::reduce::dims, 1},
                         {isa::reduce::kind, 3}});
  s.run();
  EXPECT_EQ(s.get<float>(4096, 1)[0],
            interleavedThenTree(x, 1.0f, std::multiplies<>()));
}

/// Place and value of arg-max or arg-min by a plain loop.
static std::pair<int32_t, float> bestOf(const std::vector<float> &x,
                                        bool least) {
  size_t best = 0;
  for (size_t j = 1; j < x.size(); ++j) {
    if (std::isnan(x[best]))
      break;
    if (std::isnan(x[j]) || (least ? x[j] < x[best] : x[j] > x[best]))
      best = j;
  }
  return {int32_t(best), x[best]};
}

TEST(VectorValues, ArgMaxTakesTheFirstAndNaNs) {
  Random random(4);
  const std::vector<float> rows[] = {
      {1, 5, 5, -3},    {-0.0f, 0.0f, -0.0f, -1}, {0.0f, -0.0f, -2, -3},
      {1, nan, 7, nan}, {-inf, -inf, -inf, -inf}, {inf, 3, inf, 1}};
  for (const std::vector<float> &row : rows)
    for (bool least : {false, true}) {
      Scratchpad s;
      s.put(0, row);
      s.spm(F::F32, {4}, 0);
      s.spm(F::F32, {1}, 4096);
      s.spm(F::I32, {1}, 8192);
      s.kernel.li(3, 1000);
      s.add(Opcode::REDUCE, {{isa::reduce::src, 0},
                             {isa::reduce::dst, 1},
                             {isa::reduce::indices, 2},
                             {isa::reduce::dims, 1},
                             {isa::reduce::kind, least ? 5 : 4},
                             {isa::reduce::rb, 3}});
      s.run();
      auto [place, value] = bestOf(row, least);
      EXPECT_EQ(s.get<int32_t>(8192, 1)[0], 1000 + place);
      if (std::isnan(value))
        EXPECT_EQ(s.get<uint32_t>(4096, 1)[0], 0x7fc00000u);
      else
        EXPECT_EQ(s.get<uint32_t>(4096, 1)[0], std::bit_cast<uint32_t>(value));
    }
}

TEST(VectorValues, ArgMaxInPiecesIsArgMaxOfAll) {
  // Three pieces of 20, of values with many ties, by reduce and by map.
  for (bool byMap : {false, true})
    for (uint64_t seed = 0; seed < 8; ++seed) {
      Random random(seed);
      std::vector<float> x(60);
      for (float &v : x)
        v = float(random.between(-3, 3));
      Scratchpad s;
      s.put(0, x);
      isa::MapProgram same;
      same.inputs = 1;
      s.kernel.maps.push_back(same);
      s.spm(F::F32, {1}, 4096);
      s.spm(F::I32, {1}, 8192);
      for (unsigned piece = 0; piece < 3; ++piece) {
        unsigned in = s.spm(F::F32, {20}, piece * 80);
        s.kernel.li(3, piece * 20);
        if (byMap)
          s.add(Opcode::MAP, {{isa::map::in0, in},
                              {isa::map::out0, 0},
                              {isa::map::out1, 1},
                              {isa::map::reduce, int64_t(isa::Reduce::ArgMin)},
                              {isa::map::reduce_dims, 1},
                              {isa::map::accumulate, piece > 0},
                              {isa::map::rb, 3}});
        else
          s.add(Opcode::REDUCE, {{isa::reduce::src, in},
                                 {isa::reduce::dst, 0},
                                 {isa::reduce::indices, 1},
                                 {isa::reduce::dims, 1},
                                 {isa::reduce::kind, 5},
                                 {isa::reduce::accumulate, piece > 0},
                                 {isa::reduce::rb, 3}});
      }
      s.run();
      auto [place, value] = bestOf(x, true);
      EXPECT_EQ(s.get<int32_t>(8192, 1)[0], place);
      EXPECT_EQ(s.get<float>(4096, 1)[0], value);
    }
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// Blocks of 64; distances 1, 2, 4, … on copies; then the carry.
static std::vector<float> scanned(std::vector<float> x, float carry,
                                  bool exclusive, float *total) {
  std::vector<float> result;
  for (size_t first = 0; first < x.size(); first += 64) {
    std::vector<float> block(x.begin() + long(first),
                             x.begin() + long(std::min(first + 64, x.size())));
    for (size_t d = 1; d < 64; d *= 2) {
      std::vector<float> before = block;
      for (size_t i = d; i < block.size(); ++i)
        block[i] = before[i - d] + before[i];
    }
    if (exclusive)
      result.push_back(carry);
    for (size_t i = 0; i < block.size(); ++i)
      if (!exclusive || i + 1 < block.size())
        result.push_back(carry + block[i]);
    carry = carry + block.back();
  }
  *total = carry;
  return result;
}

TEST(VectorValues, ScanInBothDirections) {
  Random random(5);
  const uint32_t rows = 3, row = 150;
  std::vector<float> x = randomFloats(random, rows * row);
  for (bool exclusive : {false, true})
    for (bool reverse : {false, true})
      for (bool accumulate : {false, true})
        for (bool outer : {false, true}) {
          Scratchpad s;
          s.put(0, x);
          std::vector<float> totals{1, 2, 3};
          s.put(16384, totals);
          // The scanned dimension last or first.
          auto order = [&](uint64_t base) {
            isa::Descriptor td =
                outer ? tensor(Space::Spm, F::F32, {row, rows}, base)
                      : tensor(Space::Spm, F::F32, {rows, row}, base);
            if (outer)
              td.strides = {1, row};
            return td;
          };
          s.operand(order(0));
          s.operand(order(8192));
          outer ? s.spm(F::F32, {1, rows}, 16384)
                : s.spm(F::F32, {rows, 1}, 16384);
          s.add(Opcode::SCAN, {{isa::scan::src, 0},
                               {isa::scan::dst, 1},
                               {isa::scan::total, 2},
                               {isa::scan::dims, outer ? 1 : 2},
                               {isa::scan::exclusive, exclusive},
                               {isa::scan::reverse, reverse},
                               {isa::scan::with_total, 1},
                               {isa::scan::accumulate, accumulate}});
          s.run();
          for (uint32_t r = 0; r < rows; ++r) {
            std::vector<float> in(x.begin() + r * row,
                                  x.begin() + (r + 1) * row);
            if (reverse)
              std::reverse(in.begin(), in.end());
            float total = 0;
            std::vector<float> want =
                scanned(in, accumulate ? totals[r] : 0.0f, exclusive, &total);
            if (reverse)
              std::reverse(want.begin(), want.end());
            EXPECT_EQ(s.get<float>(8192 + r * row * 4, row), want);
            EXPECT_EQ(s.get<float>(16384 + r * 4, 1)[0], total);
          }
        }
}

TEST(VectorValues, ScanOfIntegersMaximaAndProducts) {
  Random random(6);
  std::vector<int32_t> x(200);
  for (int32_t &v : x)
    v = int32_t(random.between(-1000, 1000));
  x[70] = 2'000'000'000, x[90] = 2'000'000'000; // the sum wraps
  for (unsigned kind = 0; kind < 4; ++kind) {
    Scratchpad s;
    s.put(0, x);
    s.spm(F::I32, {200}, 0);
    s.spm(F::I32, {200}, 4096);
    s.add(Opcode::SCAN, {{isa::scan::src, 0},
                         {isa::scan::dst, 1},
                         {isa::scan::kind, kind},
                         {isa::scan::dims, 1}});
    s.run();
    std::vector<int32_t> want = x;
    for (size_t i = 1; i < x.size(); ++i)
      want[i] = kind == 0   ? int32_t(uint32_t(want[i - 1]) + uint32_t(x[i]))
                : kind == 1 ? std::max(want[i - 1], x[i])
                : kind == 2 ? std::min(want[i - 1], x[i])
                            : int32_t(uint32_t(want[i - 1]) * uint32_t(x[i]));
    EXPECT_EQ(s.get<int32_t>(4096, 200), want) << kind;
  }
}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

TEST(VectorValues, SelectMovesBits) {
  // A signalling NaN's payload survives: nothing is computed.
  std::vector<uint32_t> a{0x7f800001, 2, 3, 4}, b{5, 6, 0xffc12345, 8};
  std::vector<float> mask{1, -0.0f, 0, nan};
  for (bool keep : {false, true}) {
    Scratchpad s;
    s.put(0, a);
    s.put(1024, b);
    s.put(2048, mask);
    s.put(4096, std::vector<uint32_t>{90, 91, 92, 93});
    s.spm(F::F32, {4}, 0);
    s.spm(F::F32, {4}, 1024);
    s.spm(F::F32, {4}, 2048);
    s.spm(F::F32, {4}, 4096);
    s.add(Opcode::SELECT, {{isa::select::a, 0},
                           {isa::select::b, 1},
                           {isa::select::mask, 2},
                           {isa::select::dst, 3},
                           {isa::select::keep, keep}});
    s.run();
    std::vector<uint32_t> want = {a[0], keep ? 91 : b[1], keep ? 92 : b[2],
                                  a[3]};
    EXPECT_EQ(s.get<uint32_t>(4096, 4), want);
  }
}

TEST(VectorValues, SelectOfNibblesKeepsTheirNeighbours) {
  Scratchpad s;
  s.put<uint8_t>(0, {0x21, 0x43, 0x65});   // 1 2 3 4 5 6
  s.put<uint8_t>(64, {1, 0, 0, 1, 1});     // mask
  s.put<uint8_t>(128, {0xba, 0xdc, 0xfe}); // a b c d e f
  s.spm(F::I4, {5}, 0);
  s.spm(F::U8, {5}, 64);
  s.spm(F::I4, {5}, 128);
  s.add(Opcode::SELECT, {{isa::select::a, 0},
                         {isa::select::mask, 1},
                         {isa::select::dst, 2},
                         {isa::select::keep, 1}});
  s.run();
  EXPECT_EQ(s.get<uint8_t>(128, 3), (std::vector<uint8_t>{0xb1, 0x4c, 0xf5}));
}

//===----------------------------------------------------------------------===//
// convert: its arithmetic is in ConversionTest
//===----------------------------------------------------------------------===//

TEST(VectorValues, QuantisePerChannelAndBack) {
  Random random(7);
  const uint32_t rows = 6, channels = 9;
  std::vector<float> x = randomFloats(random, rows * channels), scale(channels);
  std::vector<int8_t> zero(channels);
  for (uint32_t c = 0; c < channels; ++c) {
    scale[c] = 0.01f * float(c + 1);
    zero[c] = int8_t(random.between(-20, 20));
  }
  Scratchpad s;
  s.put(0, x);
  s.put(4096, scale);
  s.put(5120, zero);
  s.spm(F::F32, {rows, channels}, 0);
  isa::Descriptor perChannel =
      tensor(Space::Spm, F::F32, {rows, channels}, 4096);
  perChannel.strides[0] = 0;
  s.operand(perChannel);
  perChannel.format = F::I8;
  perChannel.base = 5120;
  s.operand(perChannel);
  s.spm(F::I8, {rows, channels}, 8192);
  s.spm(F::F32, {rows, channels}, 12288);
  s.add(Opcode::CONVERT, {{isa::convert::src, 0},
                          {isa::convert::scale, 1},
                          {isa::convert::zero, 2},
                          {isa::convert::dst, 3},
                          {isa::convert::use_scale, 1},
                          {isa::convert::use_zero, 1},
                          {isa::convert::divide, 1}});
  s.add(Opcode::CONVERT, {{isa::convert::src, 3},
                          {isa::convert::scale, 1},
                          {isa::convert::zero, 2},
                          {isa::convert::dst, 4},
                          {isa::convert::use_scale, 1},
                          {isa::convert::use_zero, 1}});
  s.run();
  auto q = s.get<int8_t>(8192, rows * channels);
  auto back = s.get<float>(12288, rows * channels);
  for (uint32_t i = 0; i < rows * channels; ++i) {
    uint32_t c = i % channels;
    int want = int(std::nearbyint(x[i] / scale[c])) + zero[c];
    EXPECT_EQ(q[i], std::clamp(want, -128, 127)) << i;
    EXPECT_EQ(back[i], float(q[i] - zero[c]) * scale[c]) << i;
  }
}

//===----------------------------------------------------------------------===//
// transpose and gather
//===----------------------------------------------------------------------===//

TEST(VectorValues, TransposeOfEveryWidth) {
  Random random(8);
  for (F format : {F::U8, F::BF16, F::F32, F::I4}) {
    const uint32_t batch = 2, rows = 10, columns = 14;
    unsigned bits = bitWidth(format);
    Scratchpad s;
    for (size_t i = 0; i < 2048; ++i)
      s.image[i] = uint8_t(random.next());
    std::vector<uint8_t> before = s.image;
    s.spm(format, {batch, rows, columns}, 0);
    s.spm(format, {batch, columns, rows}, 8192);
    s.add(Opcode::TRANSPOSE,
          {{isa::transpose::src, 0}, {isa::transpose::dst, 1}});
    s.run();
    auto bit = [](const std::vector<uint8_t> &memory, size_t at) {
      return memory[at / 8] >> (at % 8) & 1;
    };
    for (uint32_t b = 0; b < batch; ++b)
      for (uint32_t i = 0; i < rows; ++i)
        for (uint32_t j = 0; j < columns; ++j)
          for (unsigned k = 0; k < bits; ++k)
            ASSERT_EQ(bit(s.image,
                          8192 * 8 + ((b * columns + j) * rows + i) * bits + k),
                      bit(before, ((b * rows + i) * columns + j) * bits + k));
  }
}

TEST(VectorValues, GatherRowsElementsAndPadding) {
  Random random(9);
  std::vector<uint16_t> table(20 * 6);
  for (uint16_t &v : table)
    v = uint16_t(random.next());
  const std::vector<int32_t> index{3, 19, 0, -1, 20, 3};
  Scratchpad s;
  s.put(0, table);
  s.put(4096, index);
  isa::Descriptor src = tensor(Space::Spm, F::BF16, {20, 6}, 0);
  src.padding = 0x3f80;
  s.operand(src);
  s.spm(F::I32, {2, 3}, 4096);
  s.spm(F::BF16, {2, 3, 6}, 8192);
  s.add(Opcode::GATHER, {{isa::gather::src, 0},
                         {isa::gather::index, 1},
                         {isa::gather::dst, 2},
                         {isa::gather::pad, 1}});
  s.run();
  auto got = s.get<uint16_t>(8192, index.size() * 6);
  for (size_t i = 0; i < index.size(); ++i)
    for (size_t j = 0; j < 6; ++j)
      EXPECT_EQ(got[i * 6 + j], index[i] < 0 || index[i] > 19
                                    ? 0x3f80
                                    : table[size_t(index[i]) * 6 + j]);
}

TEST(VectorValues, GatherOfNibblesByBytes) {
  Scratchpad s;
  s.put<uint8_t>(0, {0x10, 0x32, 0x54, 0x76});
  s.put<uint8_t>(64, {7, 0, 5, 5, 2});
  s.spm(F::I4, {8}, 0);
  s.spm(F::U8, {5}, 64);
  s.spm(F::I4, {5}, 128);
  s.add(
      Opcode::GATHER,
      {{isa::gather::src, 0}, {isa::gather::index, 1}, {isa::gather::dst, 2}});
  s.run();
  EXPECT_EQ(s.get<uint8_t>(128, 3), (std::vector<uint8_t>{0x07, 0x55, 0x02}));
}

//===----------------------------------------------------------------------===//
// topk
//===----------------------------------------------------------------------===//

static std::vector<int32_t> bestPlaces(const std::vector<float> &x, size_t k,
                                       bool smallest) {
  std::vector<int32_t> places(x.size());
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(), [&](int32_t i, int32_t j) {
    float a = x[size_t(i)], b = x[size_t(j)];
    if (std::isnan(a) != std::isnan(b)) // NaN first of the largest, else last
      return std::isnan(a) != smallest;
    if (a < b || a > b)
      return smallest ? a < b : a > b;
    return i < j;
  });
  places.resize(k);
  return places;
}

TEST(VectorValues, TopkOfRowsWithTiesAndNaNs) {
  Random random(10);
  for (bool smallest : {false, true})
    for (bool pieces : {false, true}) {
      const uint32_t rows = 3, row = 120, k = 7;
      std::vector<float> x(rows * row);
      for (float &v : x)
        v = random.below(20) == 0 ? nan : float(random.between(-6, 6));
      x[5] = -0.0f, x[3] = 0.0f;
      Scratchpad s;
      s.put(0, x);
      s.spm(F::F32, {rows, k}, 8192);
      s.spm(F::I32, {rows, k}, 16384);
      auto part = [&](uint32_t first, uint32_t count, bool accumulate) {
        isa::Descriptor td =
            tensor(Space::Spm, F::F32, {rows, count}, first * 4);
        td.strides[0] = row;
        s.kernel.li(4, first);
        unsigned in = s.operand(td);
        s.add(Opcode::TOPK, {{isa::topk::src, in},
                             {isa::topk::dst, 0},
                             {isa::topk::indices, 1},
                             {isa::topk::smallest, smallest},
                             {isa::topk::accumulate, accumulate},
                             {isa::topk::rb, 4}});
      };
      if (pieces) {
        part(0, 50, false);
        part(50, 60, true);
        part(110, 10, true);
      } else {
        part(0, row, false);
      }
      s.run();
      for (uint32_t r = 0; r < rows; ++r) {
        std::vector<float> in(x.begin() + r * row, x.begin() + (r + 1) * row);
        std::vector<int32_t> want = bestPlaces(in, k, smallest);
        EXPECT_EQ(s.get<int32_t>(16384 + r * k * 4, k), want);
        auto values = s.get<uint32_t>(8192 + r * k * 4, k);
        for (uint32_t i = 0; i < k; ++i) {
          float v = in[size_t(want[i])];
          EXPECT_EQ(values[i],
                    std::isnan(v) ? 0x7fc00000u : std::bit_cast<uint32_t>(v));
        }
      }
    }
}

TEST(VectorValues, TopkOfBytes) {
  std::vector<uint8_t> x{3, 200, 200, 1, 255, 0};
  Scratchpad s;
  s.put(0, x);
  s.spm(F::U8, {6}, 0);
  s.spm(F::U8, {4}, 64);
  s.spm(F::I32, {4}, 128);
  s.add(Opcode::TOPK,
        {{isa::topk::src, 0}, {isa::topk::dst, 1}, {isa::topk::indices, 2}});
  s.run();
  EXPECT_EQ(s.get<uint8_t>(64, 4), (std::vector<uint8_t>{255, 200, 200, 3}));
  EXPECT_EQ(s.get<int32_t>(128, 4), (std::vector<int32_t>{4, 1, 2, 0}));
}

TEST(VectorValues, AccumulatorsTakePart) {
  // map writes ACC; reduce reads it; scan writes it; transpose brings it back.
  Random random(11);
  std::vector<float> x = randomFloats(random, 32);
  Scratchpad s;
  s.put(0, x);
  isa::MapProgram same;
  same.inputs = 1;
  s.kernel.maps.push_back(same);
  s.spm(F::F32, {4, 8}, 0);
  s.operand(tensor(Space::Acc, F::F32, {4, 8}, 256));
  s.operand(tensor(Space::Acc, F::F32, {4, 8}, 1024));
  s.spm(F::F32, {8, 4}, 4096);
  s.add(Opcode::MAP, {{isa::map::in0, 0}, {isa::map::out0, 1}});
  s.add(Opcode::SCAN, {{isa::scan::src, 1},
                       {isa::scan::dst, 2},
                       {isa::scan::dims, 2},
                       {isa::scan::kind, 1}});
  s.add(Opcode::TRANSPOSE,
        {{isa::transpose::src, 2}, {isa::transpose::dst, 3}});
  s.run();
  auto got = s.get<float>(4096, 32);
  for (uint32_t r = 0; r < 4; ++r) {
    float most = -inf;
    for (uint32_t c = 0; c < 8; ++c) {
      most = std::max(most, x[r * 8 + c]);
      EXPECT_EQ(got[c * 4 + r], most);
    }
  }
}

} // namespace tessera::sim::test
