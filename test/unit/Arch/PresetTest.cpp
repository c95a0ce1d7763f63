//===- PresetTest.cpp - The presets ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/Architecture.h"
#include "tessera/Support/File.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::HasSubstr;

namespace {
struct Figures {
  const char *name;
  uint32_t cores, meshX, array, lanes, aluSlots, sfuLanes;
  uint64_t spm;
  uint32_t banks, bankWidth;
  uint64_t acc, shared;
  double dramPerCycleAndCore;
  uint32_t burstBytes, outstanding;
};
} // namespace

static constexpr uint64_t kib = 1024, mib = 1024 * kib;

TEST(Presets, HaveTheFiguresOfTheDesign) {
  const Figures table[] = {
      {"tiny", 1, 1, 8, 8, 1, 2, 64 * kib, 16, 16, 16 * kib, 0, 19.2, 64, 64},
      {"edge", 2, 2, 32, 32, 2, 16, mib, 32, 32, 128 * kib, 2 * mib, 25.6, 64,
       256},
      {"server", 16, 4, 128, 256, 2, 128, 4 * mib, 128, 32, 512 * kib, 64 * mib,
       204.8, 256, 512},
      {"gemmini16", 1, 1, 16, 16, 1, 4, 256 * kib, 4, 16, 64 * kib, 0, 19.2, 64,
       64},
      {"tpuv4like", 4, 2, 128, 2048, 1, 2048, 32 * mib, 1024, 32, 4 * mib, 0,
       153.6, 256, 512},
  };
  std::vector<std::string_view> names = architecturePresets();
  ASSERT_EQ(names.size(), std::size(table));
  for (size_t i = 0; i < names.size(); ++i) {
    const Figures &figures = table[i];
    SCOPED_TRACE(figures.name);
    EXPECT_EQ(names[i], figures.name);
    Result<Architecture> loaded = loadArchitecture(figures.name);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const Architecture &arch = *loaded;
    EXPECT_EQ(arch.name, figures.name);
    EXPECT_EQ(arch.clockGhz, 1.0);
    EXPECT_EQ(arch.cores.count, figures.cores);
    EXPECT_EQ(arch.cores.meshX, figures.meshX);
    EXPECT_EQ(arch.matrix.rows, figures.array);
    EXPECT_EQ(arch.matrix.cols, figures.array);
    EXPECT_EQ(arch.vector.lanes, figures.lanes);
    EXPECT_EQ(arch.vector.aluSlots, figures.aluSlots);
    EXPECT_EQ(arch.vector.sfuLanes, figures.sfuLanes);
    EXPECT_EQ(arch.spm.bytes, figures.spm);
    EXPECT_EQ(arch.spm.banks, figures.banks);
    EXPECT_EQ(arch.spm.bankWidth, figures.bankWidth);
    EXPECT_EQ(arch.acc.bytes, figures.acc);
    EXPECT_EQ(arch.shared.bytes, figures.shared);
    EXPECT_NEAR(arch.dramBytesPerCycle() / arch.cores.count,
                figures.dramPerCycleAndCore, 1e-9);
    EXPECT_EQ(arch.dma.burstBytes, figures.burstBytes);
    EXPECT_EQ(arch.dma.outstanding, figures.outstanding);
    EXPECT_EQ(arch.dma.loadBursts, 1u);
    EXPECT_EQ(arch.dma.storeBursts, 1u);
  }
}

TEST(Presets, OnlyGemminiWarns) {
  for (std::string_view name : architecturePresets()) {
    std::vector<std::string> warnings =
        architectureWarnings(*loadArchitecture(name));
    if (name == "gemmini16")
      EXPECT_THAT(warnings,
                  testing::ElementsAre(HasSubstr(
                      "spm: 64 bytes per cycle are less than the 384")));
    else
      EXPECT_THAT(warnings, testing::IsEmpty()) << name;
  }
}

TEST(Presets, PrintedFileParsesBackToTheSameStruct) {
  for (std::string_view name : architecturePresets()) {
    Architecture arch = *loadArchitecture(name);
    Result<Architecture> back =
        parseArchitecture(printArchitecture(arch), "printed");
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, arch);
    EXPECT_EQ(printArchitecture(*back), printArchitecture(arch));
  }
}

TEST(Presets, HashesTellWhatAnObjectDependsOn) {
  Architecture arch = *loadArchitecture("tiny");
  Architecture faster = arch;
  faster.dram.tCL += 1;
  faster.spm.banks = 32;
  faster.clockGhz = 2;
  EXPECT_EQ(arch.isaHash(), faster.isaHash());
  EXPECT_NE(arch.timingHash(), faster.timingHash());
  Architecture renamed = arch;
  renamed.name = "other";
  EXPECT_EQ(arch.timingHash(), renamed.timingHash());

  auto changes = [&](auto change) {
    Architecture other = arch;
    change(other);
    return other.isaHash() != arch.isaHash() &&
           other.timingHash() == arch.timingHash();
  };
  EXPECT_TRUE(changes([](Architecture &a) { a.spm.bytes *= 2; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.acc.bytes *= 2; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.shared.bytes = mib; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.imemBytes *= 2; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.matrix.rows = 16; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.matrix.count = 2; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.semaphores = 16; }));
  EXPECT_TRUE(changes([](Architecture &a) { a.cores.meshY = 2; }));
  EXPECT_TRUE(changes(
      [](Architecture &a) { a.matrix.macsScale[NumericFormat::I8] = 2; }));
}

TEST(Presets, UnknownNameListsTheNames) {
  EXPECT_EQ(loadArchitecture("huge").status().message(),
            "unknown architecture 'huge'; accepted: tiny, edge, server, "
            "gemmini16, tpuv4like, or the path of a .yaml file");
  EXPECT_THAT(loadArchitecture("/none/x.yaml").status().message(),
              HasSubstr("/none/x.yaml: cannot open"));
}

TEST(Presets, FilesAreReadByPath) {
  std::string path = testing::TempDir() + "tessera-arch-test.yml";
  ASSERT_TRUE(
      writeTextFile(path, printArchitecture(*loadArchitecture("edge"))).ok());
  EXPECT_EQ(loadArchitecture(path)->name, "edge");
  std::remove(path.c_str());
}

TEST(Presets, ListShowsEveryPreset) {
  std::string list = architectureList();
  for (std::string_view name : architecturePresets())
    EXPECT_THAT(list, HasSubstr("\n" + std::string(name) + " "));
  EXPECT_THAT(list, HasSubstr("204.8   524.288   160.0\n")) << "server";
}

TEST(Warnings, NetworkThatCannotCarryTheMemory) {
  // 4 x 4 routers, bursts of 256 bytes on links as wide: 4 links, 4 bursts of
  // which each takes one of its 2 flits across, 2 GHz: 4096 bytes per ns.
  Architecture arch = *loadArchitecture("server"); // DRAM: 3276.8
  EXPECT_THAT(architectureWarnings(arch), testing::IsEmpty());
  arch.noc.clockGhz = 1;
  EXPECT_THAT(architectureWarnings(arch),
              testing::Contains(testing::HasSubstr(
                  "2048.0 GB/s across the mesh's middle at most")));
}
