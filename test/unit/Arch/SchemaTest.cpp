//===- SchemaTest.cpp - The table of keys ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include "tessera/Support/File.h"
#include <gtest/gtest.h>
#include <set>

using namespace tessera;
using namespace tessera::schema;

TEST(Schema, PathsAreUniqueAndDocumented) {
  std::set<std::string_view> paths;
  for (const Key &key : keys()) {
    EXPECT_TRUE(paths.insert(key.path).second) << key.path;
    EXPECT_FALSE(key.doc.empty()) << key.path;
    EXPECT_EQ(key.presence == Presence::Derived, !key.defaultText.empty())
        << key.path;
    EXPECT_EQ(findKey(key.path), &key);
  }
}

/// Each entry points at a member of its own: a change through it changes the
/// printed file in that key's line alone, and is read back.
TEST(Schema, EveryIntegerReachesItsOwnMember) {
  const Architecture original = *loadArchitecture("server");
  std::string before = printArchitecture(original);
  for (const Key &key : keys()) {
    auto *type = std::get_if<IntegerType>(&key.type);
    if (!type)
      continue;
    Architecture changed = original;
    uint64_t value = type->get(changed);
    type->set(changed, value * 2 + 64);
    EXPECT_EQ(type->get(changed), value * 2 + 64) << key.path;
    EXPECT_NE(changed, original) << key.path;
    std::string after = printArchitecture(changed);
    size_t differing = 0;
    for (const Key &other : keys())
      differing += formatValue(other, changed) != formatValue(other, original);
    EXPECT_EQ(differing, 1u) << key.path;
    EXPECT_NE(after, before) << key.path;
  }
}

TEST(Schema, DefaultsAreInRange) {
  Architecture defaults;
  for (const Key &key : keys())
    if (auto *type = std::get_if<IntegerType>(&key.type);
        type && key.presence == Presence::Optional) {
      EXPECT_GE(type->get(defaults), type->min) << key.path;
      EXPECT_LE(type->get(defaults), type->max) << key.path;
    }
}

TEST(Schema, DramTimingSetsAreConsistent) {
  for (const DramPreset &preset : dramPresetTable()) {
    SCOPED_TRACE(preset.name);
    Architecture arch = *loadArchitecture("tiny");
    std::string name = arch.dram.preset;
    std::string text(*architecturePresetText("tiny"));
    text.replace(text.find(name), name.size(), preset.name);
    Result<Architecture> loaded = parseArchitecture(text, "x");
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    const DramConfig &dram = loaded->dram;
    // The name ends in the rate of a pin in MT/s.
    double rate =
        std::stod(std::string(preset.name.substr(preset.name.rfind('-') + 1)));
    EXPECT_NEAR(dram.transfersPerClock / dram.tckNs * 1000, rate, 1e-6);
    EXPECT_GE(dram.tRC, dram.tRAS + dram.tRP);
    EXPECT_EQ(dram.burstLength / dram.transfersPerClock, dram.tCCDS);
    EXPECT_EQ(dram.tRTW, dram.tCL + dram.tCCDS + 2 - dram.tCWL);
    EXPECT_NEAR(dram.tRCDRD * dram.tckNs, 14, 5);
  }
}

TEST(Schema, CommittedReferenceIsUpToDate) {
  Result<std::string> committed =
      readTextFile(TESSERA_SOURCE_DIR "/docs/architecture-file.md");
  ASSERT_TRUE(committed.ok()) << committed.status().message();
  EXPECT_TRUE(*committed == architectureFileReference())
      << "build the target tessera_arch_docs and commit the page";
}
