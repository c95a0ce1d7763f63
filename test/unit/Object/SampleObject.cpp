//===- SampleObject.cpp - An object that uses every part ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleObject.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/ISA/Packet.h"
#include "gtest/gtest.h"

namespace tessera::test {

using namespace isa;

static Instruction make(Opcode opcode,
                        std::initializer_list<int64_t> fields = {}) {
  Instruction inst;
  inst.opcode = opcode;
  std::copy(fields.begin(), fields.end(), inst.fields.begin());
  return inst;
}

static KernelCode scaleKernel() {
  KernelCode kernel;
  kernel.name = "scale";
  kernel.numArguments = 3;
  Descriptor row;
  row.rank = 2;
  row.extents = {8, 16, 1, 1, 1, 1};
  row.strides = {16, 1, 0, 0, 0, 0};
  Descriptor local = row;
  local.space = Space::Spm;
  local.base = 1024;
  kernel.descriptors = {row, local};
  Instruction load = make(Opcode::LOAD, {1, 2});
  load.signals[0] = {0, 1};
  Instruction map = make(Opcode::MAP, {0, 1, 0, 1});
  map.waits[0] = {0, 1};
  map.signals[0] = {1, 1};
  Instruction store = make(Opcode::STORE, {2, 1, 0});
  store.waits[0] = {1, 1};
  for (const Instruction &inst :
       {make(Opcode::TDLOAD, {0, 0}), make(Opcode::TDLOAD, {1, 1}),
        make(Opcode::LDARG, {1, 0}), make(Opcode::TDADD, {2, 0, 1}),
        make(Opcode::LOOP, {3, 4, 4}), load, map, store,
        make(Opcode::TDADDI, {2, 2, 512}), make(Opcode::HALT)})
    EXPECT_TRUE(encode(inst, kernel.text).ok());
  kernel.locations = {{0, "prologue"}, {5, "/layer/Mul"}};
  return kernel;
}

static KernelCode emptyKernel() {
  KernelCode kernel;
  kernel.name = "nothing";
  EXPECT_TRUE(encode(make(Opcode::HALT), kernel.text).ok());
  return kernel;
}

static void
addPacket(Object &object, uint32_t id, decltype(Packet::body) body,
          std::initializer_list<std::pair<unsigned, Reference>> addresses) {
  Packet packet{packetBarrier, id, body};
  uint64_t at = object.commands.size();
  for (auto [offset, target] : addresses)
    object.relocations.push_back(
        {Relocation::Section::Commands, at + offset, target});
  auto bytes = encode(packet);
  object.commands.insert(object.commands.end(), bytes.begin(), bytes.end());
}

Object sampleObject() {
  Object object;
  object.toolVersion = "tessera 0.1.0";
  object.architectureName = "tiny";
  object.sourceName = "model.onnx";
  object.isaKeys = "cores.count=1\nmatrix.rows=8\n";
  object.timingHash = 42;
  object.inputs = {{"image", "f32", {1, 1, 8, 64}, 2048}, {"n", "i64", {}, 8}};
  object.outputs = {{"scores", "f32", {1, 512}, 2048}};
  object.kernels = {scaleKernel(), emptyKernel()};

  MapProgram program;
  program.inputs = 1;
  program.outRegs[0] = 2;
  program.ops = {{LaneOpcode::CONST, 1, 0, 0, 0, 0x40000000},
                 {LaneOpcode::MULF, 2, 0, 1}};
  EXPECT_TRUE(encode(program, object.mapPrograms).ok());

  for (int i = 0; i < 3000; ++i)
    object.rodata.push_back(uint8_t(i * 37 >> 2));
  object.arenaBytes = 65536;
  object.sharedArenaBytes = 4096;
  object.args.assign(4 * 8, 0);
  object.args[3 * 8] = 7; // A plain number.
  object.relocations = {
      {Relocation::Section::Args, 0, {SymbolKind::Input, 0, 0}},
      {Relocation::Section::Args, 8, {SymbolKind::Output, 0, 0}},
      {Relocation::Section::Args, 16, {SymbolKind::SharedArena, 0, 128}},
  };
  DispatchPacket scale;
  scale.numArguments = 3;
  addPacket(object, 0, scale,
            {{8, {SymbolKind::Kernel, 0, 0}}, {16, {SymbolKind::Args, 0, 8}}});
  CopyPacket copy;
  copy.size = 64;
  addPacket(
      object, 1, copy,
      {{8, {SymbolKind::Arena, 0, 256}}, {16, {SymbolKind::Rodata, 0, 0}}});
  DispatchPacket nothing;
  addPacket(object, 2, nothing, {{8, {SymbolKind::Kernel, 1, 0}}});
  object.dispatches = {{"scale",
                        {"/layer/Mul", "/layer/Relu"},
                        0,
                        {0, 1},
                        {"one tile", 120},
                        {"two tiles", 150},
                        64},
                       {"nothing", {}, 2, {}, {}, {}, 0}};
  OperatorRecord record;
  record.name = "/layer/Mul";
  record.kind = "elementwise";
  record.format = NumericFormat::BF16;
  record.elements = 512;
  record.aluOps = 1;
  record.eitherEngine = true;
  OperatorRecord clamp = record;
  clamp.name = "/layer/Relu";
  clamp.producers = {0};
  object.workload = {record, clamp};
  object.compulsoryBytes = 7096;
  return object;
}

} // namespace tessera::test
