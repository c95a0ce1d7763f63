//===- FileTest.cpp - Tests of file access --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/File.h"
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using testing::HasSubstr;

namespace {
class FileTest : public testing::Test {
protected:
  void SetUp() override {
    directory = testing::TempDir() + "tessera-file-test-" +
                testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory);
    std::filesystem::create_directory(directory);
  }
  void TearDown() override { std::filesystem::remove_all(directory); }
  size_t entries() const {
    std::filesystem::directory_iterator all(directory);
    return size_t(std::distance(begin(all), end(all)));
  }
  std::string directory;
};
} // namespace

TEST_F(FileTest, RoundTripAndReplacement) {
  std::string path = directory + "/a";
  ASSERT_TRUE(writeTextFile(path, "first version").ok());
  ASSERT_TRUE(writeTextFile(path, "second").ok());
  EXPECT_EQ(*readTextFile(path), "second");
  EXPECT_EQ(readFile(path)->size(), 6u);
  EXPECT_EQ(entries(), 1u) << "no temporary file stays behind";
}

TEST_F(FileTest, EmptyFile) {
  ASSERT_TRUE(writeTextFile(directory + "/e", "").ok());
  EXPECT_EQ(*readTextFile(directory + "/e"), "");
}

TEST_F(FileTest, ErrorsNameThePath) {
  EXPECT_THAT(readFile(directory + "/none").status().message(),
              HasSubstr("/none: cannot open: No such file"));
  EXPECT_THAT(readFile(directory).status().message(), HasSubstr("not a file"));
  EXPECT_THAT(writeTextFile(directory + "/no/where", "x").message(),
              HasSubstr("/no/where: cannot write: No such file"));
}

TEST_F(FileTest, FailedWriteLeavesNothing) {
  // A directory cannot be replaced by a file: the rename is what fails.
  std::filesystem::create_directory(directory + "/taken");
  EXPECT_FALSE(writeTextFile(directory + "/taken", "x").ok());
  EXPECT_EQ(entries(), 1u);
}
