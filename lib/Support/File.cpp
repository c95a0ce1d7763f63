//===- File.cpp - Whole files ---------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/File.h"
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

using namespace tessera;

static Status systemError(const std::string &path, std::string_view what,
                          int error) {
  return Status(StatusCode::InvalidArgument,
                fmt::format("{}: cannot {}: {}", path, what,
                            std::generic_category().message(error)));
}

template <typename Buffer>
static Result<Buffer> readWhole(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return systemError(path, "open", errno);
  struct stat info;
  if (fstat(file, &info) != 0 || S_ISDIR(info.st_mode)) {
    close(file);
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: not a file", path));
  }
  // A pipe has no size: read blocks until the end, and let the size only save
  // copies.
  Buffer bytes;
  size_t used = 0;
  bytes.resize(size_t(info.st_size) + 1);
  while (true) {
    if (used == bytes.size())
      bytes.resize(bytes.size() * 2);
    ssize_t count = read(file, bytes.data() + used, bytes.size() - used);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      int error = errno;
      close(file);
      return systemError(path, "read", error);
    }
    if (count == 0)
      break;
    used += size_t(count);
  }
  close(file);
  bytes.resize(used);
  return bytes;
}

Result<std::vector<uint8_t>> tessera::readFile(const std::string &path) {
  return readWhole<std::vector<uint8_t>>(path);
}
Result<std::string> tessera::readTextFile(const std::string &path) {
  return readWhole<std::string>(path);
}

/// Where a path leads, although nothing may be there.
static std::string behindLinks(const std::string &path) {
  constexpr int mostLinks = 40; // As the kernel follows.
  std::string target = path;
  char link[PATH_MAX];
  for (int i = 0; i < mostLinks; ++i) {
    ssize_t length = readlink(target.c_str(), link, sizeof(link));
    if (length <= 0 || size_t(length) == sizeof(link))
      break;
    std::string next(link, size_t(length));
    size_t slash = target.rfind('/');
    if (next.front() != '/' && slash != std::string::npos)
      next = target.substr(0, slash + 1) + next;
    target = next;
  }
  return target;
}

Result<FileReplacement> FileReplacement::begin(const std::string &path) {
  FileReplacement result;
  result.path = result.target = path;
  // What a link leads to is replaced, not the link.
  result.target = behindLinks(path);
  // A device, a pipe or a terminal keeps what was written and its identity.
  struct stat info;
  if (stat(result.target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    result.file = open(result.target.c_str(), O_WRONLY | O_CLOEXEC);
    result.direct = true;
    if (result.file < 0)
      return systemError(path, "write", errno);
    return result;
  }
  // Without a name where the file system can: then nothing is left behind even
  // when the process is killed.
  size_t slash = result.target.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0 ? "/"
                                    : result.target.substr(0, slash);
  result.file = open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (result.file >= 0)
    return result;
  result.named = true;
  result.file = open(result.temporary().c_str(),
                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (result.file < 0)
    return systemError(path, "write", errno);
  return result;
}

FileReplacement::FileReplacement(FileReplacement &&other) noexcept
    : path(std::move(other.path)), target(std::move(other.target)),
      file(std::exchange(other.file, -1)), error(other.error),
      direct(other.direct), named(std::exchange(other.named, false)) {}

FileReplacement::~FileReplacement() {
  if (file >= 0)
    close(file);
  if (named)
    unlink(temporary().c_str());
}

std::string FileReplacement::temporary() const {
  // The process number keeps concurrent writers of one path apart.
  return fmt::format("{}.{}.partial", target, getpid());
}

void FileReplacement::write(std::span<const uint8_t> bytes) {
  while (error == 0 && !bytes.empty()) {
    ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR)
      error = errno;
    if (count > 0)
      bytes = bytes.subspan(size_t(count));
  }
}

Status FileReplacement::commit() {
  if (error == 0 && !direct && !named) {
    // A file without a name gets one.
    unlink(temporary().c_str());
    std::string handle = fmt::format("/proc/self/fd/{}", file);
    if (linkat(AT_FDCWD, handle.c_str(), AT_FDCWD, temporary().c_str(),
               AT_SYMLINK_FOLLOW) != 0)
      error = errno;
    else
      named = true;
  }
  if (close(std::exchange(file, -1)) != 0 && error == 0)
    error = errno;
  if (error == 0 && named) {
    if (rename(temporary().c_str(), target.c_str()) != 0)
      error = errno;
    else
      named = false;
  }
  return error ? systemError(path, "write", error) : Status::success();
}

Status tessera::writeFile(const std::string &path,
                          std::span<const uint8_t> bytes) {
  TESSERA_ASSIGN_OR_RETURN(FileReplacement file, FileReplacement::begin(path));
  file.write(bytes);
  return file.commit();
}

Status tessera::writeTextFile(const std::string &path, std::string_view text) {
  return writeFile(
      path,
      std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}
