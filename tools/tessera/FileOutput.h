//===- FileOutput.h - Files that appear whole or not at all -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Output files are written beside their place and renamed when they are
// complete, so that an error leaves nothing half done behind.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_FILEOUTPUT_H
#define TESSERA_TOOLS_TESSERA_FILEOUTPUT_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tool {

/// Before long work: an error if `path` cannot become a file.
Status checkFileCanBe(const std::string &path);
/// The same for a folder of output files.
Status checkFolderCanBe(const std::string &path);

Status replaceFile(const std::string &path, std::span<const uint8_t> bytes);
Status replaceFile(const std::string &path, std::string_view text);
/// All files, by name, or none. Other files of the folder stay.
Status replaceFilesIn(const std::string &folder,
                      const std::map<std::string, std::vector<uint8_t>> &files);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_FILEOUTPUT_H
