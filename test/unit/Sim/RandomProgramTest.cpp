//===- RandomProgramTest.cpp - Programs in any order -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs over all queues, with semaphores where two instructions
// conflict and nothing else orders them. An interpreter runs them one
// instruction at a time; the device must leave the same bytes however fast its
// parts are. Then semaphores are taken away: where the checker finds no race,
// the bytes must still be the same.
//
//===----------------------------------------------------------------------===//

#include "RandomProgramReference.h"
#include "tessera/Support/Random.h"
#include <thread>

namespace tessera::sim::test {

using namespace random_program;

namespace {

/// A semaphore between two instructions.
struct HandOver {
  size_t from = 0, to = 0; ///< Positions in the program.
  uint8_t sem = 0;
};

class RandomProgram {
public:
  explicit RandomProgram(uint64_t seed, unsigned length = 40,
                         unsigned matrixEngines = 1)
      : matrixEngines(matrixEngines), random(seed) {
    isa::MapProgram clamp;
    clamp.inputs = 2;
    clamp.ops = {
        {isa::LaneOpcode::ADDF, 0, 0, 1, 0, 0},
        {isa::LaneOpcode::CONST, 1, 0, 0, 0, std::bit_cast<uint32_t>(-4.0f)},
        {isa::LaneOpcode::MAXF, 0, 0, 1, 0, 0},
        {isa::LaneOpcode::CONST, 1, 0, 0, 0, std::bit_cast<uint32_t>(4.0f)},
        {isa::LaneOpcode::MINF, 0, 0, 1, 0, 0}};
    kernel.maps.push_back(clamp);
    for (float &value : initial.global)
      value = float(random.between(-4, 4));
    for (unsigned i = 0; i < length; ++i)
      add(below(2) ? any() : vector());
    // What is in the core's memories at the end can be seen outside.
    for (uint32_t t = 0; t < spmTiles + integerTiles; ++t)
      add({Opcode::STORE,
           whole(Space::Global, globalTiles + t),
           {whole(Space::Spm, t)}});
    for (uint32_t t = 0; t < accTiles; ++t)
      add({Opcode::STORE,
           whole(Space::Global, globalTiles + spmTiles + integerTiles + t),
           {whole(Space::Acc, t)}});
    kernel.halt();
    initial.global.resize((globalTiles + spmTiles + integerTiles + accTiles) *
                          tile);
    Memories memories = initial;
    for (const Operation &o : operations)
      memories.run(o);
    expected = memories.global;
  }

  Kernel kernel;
  Memories initial;
  std::vector<float> expected;
  std::vector<HandOver> handOvers;

  /// Cycles that rows stream through the matrix engines (one block each, f32 at
  /// half rate), and that their queues' own instructions take.
  uint64_t matrixCycles() const {
    uint64_t cycles = 0;
    for (const isa::Instruction &inst : kernel.program)
      cycles += inst.info().group == isa::InstGroup::Sync &&
                isa::matrixEngineOf(inst.queue()).has_value();
    for (const Operation &o : operations)
      if (o.opcode == Opcode::MMA)
        cycles += 2 * uint64_t(o.out.rows);
    return cycles;
  }

private:
  uint32_t below(uint32_t limit) { return uint32_t(random.below(limit)); }
  static View whole(Space space, uint32_t t) {
    return {space, t * tile, side, side, side};
  }
  /// A corner of a tile.
  View part(Space space, uint32_t tiles, uint32_t rows, uint32_t columns) {
    View v = whole(space, below(tiles));
    v.base += below(side - rows + 1) * side + below(side - columns + 1);
    v.rows = rows, v.columns = columns;
    return v;
  }

  Operation any() {
    uint32_t rows = 1 + below(side), columns = 1 + below(side);
    Operation o;
    switch (below(6)) {
    case 0:
      o.opcode = Opcode::FILL;
      o.out = part(Space::Spm, spmTiles, rows, columns);
      o.value = float(random.between(-4, 4));
      break;
    case 1:
      o.opcode = Opcode::LOAD;
      o.out = part(Space::Spm, spmTiles, rows, columns);
      o.in = {part(Space::Global, loadableTiles, rows, columns)};
      break;
    case 2:
      o.opcode = Opcode::STORE;
      if (below(2)) {
        o.out = part(Space::Global, loadableTiles, rows, columns);
        o.in = {part(Space::Spm, spmTiles, rows, columns)};
      } else {
        o.out = part(Space::Global, globalTiles - loadableTiles, rows, columns);
        o.out.base += loadableTiles * tile;
        o.in = {part(Space::Acc, accTiles, rows, columns)};
      }
      break;
    case 3: {
      uint32_t depth = 1 + below(side);
      o.opcode = Opcode::MMA;
      o.out = part(Space::Acc, accTiles, rows, columns);
      o.in = {part(Space::Spm, spmTiles, rows, depth),
              part(Space::Spm, spmTiles, depth, columns)};
      o.accumulate = below(2);
      if (matrixEngines > 1)
        o.engine = below(matrixEngines);
      break;
    }
    default: {
      auto operand = [&] {
        bool isAcc = below(3) == 0;
        return part(isAcc ? Space::Acc : Space::Spm,
                    isAcc ? accTiles : spmTiles, rows, columns);
      };
      o.opcode = Opcode::MAP;
      o.out = operand();
      o.in = {operand(), operand()};
    }
    }
    return o;
  }

  /// Sums are in the accumulators, and so is whatever is made of what is there:
  /// the scratchpad's values stay small, and all sums exact.
  View operand(bool isAcc, uint32_t rows, uint32_t columns) {
    return part(isAcc ? Space::Acc : Space::Spm, isAcc ? accTiles : spmTiles,
                rows, columns);
  }
  View integers(uint32_t rows, uint32_t columns) {
    View v = part(Space::Spm, integerTiles, rows, columns);
    v.base += spmTiles * tile;
    return v;
  }

  Operation vector() {
    uint32_t rows = 1 + below(side), columns = 1 + below(side);
    bool isAcc = below(3) == 0, toAcc = isAcc || below(3) == 0;
    Operation o;
    o.accumulate = below(2);
    o.dims = 1 + below(3);
    uint32_t keptRows = o.dims & 1 ? 1 : rows,
             keptColumns = o.dims & 2 ? 1 : columns;
    switch (below(8)) {
    case 0: {
      o.opcode = Opcode::REDUCE;
      const uint32_t kinds[] = {0, 1, 2, 4, 5};
      o.kind = kinds[below(5)];
      if (o.kind == 0)
        isAcc = false, toAcc = true;
      o.in = {operand(isAcc, rows, columns)};
      o.out = operand(toAcc, keptRows, keptColumns);
      if (o.kind > 3)
        o.second = integers(keptRows, keptColumns);
      break;
    }
    case 1:
      o.opcode = Opcode::SCAN;
      o.kind = below(3);
      if (o.kind == 0)
        isAcc = false;
      toAcc |= o.kind == 0 || o.accumulate;
      // The identities of maximum and minimum are no small integers.
      o.flags[0] = below(2) && (o.kind == 0 || o.accumulate);
      o.flags[1] = below(2);
      o.flags[2] = below(2);
      o.in = {operand(isAcc, rows, columns)};
      o.out = operand(toAcc, rows, columns);
      if (o.flags[2] || o.accumulate)
        do
          o.second = operand(toAcc, keptRows, keptColumns);
        while (o.second->overlaps(o.out));
      break;
    case 2:
      o.opcode = Opcode::SELECT;
      o.accumulate = false;
      o.flags[0] = below(2);
      o.in = {below(2) ? integers(rows, columns)
                       : operand(below(2), rows, columns),
              operand(isAcc, rows, columns), operand(isAcc, rows, columns)};
      if (o.flags[0])
        o.in.pop_back();
      o.out = operand(toAcc, rows, columns);
      break;
    case 3:
      o.opcode = Opcode::CONVERT;
      o.accumulate = false;
      o.in = {operand(false, rows, columns)};
      o.out = integers(rows, columns);
      break;
    case 4:
      o.opcode = Opcode::CONVERT;
      o.accumulate = false;
      o.in = {integers(rows, columns)};
      o.out = operand(true, rows, columns);
      break;
    case 5:
      o.opcode = Opcode::TRANSPOSE;
      o.accumulate = false;
      o.in = {operand(isAcc, rows, columns)};
      o.out = operand(toAcc, columns, rows);
      break;
    case 6: {
      uint32_t count = 1 + below(side);
      o.opcode = Opcode::GATHER;
      o.accumulate = false;
      o.in = {operand(isAcc, rows, columns), integers(1, count)};
      o.out = operand(toAcc, count, columns);
      break;
    }
    default: {
      uint32_t k = 1 + below(columns);
      o.opcode = Opcode::TOPK;
      o.flags[0] = below(2);
      o.in = {operand(isAcc, rows, columns)};
      o.out = operand(toAcc, rows, k);
      o.second = integers(rows, k);
    }
    }
    return o;
  }

  /// Descriptors: t0 the result, then the inputs, then the second result.
  void addVector(const Operation &o) {
    int64_t second = 1 + int64_t(o.in.size());
    namespace r = isa::reduce;
    namespace c = isa::scan;
    namespace e = isa::select;
    namespace g = isa::gather;
    namespace k = isa::topk;
    switch (o.opcode) {
    case Opcode::REDUCE:
      kernel.add(o.opcode, {{r::dst, 0},
                            {r::src, 1},
                            {r::indices, second},
                            {r::kind, o.kind},
                            {r::dims, o.dims},
                            {r::accumulate, o.accumulate}});
      break;
    case Opcode::SCAN:
      kernel.add(o.opcode, {{c::dst, 0},
                            {c::src, 1},
                            {c::total, second},
                            {c::kind, o.kind},
                            {c::dims, o.dims},
                            {c::exclusive, o.flags[0]},
                            {c::reverse, o.flags[1]},
                            {c::with_total, o.flags[2]},
                            {c::accumulate, o.accumulate}});
      break;
    case Opcode::SELECT:
      kernel.add(o.opcode, {{e::dst, 0},
                            {e::mask, 1},
                            {e::a, 2},
                            {e::b, 3},
                            {e::keep, o.flags[0]}});
      break;
    case Opcode::CONVERT:
      kernel.add(o.opcode, {{isa::convert::dst, 0}, {isa::convert::src, 1}});
      break;
    case Opcode::TRANSPOSE:
      kernel.add(o.opcode,
                 {{isa::transpose::dst, 0}, {isa::transpose::src, 1}});
      break;
    case Opcode::GATHER: {
      // The indices are a row.
      isa::Descriptor &index = kernel.descriptors.back();
      index.rank = 1;
      index.extents = {index.extents[1], 1, 1, 1, 1, 1};
      index.strides = {1, 0, 0, 0, 0, 0};
      kernel.add(o.opcode,
                 {{g::dst, 0}, {g::src, 1}, {g::index, 2}, {g::pad, 1}});
      break;
    }
    default:
      kernel.add(o.opcode, {{k::dst, 0},
                            {k::src, 1},
                            {k::indices, second},
                            {k::smallest, o.flags[0]},
                            {k::accumulate, o.accumulate}});
    }
  }

  void add(const Operation &o) {
    auto me = size_t(o.queue()) - 1;
    unsigned reg = 0;
    isa::Descriptor out = o.out.descriptor();
    if (o.opcode == Opcode::STORE && o.in[0].isInteger())
      out.format = NumericFormat::I32;
    kernel.td(reg++, out);
    for (const View &v : o.in)
      kernel.td(reg++, v.descriptor());
    if (o.second)
      kernel.td(reg++, o.second->descriptor());
    size_t position = kernel.program.size();
    switch (o.opcode) {
    case Opcode::FILL:
      kernel.add(Opcode::FILL, {{isa::fill::dst, 0},
                                {isa::fill::value,
                                 int64_t(std::bit_cast<uint32_t>(o.value))}});
      break;
    case Opcode::LOAD:
      kernel.load(0, 1);
      break;
    case Opcode::STORE:
      kernel.store(0, 1);
      break;
    case Opcode::MMA:
      kernel.mma(0, 1, 2, o.accumulate);
      kernel.program.back().fields[isa::mma::queue] = o.engine;
      break;
    case Opcode::MAP:
      kernel.map(0, 0, {1, 2});
      break;
    default:
      addVector(o);
    }
    // What precedes it: its queue's predecessors and all that they knew of.
    Knowledge known = knowledge[me];
    unsigned waits = 0;
    for (size_t q = 0; q < queues; ++q) {
      if (q == me)
        continue;
      size_t i = inQueue[q].size();
      while (i > known[q] && !operations[inQueue[q][i - 1]].conflicts(o))
        --i;
      if (i-- <= known[q])
        continue;
      // It, or a later one of its queue, signals; if none has a place, one
      // behind them all.
      auto sem = uint8_t(q * queues + me);
      while (i < inQueue[q].size() && !signal(positions[inQueue[q][i]], sem))
        ++i;
      size_t earlier = inQueue[q][std::min(i, inQueue[q].size() - 1)];
      size_t from = positions[earlier];
      if (i == inQueue[q].size()) {
        --i;
        from = position;
        isa::Instruction behind = queueOp(Opcode::SIGNAL, Queue(q + 1));
        behind.signals[0] = {sem, 1};
        insertAt(position++, behind);
      }
      // What does not fit waits in the queue ahead of it.
      if (waits == isa::maxWaits) {
        isa::Instruction ahead = queueOp(Opcode::WAIT, o.queue());
        ahead.waits = std::exchange(kernel.program[position].waits, {});
        insertAt(position++, ahead);
        waits = 0;
      }
      kernel.program[position].waits[waits++] = {sem, 1};
      handOvers.push_back({from, position, sem});
      for (size_t other = 0; other < queues; ++other)
        known[other] = std::max(known[other], clocks[earlier][other]);
      known[q] = i + 1;
    }
    known[me] = inQueue[me].size() + 1;
    knowledge[me] = known;
    inQueue[me].push_back(operations.size());
    operations.push_back(o);
    positions.push_back(position);
    clocks.push_back(known);
  }

  static isa::Instruction queueOp(Opcode opcode, Queue queue) {
    isa::Instruction inst;
    inst.opcode = opcode;
    inst.fields[isa::wait::queue] = int64_t(queue);
    return inst;
  }
  /// Moves the instruction there, the last one, by one place.
  void insertAt(size_t position, const isa::Instruction &inst) {
    kernel.program.insert(kernel.program.begin() + long(position), inst);
    for (HandOver &h : handOvers)
      if (h.to == position && inst.opcode == Opcode::SIGNAL)
        ++h.to;
  }

  /// False if it has no place left.
  bool signal(size_t position, uint8_t sem) {
    for (isa::SemaphoreStep &s : kernel.program[position].signals)
      if (s.count == 0) {
        s = {sem, 1};
        return true;
      }
    return false;
  }

  const unsigned matrixEngines;
  Random random;
  std::vector<Operation> operations;
  std::vector<size_t> positions;
  /// ld, st, mx, vx, mx1; how many of each queue's instructions are over.
  static constexpr size_t queues = 5;
  using Knowledge = std::array<size_t, queues>;
  std::vector<Knowledge> clocks;
  std::array<std::vector<size_t>, queues> inQueue;
  std::array<Knowledge, queues> knowledge{};
};

/// Every other program uses two matrix engines.
unsigned enginesOf(uint64_t seed) { return 1 + unsigned(seed % 2); }

/// Machines whose parts race in different ways.
Architecture speed(unsigned variant) {
  Architecture a = tinyArchitecture();
  a.matrix.count = 2;
  a.tdmemBytes = 1 << 20;
  a.imemBytes = 1 << 20;
  switch (variant) {
  case 0:
    break;
  case 1: // slow memory
    a.queueDepth = 64;
    a.dram.tRCDRD = 300;
    a.dram.tRCDWR = 5;
    break;
  case 2: // slow vector engine
    a.queueDepth = 64;
    a.vector.latency = 150;
    a.dma.loadBursts = a.dma.storeBursts = 4;
    a.dram.tRCDRD = a.dram.tCL = a.dram.tRCDWR = a.dram.tCWL = 1;
    break;
  case 3: // slow matrix engine
    a.queueDepth = 64;
    a.matrix.fillLatency = 200;
    a.vector.lanes = 64;
    break;
  default: // one place in each queue
    a.queueDepth = 1;
    a.dram.tRCDWR = 300;
    a.dma.outstanding = 1;
  }
  return a;
}
constexpr unsigned speeds = 5;

/// Any machine that can run the programs: what an architecture file may set
/// without a change of the program.
Architecture anySpeed(Random &random) {
  auto pick = [&](std::initializer_list<uint32_t> values) {
    return values.begin()[random.below(values.size())];
  };
  Architecture a = tinyArchitecture();
  a.matrix.count = 2;
  a.queueDepth = pick({1, 2, 3, 8, 64});
  a.matrix.fillLatency = pick({1, 2, 9, 200});
  a.vector.lanes = pick({1, 4, 8, 64});
  a.vector.aluSlots = pick({1, 2, 4});
  a.vector.sfuLanes = pick({1, 8});
  a.vector.latency = pick({1, 8, 150});
  a.vector.readPorts = pick({1, 2, 3});
  a.vector.writePorts = pick({1, 2});
  a.spm.banks = pick({1, 3, 16, 64});
  a.spm.bankWidth = pick({4, 16, 64});
  a.dma.loadBursts = pick({1, 2, 4});
  a.dma.storeBursts = pick({1, 2, 4});
  a.dma.burstBytes = pick({16, 64, 256});
  a.dma.outstanding = pick({1, 3, 64});
  a.noc.hopCycles = pick({1, 20});
  a.noc.linkBytes = pick({8, 64});
  a.dram.tRCDRD = pick({1, 10, 300});
  a.dram.tRCDWR = pick({1, 8, 300});
  a.dram.tCL = pick({1, 10, 60});
  a.dram.tCWL = pick({1, 8, 60});
  a.tlb.l2Latency = pick({1, 20});
  return a;
}

/// The same bits, but that the sign of a zero does not matter.
bool same(const std::vector<float> &a, const std::vector<float> &b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](float x, float y) {
        return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y) ||
               (x == 0 && y == 0);
      });
}

struct Outcome {
  std::vector<float> memory;
  bool completed = false, race = false;
  std::string findings;
};

Outcome runAt(const RandomProgram &program, const Kernel &kernel,
              const Architecture &arch, bool checks) {
  DeviceOptions options = Machine::smallHost();
  options.checks.race = options.checks.sync = checks;
  Machine m(arch, options);
  m.write(Machine::dataArea, program.initial.global);
  isa::Packet packet;
  packet.body = m.place(kernel);
  m.submit(packet);
  m.settle();
  Outcome outcome;
  outcome.completed = m.device.statistics().dispatches.size() == 1;
  outcome.memory = m.read<float>(Machine::dataArea, program.expected.size());
  for (const Finding &f : m.device.findings()) {
    outcome.race |= f.kind == Finding::Kind::Race;
    outcome.findings += print(f, nullptr);
  }
  return outcome;
}

} // namespace

TEST(RandomProgram, LeavesTheReferencesBytesAtAnySpeed) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomProgram program(seed, 40, enginesOf(seed));
    for (unsigned s = 0; s < speeds; ++s) {
      Outcome o = runAt(program, program.kernel, speed(s), s == 0);
      ASSERT_TRUE(o.completed) << "seed " << seed << ", machine " << s;
      ASSERT_EQ(o.findings, "") << "seed " << seed;
      ASSERT_TRUE(same(o.memory, program.expected))
          << "seed " << seed << ", machine " << s;
    }
  }
}

TEST(RandomProgram, WithoutAHandOverThereIsARaceOrNoDifference) {
  unsigned races = 0, differences = 0, harmless = 0;
  for (uint64_t seed = 100; seed < 112; ++seed) {
    RandomProgram program(seed, 40, enginesOf(seed));
    for (const HandOver &h : program.handOvers) {
      Kernel kernel = program.kernel;
      auto remove = [&](auto &steps) {
        for (auto &step : steps)
          if (step.count && step.sem == h.sem)
            step = {};
        std::stable_partition(steps.begin(), steps.end(),
                              [](const auto &step) { return step.count; });
      };
      remove(kernel.program[h.from].signals);
      remove(kernel.program[h.to].waits);
      Outcome o = runAt(program, kernel, speed(0), true);
      bool differs = false;
      for (unsigned s = 0; s < speeds; ++s)
        differs |= !same(runAt(program, kernel, speed(s), false).memory,
                         program.expected);
      races += o.race;
      differences += differs;
      harmless += !o.race;
      ASSERT_TRUE(o.completed);
      ASSERT_TRUE(o.race || !differs)
          << "seed " << seed << ", s" << unsigned(h.sem) << " from pc "
          << h.from << " to pc " << h.to;
    }
  }
  // A few are implied by what another queue hands over to the same instruction.
  EXPECT_LT(harmless, races / 4);
  EXPECT_GT(races, 100u);
  EXPECT_GT(differences, 20u);
}

/// Many short programs, each on a machine of its own speeds; what differs.
std::vector<std::string> fuzz(uint64_t first, uint64_t count) {
  std::vector<std::string> wrong;
  for (uint64_t seed = first; seed < first + count && wrong.size() < 5;
       ++seed) {
    Random random(seed);
    Architecture arch = anySpeed(random);
    RandomProgram program(seed, 3 + unsigned(random.below(8)), enginesOf(seed));
    Outcome o = runAt(program, program.kernel, arch, false);
    if (!o.completed || !same(o.memory, program.expected))
      wrong.push_back("seed " + std::to_string(seed) +
                      (o.completed ? ": other bytes" : ": did not complete"));
  }
  return wrong;
}

/// On as many threads as the host has cores, as devices share nothing.
void fuzzAll(uint64_t first, uint64_t count) {
  unsigned threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::vector<std::string>> wrong(threads);
  std::vector<std::thread> workers;
  for (unsigned t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      uint64_t from = first + count * t / threads,
               to = first + count * (t + 1) / threads;
      wrong[t] = fuzz(from, to - from);
    });
  for (std::thread &worker : workers)
    worker.join();
  for (const std::vector<std::string> &messages : wrong)
    for (const std::string &message : messages)
      ADD_FAILURE() << message;
}

#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t fuzzed = 2'000; // each takes ten times as long
#else
constexpr uint64_t fuzzed = 100'000;
#endif

TEST(RandomProgram, HundredThousandAtAnySpeed) { fuzzAll(1'000'000, fuzzed); }

/// Runs with --gtest_also_run_disabled_tests; other seeds than the above.
TEST(RandomProgram, DISABLED_TenMillionAtAnySpeed) {
  fuzzAll(10'000'000, 10'000'000);
}

/// At any moment every cycle of every engine has one cause, and what an engine
/// did itself can be counted from the program.
TEST(RandomProgram, EveryEngineCycleHasOneCause) {
  EngineCycles seen;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    Architecture arch = anySpeed(random);
    RandomProgram program(seed, 3 + unsigned(random.below(20)),
                          enginesOf(seed));
    Machine m(arch);
    m.write(Machine::dataArea, program.initial.global);
    isa::Packet packet;
    packet.body = m.place(program.kernel);
    m.submit(packet);
    Time slice = (1 + random.below(900)) * 1'000'000; // cycles of 1 ns
    StopReason reason = StopReason::Deadline;
    for (Time at = slice; reason != StopReason::Quiescent; at += slice) {
      while ((reason = m.device.advance(at)) == StopReason::Interrupted)
        (void)m.device.takeInterrupts();
      Statistics s = m.device.statistics();
      ASSERT_EQ(s.cores[0].engines.size(), numEngines + 1);
      for (size_t e = 0; e < numEngines + 1; ++e)
        ASSERT_EQ(s.cores[0].engines[e].total(), s.cycles)
            << "seed " << seed << ", " << engineName(Engine(e));
    }
    Statistics s = m.device.statistics();
    const EngineTable &engines = s.cores[0].engines;
    ASSERT_EQ(engines.matrix()[StallCause::Busy], program.matrixCycles())
        << "seed " << seed;
    ASSERT_EQ(engines[size_t(Engine::Sequencer)][StallCause::Busy],
              s.cores[0].instructions)
        << "seed " << seed;
    for (const EngineCycles &engine : engines)
      seen += engine;
  }
  // The programs meet every cause but those that need other cores or a signal
  // of the sequencer.
  for (size_t cause = 0; cause < numStallCauses; ++cause)
    if (StallCause(cause) != StallCause::Barrier &&
        StallCause(cause) != StallCause::WaitSequencer)
      EXPECT_GT(seen.byCause[cause], 0u) << stallCauseName(StallCause(cause));
}

} // namespace tessera::sim::test
