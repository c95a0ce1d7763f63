//===- ObjectTest.cpp - Writing and reading objects -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SampleObject.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstddef>
#include <elf.h>
#include <fmt/format.h>

using namespace tessera;
using testing::HasSubstr;
using testing::Not;

TEST(Object, SampleIsAccepted) {
  Status status = verifyObject(test::sampleObject());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Object, RoundTrip) {
  Object object = test::sampleObject();
  std::vector<uint8_t> file = writeObject(object);
  Result<Object> read = readObject(file, "sample.tsr");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, object);
  EXPECT_EQ(writeObject(*read), file);
}

TEST(Object, EmptyRoundTrip) {
  Result<Object> read = readObject(writeObject(Object()), "empty");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, Object());
}

TEST(Object, NamesOfKernelsMayHoldAnything) {
  Object object = test::sampleObject();
  object.kernels[0].name = "a b.é/:%";
  object.kernels[1].name = "rodata"; // Also the name of a section's symbol.
  Result<Object> read = readObject(writeObject(object), "names");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, object);
}

TEST(Object, EveryBitOfThePayloadMatters) {
  Object object = test::sampleObject(), other = object;
  other.rodata[100] ^= 1;
  EXPECT_NE(writeObject(object), writeObject(other));
}

TEST(Object, ForeignFilesAreRefusedByName) {
  auto message = [](std::vector<uint8_t> file) {
    return readObject(file, "x.tsr").status().message();
  };
  std::vector<uint8_t> file = writeObject(test::sampleObject());
  EXPECT_THAT(message({}), HasSubstr("x.tsr: ELF header: no ELF magic"));
  EXPECT_THAT(message({'P', 'K', 3, 4}), HasSubstr("no ELF magic"));
  auto patched = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> copy = file;
    copy[at] = value;
    return message(copy);
  };
  EXPECT_THAT(patched(EI_CLASS, ELFCLASS32), HasSubstr("ELF64"));
  EXPECT_THAT(patched(offsetof(Elf64_Ehdr, e_machine), 62),
              HasSubstr("made for machine"));
}

TEST(Object, OtherVersionsAreAPreconditionThatFailed) {
  std::vector<uint8_t> file = writeObject(test::sampleObject());
  file[offsetof(Elf64_Ehdr, e_flags)] = objectVersion + 1;
  Status status = readObject(file, "x.tsr").status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(),
              HasSubstr(fmt::format("object version {}; accepted: {}",
                                    objectVersion + 1, objectVersion)));
}

TEST(Object, AnotherInstructionSetIsAPreconditionThatFailed) {
  // As an older compiler wrote it: its ISA version in the second note, and a
  // checksum that is right.
  std::vector<uint8_t> file = writeObject(test::sampleObject());
  const size_t checksum = sizeof(Elf64_Ehdr) + 12 + 8;
  std::vector<uint8_t> versions(8);
  storeLittleEndian(versions.data(), objectVersion);
  storeLittleEndian(versions.data() + 4, isaVersion);
  auto note = std::search(file.begin() + checksum, file.end(), versions.begin(),
                          versions.end());
  ASSERT_NE(note, file.end());
  storeLittleEndian(&*note + 4, isaVersion - 1);
  std::span<const uint8_t> all(file);
  storeLittleEndian(
      file.data() + checksum,
      hashBytes(all.subspan(checksum + 8), hashBytes(all.first(checksum))));
  Status status = readObject(file, "x.tsr").status();
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_EQ(status.message(),
            fmt::format("x.tsr: .note.tessera: object version {0}, ISA version "
                        "{1}; accepted: {0} and {2}",
                        objectVersion, isaVersion - 1, isaVersion));
}

TEST(Object, CompatibilityNamesEveryKeyThatDiffers) {
  Result<Architecture> tiny = loadArchitecture("tiny");
  Result<Architecture> edge = loadArchitecture("edge");
  ASSERT_TRUE(tiny.ok() && edge.ok());
  Object object = test::sampleObject();
  object.isaKeys = isaKeys(*tiny);
  EXPECT_TRUE(checkCompatible(object, *tiny).ok());
  Status status = checkCompatible(object, *edge);
  EXPECT_EQ(status.code(), StatusCode::FailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("'tiny'"));
  EXPECT_THAT(status.message(), HasSubstr("'edge'"));
  EXPECT_THAT(status.message(), HasSubstr("matrix.rows is 8 against 32"));
}

// Whatever the keys: also of a machine that is in no file here any more.
TEST(Object, CompatibilityOfAMachineOfOnesOwn) {
  Result<Architecture> edge = loadArchitecture("edge");
  ASSERT_TRUE(edge.ok());
  Object object = test::sampleObject();
  object.architectureName = "custom";
  Architecture other = *edge;
  other.spm.bytes *= 2;
  other.matrix.macsScale.erase(NumericFormat::I8);
  object.isaKeys = isaKeys(other);
  std::string message = checkCompatible(object, *edge).message();
  EXPECT_THAT(message, HasSubstr("compiled for architecture 'custom'"));
  EXPECT_THAT(message, HasSubstr("spm.bytes is 2 MiB against 1 MiB; "));
  EXPECT_THAT(message, HasSubstr("matrix.formats is {"));
  EXPECT_THAT(message, Not(HasSubstr("matrix.rows")));
  // A key that only one of them knows.
  object.isaKeys = isaKeys(*edge) + "wings=2\n";
  EXPECT_THAT(checkCompatible(object, *edge).message(),
              HasSubstr(": wings is 2 against absent; "));
  object.isaKeys = "";
  message = checkCompatible(object, *edge).message();
  EXPECT_THAT(message, HasSubstr("cores.count is absent against 2; "));
}
