//===- VectorFixture.h - One vector instruction on bytes -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_VECTORFIXTURE_H
#define TESSERA_TEST_UNIT_SIM_VECTORFIXTURE_H

#include "SimFixture.h"
#include <cstring>

namespace tessera::sim::test {

using Fields = std::initializer_list<std::pair<unsigned, int64_t>>;

/// The scratchpad's first bytes, filled, worked on by vector instructions over
/// the descriptors t0, t1, … and read back.
class Scratchpad {
public:
  explicit Scratchpad(const Architecture &arch = tinyArchitecture(),
                      const DeviceOptions &options = Machine::smallHost())
      : machine(arch, options), image(bytes) {
    kernel.td(30, tensor(isa::Space::Spm, NumericFormat::U8, {bytes}, 0));
    kernel.td(31, tensor(isa::Space::Global, NumericFormat::U8, {bytes},
                         Machine::dataArea));
    kernel.load(30, 31, {}, {{0, 1}});
    kernel.wait(isa::Queue::Vx, {{0, 1}});
  }

  static constexpr uint32_t bytes = 32768;

  /// Puts values at a byte address before the run.
  template <typename T> void put(uint64_t at, const std::vector<T> &values) {
    std::memcpy(image.data() + at, values.data(), values.size() * sizeof(T));
  }
  template <typename T> std::vector<T> get(uint64_t at, size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), image.data() + at, count * sizeof(T));
    return values;
  }
  /// The next descriptor register, set to `td`.
  unsigned operand(const isa::Descriptor &td) {
    kernel.td(next, td);
    return next++;
  }
  unsigned spm(NumericFormat format, std::initializer_list<uint32_t> extents,
               uint64_t base) {
    return operand(tensor(isa::Space::Spm, format, extents, base));
  }
  isa::Instruction &add(isa::Opcode opcode, Fields fields) {
    last = uint32_t(kernel.program.size());
    return kernel.add(opcode, fields);
  }
  /// Runs it; the image is then what the scratchpad holds.
  DispatchRecord run() {
    finish();
    DispatchRecord record = machine.run(kernel);
    image = machine.read<uint8_t>(Machine::dataArea, bytes);
    return record;
  }
  /// Runs it and expects a fault of the instruction added last, on core 0; then
  /// that the device runs another kernel.
  isa::mmio::FaultCause fault() {
    namespace mmio = isa::mmio;
    finish();
    isa::Packet packet;
    packet.body = machine.place(kernel);
    machine.submit(packet);
    machine.settle();
    EXPECT_EQ(machine.queueRegister(mmio::faultPc), last);
    EXPECT_EQ(machine.queueRegister(mmio::faultCore), 0u);
    mmio::FaultCause cause = machine.fault();
    faultAddress = machine.queueRegister(mmio::faultAddress);
    for (uint64_t enable : {0u, 1u})
      EXPECT_TRUE(
          machine.device.mmioWrite(mmio::queueBase + mmio::queueEnable, enable)
              .ok());
    machine.published = 0;
    Kernel next;
    next.td(0, tensor(isa::Space::Spm, NumericFormat::F32, {4}, 0));
    next.add(isa::Opcode::CONVERT);
    next.halt();
    machine.run(next);
    return cause;
  }
  /// Cycles of the instruction added last.
  uint64_t cycles() {
    Span s = machine.span(last);
    return s.end - s.begin;
  }

  Machine machine;
  Kernel kernel;
  std::vector<uint8_t> image;
  uint32_t last = 0;
  uint64_t faultAddress = 0;

private:
  void finish() {
    machine.write(Machine::dataArea, image);
    kernel.signal(isa::Queue::Vx, {{1, 1}});
    kernel.store(31, 30, {{1, 1}});
    kernel.halt();
  }
  unsigned next = 0;
};

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_VECTORFIXTURE_H
