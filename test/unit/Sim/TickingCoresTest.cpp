//===- TickingCoresTest.cpp - Cores that talk, against a second model -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs of several cores: every message, store, multicast and barrier
// must begin and end in the cycles that TickingCores finds.
//
//===----------------------------------------------------------------------===//

#include "TickingCores.h"
#include "tessera/Support/Random.h"
#include <map>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using Kind = CoreStep::Kind;

namespace {

constexpr uint32_t regionBytes = 4096;

class RandomTalk {
public:
  explicit RandomTalk(uint64_t seed) : random(seed) {
    arch = conflictFreeArchitecture();
    auto [columns, rows] = std::array<std::array<uint32_t, 2>, 5>{
        {{2, 1}, {3, 1}, {2, 2}, {4, 1}, {3, 2}}}[random.below(5)];
    arch.cores.count = columns * rows;
    arch.cores.meshX = columns;
    arch.cores.meshY = rows;
    arch.queueDepth = 64;
    arch.imemBytes = arch.tdmemBytes = 1 << 20;
    arch.dma.loadBursts = pick({1, 2, 3});
    arch.dma.storeBursts = pick({1, 2, 3});
    arch.dma.outstanding = pick({1, 2, 5, 64});
    arch.noc.clockGhz = 1.0; // as the cores'
    arch.noc.hopCycles = pick({1, 2, 3});
    arch.noc.linkBytes = pick({16, 32, 64});
    arch.noc.vcs = pick({2, 4});
    arch.noc.buffers = 4096; // nothing waits for a place
    arch.noc.topology = std::array{NocTopology::Mesh, NocTopology::Ring,
                                   NocTopology::Crossbar}[random.below(3)];
    cores = arch.cores.count;
    scripts.resize(cores);
    owed.resize(cores);
    tensors.resize(cores);
    preamble();
    for (unsigned i = 0, count = 6 * cores + below(10 * cores); i < count; ++i)
      something();
    // Nobody halts while something is on its way to another core.
    for (uint32_t c = 0; c < cores; ++c) {
      signal(c, c, Queue::St);
      signal(c, c, Queue::Ld);
    }
    for (uint32_t c = 0; c < cores; ++c) {
      collect(c);
      add(c, Kind::Barrier);
    }
    write();
  }

  Architecture arch;
  Kernel kernel;
  std::vector<CoreScript> scripts;
  /// Where the steps stand in the program.
  std::vector<std::vector<uint32_t>> places;

private:
  uint32_t below(uint64_t limit) { return uint32_t(random.below(limit)); }
  uint32_t pick(std::initializer_list<uint32_t> values) {
    return values.begin()[random.below(values.size())];
  }
  CoreStep &add(uint32_t core, Kind kind) {
    scripts[core].steps.push_back({});
    scripts[core].steps.back().kind = kind;
    return scripts[core].steps.back();
  }
  void pause(uint32_t core, uint64_t cycles) {
    add(core, Kind::Pause).cycles = cycles;
  }
  void signal(uint32_t from, uint32_t to, Queue queue) {
    CoreStep &s = add(from, Kind::Signal);
    s.core = to;
    s.queue = queue;
    s.sem = uint8_t(from);
    s.count = 1 + below(3);
    owed[to][s.sem] += s.count;
  }
  void multicast(uint32_t from, noc::Rectangle to, uint64_t address,
                 uint32_t bytes) {
    CoreStep &s = add(from, Kind::Multicast);
    s.cores = to;
    s.address = Machine::dataArea + address;
    s.bytes = bytes;
    s.sem = uint8_t(8 + from);
    for (uint32_t y = to.y; y < uint32_t(to.y) + to.height; ++y)
      for (uint32_t x = to.x; x < uint32_t(to.x) + to.width; ++x)
        ++owed[y * arch.cores.meshX + x][s.sem];
    ++tensors[from];
  }
  /// The core waits for all that was sent to it, one semaphore after the other.
  void collect(uint32_t core) {
    for (auto [sem, count] : owed[core]) {
      CoreStep &s = add(core, Kind::Wait);
      s.sem = sem;
      s.count = count;
      add(core, Kind::Mark);
    }
    owed[core].clear();
  }

  /// Every way is used once, one message at a time, so that the model's
  /// arbiters stand where the network's do.
  void preamble() {
    for (uint32_t c = 0; c < cores; ++c) {
      add(c, Kind::Mark);
      pause(c, 2 + 1000 * c);
      for (uint32_t to = 0; to < cores; ++to) {
        signal(c, to, Queue::Seq);
        pause(c, 60);
      }
      // By a tree as well, and from memory.
      multicast(c, whole(), 0, 64);
      pause(c, 200);
      CoreStep &s = add(c, Kind::Store);
      s.core = (c + 1) % cores;
      s.address = inbox(c);
      s.bytes = 64;
      ++tensors[c];
      pause(c, 2 + 1000 * (cores - c));
    }
    for (uint32_t c = 0; c < cores; ++c) {
      collect(c);
      add(c, Kind::Barrier);
      add(c, Kind::Mark);
    }
  }
  /// Where a core's stores go in others' scratchpads.
  static uint64_t inbox(uint32_t from) { return 4096 * from; }
  noc::Rectangle whole() const {
    return {0, 0, uint16_t(arch.cores.meshX), uint16_t(arch.cores.meshY)};
  }

  void something() {
    uint32_t c = below(cores);
    switch (below(8)) {
    case 0:
    case 1:
    case 2:
      if (tensors[c] < 12) {
        CoreStep &s = add(c, Kind::Store);
        s.core = below(cores);
        s.address = inbox(c) + 16 * below(128);
        s.bytes = 4 + 4 * below(120);
        s.posted = below(4) == 0;
        ++tensors[c];
      }
      break;
    case 3:
      if (tensors[c] < 12) {
        uint32_t x = below(arch.cores.meshX), y = below(arch.cores.meshY);
        multicast(c,
                  {uint16_t(x), uint16_t(y),
                   uint16_t(1 + below(arch.cores.meshX - x)),
                   uint16_t(1 + below(arch.cores.meshY - y))},
                  4 * below(512), 4 + 4 * below(100));
      }
      break;
    case 4:
      signal(c, below(cores),
             std::array{Queue::Seq, Queue::Ld, Queue::St}[below(3)]);
      break;
    case 5:
      pause(c, 2 + below(40));
      break;
    case 6:
      collect(c);
      break;
    default:
      if (below(3) == 0)
        for (uint32_t i = 0; i < cores; ++i) {
          add(i, Kind::Barrier);
          add(i, Kind::Mark);
        }
    }
  }

  template <typename Body> void onCore(uint32_t core, Body body) {
    kernel.add(Opcode::COREID, {{isa::coreid::rd, 1}});
    kernel.li(2, core);
    size_t branch = kernel.program.size();
    kernel.add(Opcode::BNE, {{isa::bne::ra, 1}, {isa::bne::rb, 2}});
    body();
    kernel.program[branch].fields[isa::bne::offset] =
        int64_t(kernel.program.size() - branch);
  }

  isa::Descriptor dense(Space space, uint64_t base, uint32_t bytes) {
    return tensor(space, NumericFormat::F32, {bytes / 4}, base);
  }

  void write() {
    places.resize(cores);
    for (uint32_t core = 0; core < cores; ++core)
      onCore(core, [&] { writeScript(core); });
    kernel.halt();
  }

  /// t0, t1; t2, t3; … : the operands of stores and multicasts, in order. r10
  /// …: the cores' numbers; r20 …: rectangles.
  void writeScript(uint32_t core) {
    unsigned td = 0, rectangle = 20;
    for (uint32_t i = 0; i < cores; ++i)
      kernel.li(10 + i, i);
    for (const CoreStep &s : scripts[core].steps) {
      if (s.kind == Kind::Store) {
        isa::Descriptor to = dense(Space::Core, s.address, s.bytes);
        to.base |= uint64_t(s.core) << 32;
        kernel.td(td++, to);
        kernel.td(td, dense(Space::Spm, 24576 + td / 2 * 512, s.bytes));
        ++td;
      } else if (s.kind == Kind::Multicast) {
        kernel.td(td++, dense(Space::Spm, 32768 + core * 512, s.bytes));
        kernel.td(td++, dense(Space::Global, s.address, s.bytes));
        kernel.li(rectangle++,
                  int64_t(s.cores.x | s.cores.y << 8 | s.cores.width << 16 |
                          s.cores.height << 24));
      }
    }
    // Translations at hand, the rows open, and everybody's code loaded.
    uint32_t bytes = core == 0 ? regionBytes : 64;
    for (int i = 0; i < 2; ++i) {
      kernel.td(30, dense(Space::Spm, 49152, bytes));
      kernel.td(31, dense(Space::Global, Machine::dataArea, bytes));
      kernel.load(30, 31, {}, {{31, 1}});
      kernel.wait(Queue::Seq, {{31, 1}});
      kernel.add(Opcode::BARRIER);
    }
    kernel.pause(300);
    td = 0, rectangle = 20;
    for (const CoreStep &s : scripts[core].steps) {
      places[core].push_back(uint32_t(kernel.program.size()));
      switch (s.kind) {
      case Kind::Pause:
        kernel.pause(unsigned(s.cycles) - 1);
        break;
      case Kind::Mark:
        kernel.add(Opcode::MARK);
        break;
      case Kind::Store:
        kernel.store(td, td + 1);
        kernel.program.back().fields[isa::store::posted] = s.posted;
        td += 2;
        break;
      case Kind::Multicast:
        kernel.add(Opcode::LOADMULTICAST, {{isa::load_multicast::dst, td},
                                           {isa::load_multicast::src, td + 1},
                                           {isa::load_multicast::ra, rectangle},
                                           {isa::load_multicast::sem, s.sem},
                                           {isa::load_multicast::count, 1}});
        td += 2, ++rectangle;
        break;
      case Kind::Signal:
        kernel.add(Opcode::SIGNALCORE,
                   {{isa::signal_core::queue, int64_t(s.queue)},
                    {isa::signal_core::core, 10 + s.core},
                    {isa::signal_core::sem, s.sem},
                    {isa::signal_core::count, s.count}});
        break;
      case Kind::Wait:
        kernel.wait(Queue::Seq, {{s.sem, uint16_t(s.count)}});
        break;
      case Kind::Barrier:
        kernel.add(Opcode::BARRIER);
        break;
      }
    }
  }

  Random random;
  uint32_t cores = 0;
  std::vector<std::map<uint8_t, uint32_t>> owed; ///< Not waited for, by core.
  std::vector<unsigned> tensors;                 ///< Transfers of each core.
};

const char *name(Kind kind) {
  static constexpr const char *names[] = {
      "pause", "mark", "store", "multicast", "signal", "wait", "barrier"};
  return names[size_t(kind)];
}

} // namespace

TEST(TickingCores, RandomPrograms) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomTalk talk(seed);
    DeviceOptions options = Machine::smallHost();
    options.timingOnly = true;
    Machine m(talk.arch, options);
    isa::Packet packet;
    isa::DispatchPacket dispatch = m.place(talk.kernel);
    dispatch.width = uint8_t(talk.arch.cores.meshX);
    dispatch.height = uint8_t(talk.arch.cores.meshY);
    packet.body = dispatch;
    m.submit(packet);
    m.settle();
    ASSERT_EQ(m.device.statistics().dispatches.size(), 1u)
        << "seed " << seed << ": " << isa::mmio::faultCauseName(m.fault());
    // By core and pc; a step runs once.
    std::map<std::pair<uint32_t, uint32_t>, Span> actual;
    for (const TraceEvent &e : m.trace) {
      uint64_t cycle = e.timeFs / 1'000'000;
      if (e.kind == TraceEvent::Kind::Mark ||
          e.kind == TraceEvent::Kind::InstructionBegin)
        actual[{e.core, e.pc}].begin = cycle;
      else if (e.kind == TraceEvent::Kind::InstructionEnd)
        actual[{e.core, e.pc}].end = cycle;
    }
    for (uint32_t c = 0; c < talk.scripts.size(); ++c)
      talk.scripts[c].start = actual[{c, talk.places[c][0]}].begin;
    CoreTimes expected = tickCores(talk.arch, talk.scripts);
    for (uint32_t c = 0; c < talk.scripts.size(); ++c)
      for (size_t i = 0; i < talk.scripts[c].steps.size(); ++i) {
        const CoreStep &s = talk.scripts[c].steps[i];
        bool timed = s.kind == Kind::Mark || s.unit() != Queue::Seq;
        if (!timed)
          continue;
        Span found = actual[{c, talk.places[c][i]}];
        ASSERT_EQ(found.begin, expected[c][i].begin)
            << "seed " << seed << ", core " << c << ", step " << i << ", "
            << name(s.kind);
        ASSERT_EQ(found.end, expected[c][i].end)
            << "seed " << seed << ", core " << c << ", step " << i << ", "
            << name(s.kind);
      }
  }
}

} // namespace tessera::sim::test
