//===- CoreFaultsTest.cpp - Faults are exact and survived ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each way in which a kernel can be wrong: the record names core, instruction
// and cause, and the device then runs the next dispatch as if nothing had been.
//
//===----------------------------------------------------------------------===//

#include "SimFixture.h"
#include <functional>

namespace tessera::sim::test {

using isa::Opcode;
using isa::Queue;
using isa::Space;
using isa::mmio::FaultCause;

namespace {

struct Record {
  FaultCause cause = FaultCause::None;
  uint64_t core = 0, pc = 0, address = 0;
  bool operator==(const Record &) const = default;
};
std::ostream &operator<<(std::ostream &os, const Record &r) {
  return os << isa::mmio::faultCauseName(r.cause) << ", core " << r.core
            << ", pc " << r.pc << ", address " << r.address;
}

constexpr uint64_t data = Machine::dataArea;

isa::Descriptor spm(uint32_t elements, uint64_t base = 0) {
  return tensor(Space::Spm, NumericFormat::F32, {elements}, base);
}
isa::Descriptor global(uint32_t elements, uint64_t base = data) {
  return tensor(Space::Global, NumericFormat::F32, {elements}, base);
}

/// Runs the kernel, which must fault, and then a good one.
Record faultOf(const Kernel &kernel,
               const std::function<void(Machine &)> &change = {},
               const Architecture &arch = tinyArchitecture(),
               uint8_t cores = 1) {
  Machine m(arch);
  isa::DispatchPacket dispatch = m.place(kernel);
  dispatch.width = cores;
  if (change)
    change(m);
  isa::Packet packet;
  packet.body = dispatch;
  m.submit(packet);
  m.settle();
  Record record{m.fault(), m.queueRegister(isa::mmio::faultCore),
                m.queueRegister(isa::mmio::faultPc),
                m.queueRegister(isa::mmio::faultAddress)};
  EXPECT_EQ(m.queueRegister(isa::mmio::queueStatus),
            uint64_t(isa::mmio::QueueStatus::Faulted));
  EXPECT_EQ(m.semaphore(Machine::doneSemaphore), 0u);

  for (uint64_t value : {0, 1})
    EXPECT_TRUE(
        m.device.mmioWrite(isa::mmio::queueBase + isa::mmio::queueEnable, value)
            .ok());
  m.published = 0;
  m.write(data, std::vector<float>{1, 2, 3, 4});
  Kernel good;
  good.td(0, spm(4));
  good.td(1, global(4));
  good.td(2, global(4, data + 64));
  good.load(0, 1, {}, {{7, 1}});
  good.store(2, 0, {{7, 1}});
  good.halt();
  m.run(good);
  EXPECT_EQ(m.fault(), FaultCause::None);
  EXPECT_EQ(m.read<float>(data + 64, 4), (std::vector<float>{1, 2, 3, 4}));
  return record;
}

/// Its text's byte `at` is replaced.
std::function<void(Machine &)> byte(uint64_t at, uint8_t value) {
  return [=](Machine &m) {
    m.write(Machine::kernelArea + 0x10000 + at, std::vector<uint8_t>{value});
  };
}
/// The same of its first descriptor.
std::function<void(Machine &)> descriptorByte(uint64_t at, uint8_t value) {
  return [=](Machine &m) {
    m.write(Machine::kernelArea + 0x40000 + at, std::vector<uint8_t>{value});
  };
}

Kernel with(const std::function<void(Kernel &)> &body) {
  Kernel k;
  body(k);
  k.halt();
  return k;
}

Architecture twoCores() {
  Architecture a = tinyArchitecture();
  a.cores.count = 2;
  a.cores.meshX = 2;
  a.cores.meshY = 1;
  return a;
}

} // namespace

TEST(CoreFaults, IllegalEncodings) {
  Kernel k = with([](Kernel &k) {
    k.li(1, 0);
    k.wait(Queue::Ld, {}); // bytes 16 to 47
    k.li(1, 0);
  });
  Record illegal{FaultCause::IllegalInstruction, 0, 1, 1};
  EXPECT_EQ(faultOf(k, byte(16, 0xff)), illegal); // no such opcode
  EXPECT_EQ(faultOf(k, byte(20, 1)), illegal);    // a reserved bit
  EXPECT_EQ(faultOf(k, byte(17, 12)), illegal);   // no such queue anywhere
  EXPECT_EQ(faultOf(k, byte(33, 0x80)), illegal); // a wait for 0
  EXPECT_EQ(faultOf(k, byte(47, 1)), illegal);    // reserved in the list
  Kernel dim = with([](Kernel &k) {
    k.li(1, 0);
    k.add(Opcode::TDEXTENT);
  });
  EXPECT_EQ(faultOf(dim, byte(19, 0x60)), illegal); // dimension 6
  // The text ends in the middle of an instruction of two words.
  Kernel cut;
  cut.li(1, 0);
  cut.halt();
  EXPECT_EQ(faultOf(cut, byte(16, uint8_t(Opcode::WAIT))), illegal);
  // It ends without a halt.
  Kernel open;
  open.li(1, 0);
  EXPECT_EQ(faultOf(open), illegal);
}

TEST(CoreFaults, SemaphoresBeyondTheArchitecture) {
  Architecture arch = tinyArchitecture();
  arch.semaphores = 8;
  auto illegal = [](uint32_t pc) {
    return Record{FaultCause::IllegalInstruction, 0, pc, 9};
  };
  EXPECT_EQ(faultOf(with([](Kernel &k) {
                      k.li(1, 0);
                      k.wait(Queue::Vx, {{9, 1}});
                    }),
                    {}, arch),
            illegal(1));
  EXPECT_EQ(faultOf(with([](Kernel &k) { k.signal(Queue::Seq, {{9, 1}}); }), {},
                    arch),
            illegal(0));
  EXPECT_EQ(faultOf(with([](Kernel &k) {
                      k.add(Opcode::SIGNALCORE, {{isa::signal_core::sem, 9},
                                                 {isa::signal_core::count, 1}});
                    }),
                    {}, arch),
            illegal(0));
}

TEST(CoreFaults, MalformedDescriptors) {
  Kernel k = with([](Kernel &k) {
    k.li(1, 0);
    k.td(0, spm(4));
  });
  Record illegal{FaultCause::IllegalDescriptor, 0, 1, 0};
  EXPECT_EQ(faultOf(k, descriptorByte(0, 9)), illegal);  // space
  EXPECT_EQ(faultOf(k, descriptorByte(1, 9)), illegal);  // format
  EXPECT_EQ(faultOf(k, descriptorByte(2, 7)), illegal);  // rank
  EXPECT_EQ(faultOf(k, descriptorByte(3, 1)), illegal);  // reserved
  EXPECT_EQ(faultOf(k, descriptorByte(16, 0)), illegal); // an extent of 0
  EXPECT_EQ(faultOf(k, descriptorByte(20, 2)), illegal); // beyond the rank
  EXPECT_EQ(faultOf(k, descriptorByte(88, 1)), illegal); // a block scale
  Kernel none = with(
      [](Kernel &k) { k.add(Opcode::TDLOAD, {{isa::td_load::index, 3}}); });
  EXPECT_EQ(faultOf(none), (Record{FaultCause::DescriptorIndex, 0, 0, 3}));
}

TEST(CoreFaults, OperandsOutOfBounds) {
  auto load = [](isa::Descriptor to, isa::Descriptor from) {
    return faultOf(with([&](Kernel &k) {
      k.td(0, to);
      k.td(1, from);
      k.li(1, 0);
      k.load(0, 1);
      k.li(1, 0);
    }));
  };
  isa::Descriptor negative = spm(4, 8);
  negative.strides[0] = -1;
  EXPECT_EQ(load(negative, global(4)),
            (Record{FaultCause::SpmOutOfBounds, 0, 3, 8}));
  EXPECT_EQ(load(spm(4, 65524), global(4)),
            (Record{FaultCause::SpmOutOfBounds, 0, 3, 65524}));
  EXPECT_EQ(load(spm(1u << 26), global(1u << 26)),
            (Record{FaultCause::SpmOutOfBounds, 0, 3, 0}));
  EXPECT_EQ(load(spm((1u << 26) + 1), global((1u << 26) + 1)),
            (Record{FaultCause::IllegalDescriptor, 0, 3, 0}));
  EXPECT_EQ(load(spm(4, 2), global(4)),
            (Record{FaultCause::Misaligned, 0, 3, 2}));
  EXPECT_EQ(load(spm(4), global(4, data + 1)),
            (Record{FaultCause::Misaligned, 0, 3, data + 1}));
  // 128 MiB are mapped: the run breaks off at their end.
  EXPECT_EQ(load(spm(8), global(8, (1u << 27) - 16)),
            (Record{FaultCause::PageFault, 0, 3, 1u << 27}));
  EXPECT_EQ(faultOf(with([](Kernel &k) {
              k.td(0, tensor(Space::Acc, NumericFormat::F32, {4}, 16380));
              k.td(1, global(4));
              k.store(1, 0);
            })),
            (Record{FaultCause::AccOutOfBounds, 0, 2, 16380}));
}

// What a page's entry says, for every instruction that moves to or from memory.
TEST(CoreFaults, Pages) {
  constexpr unsigned page = 20;
  constexpr uint64_t at = uint64_t(page) << 21;
  using Edit = std::function<void(isa::PageEntry &)>;
  auto entry = [&](const Edit &edit) {
    return [=](Machine &m) {
      isa::PageEntry e;
      e.valid = e.leaf = e.read = e.write = true;
      e.address = at;
      edit(e);
      m.write<uint64_t>(0x3000 + 8 * page, {e.encode()});
    };
  };
  const Edit absent = [](isa::PageEntry &e) { e.valid = false; },
             unreadable = [](isa::PageEntry &e) { e.read = false; },
             readOnly = [](isa::PageEntry &e) { e.write = false; },
             poisoned = [](isa::PageEntry &e) { e.poison = true; },
             beyond = [](isa::PageEntry &e) { e.address = 1ull << 32; },
             foreign = [](isa::PageEntry &e) { e.device = 1; };

  auto operands = [&](Kernel &k, bool loads) {
    k.td(loads ? 0 : 1, spm(4));
    k.td(loads ? 1 : 0, global(4, at));
    k.td(2, tensor(Space::Spm, NumericFormat::I32, {4}, 4096));
    k.add(Opcode::FILL, {{isa::fill::dst, 2}, {isa::fill::value, 3}}, {},
          {{0, 1}});
    k.wait(Queue::Seq, {{0, 1}});
    k.li(3, 1 << 16 | 1 << 24);
  };
  constexpr uint64_t pc = 6;
  Kernel load = with([&](Kernel &k) {
    operands(k, true);
    k.load(0, 1);
  });
  Kernel gather = with([&](Kernel &k) {
    operands(k, true);
    k.add(Opcode::LOADGATHER, {{isa::load_gather::dst, 0},
                               {isa::load_gather::src, 1},
                               {isa::load_gather::index, 2}});
  });
  Kernel multicast = with([&](Kernel &k) {
    operands(k, true);
    k.add(Opcode::LOADMULTICAST, {{isa::load_multicast::dst, 0},
                                  {isa::load_multicast::src, 1},
                                  {isa::load_multicast::ra, 3},
                                  {isa::load_multicast::sem, 4},
                                  {isa::load_multicast::count, 1}});
  });
  Kernel store = with([&](Kernel &k) {
    operands(k, false);
    k.store(0, 1);
  });
  Kernel scatter = with([&](Kernel &k) {
    operands(k, false);
    k.add(Opcode::STORESCATTER, {{isa::store_scatter::dst, 0},
                                 {isa::store_scatter::src, 1},
                                 {isa::store_scatter::index, 2}});
  });
  // Row 3 of a table of single elements.
  constexpr uint64_t row = at + 12;
  struct Case {
    const Kernel *kernel;
    uint64_t address;
    bool reads;
  };
  for (const Case &c : {Case{&load, at, true}, Case{&gather, row, true},
                        Case{&multicast, at, true}, Case{&store, at, false},
                        Case{&scatter, row, false}}) {
    auto expected = [&](FaultCause cause) {
      return Record{cause, 0, pc, c.address};
    };
    EXPECT_EQ(faultOf(*c.kernel, entry(absent)),
              expected(FaultCause::PageFault));
    EXPECT_EQ(faultOf(*c.kernel, entry(c.reads ? unreadable : readOnly)),
              expected(FaultCause::ProtectionFault));
    EXPECT_EQ(faultOf(*c.kernel, entry(poisoned)),
              expected(FaultCause::PoisonedPage));
    EXPECT_EQ(faultOf(*c.kernel, entry(beyond)),
              expected(FaultCause::BusError));
    EXPECT_EQ(faultOf(*c.kernel, entry(foreign)),
              expected(FaultCause::BusError));
  }
}

TEST(CoreFaults, SemaphoreCounts) {
  // 65 · 1,000 + 536 is one too many; the engine's signal is at fault.
  EXPECT_EQ(faultOf(with([](Kernel &k) {
              k.add(Opcode::LOOP,
                    {{isa::loop::count, 65}, {isa::loop::length, 1}});
              k.signal(Queue::Seq, {{4, 1000}});
              k.td(0, spm(4));
              k.add(Opcode::FILL, {}, {}, {{4, 536}});
            })),
            (Record{FaultCause::SemaphoreOverflow, 0, 3, 4}));
  EXPECT_EQ(faultOf(with([](Kernel &k) {
              k.li(1, 0);
              k.signal(Queue::Vx, {{5, 3}});
            })),
            (Record{FaultCause::SemaphoreNotZero, 0, 2, 5}));
  EXPECT_EQ(faultOf(with([](Kernel &k) {
              k.wait(Queue::Vx, {{0, 1}});
              k.li(1, 0);
              k.wait(Queue::Mx, {{0, 1}});
              k.pause(20);
            })),
            (Record{FaultCause::SemaphoreWaiters, 0, 2, 0}));
}

TEST(CoreFaults, CountsThatNeverCome) {
  // A semaphore cannot go below 0: a wait for too much is a wait. The watchdog
  // ends it and says where the sequencer stood.
  Kernel k = with([](Kernel &k) {
    k.signal(Queue::Seq, {{2, 1}});
    k.li(1, 0);
    k.wait(Queue::Seq, {{2, 2}});
  });
  k.budget = 500;
  EXPECT_EQ(faultOf(k), (Record{FaultCause::Watchdog, 0, 2, 500}));
  // On the second core: the first one has halted.
  Kernel second = with([](Kernel &k) {
    k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
    k.add(Opcode::BEQ,
          {{isa::beq::ra, 1}, {isa::beq::rb, 0}, {isa::beq::offset, 2}});
    k.add(Opcode::JUMP, {{isa::jump::offset, 0}});
  });
  second.budget = 500;
  EXPECT_EQ(faultOf(second, {}, twoCores(), 2),
            (Record{FaultCause::Watchdog, 1, 2, 500}));
}

TEST(CoreFaults, OnTheCoreThatIsWrong) {
  Kernel k = with([](Kernel &k) {
    k.add(Opcode::COREID, {{isa::coreid::rd, 1}});
    k.add(Opcode::DIVU,
          {{isa::divu::rd, 2}, {isa::divu::ra, 1}, {isa::divu::rb, 1}});
    k.pause(50);
    k.add(Opcode::TRAP, {{isa::trap::code, 77}});
  });
  // Core 0 divides by 0; core 1 would trap later.
  EXPECT_EQ(faultOf(k, {}, twoCores(), 2),
            (Record{FaultCause::DivideByZero, 0, 1, 0}));
  k.program[1] = {};
  k.program[1].opcode = Opcode::LI;
  k.program.insert(k.program.begin() + 1, k.program[1]);
  k.program[1].opcode = Opcode::BEQ; // core 0 goes to its halt
  k.program[1].fields = {1, 0, 5};
  EXPECT_EQ(faultOf(k, {}, twoCores(), 2),
            (Record{FaultCause::Trap, 1, 5, 77}));
}

TEST(CoreFaults, ProgramsTooLarge) {
  Architecture arch = tinyArchitecture();
  arch.imemBytes = 256;
  Kernel text = with([](Kernel &k) {
    for (int i = 0; i < 16; ++i)
      k.li(1, 0);
  });
  EXPECT_EQ(faultOf(text, {}, arch),
            (Record{FaultCause::InstructionMemoryOverflow, 0, 0, 17 * 16}));
  Kernel descriptors;
  descriptors.halt();
  // The good kernel that follows has three descriptors of its own.
  arch.imemBytes = 4096;
  arch.tdmemBytes = 384;
  descriptors.descriptors.assign(4, spm(4));
  EXPECT_EQ(faultOf(descriptors, {}, arch),
            (Record{FaultCause::DescriptorMemoryOverflow, 0, 0, 512}));
}

} // namespace tessera::sim::test
