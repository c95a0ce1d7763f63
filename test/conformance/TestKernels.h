//===- TestKernels.h - Small kernels for scenarios --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_TESTKERNELS_H
#define TESSERA_TEST_CONFORMANCE_TESTKERNELS_H

#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/Packet.h"
#include "tessera/runtime/AddressSpace.h"
#include "tessera/runtime/CommandBuffer.h"
#include "tessera/runtime/Semaphore.h"

namespace tessera::runtime {

/// A small program in device memory.
struct TestKernel {
  struct Options {
    bool executable = true;
    std::vector<isa::Descriptor> descriptors{};
  };
  /// Runs for `cycles` cycles, at least 3: a loop, so many repetitions, a halt.
  static std::vector<isa::Instruction> spin(uint64_t cycles);
  /// Never ends.
  static std::vector<isa::Instruction> endless();

  /// Moves `words` words of 4 bytes from one address to another.
  static Result<TestKernel> move(const AddressSpace &space,
                                 uint64_t destination, uint64_t source,
                                 uint32_t words);

  static Result<TestKernel> create(const AddressSpace &space,
                                   const std::vector<isa::Instruction> &program,
                                   Options options);
  static Result<TestKernel>
  create(const AddressSpace &space,
         const std::vector<isa::Instruction> &program) {
    return create(space, program, Options());
  }

  /// A dispatch on core 0. `budget` 0: none.
  std::array<uint8_t, isa::packetBytes>
  packet(uint64_t budget = 0, isa::SemaphoreValue completion = {}) const;
  Kernel kernel() const { return {"test kernel", record.address(), 0, {}}; }

  Buffer text, record;
};

} // namespace tessera::runtime

#endif // TESSERA_TEST_CONFORMANCE_TESTKERNELS_H
