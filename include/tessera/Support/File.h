//===- File.h - Whole files -------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading whole files, and writing them so that a reader or a crash never sees
// half of one.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_FILE_H
#define TESSERA_SUPPORT_FILE_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// The bytes of a regular file. Errors start with the path.
Result<std::vector<uint8_t>> readFile(const std::string &path);
Result<std::string> readTextFile(const std::string &path);

/// A file that is written in pieces and appears whole, or not at all, at its
/// place when it is committed. Links are followed; a device or a pipe is
/// written as it is.
class FileReplacement {
public:
  static Result<FileReplacement> begin(const std::string &path);
  FileReplacement(FileReplacement &&other) noexcept;
  FileReplacement &operator=(FileReplacement &&) = delete;
  ~FileReplacement();

  /// Errors are kept for commit().
  void write(std::span<const uint8_t> bytes);
  /// Once, at the end. Errors start with the path.
  Status commit();

private:
  FileReplacement() = default;
  std::string temporary() const;

  std::string path, target;
  int file = -1, error = 0;
  bool direct = false; ///< Written where it belongs.
  bool named = false;  ///< temporary() is there.
};

/// Writes a temporary file beside `path`, then renames it over `path`. On error
/// `path` is as it was before, and nothing else is left behind.
Status writeFile(const std::string &path, std::span<const uint8_t> bytes);
Status writeTextFile(const std::string &path, std::string_view text);

} // namespace tessera

#endif // TESSERA_SUPPORT_FILE_H
