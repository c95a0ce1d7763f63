//===- NpyTest.cpp - Tests of .npy files ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Npy.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Random.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::HasSubstr;

/// A version 1 file with this header dictionary and so many zero bytes of data.
static std::vector<uint8_t> makeFile(std::string header, size_t dataBytes,
                                     uint8_t major = 1) {
  std::string file = "\x93NUMPY";
  file += char(major);
  file += '\0';
  file += char(header.size() & 0xff);
  file += char(header.size() >> 8);
  if (major > 1)
    file += std::string(2, '\0');
  file += header;
  file.append(dataBytes, '\0');
  return {file.begin(), file.end()};
}

static std::string errorOf(std::string header, size_t dataBytes) {
  Result<NpyArray> array = parseNpy(makeFile(header, dataBytes), "x.npy");
  return array ? "no error" : array.status().message();
}

TEST(Npy, RoundTripOfEveryTypeAndRank) {
  for (unsigned type = 0; type < 12; ++type)
    for (std::vector<uint64_t> shape :
         {std::vector<uint64_t>{}, {3}, {2, 3}, {0, 5}, {1, 2, 1, 4}}) {
      NpyArray array{NpyType(type), shape, {}};
      uint64_t count = 1;
      for (uint64_t extent : shape)
        count *= extent;
      array.data.resize(count * npyTypeBytes(array.type), uint8_t(type + 1));
      std::vector<uint8_t> file = formatNpy(array);
      EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
      Result<NpyArray> back = parseNpy(file, "x.npy");
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_EQ(*back, array);
    }
}

TEST(Npy, BytesAreThoseOfNumPy) {
  NpyArray array{NpyType::F32, {2, 3}, std::vector<uint8_t>(24)};
  std::vector<uint8_t> file = formatNpy(array);
  std::string header(file.begin() + 10, file.begin() + 128);
  EXPECT_EQ(header.substr(0, 62),
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" +
                std::string(3, ' '));
  EXPECT_EQ(header.back(), '\n');
  EXPECT_EQ(file[8], 118);
}

TEST(Npy, Versions2And3AndOneDimensionInFortranOrder) {
  for (uint8_t major : {2, 3})
    EXPECT_TRUE(parseNpy(makeFile("{'descr': '<i8', 'fortran_order': True, "
                                  "'shape': (2,), }",
                                  16, major),
                         "x.npy")
                    .ok());
}

TEST(Npy, TypesOfMlDtypesAreRawBits) {
  const char *form = "{'descr': '%s', 'fortran_order': False, 'shape': (4,)}";
  char header[128];
  snprintf(header, sizeof header, form, "<V2");
  EXPECT_EQ(parseNpy(makeFile(header, 8), "x")->type, NpyType::U16);
  for (const char *descr : {"|V1", "<f1"}) {
    snprintf(header, sizeof header, form, descr);
    EXPECT_EQ(parseNpy(makeFile(header, 4), "x")->type, NpyType::U8);
  }
}

TEST(Npy, PreciseErrors) {
  EXPECT_EQ(
      errorOf("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", 20),
      "x.npy: truncated: float32 of shape (2, 3) needs 24 bytes of data, "
      "the file has 20");
  EXPECT_THAT(
      errorOf("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 5),
      HasSubstr("too long"));
  EXPECT_EQ(
      errorOf("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16),
      "x.npy: Fortran order; accepted is C order "
      "(numpy.ascontiguousarray)");
  EXPECT_THAT(
      errorOf("{'descr': '<c8', 'fortran_order': False, 'shape': ()}", 8),
      HasSubstr("unsupported dtype '<c8'; accepted are bool"));
  EXPECT_THAT(
      errorOf("{'descr': '>f4', 'fortran_order': False, 'shape': ()}", 4),
      HasSubstr("big-endian"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'fortran_order': False, 'shape': "
                      "(4294967296, 4294967296)}",
                      0),
              HasSubstr("shape (4294967296, 4294967296) overflows 64 bits"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'fortran_order': False, 'shape': "
                      "(99999999999999999999,)}",
                      0),
              HasSubstr("a shape extent overflows"));
  EXPECT_THAT(
      errorOf("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 0),
      HasSubstr("not a number"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'shape': ()}", 4),
              HasSubstr("is missing"));
  EXPECT_THAT(errorOf("{'descr': '<f4', 'descr': '<f4'}", 4),
              HasSubstr("repeated"));
  EXPECT_THAT(errorOf("{'descr': [('a', '<f4')]}", 4),
              HasSubstr("structured types"));
  EXPECT_THAT(parseNpy(std::vector<uint8_t>{'P', 'K', 3, 4}, "x.npy")
                  .status()
                  .message(),
              HasSubstr("x.npy: not a .npy file"));
  EXPECT_THAT(parseNpy(makeFile("{}", 0, 9), "x.npy").status().message(),
              HasSubstr("version 9.0; accepted are"));
}

TEST(Npy, EveryTruncationAndManyMutationsAreHandled) {
  NpyArray array{NpyType::F32, {2, 3}, std::vector<uint8_t>(24, 9)};
  const std::vector<uint8_t> file = formatNpy(array);
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(parseNpy(std::span(file).first(size), "x").ok());
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> mutated = file;
    for (uint64_t n = random.below(4) + 1; n > 0; --n)
      mutated[random.below(80)] = uint8_t(random.next());
    if (Result<NpyArray> result = parseNpy(mutated, "x"); result.ok())
      EXPECT_EQ(result->data.size(), 24u);
  }
}

TEST(Npy, ReadNamesThePath) {
  EXPECT_THAT(readNpy("/nowhere/a.npy").status().message(),
              HasSubstr("/nowhere/a.npy"));
}
