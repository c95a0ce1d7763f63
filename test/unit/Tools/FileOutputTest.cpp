//===- FileOutputTest.cpp - Whole files or none ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileOutput.h"
#include "tessera/Support/File.h"
#include <filesystem>
#include <gtest/gtest.h>

namespace fs = std::filesystem;
using namespace tessera;
using namespace tessera::tool;

namespace {

class FileOutput : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "file-output-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  size_t entries() const {
    return std::distance(fs::directory_iterator(folder), {});
  }
  std::string in(const std::string &name) const { return folder + "/" + name; }

  std::string folder;
};

TEST_F(FileOutput, ReplacesAFile) {
  EXPECT_TRUE(replaceFile(in("a"), std::string_view("old")).ok());
  EXPECT_TRUE(replaceFile(in("a"), std::string_view("new")).ok());
  EXPECT_EQ(*readTextFile(in("a")), "new");
  EXPECT_EQ(entries(), 1u);
  EXPECT_FALSE(replaceFile(in("none/a"), std::string_view("x")).ok());
}

TEST_F(FileOutput, AFolderAppearsWhole) {
  std::map<std::string, std::vector<uint8_t>> files{{"0.npy", {1}},
                                                    {"1.npy", {2}}};
  EXPECT_TRUE(replaceFilesIn(in("out/"), files).ok());
  EXPECT_EQ(entries(), 1u);
  // Other files of a folder that is there stay.
  EXPECT_TRUE(writeTextFile(in("out/mine"), "x").ok());
  files["0.npy"] = {3};
  EXPECT_TRUE(replaceFilesIn(in("out"), files).ok());
  EXPECT_EQ(*readFile(in("out/0.npy")), (std::vector<uint8_t>{3}));
  EXPECT_TRUE(fs::exists(in("out/mine")));
  EXPECT_EQ(entries(), 1u);
  // One that cannot be written leaves nothing.
  files["no/such"] = {4};
  EXPECT_FALSE(replaceFilesIn(in("other"), files).ok());
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileOutput, SaysBeforehandWhatCannotBe) {
  EXPECT_TRUE(checkFileCanBe(in("new")).ok());
  EXPECT_FALSE(checkFileCanBe(folder).ok());
  EXPECT_FALSE(checkFileCanBe(in("none/new")).ok());
  EXPECT_TRUE(checkFolderCanBe(folder).ok());
  EXPECT_TRUE(checkFolderCanBe(in("new")).ok());
  ASSERT_TRUE(writeTextFile(in("file"), "").ok());
  EXPECT_FALSE(checkFolderCanBe(in("file")).ok());
}

} // namespace
