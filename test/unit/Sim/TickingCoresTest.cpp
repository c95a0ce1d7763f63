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
/// Places in a scratchpad: for what each other core stores, 4 KiB; for what is
/// stored; for what is loaded; for what is copied. A transfer fits.
constexpr uint64_t inboxes = 0, outbox = 24576, loaded = 32768, copied = 49152,
                   warm = 57344;
constexpr uint32_t spanBytes = 2048;

class RandomTalk {
public:
  explicit RandomTalk(uint64_t seed) : random(seed) {
    arch = tinyArchitecture();
    auto [columns, rows] = std::array<std::array<uint32_t, 2>, 5>{
        {{2, 1}, {3, 1}, {2, 2}, {4, 1}, {3, 2}}}[random.below(5)];
    arch.cores.count = columns * rows;
    arch.cores.meshX = columns;
    arch.cores.meshY = rows;
    arch.queueDepth = 64;
    arch.imemBytes = arch.tdmemBytes = 1 << 20;
    arch.dma.loadBursts = pick({1, 2, 3});
    arch.dma.storeBursts = pick({1, 2, 3});
    arch.dma.outstanding = pick({1, 2, 5, 16});
    arch.spm.banks = pick({4, 16, 32});
    arch.spm.bankWidth = pick({8, 16});
    arch.dram.readQueue = 4096; // what comes has room
    arch.noc.clockGhz = 1.0;    // as the cores'
    arch.noc.hopCycles = pick({1, 2, 3});
    arch.noc.linkBytes = pick({16, 32, 64});
    arch.noc.vcs = pick({2, 4});
    arch.noc.buffers = pick({2, 3, 8, 4096});
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
  noc::Rectangle rectangle() {
    uint32_t x = below(arch.cores.meshX), y = below(arch.cores.meshY);
    return {uint16_t(x), uint16_t(y), uint16_t(1 + below(arch.cores.meshX - x)),
            uint16_t(1 + below(arch.cores.meshY - y))};
  }
  CoreStep &multicast(uint32_t from, noc::Rectangle to) {
    CoreStep &s = add(from, Kind::Load);
    s.isMulticast = true;
    s.cores = to;
    s.sem = uint8_t(8 + from);
    for (uint32_t y = to.y; y < uint32_t(to.y) + to.height; ++y)
      for (uint32_t x = to.x; x < uint32_t(to.x) + to.width; ++x)
        ++owed[y * arch.cores.meshX + x][s.sem];
    ++tensors[from];
    return s;
  }

  /// Rows of elements, `far` and `near` from these addresses on: gaps between
  /// them, a row's words in few banks, another order, another format.
  void layOut(DmaMove &move, Space far, uint64_t farBase, uint64_t nearBase) {
    NumericFormat formats[] = {NumericFormat::F32, NumericFormat::BF16,
                               NumericFormat::F8E4M3FN};
    move.convert = below(3) == 0;
    move.transpose = below(4) == 0;
    NumericFormat format = formats[below(2)];
    do {
      uint32_t rows = pick({1, 1, 2, 5, 8}), columns = 1 + below(40);
      for (isa::Descriptor *td : {&move.far, &move.near}) {
        *td = tensor(Space::Spm, format, {rows, columns}, 0);
        uint32_t gap = pick({0, 0, 1, 5, 64});
        td->strides[0] = columns + gap;
        if (td == &move.near && gap == 64) // row by row in the same banks
          td->strides[0] = int64_t(ceilTo(columns, 256));
        if (below(5) == 0)
          td->strides = {1, int64_t(rows)};
      }
    } while (!fits(move.far) || !fits(move.near));
    if (move.convert)
      move.near.format = formats[below(3)];
    move.far.space = far;
    move.far.base = farBase + 4 * below(64);
    move.near.base = nearBase + 4 * below(64);
    if (below(3) == 0) {
      move.windows = true;
      for (unsigned d = 0; d < 2; ++d) {
        move.size[d] = move.far.extents[d];
        move.origin[d] = random.between(-2, 1);
      }
      // Something is there: a multicast needs a burst.
      if (move.far.extents[0] == 1)
        move.origin[0] = 0;
      if (move.far.extents[1] <= 2)
        move.origin[1] = 0;
      if (move.far.extents[0] == 2 && move.origin[0] == -2)
        move.origin[0] = -1;
    }
  }
  static uint64_t ceilTo(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
  }
  static bool fits(const isa::Descriptor &td) {
    int64_t last = 0;
    for (unsigned d = 0; d < 2; ++d)
      last += td.strides[d] * (td.extents[d] - 1);
    return (last + 1) * 4 <= spanBytes - 256;
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
      isa::Descriptor far =
          tensor(Space::Global, NumericFormat::F32, {16}, Machine::dataArea);
      isa::Descriptor near = tensor(Space::Spm, NumericFormat::F32, {16}, 0);
      CoreStep &m = multicast(c, whole());
      m.move.far = far, m.move.near = near;
      m.move.near.base = loaded;
      pause(c, 200);
      CoreStep &s = add(c, Kind::Store);
      s.core = (c + 1) % cores;
      s.move.near = near;
      s.move.near.base = outbox;
      s.move.far = tensor(Space::Core, NumericFormat::F32, {16}, inbox(c));
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
  static uint64_t inbox(uint32_t from) { return inboxes + 4096 * from; }
  noc::Rectangle whole() const {
    return {0, 0, uint16_t(arch.cores.meshX), uint16_t(arch.cores.meshY)};
  }

  void something() {
    uint32_t c = below(cores);
    bool room = tensors[c] < 13;
    switch (below(8)) {
    case 0:
    case 1:
      if (room) {
        CoreStep &s = add(c, Kind::Store);
        s.core = below(cores);
        layOut(s.move, Space::Core, inbox(c), outbox);
        s.move.posted = below(4) == 0;
        ++tensors[c];
      }
      break;
    case 2:
      if (room) {
        CoreStep &s = add(c, Kind::Load);
        if (below(2))
          layOut(s.move, Space::Global, Machine::dataArea, loaded);
        else
          layOut(s.move, Space::Spm, copied, loaded);
        ++tensors[c];
      }
      break;
    case 3:
      if (room)
        layOut(multicast(c, rectangle()).move, Space::Global, Machine::dataArea,
               loaded);
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
  void window(unsigned td, const DmaMove &move) {
    for (unsigned d = 0; d < 2; ++d) {
      kernel.li(4, move.origin[d]);
      kernel.li(5, move.size[d]);
      kernel.add(Opcode::TDWINDOW, {{isa::td_window::td, td},
                                    {isa::td_window::src, td},
                                    {isa::td_window::ra, 4},
                                    {isa::td_window::rb, 5},
                                    {isa::td_window::dim, d},
                                    {isa::td_window::step, 1}});
    }
  }

  void write() {
    places.resize(cores);
    for (uint32_t core = 0; core < cores; ++core)
      onCore(core, [&] { writeScript(core); });
    kernel.halt();
  }

  /// t0, t1; t2, t3; … : the operands of stores and multicasts, in order. r10
  /// …: the cores' numbers; r16 …: rectangles.
  void writeScript(uint32_t core) {
    unsigned td = 0, rectangle = 16;
    for (uint32_t i = 0; i < cores; ++i)
      kernel.li(10 + i, i);
    for (const CoreStep &s : scripts[core].steps) {
      if (s.kind != Kind::Store && s.kind != Kind::Load)
        continue;
      isa::Descriptor far = s.move.far;
      if (s.kind == Kind::Store)
        far.base |= uint64_t(s.core) << 32;
      // The destination first.
      unsigned at = td + (s.kind == Kind::Load);
      kernel.td(at, far);
      if (s.move.windows)
        window(at, s.move);
      kernel.td(td + (s.kind == Kind::Store), s.move.near);
      td += 2;
      if (s.isMulticast)
        kernel.li(rectangle++,
                  int64_t(s.cores.x | s.cores.y << 8 | s.cores.width << 16 |
                          s.cores.height << 24));
    }
    // Translations at hand, the rows open, and everybody's code loaded.
    uint32_t bytes = core == 0 ? regionBytes : 64;
    for (int i = 0; i < 2; ++i) {
      kernel.td(30, dense(Space::Spm, warm, bytes));
      kernel.td(31, dense(Space::Global, Machine::dataArea, bytes));
      kernel.load(30, 31, {}, {{31, 1}});
      kernel.wait(Queue::Seq, {{31, 1}});
      kernel.add(Opcode::BARRIER);
    }
    kernel.pause(300);
    td = 0, rectangle = 16;
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
        kernel.add(Opcode::STORE, {{isa::store::dst, td},
                                   {isa::store::src, td + 1},
                                   {isa::store::clip, s.move.windows},
                                   {isa::store::convert, s.move.convert},
                                   {isa::store::transpose, s.move.transpose},
                                   {isa::store::posted, s.move.posted}});
        td += 2;
        break;
      case Kind::Load:
        if (s.isMulticast)
          kernel.add(Opcode::LOADMULTICAST,
                     {{isa::load_multicast::dst, td},
                      {isa::load_multicast::src, td + 1},
                      {isa::load_multicast::ra, rectangle++},
                      {isa::load_multicast::sem, s.sem},
                      {isa::load_multicast::count, 1},
                      {isa::load_multicast::pad, s.move.windows},
                      {isa::load_multicast::convert, s.move.convert},
                      {isa::load_multicast::transpose, s.move.transpose}});
        else
          kernel.add(Opcode::LOAD, {{isa::load::dst, td},
                                    {isa::load::src, td + 1},
                                    {isa::load::pad, s.move.windows},
                                    {isa::load::convert, s.move.convert},
                                    {isa::load::transpose, s.move.transpose}});
        td += 2;
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
  static constexpr const char *names[] = {"pause",  "mark", "load",   "store",
                                          "signal", "wait", "barrier"};
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
