//===- SnapshotTest.cpp - Save, restore, determinism, tracing, random programs
//-*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Random.h"
#include <bit>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;

/// A tiled product with everything under way at once: C = relu(A · B), A
/// streamed in four double-buffered tiles of 16 rows.
static Kernel tiledProduct() {
  Kernel k;
  isa::MapProgram relu;
  relu.inputs = 1;
  relu.ops.push_back({isa::LaneOpcode::CONST, 1, 0, 0, 0, 0});
  relu.ops.push_back({isa::LaneOpcode::MAXF, 0, 0, 1, 0, 0});
  relu.outRegs = {0, 0};
  k.maps.push_back(relu);
  auto a = [](uint64_t base) {
    return tensor(Space::Spm, NumericFormat::BF16, {16, 32}, base);
  };
  k.td(0, a(0));
  k.td(1, a(1024));
  k.td(2, tensor(Space::Spm, NumericFormat::BF16, {32, 24}, 2048));
  k.td(3,
       tensor(Space::Global, NumericFormat::BF16, {16, 32}, Machine::dataArea));
  k.td(4, tensor(Space::Global, NumericFormat::BF16, {32, 24},
                 Machine::dataArea + 0x10000));
  k.td(5, tensor(Space::Acc, NumericFormat::F32, {16, 24}, 0));
  k.td(6, tensor(Space::Spm, NumericFormat::F32, {16, 24}, 8192));
  k.td(7, tensor(Space::Global, NumericFormat::F32, {16, 24},
                 Machine::dataArea + 0x20000));
  // s0: tiles of A loaded; s1: buffers of A free; s2: products; s3:
  // accumulators free; s4: results in the scratchpad; s5: result buffer free.
  k.signal(Queue::Seq, {{1, 2}, {3, 1}, {5, 1}});
  k.load(2, 4);
  k.add(Opcode::LOOP,
        {{isa::loop::rd, 1}, {isa::loop::count, 2}, {isa::loop::length, 12}});
  for (unsigned half = 0; half < 2; ++half) {
    k.load(half, 3, {{1, 1}}, {{0, 1}});
    k.mma(5, half, 2, false, {{0, 1}, {3, 1}}, {{2, 1}, {1, 1}});
    k.map(0, 6, {5}, {{2, 1}, {5, 1}}, {{4, 1}, {3, 1}});
    k.store(7, 6, {{4, 1}}, {{5, 1}});
    k.add(Opcode::TDADDI, {{isa::td_addi::td, 3},
                           {isa::td_addi::src, 3},
                           {isa::td_addi::imm, 1024}});
    k.add(Opcode::TDADDI, {{isa::td_addi::td, 7},
                           {isa::td_addi::src, 7},
                           {isa::td_addi::imm, 1536}});
  }
  // Each semaphore is taken back to 0 by the queue that waits on it.
  k.wait(Queue::Ld, {{1, 2}});
  k.wait(Queue::Mx, {{3, 1}});
  k.wait(Queue::Vx, {{5, 1}});
  k.halt();
  return k;
}

static void fillOperands(Machine &m) {
  Random random(3);
  std::vector<uint16_t> a(64 * 32), b(32 * 24);
  for (auto *v : {&a, &b})
    for (uint16_t &x : *v)
      x = uint16_t(std::bit_cast<uint32_t>(float(random.between(-4, 4))) >> 16);
  m.write(Machine::dataArea, a);
  m.write(Machine::dataArea + 0x10000, b);
}

TEST(Kernel, TiledProductIsRight) {
  Machine m;
  fillOperands(m);
  DispatchRecord r = m.run(tiledProduct());
  auto a = m.read<uint16_t>(Machine::dataArea, 64 * 32);
  auto b = m.read<uint16_t>(Machine::dataArea + 0x10000, 32 * 24);
  auto c = m.read<float>(Machine::dataArea + 0x20000, 64 * 24);
  auto value = [](uint16_t x) {
    return std::bit_cast<float>(uint32_t(x) << 16);
  };
  for (unsigned i = 0; i < 64; ++i)
    for (unsigned j = 0; j < 24; ++j) {
      float sum = 0;
      for (unsigned l = 0; l < 32; ++l)
        sum += value(a[i * 32 + l]) * value(b[l * 24 + j]);
      ASSERT_EQ(c[i * 24 + j], std::max(sum, 0.0f)) << i << ", " << j;
    }
  EXPECT_EQ(r.macs, 64u * 24 * 32);
  Statistics s = m.device.statistics();
  EXPECT_EQ(s.macs()[size_t(NumericFormat::BF16)], 64u * 24 * 32);
  EXPECT_EQ(s.spmPeakBytes(), 8192u + 1536);
}

TEST(Kernel, RunsOnEveryPresetWithTheSameBits) {
  uint64_t hash = 0;
  for (std::string_view name : architecturePresets()) {
    Result<Architecture> arch = loadArchitecture(name);
    ASSERT_TRUE(arch.ok()) << arch.status().message();
    if (!arch->matrix.macsScale.contains(NumericFormat::BF16))
      continue;
    Machine m(*arch);
    fillOperands(m);
    DispatchRecord r = m.run(tiledProduct());
    EXPECT_GT(r.cycles(), 0u);
    auto c = m.read<uint8_t>(Machine::dataArea + 0x20000, 64 * 24 * 4);
    uint64_t h = hashBytes(std::span<const uint8_t>(c));
    EXPECT_TRUE(hash == 0 || hash == h) << name;
    hash = h;
  }
}

TEST(Snapshot, ContinuingGivesTheSameRun) {
  Machine reference;
  fillOperands(reference);
  isa::Packet packet;
  packet.body = reference.place(tiledProduct());
  reference.submit(packet);
  expectSnapshotsGoOn(reference, 41);
}

TEST(Snapshot, BadOnesAreRefused) {
  Machine m;
  m.run(tiledProduct());
  auto good = m.device.save();
  auto bad = good;
  bad[bad.size() / 2] ^= std::byte(1);
  EXPECT_EQ(m.device.restore(bad).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(m.device.restore({}).code(), StatusCode::InvalidArgument);
  Architecture arch = tinyArchitecture();
  arch.queueDepth = 4;
  Machine other(arch);
  Status refused = other.device.restore(good);
  EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
  EXPECT_NE(refused.message().find("queues.depth is 8 against 4"),
            std::string::npos)
      << refused.message();
  DeviceOptions options = Machine::smallHost();
  options.timingOnly = true;
  Machine timing(tinyArchitecture(), options);
  refused = timing.device.restore(good);
  EXPECT_EQ(refused.code(), StatusCode::FailedPrecondition);
  EXPECT_NE(refused.message().find("option timing_only is 0 against 1"),
            std::string::npos)
      << refused.message();
  EXPECT_TRUE(m.device.restore(good).ok());
}

/// Everything that a run leaves behind, as one number.
static uint64_t fingerprint(Device &device) {
  return hashBytes(std::span<const std::byte>(device.save()));
}

TEST(Snapshot, RunsAreDeterministicAndObservingChangesNothing) {
  auto run = [](bool observe) {
    Machine m;
    if (!observe)
      m.device.setTraceObserver(nullptr);
    fillOperands(m);
    m.run(tiledProduct());
    return fingerprint(m.device);
  };
  uint64_t first = run(true);
  EXPECT_EQ(first, run(true));
  EXPECT_EQ(first, run(false));
}

TEST(Snapshot, TimingOnlyTakesTheSameTime) {
  DeviceOptions options = Machine::smallHost();
  Machine full(tinyArchitecture(), options);
  options.timingOnly = true;
  Machine timing(tinyArchitecture(), options);
  EXPECT_EQ(full.run(tiledProduct()).cycles(),
            timing.run(tiledProduct()).cycles());
  EXPECT_EQ(full.device.statistics().dramBytesRead,
            timing.device.statistics().dramBytesRead);
}

TEST(Snapshot, QueueDepthChangesTimeOnly) {
  uint64_t hash = 0;
  for (uint32_t depth : {1u, 2u, 8u}) {
    Architecture arch = tinyArchitecture();
    arch.queueDepth = depth;
    Machine m(arch);
    fillOperands(m);
    m.run(tiledProduct());
    auto c = m.read<uint8_t>(Machine::dataArea + 0x20000, 64 * 24 * 4);
    uint64_t h = hashBytes(std::span<const uint8_t>(c));
    EXPECT_TRUE(hash == 0 || hash == h) << depth;
    hash = h;
  }
}

TEST(Trace, ChromeJsonIsBoundedAndStable) {
  auto run = [](size_t capacity) {
    Machine m;
    ChromeTraceWriter writer(capacity);
    m.device.setTraceObserver(&writer);
    m.run(tiledProduct());
    return std::pair(writer.json(), writer.dropped());
  };
  auto [text, dropped] = run(1 << 16);
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(text, run(1 << 16).first);
  EXPECT_NE(text.find("\"name\":\"mma\""), std::string::npos);
  EXPECT_NE(text.find("\"name\":\"dispatch 0\""), std::string::npos);
  EXPECT_GT(run(10).second, 0u);
  EXPECT_LT(run(10).first.size(), 2500u);
}

/// Whatever the bytes of a program are, the device comes to rest: finished, at
/// a fault, or waiting.
class RandomPrograms : public testing::Test {
protected:
  void runBytes(const std::vector<uint8_t> &text, Random &random, Kernel k) {
    Machine m;
    k.budget = 3000;
    isa::Packet packet;
    isa::DispatchPacket d = m.place(k);
    // The same record with the given bytes as text.
    isa::KernelRecord record;
    record.text = Machine::kernelArea + 0x10000;
    record.descriptors = Machine::kernelArea + 0x40000;
    record.mapPrograms = Machine::kernelArea + 0x80000;
    record.textBytes = uint32_t(text.size());
    record.numDescriptors = uint32_t(k.descriptors.size());
    record.mapBytes = 0;
    for (const isa::MapProgram &p : k.maps)
      record.mapBytes += uint32_t(8 + 8 * p.ops.size());
    auto image = isa::encode(record);
    m.write(Machine::kernelArea,
            std::vector<uint8_t>(image.begin(), image.end()));
    m.write(record.text, text);
    packet.body = d;
    m.submit(packet);
    for (int i = 0; m.device.step(); ++i)
      ASSERT_LT(i, 1'000'000);
    Statistics s = m.device.statistics();
    for (const CoreStatistics &core : s.cores)
      for (const EngineCycles &engine : core.engines)
        ASSERT_EQ(engine.total(), s.cycles);
    bool done = m.queueRegister(isa::mmio::queueDone) == 1;
    bool faulted = m.fault() != isa::mmio::FaultCause::None;
    ASSERT_TRUE(done != faulted);
    faults += faulted;
    finished += done;
  }
  unsigned faults = 0, finished = 0;
};

TEST_F(RandomPrograms, RandomBytes) {
  Random random(11);
  for (int n = 0; n < 100; ++n) {
    std::vector<uint8_t> text(16 * random.between(1, 20));
    for (uint8_t &b : text)
      b = uint8_t(random.next());
    runBytes(text, random, Kernel());
  }
  EXPECT_EQ(faults, 100u);
}

TEST_F(RandomPrograms, RandomInstructions) {
  Random random(12);
  auto all = isa::allInsts();
  for (int n = 0; n < 400; ++n) {
    Kernel k;
    k.maps = tiledProduct().maps;
    for (int i = 0; i < 8; ++i) {
      isa::Descriptor td;
      td.space = Space(random.below(3));
      td.format = NumericFormat(random.below(numNumericFormats));
      td.rank = uint8_t(random.below(4));
      td.base = random.below(5) == 0 ? random.next() >> random.below(64)
                                     : random.below(256) * 64;
      if (td.space == Space::Global && random.below(4))
        td.base = Machine::dataArea + random.below(64) * 32;
      for (unsigned d = 0; d < td.rank; ++d) {
        td.extents[d] = uint32_t(random.between(1, random.below(9) ? 8 : 5000));
        td.strides[d] = random.below(9)
                            ? random.between(0, 64)
                            : int64_t(random.next()) >> random.below(60);
      }
      k.descriptors.push_back(td);
    }
    std::vector<uint8_t> text;
    auto emit = [&](isa::Instruction inst) {
      std::vector<uint8_t> bytes;
      if (isa::encode(inst, bytes).ok())
        text.insert(text.end(), bytes.begin(), bytes.end());
    };
    for (unsigned r = 0; r < 8; ++r) {
      isa::Instruction inst;
      inst.opcode = Opcode::TDLOAD;
      inst.fields[isa::td_load::td] = r;
      inst.fields[isa::td_load::index] = r;
      emit(inst);
    }
    for (int i = 0; i < 30; ++i) {
      const isa::InstInfo &info = all[random.below(all.size())];
      if (info.opcode == Opcode::TRAP)
        continue;
      isa::Instruction inst;
      inst.opcode = info.opcode;
      for (size_t f = 0; f < info.fields.size(); ++f) {
        const isa::FieldInfo &field = info.fields[f];
        switch (field.kind) {
        case isa::OperandKind::ScalarReg:
        case isa::OperandKind::DescReg:
          inst.fields[f] = int64_t(random.below(8));
          break;
        case isa::OperandKind::Signed:
          inst.fields[f] = random.between(-6, 6);
          break;
        default:
          inst.fields[f] =
              int64_t(random.below(std::min<uint64_t>(1ull << field.bits, 8)));
        }
      }
      if (info.words == 2) {
        if (random.below(3) == 0)
          inst.waits[0] = {uint8_t(random.below(3)), 1};
        if (random.below(2) == 0)
          inst.signals[0] = {uint8_t(random.below(3)), 1};
      }
      emit(inst);
    }
    isa::Instruction halt;
    halt.opcode = Opcode::HALT;
    emit(halt);
    runBytes(text, random, k);
  }
  EXPECT_GT(faults, 100u);
}

} // namespace tessera::sim::test
