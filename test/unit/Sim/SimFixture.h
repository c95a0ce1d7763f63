//===- SimFixture.h - A small machine for simulator tests -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_SIMFIXTURE_H
#define TESSERA_TEST_UNIT_SIM_SIMFIXTURE_H

#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/Packet.h"
#include "tessera/sim/Device.h"
#include <gtest/gtest.h>
#include <initializer_list>

namespace tessera::sim::test {

/// The preset `tiny`, written out so that its numbers do not move under the
/// tests' hand computations.
Architecture tinyArchitecture();
/// The same with a bank for every word of the scratchpad: no conflicts.
Architecture conflictFreeArchitecture();

/// A row-major tensor.
isa::Descriptor tensor(isa::Space space, NumericFormat format,
                       std::initializer_list<uint32_t> extents, uint64_t base);

/// A kernel under construction: one method per instruction used in tests.
struct Kernel {
  std::vector<isa::Instruction> program;
  std::vector<isa::Descriptor> descriptors;
  std::vector<isa::MapProgram> maps;
  std::vector<uint64_t> arguments;
  uint64_t budget = 0;

  using Step = isa::SemaphoreStep;
  isa::Instruction &
  add(isa::Opcode opcode,
      std::initializer_list<std::pair<unsigned, int64_t>> fields = {},
      std::initializer_list<Step> waits = {},
      std::initializer_list<Step> signals = {});
  void li(unsigned rd, int64_t value);
  /// Adds the descriptor to the constants and loads it.
  void td(unsigned reg, const isa::Descriptor &descriptor);
  void load(unsigned dst, unsigned src, std::initializer_list<Step> waits = {},
            std::initializer_list<Step> signals = {});
  void store(unsigned dst, unsigned src, std::initializer_list<Step> waits = {},
             std::initializer_list<Step> signals = {});
  /// a [M, K] · b [K, N], or b [N, K] with `byColumn`.
  void mma(unsigned acc, unsigned a, unsigned b, bool accumulate = false,
           std::initializer_list<Step> waits = {},
           std::initializer_list<Step> signals = {}, bool byColumn = false);
  void map(unsigned program, unsigned out,
           std::initializer_list<unsigned> inputs,
           std::initializer_list<Step> waits = {},
           std::initializer_list<Step> signals = {});
  void wait(isa::Queue queue, std::initializer_list<Step> waits);
  void signal(isa::Queue queue, std::initializer_list<Step> signals);
  /// Holds the sequencer for `cycles` cycles.
  void pause(unsigned cycles);
  void halt() { add(isa::Opcode::HALT); }
};

/// One traced instruction: when it began and ended, in cycles after the
/// kernel's first.
struct Span {
  uint64_t begin = 0, end = 0;
};

/// A device whose DRAM is mapped one to one, with kernels run through the
/// command processor.
class Machine : public TraceObserver {
public:
  explicit Machine(const Architecture &arch = tinyArchitecture(),
                   const DeviceOptions &options = smallHost());
  static DeviceOptions smallHost() {
    DeviceOptions options;
    options.hostMemoryBytes = 1 << 20;
    return options;
  }

  static constexpr uint64_t pageTable = 0x1000;
  static constexpr uint64_t kernelArea = 0x100000;
  static constexpr uint64_t dataArea = 0x400000;
  static constexpr uint32_t ringPackets = 64;
  static constexpr uint32_t doneSemaphore = 1;

  /// Puts the kernel in memory at `area` and returns a packet that runs it.
  isa::DispatchPacket place(const Kernel &kernel, uint64_t area = kernelArea);
  void submit(const isa::Packet &packet, bool ring = true);
  void ringDoorbell();
  /// Places, submits, and runs until nothing happens; the kernel's record.
  DispatchRecord run(const Kernel &kernel);
  /// Runs until quiescent and forgets the interrupts.
  void settle();
  /// The cause of queue 0's fault.
  isa::mmio::FaultCause fault();
  uint64_t queueRegister(uint64_t offset);
  uint64_t semaphore(uint32_t index);

  template <typename T>
  void write(uint64_t address, const std::vector<T> &values) {
    ASSERT_TRUE(device
                    .writeMemory(isa::PhysicalSpace::Dram, address,
                                 std::as_bytes(std::span(values)))
                    .ok());
  }
  template <typename T> std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> values(count);
    EXPECT_TRUE(device
                    .readMemory(isa::PhysicalSpace::Dram, address,
                                std::as_writable_bytes(std::span(values)))
                    .ok());
    return values;
  }

  void event(const TraceEvent &event) override { trace.push_back(event); }
  /// The n-th execution of the instruction at `pc`.
  Span span(uint32_t pc, unsigned n = 0);

  Device device;
  std::vector<TraceEvent> trace;
  uint64_t published = 0;
  uint64_t nextValue = 1;
};

/// Lets what was submitted run to its end and saves the device every so many
/// events. From each of the snapshots, at least ten, a device must come to the
/// same end: a new one, and one that has run before.
void expectSnapshotsGoOn(Machine &reference, unsigned every);

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_SIMFIXTURE_H
