//===- RandomMulticastTest.cpp - Cores write each other's memory -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs on several cores: the first one spreads tensors over
// rectangles of cores, with padding, conversion and transposition; then every
// core stores a part of what it has into its neighbour's scratchpad. At any
// speed every core must end with the bytes of an element-by-element
// interpretation, and the checker must find nothing.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "tessera/Support/Random.h"
#include <bit>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;

namespace {

constexpr uint32_t side = 8, tile = side * side;
constexpr uint32_t tiles = 4;                 ///< Spread over the cores.
constexpr uint32_t held = (tiles + 1) * tile; ///< The last: the neighbour's.
constexpr uint32_t columns = 3, rows = 2, cores = columns * rows;
constexpr uint64_t narrowArea = Machine::dataArea + 0x4000;
constexpr uint64_t results = Machine::dataArea + 0x8000;

uint16_t bf16(float value) {
  return uint16_t(std::bit_cast<uint32_t>(value) >> 16);
}

class RandomSpread {
public:
  explicit RandomSpread(uint64_t seed) : random(seed) {
    for (uint32_t i = 0; i < tiles * tile; ++i) {
      wide.push_back(float(random.between(-9, 9)));
      narrowValues.push_back(float(random.between(-9, 9)));
      narrow.push_back(bf16(narrowValues.back()));
    }
    for (std::vector<float> &core : spm)
      core.resize(held);
    // Everybody's scratchpad is written before the first message.
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {held}, 0));
    k.add(Opcode::FILL, {{isa::fill::dst, 0}, {isa::fill::value, 0}}, {},
          {{0, 1}});
    k.wait(Queue::Seq, {{0, 1}});
    k.add(Opcode::BARRIER);
    k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
    onCore(0, [&] {
      for (unsigned i = 1 + below(6); i > 0; --i)
        spread();
    });
    for (uint32_t c = 0; c < cores; ++c)
      if (messages[c] != 0)
        onCore(c, [&] { k.wait(Queue::Seq, {{4, messages[c]}}); });
    // Nobody writes a neighbour who still waits for something else's bytes:
    // the inbox is a place of its own.
    for (uint32_t c = 0; c < cores; ++c)
      onCore(c, [&] { hand(c, (c + 1) % cores); });
    k.wait(Queue::Seq, {{6, 1}});
    k.td(0, tensor(Space::Spm, NumericFormat::F32, {held}, 0));
    k.td(1, tensor(Space::Global, NumericFormat::F32, {held}, results));
    k.add(Opcode::MULI,
          {{isa::muli::rd, 2}, {isa::muli::ra, 1}, {isa::muli::imm, held * 4}});
    k.add(Opcode::TDADD,
          {{isa::td_add::td, 1}, {isa::td_add::src, 1}, {isa::td_add::ra, 2}});
    k.store(1, 0);
    k.halt();
    // What is handed over is what the cores have after all multicasts.
    std::array<std::vector<float>, cores> before = spm;
    for (const Hand &h : hands)
      for (auto [to, from] : h.moves)
        spm[h.to][to] = before[h.from][from];
  }

  Kernel k;
  std::vector<float> wide, narrowValues;
  std::vector<uint16_t> narrow;
  std::array<std::vector<float>, cores> spm;

private:
  struct Hand {
    uint32_t from = 0, to = 0;
    std::vector<std::pair<uint32_t, uint32_t>> moves;
  };
  uint32_t below(uint64_t limit) { return uint32_t(random.below(limit)); }

  template <typename Body> void onCore(uint32_t core, Body body) {
    k.li(2, core);
    size_t branch = k.program.size();
    k.add(Opcode::BNE, {{isa::bne::ra, 1}, {isa::bne::rb, 2}});
    body();
    k.program[branch].fields[isa::bne::offset] =
        int64_t(k.program.size() - branch);
  }
  void window(unsigned td, const std::array<int64_t, 2> &origin) {
    for (unsigned d = 0; d < 2; ++d) {
      k.li(20, origin[d]);
      k.li(21, side);
      k.add(Opcode::TDWINDOW, {{isa::td_window::td, td},
                               {isa::td_window::src, td},
                               {isa::td_window::ra, 20},
                               {isa::td_window::rb, 21},
                               {isa::td_window::dim, d},
                               {isa::td_window::step, 1}});
    }
  }
  static bool outside(int64_t at) { return at < 0 || at >= int64_t(side); }

  void spread() {
    bool isNarrow = below(2), transposed = below(2), padded = below(2);
    uint32_t height = 1 + below(side), width = 1 + below(side);
    std::array<int64_t, 2> origin{};
    if (padded) // at least one element is inside
      origin = {random.between(1 - int64_t(height), side - 1),
                random.between(1 - int64_t(width), side - 1)};
    uint32_t from = below(tiles) * tile, to = below(tiles) * tile;
    isa::Descriptor src = tensor(
        Space::Global, isNarrow ? NumericFormat::BF16 : NumericFormat::F32,
        {height, width}, 0);
    src.strides = {side, 1};
    src.base = isNarrow ? narrowArea + from * 2 : Machine::dataArea + from * 4;
    float padding = float(random.between(-9, 9));
    src.padding = isNarrow ? bf16(padding) : std::bit_cast<uint32_t>(padding);
    isa::Descriptor dst =
        tensor(Space::Spm, NumericFormat::F32, {height, width}, to * 4);
    dst.strides = {side, 1};
    if (transposed)
      std::swap(dst.strides[0], dst.strides[1]);
    uint32_t x = below(columns), y = below(rows);
    uint32_t w = 1 + below(columns - x), h = 1 + below(rows - y);
    k.td(0, dst);
    k.td(1, src);
    if (padded)
      window(1, origin);
    k.li(3, x | y << 8 | w << 16 | h << 24);
    k.add(Opcode::LOADMULTICAST,
          {{isa::load_multicast::dst, 0},
           {isa::load_multicast::src, 1},
           {isa::load_multicast::ra, 3},
           {isa::load_multicast::sem, 4},
           {isa::load_multicast::count, 1},
           {isa::load_multicast::pad, padded},
           {isa::load_multicast::convert, isNarrow || below(2)},
           {isa::load_multicast::transpose, transposed || below(2)}});
    const std::vector<float> &values = isNarrow ? narrowValues : wide;
    for (uint32_t c = 0; c < cores; ++c) {
      if (c % columns < x || c % columns >= x + w || c / columns < y ||
          c / columns >= y + h)
        continue;
      ++messages[c];
      for (uint32_t i = 0; i < height; ++i)
        for (uint32_t j = 0; j < width; ++j) {
          int64_t r = origin[0] + i, s = origin[1] + j;
          bool isPadding = padded && (outside(r) || outside(s));
          spm[c][to + (transposed ? i + j * side : i * side + j)] =
              isPadding ? padding : values[size_t(from + r * side + s)];
        }
    }
  }

  /// A store to the neighbour's inbox, and the signal that it is there.
  void hand(uint32_t core, uint32_t neighbour) {
    uint32_t height = 1 + below(side), width = 1 + below(side);
    bool clipped = below(2), transposed = below(2);
    std::array<int64_t, 2> origin{};
    if (clipped)
      origin = {random.between(-3, 3), random.between(-3, 3)};
    else
      height = width = side;
    uint32_t from = below(tiles) * tile;
    isa::Descriptor src =
        tensor(Space::Spm, NumericFormat::F32, {height, width}, from * 4);
    src.strides = {side, 1};
    isa::Descriptor dst =
        tensor(Space::Core, NumericFormat::F32, {height, width}, 0);
    dst.strides = {side, 1};
    dst.base = uint64_t(neighbour) << 32 | tiles * tile * 4;
    if (transposed)
      std::swap(dst.strides[0], dst.strides[1]);
    k.td(0, dst);
    k.td(1, src);
    if (clipped)
      window(0, origin);
    k.add(Opcode::STORE, {{isa::store::dst, 0},
                          {isa::store::src, 1},
                          {isa::store::clip, clipped},
                          {isa::store::transpose, below(2)}});
    k.li(5, neighbour);
    k.add(Opcode::SIGNALCORE, {{isa::signal_core::queue, int64_t(Queue::St)},
                               {isa::signal_core::core, 5},
                               {isa::signal_core::sem, 6},
                               {isa::signal_core::count, 1}});
    Hand h{core, neighbour, {}};
    for (uint32_t i = 0; i < height; ++i)
      for (uint32_t j = 0; j < width; ++j) {
        int64_t r = origin[0] + i, s = origin[1] + j;
        if (outside(r) || outside(s))
          continue;
        int64_t at = transposed ? r + s * side : r * side + s;
        h.moves.push_back({uint32_t(tiles * tile + at), from + i * side + j});
      }
    hands.push_back(std::move(h));
  }

  Random random;
  std::array<uint16_t, cores> messages{};
  std::vector<Hand> hands;
};

Architecture speed(unsigned variant) {
  Architecture a = tinyArchitecture();
  a.cores.count = cores;
  a.cores.meshX = columns;
  a.cores.meshY = rows;
  a.imemBytes = a.tdmemBytes = 1 << 20;
  switch (variant) {
  case 0:
    break;
  case 1: // bursts of several flits on a slow ring
    a.noc.topology = NocTopology::Ring;
    a.noc.linkBytes = 16;
    a.noc.hopCycles = 5;
    break;
  case 2:
    a.dma.loadBursts = 4;
    a.dma.storeBursts = 2;
    a.dma.burstBytes = 16;
    a.queueDepth = 64;
    a.noc.buffers = 2;
    break;
  default:
    a.noc.topology = NocTopology::Crossbar;
    a.queueDepth = 1;
    a.dma.outstanding = 1;
  }
  return a;
}

} // namespace

TEST(RandomMulticasts, EveryCoreHasTheReferencesBytesAtAnySpeed) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomSpread program(seed);
    for (unsigned variant = 0; variant < 4; ++variant) {
      DeviceOptions options = Machine::smallHost();
      options.checks.race = options.checks.memory = options.checks.sync =
          variant == seed % 4;
      Machine m(speed(variant), options);
      m.write(Machine::dataArea, program.wide);
      m.write(narrowArea, program.narrow);
      isa::DispatchPacket dispatch = m.place(program.k);
      dispatch.width = columns;
      dispatch.height = rows;
      isa::Packet packet;
      packet.body = dispatch;
      m.submit(packet);
      m.settle();
      ASSERT_EQ(m.device.statistics().dispatches.size(), 1u)
          << "seed " << seed << ", machine " << variant;
      for (const Finding &f : m.device.findings())
        FAIL() << "seed " << seed << ": " << print(f, nullptr);
      for (uint32_t c = 0; c < cores; ++c)
        ASSERT_EQ(m.read<float>(results + c * held * 4, held), program.spm[c])
            << "seed " << seed << ", machine " << variant << ", core " << c;
    }
  }
}

} // namespace tessera::sim::test
