//===- DescriptorTest.cpp - Tensor descriptors ----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Descriptor.h"
#include "tessera/Support/Random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <limits>

using namespace tessera;
using namespace tessera::isa;
using testing::HasSubstr;

namespace {

using Image = std::array<uint8_t, descriptorBytes>;

Image imageOf(const Descriptor &td) {
  Image image;
  encode(td, image);
  return image;
}

Descriptor window() {
  Descriptor td;
  td.space = Space::Spm;
  td.format = NumericFormat::BF16;
  td.rank = 3;
  td.base = 64;
  td.extents = {6, 3, 8, 1, 1, 1};
  td.strides = {8, 8, -1, 0, 0, 0};
  return td;
}

} // namespace

TEST(Descriptor, RoundTrip) {
  Descriptor td = window();
  td.padding = 0x3f80;
  Image image = imageOf(td);
  Result<Descriptor> decoded = decodeDescriptor(image);
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  EXPECT_EQ(*decoded, td);
  EXPECT_EQ(imageOf(*decoded), image);
}

TEST(Descriptor, DefaultIsOneElement) {
  Descriptor td;
  EXPECT_EQ(td.numElements(), 1u);
  EXPECT_EQ(td.byteRange().low, 0);
  EXPECT_EQ(td.byteRange().high, 4);
  EXPECT_TRUE(decodeDescriptor(imageOf(td)).ok());
}

TEST(Descriptor, RangeOfOverlapAndNegativeStrides) {
  Descriptor td = window();
  EXPECT_EQ(td.numElements(), 144u);
  EXPECT_EQ(td.byteRange().low, -14);
  EXPECT_EQ(td.byteRange().high, 2 * (5 * 8 + 2 * 8 + 1));
}

TEST(Descriptor, RangeOfSubByteElementsRoundsOutwards) {
  Descriptor td;
  td.format = NumericFormat::I4;
  td.rank = 1;
  td.extents[0] = 3;
  td.strides[0] = 1;
  EXPECT_EQ(td.byteRange().high, 2);
  td.strides[0] = -1;
  EXPECT_EQ(td.byteRange().low, -1);
  EXPECT_EQ(td.byteRange().high, 1);
}

TEST(Descriptor, ExtremeStridesDoNotOverflow) {
  Descriptor td;
  td.rank = 6;
  td.extents.fill(std::numeric_limits<uint32_t>::max());
  td.strides.fill(std::numeric_limits<int64_t>::min());
  EXPECT_EQ(td.byteRange().low, std::numeric_limits<int64_t>::min());
  td.strides.fill(std::numeric_limits<int64_t>::max());
  EXPECT_EQ(td.byteRange().high, std::numeric_limits<int64_t>::max());
  EXPECT_EQ(td.numElements(), std::numeric_limits<uint64_t>::max());
  EXPECT_THAT(decodeDescriptor(imageOf(td)).status().message(),
              HasSubstr("elements"));
}

TEST(Descriptor, MalformedImagesAreRefused) {
  auto refuses = [](auto change, std::string_view message) {
    Image image = imageOf(window());
    change(image);
    Status status = decodeDescriptor(image).status();
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << message;
    EXPECT_THAT(status.message(), HasSubstr(message));
  };
  refuses([](Image &image) { image[0] = 4; }, "space 4");
  refuses([](Image &image) { image[1] = 9; }, "format 9");
  refuses([](Image &image) { image[2] = 7; }, "rank 7");
  refuses([](Image &image) { image[2] = 2; }, "beyond the rank");
  refuses([](Image &image) { image[16] = 0; }, "extent 0 is 0");
  refuses([](Image &image) { image[40 + 5 * 8] = 1; }, "beyond the rank");
  refuses([](Image &image) { image[1] = 16; },
          "format 16 is reserved for mxf8E4M3; block-scaled formats");
  refuses([](Image &image) { image[1] = 21; }, "reserved for mxi8");
  refuses([](Image &image) { image[1] = 22; }, "unknown format 22");
  refuses([](Image &image) { image[3] = 1; }, "2:4 structured sparsity");
  refuses([](Image &image) { image[3] = 2; }, "reserved byte 3");
  for (unsigned at : {88u, 119u})
    refuses([at](Image &image) { image[at] = 1; },
            "bytes 88 to 119 are reserved for block scales");
  for (unsigned at : {4u, 7u, 124u, 127u})
    refuses([at](Image &image) { image[at] = 1; },
            "reserved byte " + std::to_string(at));
  Image image = imageOf(window());
  EXPECT_FALSE(decodeDescriptor(std::span(image).first(127)).ok());
}

TEST(Descriptor, RandomImagesReencodeToTheSameBytes) {
  Random random(3);
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    Image image = imageOf(window());
    for (uint64_t i = random.below(5); i > 0; --i)
      image[random.below(image.size())] = uint8_t(random.next());
    if (Result<Descriptor> decoded = decodeDescriptor(image); decoded.ok()) {
      ++accepted;
      ASSERT_EQ(imageOf(*decoded), image);
      (void)decoded->byteRange();
    }
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(Descriptor, Text) {
  EXPECT_EQ(print(window()), "spm bf16 [6, 3, 8] strides [8, 8, -1] base 64");
  Descriptor td;
  td.padding = 1;
  EXPECT_EQ(print(td), "global f32 [] strides [] base 0 padding 0x1");
}
