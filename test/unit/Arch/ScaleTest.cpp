//===- ScaleTest.cpp - Tests of architectures with one change -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/Scale.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::HasSubstr;

TEST(Scale, EveryGroupMakesItsUnitTwiceAsFast) {
  Architecture edge = *loadArchitecture("edge");
  for (const ScaleGroup &group : scaleGroups()) {
    Result<Architecture> scaled = scaleArchitecture(edge, group.name, 2);
    ASSERT_TRUE(scaled.ok()) << scaled.status().message();
    EXPECT_NE(*scaled, edge) << group.name;
    // Only the matrix engine's speed is part of what objects depend on.
    EXPECT_EQ(scaled->isaHash() == edge.isaHash(), group.name != "matrix")
        << group.name;
    // A file of it gives the same machine.
    Result<Architecture> again =
        parseArchitecture(printArchitecture(*scaled), "scaled.yaml");
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, *scaled) << group.name;
  }
}

TEST(Scale, Groups) {
  Architecture edge = *loadArchitecture("edge");
  EXPECT_DOUBLE_EQ(scaleArchitecture(edge, "dram", 2)->dram.peakBytesPerNs(),
                   2 * edge.dram.peakBytesPerNs());
  EXPECT_EQ(scaleArchitecture(edge, "vector", 4)->vector.lanes,
            4 * edge.vector.lanes);
  // Latencies are whole cycles, rounded up.
  EXPECT_EQ(scaleArchitecture(edge, "cp", 3)->cp.fetch,
            (edge.cp.fetch + 2) / 3);
  Architecture matrix = *scaleArchitecture(edge, "matrix", 2);
  for (auto [format, scale] : edge.matrix.macsScale)
    EXPECT_DOUBLE_EQ(matrix.matrix.macsScale[format], 2 * scale);
}

TEST(Scale, AnyNumberOfTheFile) {
  Architecture edge = *loadArchitecture("edge");
  EXPECT_EQ(scaleArchitecture(edge, "vector.latency", 2)->vector.latency,
            2 * edge.vector.latency);
  EXPECT_DOUBLE_EQ(scaleArchitecture(edge, "clock_ghz", 1.5)->clockGhz,
                   1.5 * edge.clockGhz);
  EXPECT_EQ(*scaleArchitecture(edge, "noc.link_bytes", 1), edge);
}

TEST(Scale, ChannelsOfEveryPreset) {
  for (std::string_view name : architecturePresets()) {
    Architecture arch = *loadArchitecture(std::string(name));
    Result<Architecture> wider = scaleArchitecture(arch, "dram.channels", 2);
    ASSERT_TRUE(wider.ok()) << name << ": " << wider.status().message();
    EXPECT_EQ(wider->dram.channels, 2 * arch.dram.channels);
    EXPECT_NE(wider->dram.mapping, arch.dram.mapping);
    EXPECT_DOUBLE_EQ(wider->dram.peakBytesPerNs(),
                     2 * arch.dram.peakBytesPerNs());
  }
}

TEST(Scale, Errors) {
  Architecture edge = *loadArchitecture("edge");
  auto message = [&](std::string_view key, double factor) {
    Result<Architecture> result = scaleArchitecture(edge, key, factor);
    return result.ok() ? "accepted" : result.status().message();
  };
  EXPECT_THAT(message("speed", 2), HasSubstr("speed=2: there is no such key; "
                                             "accepted: matrix, vector, dram"));
  EXPECT_THAT(message("name", 2), HasSubstr("name=2: is no number"));
  EXPECT_THAT(message("noc.topology", 2), HasSubstr("is no number"));
  EXPECT_THAT(message("dram", 0), HasSubstr("a number above 0"));
  EXPECT_THAT(message("dram", -1), HasSubstr("a number above 0"));
  EXPECT_THAT(message("dram", NAN), HasSubstr("a number above 0"));
  EXPECT_THAT(message("vector.latency", 1.03),
              HasSubstr("accepted: a whole number from 1 to 1024"));
  EXPECT_THAT(message("spm.bank_width", 3),
              HasSubstr("accepted: a power of two"));
  EXPECT_THAT(message("llc.bytes", 2), HasSubstr("is 0"));
  EXPECT_THAT(message("matrix", 100), HasSubstr("macs_scale of "));
  EXPECT_THAT(message("cores.count", 3), HasSubstr("cores.mesh"));
}
