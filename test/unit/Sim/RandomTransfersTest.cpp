//===- RandomTransfersTest.cpp - Data movement in any order ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs of everything that the load and store engines can do, with
// semaphores where two instructions of different queues conflict. A program is
// interpreted element by element; the device must leave the same bytes however
// fast its parts are, and the checker must find nothing. Without a semaphore it
// finds a race, or the bytes are the same.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "tessera/Support/Random.h"
#include <bit>
#include <map>
#include <optional>
#include <set>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;

namespace {

constexpr uint32_t side = 8, tile = side * side;
constexpr uint32_t spmTiles = 6, globalTiles = 6, numIndices = 32;
constexpr uint64_t narrowArea = Machine::dataArea + 0x4000;
constexpr uint64_t indexArea = Machine::dataArea + 0x6000;
constexpr uint64_t spmIndices = 16384;

/// An element of the program's memory; the narrow area holds bf16.
enum class Place : uint32_t { Spm, Global, Narrow };
using Id = std::pair<Place, uint32_t>;

/// What one instruction does to one element.
struct Move {
  Id to;
  std::optional<Id> from; ///< Or `value`.
  float value = 0;
};

struct Operation {
  Queue queue = Queue::Ld;
  std::vector<Move> moves; ///< In order.

  bool conflicts(const Operation &other) const {
    std::set<Id> written, read;
    for (const Move &m : moves) {
      written.insert(m.to);
      if (m.from)
        read.insert(*m.from);
    }
    for (const Move &m : other.moves)
      if (written.count(m.to) || read.count(m.to) ||
          (m.from && written.count(*m.from)))
        return true;
    return false;
  }
};

struct HandOver {
  size_t from = 0, to = 0; ///< Positions in the program.
  uint8_t sem = 0;
};

class RandomTransfers {
public:
  explicit RandomTransfers(uint64_t seed) : random(seed) {
    for (uint32_t i = 0; i < globalTiles * tile; ++i)
      initial.push_back(memory[{Place::Global, i}] =
                            float(random.between(-9, 9)));
    for (uint32_t i = 0; i < globalTiles * tile; ++i) {
      float value = float(random.between(-9, 9));
      memory[{Place::Narrow, i}] = value;
      initialNarrow.push_back(bf16(value));
    }
    for (uint32_t i = 0; i < numIndices; ++i)
      indices.push_back(int32_t(random.between(-1, globalTiles * side)));
    // The SPM is written and the indices are there before anything else.
    kernel.td(30,
              tensor(Space::Spm, NumericFormat::I32, {numIndices}, spmIndices));
    kernel.td(
        31, tensor(Space::Global, NumericFormat::I32, {numIndices}, indexArea));
    kernel.load(30, 31);
    kernel.td(30, tensor(Space::Spm, NumericFormat::F32, {spmTiles * tile}, 0));
    kernel.add(Opcode::FILL, {{isa::fill::dst, 30}}, {}, {{0, 1}});
    kernel.wait(Queue::Seq, {{0, 1}});
    kernel.li(thisCore, 1 << 16 | 1 << 24);
    for (uint32_t i = 0; i < spmTiles * tile; ++i)
      memory[{Place::Spm, i}] = 0;
    for (int i = 0; i < 24; ++i)
      any();
    // What the SPM holds at the end can be seen in the last tiles.
    Operation dump;
    dump.queue = Queue::St;
    for (uint32_t i = 0; i < spmTiles * tile; ++i)
      dump.moves.push_back(
          {{Place::Global, globalTiles * tile + i}, Id{Place::Spm, i}});
    kernel.td(1, tensor(Space::Spm, NumericFormat::F32, {spmTiles * tile}, 0));
    kernel.td(0, tensor(Space::Global, NumericFormat::F32, {spmTiles * tile},
                        Machine::dataArea + 4 * globalTiles * tile));
    kernel.store(0, 1);
    finish(dump);
    if (multicasts != 0)
      kernel.wait(Queue::Seq, {{everywhere, multicasts}});
    kernel.halt();
    for (const auto &[id, value] : memory) {
      if (id.first == Place::Global)
        expected.push_back(value);
      if (id.first == Place::Narrow)
        expectedNarrow.push_back(bf16(value));
    }
  }

  static uint16_t bf16(float value) {
    return uint16_t(std::bit_cast<uint32_t>(value) >> 16);
  }

  Kernel kernel;
  std::vector<float> initial, expected;
  std::vector<uint16_t> initialNarrow, expectedNarrow;
  std::vector<int32_t> indices;
  std::vector<HandOver> handOvers;

private:
  uint32_t below(uint64_t limit) { return uint32_t(random.below(limit)); }

  /// A rectangle of a tile, and how it lies in memory.
  struct View {
    Place place = Place::Spm;
    uint32_t base = 0;
    std::array<uint32_t, 2> strides = {side, 1};
    uint32_t at(uint32_t r, uint32_t c) const {
      return base + r * strides[0] + c * strides[1];
    }
    isa::Descriptor descriptor(uint32_t rows, uint32_t columns) const {
      bool narrow = place == Place::Narrow;
      isa::Descriptor td =
          tensor(place == Place::Spm ? Space::Spm : Space::Global,
                 narrow ? NumericFormat::BF16 : NumericFormat::F32,
                 {rows, columns}, 0);
      td.base = base * (narrow ? 2 : 4) + (place == Place::Spm ? 0
                                           : place == Place::Global
                                               ? Machine::dataArea
                                               : narrowArea);
      td.strides[0] = strides[0], td.strides[1] = strides[1];
      return td;
    }
  };
  View view(Place place, uint32_t rows, uint32_t columns) {
    View v;
    v.place = place;
    v.base = below(place == Place::Spm ? spmTiles : globalTiles) * tile;
    if (below(3) == 0) {
      std::swap(v.strides[0], v.strides[1]);
      std::swap(rows, columns);
    }
    v.base += below(side - rows + 1) * side + below(side - columns + 1);
    return v;
  }
  Place far() { return below(3) ? Place::Global : Place::Narrow; }
  /// The rectangle of a multicast, and its semaphore; nobody else's.
  static constexpr unsigned thisCore = 22;
  static constexpr uint8_t everywhere = 5;

  void any() {
    uint32_t rows = 1 + below(side), columns = 1 + below(side);
    switch (below(6)) {
    case 0: {
      Operation o;
      View to = view(Place::Spm, rows, columns);
      float value = float(random.between(-9, 9));
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t c = 0; c < columns; ++c)
          o.moves.push_back({{Place::Spm, to.at(r, c)}, {}, value});
      kernel.td(0, to.descriptor(rows, columns));
      kernel.add(Opcode::FILL,
                 {{isa::fill::dst, 0},
                  {isa::fill::value, std::bit_cast<uint32_t>(value)}});
      return finish(o);
    }
    case 1:
    case 2:
      return copy(true, rows, columns);
    case 3:
      return copy(false, rows, columns);
    case 4:
      return byIndex(true, rows, columns);
    default:
      return byIndex(false, rows, columns);
    }
  }

  void copy(bool isLoad, uint32_t rows, uint32_t columns) {
    // A store to the scratchpad goes by way of the network.
    Place farPlace = below(3) == 0 ? Place::Spm : far();
    View near = view(Place::Spm, rows, columns),
         distant = view(farPlace, rows, columns);
    isa::Descriptor nearTd = near.descriptor(rows, columns);
    bool isWindow = below(2);
    std::array<int64_t, 2> origin{};
    if (isWindow) { // over a whole tile, whose element (0, 0) is its base
      distant.base = distant.base / tile * tile;
      origin = {random.between(-3, 3), random.between(-3, 3)};
    }
    isa::Descriptor farTd = distant.descriptor(rows, columns);
    if (!isLoad && farPlace == Place::Spm)
      farTd.space = Space::Core;
    float padding = float(random.between(-9, 9));
    farTd.padding = farPlace == Place::Narrow
                        ? bf16(padding)
                        : std::bit_cast<uint32_t>(padding);
    Operation o;
    o.queue = isLoad ? Queue::Ld : Queue::St;
    bool anyInside = false;
    for (uint32_t r = 0; r < rows; ++r)
      for (uint32_t c = 0; c < columns; ++c) {
        int64_t fr = origin[0] + r, fc = origin[1] + c;
        Id here = {Place::Spm, near.at(r, c)};
        bool outside = fr < 0 || fc < 0 || fr >= side || fc >= side;
        anyInside |= !outside;
        Id there = {farPlace,
                    outside ? 0 : distant.at(uint32_t(fr), uint32_t(fc))};
        if (isLoad && outside)
          o.moves.push_back({here, {}, padding});
        else if (isLoad)
          o.moves.push_back({here, there});
        else if (!outside)
          o.moves.push_back({there, here});
      }
    kernel.td(0, isLoad ? nearTd : farTd);
    kernel.td(1, isLoad ? farTd : nearTd);
    unsigned reg = isLoad ? 1 : 0;
    for (unsigned d = 0; isWindow && d < 2; ++d) {
      kernel.li(20, origin[d]);
      kernel.li(21, side);
      kernel.add(Opcode::TDWINDOW, {{isa::td_window::td, reg},
                                    {isa::td_window::src, reg},
                                    {isa::td_window::ra, 20},
                                    {isa::td_window::rb, 21},
                                    {isa::td_window::dim, d},
                                    {isa::td_window::step, 1}});
    }
    bool converts = farPlace == Place::Narrow || below(2),
         transposes = below(2);
    if (isLoad && farPlace != Place::Spm && anyInside && below(3) == 0) {
      kernel.add(Opcode::LOADMULTICAST,
                 {{isa::load_multicast::dst, 0},
                  {isa::load_multicast::src, 1},
                  {isa::load_multicast::ra, thisCore},
                  {isa::load_multicast::sem, everywhere},
                  {isa::load_multicast::count, 1},
                  {isa::load_multicast::pad, isWindow},
                  {isa::load_multicast::convert, converts},
                  {isa::load_multicast::transpose, transposes}});
      ++multicasts;
      return finish(o);
    }
    kernel.add(isLoad ? Opcode::LOAD : Opcode::STORE,
               {{isa::load::dst, 0},
                {isa::load::src, 1},
                {isa::load::pad, isWindow},
                {isa::load::convert, converts},
                {isa::load::transpose, transposes}});
    finish(o);
  }

  void byIndex(bool isGather, uint32_t count, uint32_t columns) {
    Place farPlace = far();
    View near;
    near.base = below(spmTiles) * tile;
    View table;
    table.place = farPlace;
    table.base = below(side - columns + 1);
    uint32_t first = below(numIndices - count);
    Operation o;
    o.queue = isGather ? Queue::Ld : Queue::St;
    float padding = float(random.between(-9, 9));
    for (uint32_t n = 0; n < count; ++n)
      for (uint32_t c = 0; c < columns; ++c) {
        int32_t row = indices[first + n];
        bool outside = row < 0 || row >= int32_t(globalTiles * side);
        Id here = {Place::Spm, near.at(n, c)};
        Id there = {farPlace, outside ? 0 : table.at(uint32_t(row), c)};
        if (isGather && outside)
          o.moves.push_back({here, {}, padding});
        else if (isGather)
          o.moves.push_back({here, there});
        else if (!outside)
          o.moves.push_back({there, here});
      }
    isa::Descriptor tableTd = table.descriptor(globalTiles * side, columns);
    tableTd.padding = farPlace == Place::Narrow
                          ? bf16(padding)
                          : std::bit_cast<uint32_t>(padding);
    kernel.td(0, isGather ? near.descriptor(count, columns) : tableTd);
    kernel.td(1, isGather ? tableTd : near.descriptor(count, columns));
    kernel.td(2, tensor(Space::Spm, NumericFormat::I32, {count},
                        spmIndices + 4 * first));
    kernel.add(isGather ? Opcode::LOADGATHER : Opcode::STORESCATTER,
               {{isa::load_gather::dst, 0},
                {isa::load_gather::src, 1},
                {isa::load_gather::index, 2},
                {isa::load_gather::pad, 1},
                {isa::load_gather::convert, farPlace == Place::Narrow}});
    finish(o);
  }

  /// Runs the operation on the memory, and orders the instruction that was
  /// added last after those of the other queue with which it conflicts.
  void finish(const Operation &o) {
    std::vector<float> values;
    for (const Move &m : o.moves)
      values.push_back(m.from ? memory.at(*m.from) : m.value);
    for (size_t i = 0; i < o.moves.size(); ++i)
      memory[o.moves[i].to] = values[i];

    unsigned mine = o.queue == Queue::Ld ? 0 : 1, other = 1 - mine;
    size_t position = kernel.program.size() - 1;
    for (size_t i = inQueue[other].size(); i-- > known[mine];) {
      if (!inQueue[other][i].first.conflicts(o))
        continue;
      size_t from = inQueue[other][i].second;
      auto sem = uint8_t(2 + mine);
      kernel.program[from].signals[0] = {sem, 1};
      kernel.program[position].waits[0] = {sem, 1};
      handOvers.push_back({from, position, sem});
      known[mine] = i + 1;
      break;
    }
    inQueue[mine].push_back({o, position});
  }

  Random random;
  uint16_t multicasts = 0;
  std::map<Id, float> memory;
  std::array<std::vector<std::pair<Operation, size_t>>, 2> inQueue;
  /// How many instructions of the other queue precede this one's next.
  std::array<size_t, 2> known{};
};

Architecture speed(unsigned variant) {
  Architecture a = tinyArchitecture();
  a.imemBytes = a.tdmemBytes = 1 << 20;
  switch (variant) {
  case 0:
    break;
  case 1:
    a.queueDepth = 64;
    a.dram.tRCDRD = 300;
    break;
  case 2:
    a.queueDepth = 64;
    a.dma.loadBursts = 4;
    a.dma.storeBursts = 2;
    a.dma.burstBytes = 16;
    break;
  default:
    a.queueDepth = 1;
    a.dma.outstanding = 1;
    a.dram.tRCDWR = 200;
  }
  return a;
}
constexpr unsigned speeds = 4;

struct Outcome {
  bool completed = false, race = false, right = false;
  std::string findings;
};

Outcome runAt(const RandomTransfers &program, const Kernel &kernel,
              const Architecture &arch, bool checks) {
  DeviceOptions options = Machine::smallHost();
  options.checks.race = options.checks.memory = options.checks.sync = checks;
  Machine m(arch, options);
  m.write(Machine::dataArea, program.initial);
  m.write(narrowArea, program.initialNarrow);
  m.write(indexArea, program.indices);
  isa::Packet packet;
  packet.body = m.place(kernel);
  m.submit(packet);
  m.settle();
  Outcome outcome;
  outcome.completed = m.device.statistics().dispatches.size() == 1;
  outcome.right = m.read<float>(Machine::dataArea, program.expected.size()) ==
                      program.expected &&
                  m.read<uint16_t>(narrowArea, program.expectedNarrow.size()) ==
                      program.expectedNarrow;
  for (const Finding &f : m.device.findings()) {
    outcome.race |= f.kind == Finding::Kind::Race;
    outcome.findings += print(f, nullptr);
  }
  return outcome;
}

} // namespace

TEST(RandomTransfers, LeaveTheReferencesBytesAtAnySpeed) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomTransfers program(seed);
    for (unsigned s = 0; s < speeds; ++s) {
      Outcome o = runAt(program, program.kernel, speed(s), s == seed % speeds);
      ASSERT_TRUE(o.completed) << "seed " << seed << ", machine " << s;
      ASSERT_EQ(o.findings, "") << "seed " << seed;
      ASSERT_TRUE(o.right) << "seed " << seed << ", machine " << s;
    }
  }
}

TEST(RandomTransfers, WithoutAHandOverThereIsARaceOrNoDifference) {
  unsigned races = 0, differences = 0, all = 0;
  for (uint64_t seed = 1000; seed < 1020; ++seed) {
    RandomTransfers program(seed);
    for (const HandOver &h : program.handOvers) {
      Kernel kernel = program.kernel;
      kernel.program[h.from].signals = {};
      kernel.program[h.to].waits = {};
      Outcome o = runAt(program, kernel, speed(0), true);
      bool differs = false;
      for (unsigned s = 0; s < speeds; ++s)
        differs |= !runAt(program, kernel, speed(s), false).right;
      ASSERT_TRUE(o.completed);
      ASSERT_TRUE(o.race || !differs)
          << "seed " << seed << ", s" << unsigned(h.sem) << " from pc "
          << h.from << " to pc " << h.to;
      ++all;
      races += o.race;
      differences += differs;
    }
  }
  EXPECT_GT(races, all * 3 / 4);
  EXPECT_GT(differences, 20u);
}

} // namespace tessera::sim::test
