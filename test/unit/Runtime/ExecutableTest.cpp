//===- ExecutableTest.cpp - Loading objects -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Executable.h"
#include "RuntimeFixture.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Support/Bytes.h"

using namespace tessera;
using namespace tessera::runtime;
using ::testing::ElementsAre;

namespace {

class ExecutableTest : public RuntimeTest {
protected:
  /// A program without arithmetic: input → shared arena, constants over its
  /// second half, → arena → output. Every kind of address is relocated.
  Object transfers() {
    Object object;
    object.architectureName = "tiny";
    object.isaKeys = isaKeys(device.architecture());
    object.timingHash = device.architecture().timingHash();
    object.inputs = {{"x", "f32", {4}, 16}};
    object.outputs = {{"y", "f32", {4}, 16}};
    object.rodata = {0, 0, 0, 0, 7, 0, 0, 0, 8, 0, 0, 0};
    object.arenaBytes = 40;
    object.sharedArenaBytes = 64;
    object.args.resize(32);
    isa::CopyPacket copy;
    auto append = [&](uint64_t bytes) {
      copy.destination = copy.source = 1; // Filled in by the loader.
      copy.size = bytes;
      auto image = isa::encode(isa::Packet{isa::packetBarrier, 0, copy});
      object.commands.insert(object.commands.end(), image.begin(), image.end());
    };
    append(16), append(8), append(16), append(16);
    using Section = Relocation::Section;
    object.relocations = {
        {Section::Commands, 8, {SymbolKind::SharedArena, 0, 32}},
        {Section::Commands, 16, {SymbolKind::Input, 0, 0}},
        {Section::Commands, 64 + 8, {SymbolKind::SharedArena, 0, 40}},
        {Section::Commands, 64 + 16, {SymbolKind::Rodata, 0, 4}},
        {Section::Commands, 128 + 8, {SymbolKind::Arena, 0, 16}},
        {Section::Commands, 128 + 16, {SymbolKind::SharedArena, 0, 32}},
        {Section::Commands, 192 + 8, {SymbolKind::Output, 0, 0}},
        {Section::Commands, 192 + 16, {SymbolKind::Arena, 0, 16}},
        {Section::Args, 0, {SymbolKind::Output, 0, 4}},
        {Section::Args, 8, {SymbolKind::Args, 0, 16}},
    };
    object.dispatches = {{"constants", {"node"}, 1, {}, {}, {}, 0}};
    return object;
  }
};

TEST_P(ExecutableTest, RunsWithBoundTensors) {
  Object object = transfers();
  Result<Executable> loaded = Executable::load(space, object, "transfers");
  ASSERT_OK(loaded.status());
  EXPECT_EQ(loaded->inputs().size(), 1u);
  EXPECT_EQ(loaded->outputs()[0].name, "y");

  Queue q = queue();
  Semaphore s = semaphore();
  for (uint32_t round = 1; round <= 2; ++round) {
    Buffer x = buffer(16, "x"), y = buffer(16, "y");
    std::vector<uint32_t> data{round, 2, 3, 4};
    EXPECT_OK(x.write(0, std::as_bytes(std::span(data))));
    EXPECT_OK(q.execute(loaded->commands(), std::array{x, y},
                        {.signal = {{s, round}}}));
    EXPECT_OK(s.wait(round));
    EXPECT_THAT(contents(y), ElementsAre(round, 2, 7, 8));
  }
}

TEST_P(ExecutableTest, BindingsAreChecked) {
  Result<Executable> loaded = Executable::load(space, transfers(), "E");
  ASSERT_OK(loaded.status());
  Queue q = queue();
  Buffer small = buffer(12, "small"), right = buffer(16);
  EXPECT_ERROR(q.execute(loaded->commands(), std::array{right, small}),
               InvalidArgument,
               "binding 'y': buffer 'small' has 12 bytes, 16 are needed");
  EXPECT_ERROR(loaded->kernel("conv").status(), InvalidArgument,
               "no kernel 'conv'");
}

TEST_P(ExecutableTest, RefusesWhatDoesNotFit) {
  Object object = transfers();
  object.isaKeys += "lanes=1\n";
  EXPECT_EQ(Executable::load(space, object).status().code(),
            StatusCode::FailedPrecondition);
  object = transfers();
  object.relocations[0].offset = 64 * 4;
  EXPECT_ERROR(Executable::load(space, object, "E").status(), InvalidArgument,
               "relocation at byte 256 of .tsr.commands");
  object = transfers();
  object.relocations[0].target.offset = 64;
  EXPECT_ERROR(Executable::load(space, object).status(), InvalidArgument,
               "byte 64 of .bss.shared");
  object = transfers();
  object.relocations[1].target.index = 1;
  EXPECT_ERROR(Executable::load(space, object).status(), InvalidArgument,
               "input 1");
  object = transfers();
  object.arenaBytes = 1ull << 46;
  EXPECT_ERROR(Executable::load(space, object, "E").status(), OutOfMemory,
               "'E .bss'");
  EXPECT_ERROR(Executable::load(AddressSpace(), object, "E").status(),
               FailedPrecondition, "'E'");
}

TEST_P(ExecutableTest, SharedArenaIsInDramIfThereIsNoRoom) {
  Architecture arch = tinyArchitecture();
  arch.shared.bytes = 128 << 10;
  device = *Device::create(makeDriver(GetParam(), arch));
  space = *AddressSpace::create(device, "context");
  Object object = transfers();
  object.sharedArenaBytes = 64 << 10;
  std::vector<Executable> loaded; // They keep their memory.
  std::vector<uint64_t> growth;   // Of what is used of DRAM.
  for (uint64_t inShared : {64 << 10, 128 << 10, 128 << 10}) {
    uint64_t before = device.bytesInUse(isa::PhysicalSpace::Dram);
    loaded.push_back(*Executable::load(space, object, "E"));
    EXPECT_EQ(device.bytesInUse(isa::PhysicalSpace::Shared), inShared);
    growth.push_back(device.bytesInUse(isa::PhysicalSpace::Dram) - before);
    EXPECT_EQ(loaded.back().missesSharedMemory(), loaded.size() == 3);
  }
  EXPECT_EQ(growth[2], growth[1] + object.sharedArenaBytes);
}

TESSERA_ON_ALL_DRIVERS(ExecutableTest);

} // namespace
