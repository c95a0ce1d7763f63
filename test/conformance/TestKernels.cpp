//===- TestKernels.cpp - Small kernels for scenarios ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestKernels.h"

using namespace tessera::isa;

namespace tessera::runtime {

static Instruction
instruction(Opcode opcode,
            std::initializer_list<std::pair<unsigned, int64_t>> fields) {
  Instruction inst;
  inst.opcode = opcode;
  for (auto [index, value] : fields)
    inst.fields[index] = value;
  return inst;
}

std::vector<Instruction> TestKernel::spin(uint64_t cycles) {
  return {instruction(Opcode::LOOP,
                      {{loop::count, int64_t(cycles - 2)}, {loop::length, 1}}),
          instruction(Opcode::LI, {{li::rd, 1}, {li::imm, 0}}),
          instruction(Opcode::HALT, {})};
}

std::vector<Instruction> TestKernel::endless() {
  return {instruction(Opcode::LI, {{li::rd, 1}, {li::imm, 0}}),
          instruction(Opcode::JUMP, {{jump::offset, -1}}),
          instruction(Opcode::HALT, {})};
}

Result<TestKernel> TestKernel::create(const AddressSpace &constSpace,
                                      const std::vector<Instruction> &program,
                                      Options options) {
  AddressSpace space = constSpace;
  TestKernel kernel;
  std::vector<uint8_t> bytes;
  for (const Instruction &inst : program)
    TESSERA_RETURN_IF_ERROR(encode(inst, bytes));
  BufferOptions text;
  text.label = "text";
  text.access = {true, false, options.executable};
  TESSERA_ASSIGN_OR_RETURN(kernel.text, space.allocate(bytes.size(), text));
  TESSERA_RETURN_IF_ERROR(
      kernel.text.write(0, std::as_bytes(std::span(bytes))));
  KernelRecord record;
  record.text = kernel.text.address();
  record.textBytes = uint32_t(bytes.size());
  auto image = encode(record);
  TESSERA_ASSIGN_OR_RETURN(kernel.record, space.allocate(image.size()));
  TESSERA_RETURN_IF_ERROR(
      kernel.record.write(0, std::as_bytes(std::span(image))));
  return kernel;
}

std::array<uint8_t, packetBytes>
TestKernel::packet(uint64_t budget, SemaphoreValue completion) const {
  DispatchPacket body;
  body.kernel = record.address();
  body.budget = budget;
  body.completion = completion;
  return encode(Packet{0, 0, body});
}

} // namespace tessera::runtime
