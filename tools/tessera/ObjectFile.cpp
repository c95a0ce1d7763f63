//===- ObjectFile.cpp - Objects and models by their first bytes -----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ObjectFile.h"
#include "tessera/Support/File.h"
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace tessera::tool {

Result<bool> isObjectFile(const std::string &path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return Status(StatusCode::InvalidArgument,
                  path + ": is a folder; accepted is a model (.onnx, .mlir, "
                         ".mlirbc) or an object (.tsr)");
  std::FILE *file = std::fopen(path.c_str(), "rb");
  if (!file)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {}", path, std::strerror(errno)));
  std::array<char, 4> magic{};
  size_t count = std::fread(magic.data(), 1, magic.size(), file);
  std::fclose(file);
  return path.ends_with(".tsr") || (count == 4 && std::memcmp(magic.data(),
                                                              "\x7f"
                                                              "ELF",
                                                              4) == 0);
}

Result<Object> readObjectFile(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(path));
  return readObject(bytes, path);
}

Result<Architecture> architectureFor(const Object &object,
                                     const std::string &path,
                                     const std::string &name) {
  const std::string &builtFor = object.architectureName;
  Result<Architecture> arch = loadArchitecture(name.empty() ? builtFor : name);
  if (!arch && name.empty())
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: was built for '{}', which is no preset; give its "
                    "architecture file with --arch",
                    path, builtFor));
  TESSERA_RETURN_IF_ERROR(arch.status());
  if (Status compatible = checkCompatible(object, *arch); !compatible.ok())
    return compatible.withContext(path);
  return arch;
}

} // namespace tessera::tool
