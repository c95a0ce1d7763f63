//===- KernelTest.cpp - Event kernel, memories, NoC, translation -*- C++
//-*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "kernel/EventQueue.h"
#include "memory/SparseStore.h"
#include "noc/Noc.h"
#include <random>
#include <set>

namespace tessera::sim::test {

/// Writes down what it is told.
struct Recorder : Component {
  std::vector<std::pair<int, uint64_t>> *log = nullptr;
  int name = 0;
  void handle(const Event &event) override {
    log->push_back({name, event.payload});
  }
};

static Event eventAt(Time time, Phase phase, ComponentId component,
                     uint64_t payload) {
  Event e;
  e.time = time;
  e.phase = phase;
  e.component = component;
  e.payload = payload;
  return e;
}

TEST(EventQueue, TiesAreOrdered) {
  EventQueue queue;
  std::vector<std::pair<int, uint64_t>> log;
  Recorder a, b;
  a.log = b.log = &log;
  a.name = 0, b.name = 1;
  ComponentId idA = queue.add(a), idB = queue.add(b);
  queue.post(eventAt(5, Phase::Start, idA, 1));
  queue.post(eventAt(5, Phase::Signal, idB, 2));
  queue.post(eventAt(5, Phase::Complete, idB, 3));
  queue.post(eventAt(5, Phase::Complete, idA, 4));
  queue.post(eventAt(5, Phase::Complete, idA, 5));
  queue.post(eventAt(4, Phase::Start, idB, 6));
  while (!queue.empty())
    queue.executeNext();
  EXPECT_EQ(log, (std::vector<std::pair<int, uint64_t>>{
                     {1, 6}, {0, 4}, {0, 5}, {1, 3}, {1, 2}, {0, 1}}));
  EXPECT_EQ(queue.now(), 5u);
  EXPECT_EQ(queue.executed(), 6u);
}

TEST(EventQueue, RestoresItsEvents) {
  EventQueue queue, other;
  std::vector<std::pair<int, uint64_t>> log;
  Recorder a;
  a.log = &log;
  queue.add(a);
  other.add(a);
  for (uint64_t i = 0; i < 20; ++i)
    queue.post(eventAt(100 - i % 7, Phase::Start, 0, i));
  ByteWriter out;
  Saver saver(out);
  queue.serialize(saver);
  ByteReader in(std::as_const(out).bytes());
  Loader loader(in);
  other.serialize(loader);
  ASSERT_TRUE(loader.ok());
  while (!queue.empty())
    queue.executeNext();
  auto expected = std::exchange(log, {});
  while (!other.empty())
    other.executeNext();
  EXPECT_EQ(log, expected);
}

namespace {

/// Posts at random whenever it is told something, and keeps the order that the
/// rule gives: time, phase, component, order of posting.
class Storm {
public:
  Storm(uint64_t seed, unsigned components) : random(seed) {
    receivers.resize(components);
    for (Receiver &receiver : receivers) {
      receiver.storm = this;
      queue.add(receiver);
    }
  }

  void post() {
    // Within a slice of time, some cycles ahead, and far beyond the ring.
    static constexpr Time reach[] = {0, 1000, 2'000'000, 900'000'000,
                                     40'000'000'000};
    Time time = queue.now() + random() % (reach[random() % 5] + 1);
    auto phase = Phase(random() % 4);
    auto component = ComponentId(random() % receivers.size());
    queue.post(eventAt(time, phase, component, posted));
    expected.insert({time, uint8_t(phase), component, posted++});
  }
  /// Executes the first event.
  void execute() {
    ASSERT_EQ(queue.nextTime(), std::get<0>(*expected.begin()));
    queue.executeNext();
  }

  EventQueue queue;
  std::set<std::tuple<Time, uint8_t, ComponentId, uint64_t>> expected;
  std::mt19937_64 random;

private:
  struct Receiver : Component {
    Storm *storm = nullptr;
    void handle(const Event &event) override {
      EXPECT_EQ(event.payload, std::get<3>(*storm->expected.begin()));
      storm->expected.erase(storm->expected.begin());
      // One for one on average; none at the end.
      for (uint64_t i = storm->random() % 3; i != 0 && storm->posted < 20000;
           --i)
        storm->post();
    }
  };
  std::vector<Receiver> receivers;
  uint64_t posted = 0;
};

} // namespace

TEST(EventQueue, IsAnOrderedList) {
  for (uint64_t seed : {1, 2, 3}) {
    Storm storm(seed, 5);
    while (true) {
      if (storm.queue.empty()) {
        if (storm.expected.empty() && storm.queue.executed() >= 20000)
          break;
        // The host acts at a time of its own, between events.
        storm.queue.passTo(storm.queue.now() + storm.random() % 5'000'000'000);
        for (int i = 0; i != 100; ++i)
          storm.post();
      }
      if (storm.random() % 8 == 0)
        storm.queue.passTo(storm.queue.nextTime());
      if (storm.random() % 64 == 0)
        storm.post();
      ASSERT_NO_FATAL_FAILURE(storm.execute());
      ASSERT_EQ(storm.queue.empty(), storm.expected.empty());
      if (storm.random() % 1000 == 0) {
        ByteWriter out;
        Saver saver(out);
        storm.queue.serialize(saver);
        ByteReader in(std::as_const(out).bytes());
        Loader loader(in);
        storm.queue.serialize(loader);
        ASSERT_TRUE(loader.ok());
      }
    }
  }
}

TEST(Clock, CrossingsRoundUp) {
  Clock clock(0.75); // 1,333,333 fs
  EXPECT_EQ(clock.periodFs(), 1333333u);
  EXPECT_EQ(clock.ceil(clock.at(7)), 7u);
  EXPECT_EQ(clock.ceil(clock.at(7) + 1), 8u);
  EXPECT_EQ(clock.ceil(0), 0u);
}

TEST(SparseStore, PagesComeWithTheFirstWrite) {
  SparseStore store(1 << 20);
  std::vector<uint8_t> data(100, 7), back(102, 9);
  uint64_t at = SparseStore::pageBytes - 50; // over a page's end
  uint64_t empty = store.hash(0);
  store.write(at, data.data(), data.size());
  store.read(at - 1, back.data(), back.size());
  EXPECT_EQ(back.front(), 0);
  EXPECT_EQ(back.back(), 0);
  EXPECT_EQ(back[1], 7);
  EXPECT_NE(store.hash(0), empty);
  std::vector<uint8_t> zeros(100);
  store.write(at, zeros.data(), zeros.size());
  EXPECT_EQ(store.hash(0), empty);
  EXPECT_TRUE(store.contains((1 << 20) - 8, 8));
  EXPECT_FALSE(store.contains((1 << 20) - 7, 8));
  EXPECT_FALSE(store.contains(~0ull, 2));
}

// A message of 64 bytes over links of 32: 7 hops of 2 network cycles at 2 GHz,
// and the second flit: 7.5 ns, which is the core clock's edge 8.
TEST(Noc, ArrivesAtAnEdgeOfTheReceiversClock) {
  Architecture arch = tinyArchitecture();
  arch.cores = {16, 4, 4};
  arch.noc.hopCycles = 2;
  arch.noc.clockGhz = 2;
  arch.noc.linkBytes = 32;
  Clock clock(1.0);
  EventQueue events;
  Noc noc(arch, clock, events);
  std::vector<std::pair<int, uint64_t>> log;
  Recorder receiver;
  receiver.log = &log;
  ComponentId id = events.add(receiver);
  noc.send(0, 15, Noc::Class::Request, 64, {id, 0, 0, 3});
  while (!events.empty())
    events.executeNext();
  EXPECT_EQ(log, (std::vector<std::pair<int, uint64_t>>{{0, 3}}));
  EXPECT_EQ(events.now(), 8 * femtosecondsPerNanosecond);
  EXPECT_EQ(noc.byteHops(), 7u * 64);
}

TEST(Translation, WalksCostTheirReads) {
  Machine m;
  Kernel k;
  k.td(0, tensor(isa::Space::Spm, NumericFormat::F32, {16}, 0));
  k.td(1,
       tensor(isa::Space::Global, NumericFormat::F32, {16}, Machine::dataArea));
  k.load(0, 1, {}, {{0, 1}});
  k.store(1, 0, {{0, 1}}, {{1, 1}});
  k.load(0, 1, {{1, 1}});
  k.halt();
  m.run(k);
  // A 2 MiB page: three entries are read, one after the other. All lie in row 0
  // of one bank, in which the kernel's code left another row open: 27 cycles (1
  // over the NoC, 1 to precharge, 20, 4, 1 back), then 16 and 16. The data is
  // in a third row of that bank: 28.
  EXPECT_EQ(m.span(2).end - m.span(2).begin, 27 + 2 * 16 + 28u);
  // The store engine finds the translation in the second level, 8 cycles away.
  EXPECT_EQ(m.span(3).end - m.span(3).begin, 8 + 2u);
  // The write's command is at a, its acknowledgement and this load at a + 1;
  // the read waits for the write's data until a + 8 + 4, its own comes at a
  // + 26.
  EXPECT_EQ(m.span(4).end - m.span(4).begin, 27u);
  Statistics s = m.device.statistics();
  EXPECT_EQ(s.dispatches[0].engines[size_t(Engine::Load)][StallCause::Tlb],
            27 + 2 * 16 - 1u);
}

TEST(Translation, SmallPages) {
  Machine m;
  // The 2 MiB at index 100 as two 64 KiB pages at 0x500000 and 0x480000.
  isa::PageEntry pointer;
  pointer.valid = true;
  pointer.address = 0x4000;
  m.write<uint64_t>(0x3000 + 8 * 100, {pointer.encode()});
  isa::PageEntry leaf;
  leaf.valid = leaf.leaf = leaf.read = leaf.write = true;
  leaf.address = 0x500000;
  m.write<uint64_t>(0x4000, {leaf.encode()});
  leaf.address = 0x480000;
  m.write<uint64_t>(0x4008, {leaf.encode()});
  std::vector<uint32_t> data(32);
  for (uint32_t i = 0; i < 32; ++i)
    data[i] = i;
  m.write(Machine::dataArea, data);
  isa::CopyPacket copy;
  copy.source = Machine::dataArea;
  copy.destination = (100ull << 21) + 65536 - 64; // over the border
  copy.size = 128;
  copy.completion = {3, 1};
  isa::Packet packet;
  packet.body = copy;
  m.submit(packet);
  m.settle();
  EXPECT_EQ(m.semaphore(3), 1u);
  EXPECT_EQ(m.read<uint32_t>(0x500000 + 65536 - 64, 16),
            std::vector<uint32_t>(data.begin(), data.begin() + 16));
  EXPECT_EQ(m.read<uint32_t>(0x480000, 16),
            std::vector<uint32_t>(data.begin() + 16, data.end()));
}

/// A kernel that loads `bytes` when the DRAM is at rest; the load is at pc 6.
static Kernel loadAtRest(uint32_t bytes) {
  Kernel k;
  k.td(0, tensor(isa::Space::Spm, NumericFormat::F32, {bytes / 4}, 0));
  k.td(1, tensor(isa::Space::Global, NumericFormat::F32, {bytes / 4},
                 Machine::dataArea));
  k.load(0, 1, {}, {{0, 1}}); // Translations, rows.
  k.wait(isa::Queue::Seq, {{0, 1}});
  k.pause(100);
  k.load(0, 1);
  k.halt();
  return k;
}

TEST(Dram, ChannelsWorkSideBySide) {
  // 16 bursts: with one channel 17 + 15 * 4; with four the bus is no
  // bottleneck, and the last burst, issued 15 cycles after the first, decides.
  for (uint32_t channels : {1u, 4u}) {
    Architecture arch = tinyArchitecture();
    arch.dram.channels = channels;
    Machine m(arch);
    m.run(loadAtRest(1024));
    EXPECT_EQ(m.span(6).end - m.span(6).begin,
              17 + (channels == 1 ? 15 * 4u : 15u));
  }
}

TEST(Dram, RefreshTaxesTheBus) {
  Architecture arch = tinyArchitecture();
  Machine without(arch);
  arch.dram.refresh = RefreshMode::AllBank;
  arch.dram.tREFI = 1000;
  arch.dram.tRFC = 200;
  Machine with(arch);
  uint64_t cycles[2];
  for (Machine *m : {&without, &with}) {
    m->run(loadAtRest(32768));
    cycles[m == &with] = m->span(6).end - m->span(6).begin;
  }
  // 512 bursts of 4 in the same two rows of four banks.
  EXPECT_EQ(cycles[0], 17 + 511 * 4u);
  // 2,048 cycles of data and two or three refreshes.
  EXPECT_GT(cycles[1], cycles[0] + 2 * 200);
  EXPECT_LT(cycles[1], cycles[0] + 3 * 250);
}

TEST(Dram, RowHitsAreCounted) {
  Machine m;
  m.run(loadAtRest(1024));
  Statistics s = m.device.statistics();
  ASSERT_TRUE(s.dramRowHits && s.dramColumnAccesses);
  EXPECT_EQ(*s.dramColumnAccesses * 64, s.dramBytesRead + s.dramBytesWritten);
  // Both loads but for the first atom of each bank group.
  EXPECT_GE(*s.dramRowHits, 32u - 4);
  EXPECT_LT(*s.dramRowHits, *s.dramColumnAccesses);
}

} // namespace tessera::sim::test
