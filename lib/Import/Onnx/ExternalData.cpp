//===- ExternalData.cpp - Tensors stored beside the model -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

using namespace tessera;
using namespace tessera::onnx;
namespace fs = std::filesystem;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// Whether `path` begins with all of `prefix`'s components.
static bool isInside(const fs::path &path, const fs::path &prefix) {
  auto at = path.begin();
  for (const fs::path &component : prefix) {
    if (component.empty()) // A trailing separator.
      continue;
    if (at == path.end() || *at != component)
      return false;
    ++at;
  }
  return true;
}

Result<std::string>
tessera::onnx::readExternalData(const std::string &directory,
                                const ExternalRange &range, uint64_t bytes) {
  fs::path location(range.location);
  if (range.location.empty() || location.is_absolute() ||
      range.location.find('\0') != std::string::npos)
    return invalid(fmt::format("external data at '{}': accepted is a path "
                               "relative to the model's folder",
                               range.location));
  std::error_code error;
  fs::path root = fs::canonical(directory.empty() ? "." : directory, error);
  if (error)
    return invalid(
        fmt::format("the model's folder '{}': {}", directory, error.message()));
  fs::path file = fs::canonical(root / location, error);
  if (error)
    return invalid(
        fmt::format("external data '{}': {}", range.location, error.message()));
  if (!isInside(file, root))
    return invalid(fmt::format("external data '{}' lies outside the model's "
                               "folder",
                               range.location));
  if (!fs::is_regular_file(file, error) || error)
    return invalid(
        fmt::format("external data '{}' is no regular file", range.location));
  uint64_t size = fs::file_size(file, error);
  if (error)
    return invalid(
        fmt::format("external data '{}': {}", range.location, error.message()));
  if (range.length && *range.length != bytes)
    return invalid(
        fmt::format("external data '{}' has {} bytes for the tensor, "
                    "its type and shape need {}",
                    range.location, *range.length, bytes));
  if (range.offset > size || bytes > size - range.offset)
    return invalid(fmt::format("external data '{}' has {} bytes, the tensor is "
                               "at {} to {}",
                               range.location, size, range.offset,
                               range.offset + bytes));
  std::ifstream stream(file, std::ios::binary);
  std::string data(bytes, '\0');
  stream.seekg(static_cast<std::streamoff>(range.offset));
  stream.read(data.data(), static_cast<std::streamsize>(bytes));
  if (!stream)
    return invalid(
        fmt::format("external data '{}' cannot be read", range.location));
  return data;
}
