//===- FileOutput.cpp - Files that appear whole or not at all -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FileOutput.h"
#include "tessera/Support/File.h"
#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace tessera::tool {

static Status cannot(const std::string &path, const std::string &why) {
  return Status(StatusCode::InvalidArgument, fmt::format("{}: {}", path, why));
}

static std::string withoutTrailingSlash(std::string path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return path;
}

static fs::path folderOf(const std::string &path) {
  fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

Status checkFileCanBe(const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return cannot(path, "is a folder; a file is to be written there");
  // A device or a pipe is written as it is.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return Status::success();
  fs::path folder = folderOf(path);
  if (!fs::is_directory(folder, error))
    return cannot(path, fmt::format("there is no folder {}", folder.string()));
  if (access(folder.c_str(), W_OK) != 0)
    return cannot(
        path, fmt::format("the folder {} cannot be written", folder.string()));
  return Status::success();
}

Status checkFolderCanBe(const std::string &path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (access(path.c_str(), W_OK) != 0)
      return cannot(path, "the folder cannot be written");
    return Status::success();
  }
  if (fs::exists(path, error))
    return cannot(path, "is a file; a folder is to be written there");
  return checkFileCanBe(withoutTrailingSlash(path));
}

static std::string temporaryName(const std::string &path) {
  return fmt::format("{}.{}.partial", path, getpid());
}

static Status renameTo(const std::string &from, const std::string &to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error)
    return Status::success();
  std::error_code ignored;
  fs::remove(from, ignored);
  return cannot(to, error.message());
}

Status replaceFile(const std::string &path, std::span<const uint8_t> bytes) {
  return writeFile(path, bytes);
}

Status replaceFile(const std::string &path, std::string_view text) {
  return replaceFile(
      path,
      std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

Status
replaceFilesIn(const std::string &folder,
               const std::map<std::string, std::vector<uint8_t>> &files) {
  std::string target = withoutTrailingSlash(folder);
  std::string temporary = temporaryName(target);
  std::error_code error, ignored;
  auto giveUp = [&](Status status) {
    fs::remove_all(temporary, ignored);
    return status;
  };
  fs::remove_all(temporary, ignored);
  if (!fs::create_directory(temporary, error) || error)
    return cannot(target, error ? error.message() : "cannot be made");
  for (const auto &[name, bytes] : files)
    if (Status written = writeFile(temporary + "/" + name, bytes);
        !written.ok())
      return giveUp(written);
  if (!fs::exists(target, ignored))
    return renameTo(temporary, target);
  for (const auto &[name, bytes] : files)
    if (Status moved = renameTo(temporary + "/" + name, target + "/" + name);
        !moved.ok())
      return giveUp(moved);
  return giveUp(Status::success());
}

} // namespace tessera::tool
