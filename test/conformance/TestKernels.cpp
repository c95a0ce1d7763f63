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

Result<TestKernel> TestKernel::move(const AddressSpace &space,
                                    uint64_t destination, uint64_t source,
                                    uint32_t words) {
  auto row = [&](Space in, uint64_t base) {
    Descriptor td;
    td.space = in;
    td.rank = 1;
    td.base = base;
    td.extents[0] = words;
    td.strides[0] = 1;
    return td;
  };
  std::vector<Instruction> program;
  for (int64_t i = 0; i < 3; ++i)
    program.push_back(
        instruction(Opcode::TDLOAD, {{td_load::td, i}, {td_load::index, i}}));
  Instruction load =
      instruction(Opcode::LOAD, {{load::dst, 1}, {load::src, 0}});
  load.signals[0] = {0, 1};
  Instruction store =
      instruction(Opcode::STORE, {{store::dst, 2}, {store::src, 1}});
  store.waits[0] = {0, 1};
  program.push_back(load);
  program.push_back(store);
  program.push_back(instruction(Opcode::HALT, {}));
  return create(space, program,
                {.descriptors = {row(Space::Global, source), row(Space::Spm, 0),
                                 row(Space::Global, destination)}});
}

Result<TestKernel> TestKernel::create(const AddressSpace &constSpace,
                                      const std::vector<Instruction> &program,
                                      Options options) {
  AddressSpace space = constSpace;
  TestKernel kernel;
  std::vector<uint8_t> bytes;
  for (const Descriptor &td : options.descriptors) {
    bytes.resize(bytes.size() + descriptorBytes);
    encode(td, std::span(bytes).last<descriptorBytes>());
  }
  uint64_t textAt = bytes.size();
  for (const Instruction &inst : program)
    TESSERA_RETURN_IF_ERROR(encode(inst, bytes));
  BufferOptions text;
  text.label = "text";
  text.access = {true, false, options.executable};
  TESSERA_ASSIGN_OR_RETURN(kernel.text, space.allocate(bytes.size(), text));
  TESSERA_RETURN_IF_ERROR(
      kernel.text.write(0, std::as_bytes(std::span(bytes))));
  KernelRecord record;
  record.text = kernel.text.address() + textAt;
  record.textBytes = uint32_t(bytes.size() - textAt);
  if (!options.descriptors.empty()) {
    record.descriptors = kernel.text.address();
    record.numDescriptors = uint32_t(options.descriptors.size());
  }
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
