//===- VerifyTest.cpp - The rules of an object ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleObject.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <functional>

using namespace tessera;
using testing::HasSubstr;

namespace {

/// The change makes the object bad, both in memory and in a file whose checksum
/// is right.
void expectRefused(const std::function<void(Object &)> &change,
                   std::string_view message) {
  Object object = test::sampleObject();
  change(object);
  Status status = verifyObject(object);
  EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << message;
  EXPECT_THAT(status.message(), HasSubstr(message));
  Result<Object> read = readObject(writeObject(object), "changed");
  EXPECT_FALSE(read.ok()) << message;
}

} // namespace

TEST(VerifyObject, Kernels) {
  expectRefused([](Object &o) { o.kernels[0].text.pop_back(); },
                ".text.scale: instruction 9");
  expectRefused([](Object &o) { o.kernels[0].text.clear(); }, "is empty");
  expectRefused([](Object &o) { o.kernels[0].text[0] = 0xee; },
                "unknown opcode 0xee");
  expectRefused([](Object &o) { o.kernels[0].descriptors.pop_back(); },
                "instruction 1: descriptor 1 of 1");
  expectRefused([](Object &o) { o.mapPrograms.clear(); }, "map program 0 of 0");
  expectRefused([](Object &o) { o.kernels[0].numArguments = 0; },
                "argument 0 of 0");
  expectRefused([](Object &o) { o.kernels[0].descriptors[1].rank = 7; },
                ".tsr.desc.scale: number 1");
  expectRefused([](Object &o) { o.kernels[1].name = "scale"; }, "twice");
  expectRefused([](Object &o) { o.kernels[1].name.clear(); }, "empty");
  expectRefused(
      [](Object &o) { o.kernels[0].locations[1].firstInstruction = 0; },
      ".tsr.loc.scale: entry 1");
  expectRefused(
      [](Object &o) { o.kernels[0].locations[1].firstInstruction = 10; },
      "beyond");
}

TEST(VerifyObject, MapPrograms) {
  expectRefused([](Object &o) { o.mapPrograms[0] = 9; }, ".tsr.map");
}

TEST(VerifyObject, Relocations) {
  expectRefused([](Object &o) { o.relocations[0].offset = 4; },
                "no 8-byte slot");
  expectRefused([](Object &o) { o.relocations[2].offset = 32; },
                "no 8-byte slot of 32");
  expectRefused([](Object &o) { o.relocations[1].offset = 0; },
                "not after its predecessor");
  expectRefused(
      [](Object &o) { std::swap(o.relocations[0], o.relocations[3]); },
      "not after its predecessor");
  expectRefused([](Object &o) { o.args[0] = 1; }, "the slot is not 0");
  expectRefused([](Object &o) { o.relocations[6].target.offset = 3001; },
                "rodata + 3001");
  expectRefused([](Object &o) { o.relocations[2].target.offset = 4097; },
                "shared arena + 4097");
  expectRefused([](Object &o) { o.args.pop_back(); }, "whole slots");
}

TEST(VerifyObject, IndicesOfSymbols) {
  // No file can say these: they would be another symbol's number.
  for (auto [kind, message] :
       {std::pair(SymbolKind::Input, "input 2 of 2"),
        std::pair(SymbolKind::Output, "output 2 of 1"),
        std::pair(SymbolKind::Rodata, "rodata 2 of 1"),
        std::pair(SymbolKind::Kernel, "kernel 2 of 2")}) {
    Object object = test::sampleObject();
    object.relocations[0].target = {kind, 2, 0};
    EXPECT_THAT(verifyObject(object).message(), HasSubstr(message));
  }
}

TEST(VerifyObject, Packets) {
  expectRefused([](Object &o) { o.commands.pop_back(); }, "whole packets");
  expectRefused([](Object &o) { o.commands[64] = 0x7f; }, "packet 1");
  expectRefused([](Object &o) { o.commands[24] = 2; },
                "packet 0: 2 arguments; kernel scale expects 3");
  expectRefused([](Object &o) { o.relocations[4].target.offset = 16; },
                "24 bytes at args + 16");
  expectRefused([](Object &o) { o.relocations[3].target = {}; },
                "points at no kernel");
  expectRefused(
      [](Object &o) { o.relocations.erase(o.relocations.begin() + 4); },
      "arguments is not a relocation");
  expectRefused([](Object &o) { o.relocations[5].target.offset = 65500; },
                "packet 1: destination: 64 bytes at arena + 65500");
  expectRefused([](Object &o) { o.relocations[5].offset = 64 + 40; },
                "not after its predecessor");
  expectRefused([](Object &o) { o.relocations[6].offset = 64 + 40; },
                "packet 1: source is not a relocation");
  expectRefused(
      [](Object &o) {
        o.relocations.push_back({Relocation::Section::Commands, 128 + 40, {}});
      },
      "packet 2: a relocation lies on a field that is no address");
}

TEST(VerifyObject, Reports) {
  expectRefused([](Object &o) { o.dispatches[1].packet = 3; }, "packet 3 of 3");
  expectRefused([](Object &o) { o.dispatches[0].liveBytes = 69633; },
                "69633 bytes are live; the arenas have 65536 and 4096");
  expectRefused([](Object &o) { o.dispatches[0].operators = {2}; },
                "operator 2 of 2");
  expectRefused([](Object &o) { o.workload[0].format = NumericFormat(99); },
                "unknown format 99");
  expectRefused([](Object &o) { o.workload[1].producers = {1}; },
                "producer 1 of operator 1");
  expectRefused([](Object &o) { o.workload[1].producers = {0, 0}; },
                "producer 0 of operator 1");
}

TEST(VerifyObject, Signatures) {
  expectRefused([](Object &o) { o.inputs[0].shape[0] += 1; }, "input");
  expectRefused([](Object &o) { o.outputs[0].bytes += 4; }, "output");
  expectRefused([](Object &o) { o.inputs[0].type = "f33"; }, "unknown type");
  expectRefused(
      [](Object &o) { o.inputs[0].shape = {3, 9223372036854775825ull}; },
      "overflows");
}
