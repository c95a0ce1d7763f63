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

/// Writes all of `bytes` and closes `file`; the error number, 0 if none.
static int writeAndClose(int file, std::span<const uint8_t> bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t count = write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      int error = errno;
      close(file);
      return error;
    }
    done += size_t(count);
  }
  return close(file) == 0 ? 0 : errno;
}

Status tessera::writeFile(const std::string &path,
                          std::span<const uint8_t> bytes) {
  // What a link leads to is replaced, not the link.
  std::string target = path;
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved))
    target = resolved;
  // A device, a pipe or a terminal keeps what was written and its identity.
  struct stat info;
  if (stat(target.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    int file = open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
      return systemError(path, "write", errno);
    int error = writeAndClose(file, bytes);
    return error ? systemError(path, "write", error) : Status::success();
  }

  // The process number keeps concurrent writers of one path apart.
  std::string temporary = fmt::format("{}.{}.partial", target, getpid());
  int file =
      open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0)
    return systemError(path, "write", errno);
  int error = writeAndClose(file, bytes);
  if (error == 0 && rename(temporary.c_str(), target.c_str()) != 0)
    error = errno;
  if (error == 0)
    return Status::success();
  unlink(temporary.c_str());
  return systemError(path, "write", error);
}

Status tessera::writeTextFile(const std::string &path, std::string_view text) {
  return writeFile(
      path,
      std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}
