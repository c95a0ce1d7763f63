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

/// Writes a temporary file beside `path`, then renames it over `path`. On error
/// `path` is as it was before, and nothing else is left behind.
Status writeFile(const std::string &path, std::span<const uint8_t> bytes);
Status writeTextFile(const std::string &path, std::string_view text);

} // namespace tessera

#endif // TESSERA_SUPPORT_FILE_H
