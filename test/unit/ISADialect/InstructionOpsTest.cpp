//===- InstructionOpsTest.cpp - Between operations and instructions -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "tessera/Support/Random.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tessera;
using namespace tessera::isa;

namespace {

class InstructionOps : public testing::Test {
protected:
  InstructionOps() { context.loadDialect<ISADialect>(); }

  MLIRContext context;
  OpBuilder builder{&context};
};

/// Fields within the limits of their kinds, semaphores where there may be any.
Instruction randomInstruction(const InstInfo &info, Random &random) {
  Instruction inst;
  do {
    inst = {};
    inst.opcode = info.opcode;
    for (size_t i = 0; i < info.fields.size(); ++i) {
      const FieldInfo &field = info.fields[i];
      int64_t bits = int64_t(random.next());
      inst.fields[i] = field.isSigned ? bits >> (64 - field.bits)
                                      : bits & ((1ll << field.bits) - 1);
    }
    for (unsigned i = 0; info.hasWaits && i < random.below(4); ++i)
      inst.waits[i] = {uint8_t(10 * i + random.below(10)),
                       uint16_t(1 + random.below(maxSemaphoreStep))};
    for (unsigned i = 0; info.hasSignals && i < random.below(4); ++i)
      inst.signals[i] = {uint8_t(10 * i + random.below(10)),
                         uint16_t(1 + random.below(maxSemaphoreStep))};
  } while (!verify(inst).ok());
  return inst;
}

/// Operations without a parent do not verify, and print no less well.
std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, OpPrintingFlags().assumeVerified());
  return StringRef(text).rtrim('\n').str();
}

} // namespace

TEST_F(InstructionOps, EveryInstructionSurvives) {
  Random random(8);
  for (const InstInfo &info : allInsts()) {
    if (info.opcode == Opcode::LOOP || info.opcode == Opcode::LOOPR)
      continue;
    for (int round = 0; round < 20; ++round) {
      Instruction inst = randomInstruction(info, random);
      OwningOpRef<Operation *> op =
          createInstruction(builder, builder.getUnknownLoc(), inst);
      EXPECT_EQ(getInstInfo(*op), &info);
      EXPECT_EQ(getInstruction(*op), inst) << print(inst);
      // The dialect's text is the disassembler's.
      EXPECT_EQ(textOf(*op), print(inst));
    }
  }
}

TEST_F(InstructionOps, TextParsesBackToTheInstruction) {
  Random random(9);
  for (const InstInfo &info : allInsts()) {
    if (branchOffset({info.opcode}) || loopLength({info.opcode}) ||
        info.opcode == Opcode::TDLOAD || info.opcode == Opcode::MAP ||
        info.opcode == Opcode::LDARG)
      continue; // Need more around them; the lit tests have them.
    for (int round = 0; round < 20; ++round) {
      Instruction inst = randomInstruction(info, random);
      std::string source =
          "isa.kernel @k args 0 {\n" + print(inst) + "\nisa.halt\n}";
      OwningOpRef<ModuleOp> module =
          parseSourceString<ModuleOp>(source, &context);
      ASSERT_TRUE(module) << source;
      auto kernel = *module->getOps<KernelOp>().begin();
      EXPECT_EQ(getInstruction(&kernel.getBody().front().front()), inst)
          << source;
    }
  }
}

TEST_F(InstructionOps, LoopLengthCountsNestedInstructions) {
  Instruction loop{Opcode::LOOP}, fence{Opcode::FENCE};
  loop.fields[loop::rd] = 3;
  loop.fields[loop::count] = 5;
  OwningOpRef<Operation *> outer =
      createInstruction(builder, builder.getUnknownLoc(), loop);
  OpBuilder body = OpBuilder::atBlockEnd(getLoopBody(*outer));
  createInstruction(body, builder.getUnknownLoc(), fence);
  Operation *inner = createInstruction(body, builder.getUnknownLoc(), loop);
  OpBuilder innerBody = OpBuilder::atBlockEnd(getLoopBody(inner));
  createInstruction(innerBody, builder.getUnknownLoc(), fence);
  createInstruction(innerBody, builder.getUnknownLoc(), fence);
  createInstruction(body, builder.getUnknownLoc(), fence);
  EXPECT_EQ(getInstruction(inner).get(loop::length), 2);
  EXPECT_EQ(getInstruction(*outer).get(loop::length), 5);
  EXPECT_EQ(getInstruction(*outer).get(loop::count), 5);
}

TEST_F(InstructionOps, DescriptorsAndMapProgramsSurvive) {
  Descriptor td;
  td.space = Space::Acc;
  td.format = NumericFormat::I32;
  td.rank = 6;
  td.base = 1ull << 47;
  td.extents = {1, 2, 3, 4, 5, 6};
  td.strides = {-1, 0, 1ll << 40, 3, 2, 1};
  td.padding = 0xffffffff;
  OwningOpRef<DescriptorOp> descriptor =
      createDescriptor(builder, builder.getUnknownLoc(), td);
  EXPECT_EQ(descriptor->getDescriptor(), td);
  EXPECT_EQ(textOf(*descriptor), "isa.descriptor " + print(td));

  MapProgram program;
  program.inputs = 2;
  program.outputs = 2;
  program.outRegs = {3, 0};
  program.ops = {{LaneOpcode::CONST, 2, 0, 0, 0, 0xffffffff},
                 {LaneOpcode::FMA, 3, 0, 1, 2}};
  OwningOpRef<MapProgramOp> map =
      createMapProgram(builder, builder.getUnknownLoc(), "p", program);
  EXPECT_EQ(map->getProgram(), program);
  EXPECT_EQ(textOf(*map), "isa.map_program @p inputs 2 outputs [r3, r0] {\n"
                          "  const r2, 0xffffffff\n"
                          "  fma r3, r0, r1, r2\n"
                          "}");
}
