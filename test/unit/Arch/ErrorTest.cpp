//===- ErrorTest.cpp - Errors of the loader -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/Architecture.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::HasSubstr;

static const std::string base = R"(name: small
cores: {count: 4, mesh: [2, 2]}
matrix:
  rows: 8
  cols: 8
  formats:
    bf16: {macs_scale: 1}
vector: {lanes: 8}
spm: {bytes: 64 KiB, banks: 16, bank_width: 16}
acc: {bytes: 16 KiB}
dram:
  preset: DDR4-2400
)";

/// The error for the base file with one text replaced by another.
static std::string errorOf(std::string from, std::string to) {
  std::string text = base;
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  Result<Architecture> arch = parseArchitecture(text, "x.yaml");
  return arch ? "no error" : arch.status().message();
}
/// The error for the base file with lines after it.
static std::string errorWith(std::string lines) {
  Result<Architecture> arch = parseArchitecture(base + lines, "x.yaml");
  return arch ? "no error" : arch.status().message();
}

TEST(ArchitectureErrors, TheBaseFileIsGood) {
  EXPECT_EQ(errorWith(""), "no error");
  Architecture arch = *parseArchitecture(base, "x.yaml");
  EXPECT_EQ(arch.spm.bytes, 65536u);
  EXPECT_EQ(arch.dram.tCL, 16u);
  EXPECT_EQ(arch.vector.readPorts, 3u) << "a default";
}

TEST(ArchitectureErrors, UnknownKeysSuggestTheNearest) {
  EXPECT_EQ(errorOf("  rows: 8", "  row: 8"),
            "x.yaml:4: matrix.row: unknown key, did you mean 'rows'?; "
            "accepted: rows, cols, count, dataflow, formats, fill_latency");
  EXPECT_THAT(errorWith("colck_ghz: 1\n"),
              HasSubstr("x.yaml:13: colck_ghz: unknown key, did you mean "
                        "'clock_ghz'?; accepted: name, clock_ghz, cores"));
  EXPECT_THAT(errorWith("zzzzzzzz: 1\n"),
              HasSubstr("zzzzzzzz: unknown key; accepted"));
}

TEST(ArchitectureErrors, ReservedKeysAreRefused) {
  for (std::string key : {"links", "energy", "area"})
    EXPECT_EQ(errorWith(key + ": {}\n"), "x.yaml:13: " + key +
                                             ": not available yet; accepted: "
                                             "leaving it out");
}

TEST(ArchitectureErrors, RepeatedKeys) {
  EXPECT_EQ(errorOf("  cols: 8", "  rows: 16"),
            "x.yaml:5: matrix.rows: repeated, first on line 4; accepted: each "
            "key once");
  EXPECT_THAT(errorWith("name: again\n"),
              HasSubstr("x.yaml:13: name: repeated"));
  EXPECT_THAT(errorWith("dram: {channels: 2}\n"),
              HasSubstr("x.yaml:13: dram: repeated, first on line 11"));
  EXPECT_THAT(errorOf("    bf16: {macs_scale: 1}",
                      "    bf16: {macs_scale: 1}\n    bf16: {macs_scale: 2}"),
              HasSubstr("x.yaml:8: matrix.formats.bf16: repeated"));
}

TEST(ArchitectureErrors, MissingKeys) {
  EXPECT_EQ(errorOf("name: small", "# none"),
            "x.yaml:1: name: missing; accepted: a name");
  EXPECT_EQ(
      errorOf("  cols: 8\n", ""),
      "x.yaml:3: matrix.cols: missing; accepted: a whole number from 1 to "
      "1024");
  EXPECT_THAT(
      errorOf("  preset: DDR4-2400", "  channels: 1"),
      HasSubstr("x.yaml:11: dram.pseudo_channels: missing, and there is "
                "no dram.preset"));
}

TEST(ArchitectureErrors, WrongTypesAndRanges) {
  EXPECT_EQ(errorOf("rows: 8", "rows: eight"),
            "x.yaml:4: matrix.rows: 'eight' is of the wrong type; accepted: a "
            "whole number from 1 to 1024");
  EXPECT_EQ(errorOf("rows: 8", "rows: 0"),
            "x.yaml:4: matrix.rows: '0' is out of range; accepted: a whole "
            "number from 1 to 1024");
  for (const char *value : {"-8", "8.5", "99999999999999999999"})
    EXPECT_THAT(errorOf("rows: 8", std::string("rows: ") + value),
                HasSubstr("is out of range"));
  for (const char *value : {"\"8\"", "[8]", "{a: 8}", "", "0x8", "8 KiB"})
    EXPECT_THAT(errorOf("rows: 8", std::string("rows: ") + value),
                HasSubstr("of the wrong type"))
        << value;
  EXPECT_THAT(errorOf("64 KiB", "64 kB"), HasSubstr("wrong type"));
  EXPECT_THAT(errorOf("64 KiB", "17179869184 GiB"), HasSubstr("wrong type"))
      << "overflows 64 bits";
  EXPECT_THAT(errorOf("bank_width: 16", "bank_width: 24"),
              HasSubstr("accepted: a power of two from 4 to 256"));
  EXPECT_THAT(errorWith("clock_ghz: .nan\n"), HasSubstr("clock_ghz"));
  EXPECT_THAT(errorWith("clock_ghz: nan\n"), HasSubstr("out of range"));
  EXPECT_THAT(errorWith("noc: {topology: torus}\n"),
              HasSubstr("noc.topology: unknown value 'torus'; accepted: mesh, "
                        "ring, crossbar"));
  EXPECT_THAT(errorWith("noc: 7\n"), HasSubstr("noc: '7' is no map"));
  EXPECT_THAT(errorOf("DDR4-2400", "DDR9"),
              HasSubstr("x.yaml:12: dram.preset: unknown timing set 'DDR9'; "
                        "accepted: DDR4-2400, DDR4-3200"));
  EXPECT_THAT(errorOf("bf16", "bf17"), HasSubstr("unknown format 'bf17'"));
  EXPECT_THAT(errorOf("macs_scale: 1", "macs_scale: 99"),
              HasSubstr("a number from 0.0625 to 16"));
}

TEST(ArchitectureErrors, ImpossibleCombinations) {
  EXPECT_EQ(
      errorOf("[2, 2]", "[2, 3]"),
      "x.yaml:2: cores.mesh: [2, 3] has 6 nodes for 4 cores; accepted: two "
      "numbers whose product is 4");
  EXPECT_THAT(
      errorOf("banks: 16", "banks: 15"),
      HasSubstr("x.yaml:9: spm.bytes: 65536 bytes do not divide into 15 "
                "banks of 16-byte words; accepted: a multiple of 240"));
  EXPECT_THAT(errorOf("acc: {bytes: 16 KiB", "acc: {banks: 3, bytes: 16 KiB"),
              HasSubstr("x.yaml:10: acc.bytes"));
  EXPECT_THAT(errorOf("macs_scale: 1", "macs_scale: 0.3"),
              HasSubstr("x.yaml:6: matrix.formats: macs_scale 0.3"));
  EXPECT_THAT(errorOf("macs_scale: 1", "macs_scale: 1.1"),
              HasSubstr("gives a part of a row"));
  EXPECT_THAT(errorOf("bf16:", "i32:"), HasSubstr("only accumulated"));
  EXPECT_THAT(errorWith("noc: {memory_ports: [4]}\n"),
              HasSubstr("x.yaml:13: noc.memory_ports: node 4 is outside the "
                        "mesh; accepted: nodes 0 to 3"));
  EXPECT_THAT(errorWith("noc: {memory_ports: [0, 1]}\n"),
              HasSubstr("2 ports cannot share 1 DRAM channels evenly"));
  EXPECT_THAT(errorWith("noc: {cp_port: 9}\n"), HasSubstr("noc.cp_port"));
  EXPECT_THAT(
      errorWith("  mapping: \"R16 B2 G2 C6\"\n"),
      HasSubstr("x.yaml:13: dram.mapping: 'R16 B2 G2 C6' does not cover "
                "the address bits; accepted: the bits of \"R16 B2 C7 "
                "G2\" in any order"));
  EXPECT_THAT(errorWith("  refresh: per_bank\n"),
              HasSubstr("per_bank does not fit tRFCpb 0"));
  EXPECT_THAT(errorWith("  drain_low: 0.9\n"), HasSubstr("dram.drain_low"));
  EXPECT_THAT(errorWith("  row_bytes: 64 KiB\n  bytes: 2 MiB\n"),
              HasSubstr("no error"));
  EXPECT_THAT(
      errorWith("  row_bytes: 64 KiB\n  banks_per_group: 64\n"
                "  bytes: 2 MiB\n"),
      HasSubstr("dram.bytes: 2097152 bytes are no power-of-two number"));
  EXPECT_THAT(errorWith("shared: {bytes: 96 KiB}\n"),
              HasSubstr("shared.bytes"));
}

TEST(ArchitectureErrors, NotAnArchitectureFile) {
  for (const char *text : {"", "7", "[a]", "a: [", "a: 1\n b: 2", "\t", "%",
                           "--- {}\n--- {}\n", "? [a]: b", "&a [*a]"}) {
    Result<Architecture> arch = parseArchitecture(text, "x.yaml");
    ASSERT_FALSE(arch.ok()) << text;
    EXPECT_THAT(arch.status().message(), testing::StartsWith("x.yaml:"));
    EXPECT_EQ(arch.status().message().find('\n'), std::string::npos);
  }
}
