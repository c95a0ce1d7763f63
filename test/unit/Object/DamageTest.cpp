//===- DamageTest.cpp - Damaged files -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever is done to a file, reading it neither crashes nor gives a wrong
// object. The checksum alone would catch nearly all of it, so each damage is
// also tried with the checksum made right again.
//
//===----------------------------------------------------------------------===//

#include "SampleObject.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Random.h"
#include "gtest/gtest.h"

using namespace tessera;

namespace {

constexpr uint64_t checksumAt = 64 + 20;

void repairChecksum(std::vector<uint8_t> &file) {
  if (file.size() < checksumAt + 8)
    return;
  std::span<const uint8_t> bytes = file;
  storeLittleEndian(file.data() + checksumAt,
                    hashBytes(bytes.subspan(checksumAt + 8),
                              hashBytes(bytes.first(checksumAt))));
}

class Damage : public testing::Test {
protected:
  Object object = test::sampleObject();
  std::vector<uint8_t> file = writeObject(object);

  /// An error, or an object of which this very file is the image.
  void expectNoHarm(const std::vector<uint8_t> &damaged) {
    Result<Object> read = readObject(damaged, "damaged");
    if (read.ok())
      ASSERT_EQ(writeObject(*read), damaged);
    else
      ASSERT_FALSE(read.status().message().empty());
  }
};

} // namespace

TEST_F(Damage, RepairedFileIsTheFile) {
  std::vector<uint8_t> copy = file;
  copy[checksumAt] ^= 1;
  repairChecksum(copy);
  EXPECT_EQ(copy, file);
}

TEST_F(Damage, EveryBitFlipIsRefused) {
  ASSERT_GE(file.size(), 2000u);
  for (size_t at = 0; at < file.size(); ++at) {
    std::vector<uint8_t> damaged = file;
    damaged[at] ^= 1 << at % 8;
    ASSERT_FALSE(readObject(damaged, "damaged").ok()) << at;
  }
}

TEST_F(Damage, BitFlipsUnderAGoodChecksum) {
  for (size_t at = 0; at < file.size(); ++at) {
    std::vector<uint8_t> damaged = file;
    damaged[at] ^= 1 << at * 5 % 8;
    repairChecksum(damaged);
    expectNoHarm(damaged);
  }
}

TEST_F(Damage, WordsUnderAGoodChecksum) {
  Random random(6);
  const uint64_t values[] = {0, 1, ~0ull, 1ull << 31, 1ull << 63, file.size()};
  for (size_t at = 0; at + 8 <= file.size(); at += 4) {
    std::vector<uint8_t> damaged = file;
    uint64_t value = values[random.below(std::size(values))];
    if (random.below(2))
      storeLittleEndian(damaged.data() + at, value);
    else
      storeLittleEndian(damaged.data() + at, uint32_t(value));
    repairChecksum(damaged);
    expectNoHarm(damaged);
  }
}

TEST_F(Damage, EveryTruncationIsRefused) {
  for (size_t size = 0; size < file.size(); ++size) {
    std::vector<uint8_t> damaged(file.begin(), file.begin() + size);
    if (size % 2) // The checksum alone would refuse every one.
      repairChecksum(damaged);
    ASSERT_FALSE(readObject(damaged, "damaged").ok()) << size;
  }
}

TEST_F(Damage, TrailingBytesAreRefused) {
  std::vector<uint8_t> damaged = file;
  damaged.push_back(0);
  repairChecksum(damaged);
  EXPECT_FALSE(readObject(damaged, "damaged").ok());
}

TEST_F(Damage, ManyRandomChanges) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> damaged = file;
    for (uint64_t i = 1 + random.below(8); i > 0; --i)
      damaged[random.below(damaged.size())] = uint8_t(random.next());
    repairChecksum(damaged);
    expectNoHarm(damaged);
  }
}
