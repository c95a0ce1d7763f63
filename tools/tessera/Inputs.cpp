//===- Inputs.cpp - Inputs of a run ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inputs.h"
#include "RandomTensor.h"
#include "TensorFiles.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fs = std::filesystem;

namespace tessera::tool {

static Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}

void Inputs::addTo(CLI::App &command) {
  command
      .add_option("--input", named,
                  "NAME=FILE: an input from a .npy or .pb file")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](std::string &text) -> std::string {
            size_t equals = text.rfind('=');
            if (equals == std::string::npos || equals == 0 ||
                equals + 1 == text.size())
              return fmt::format("'{}' is not NAME=FILE", text);
            return "";
          },
          ""));
  command.add_option(
      "--inputs", folder,
      "Folder with 0.npy, 1.npy, … or input_0.pb, … in input order");
  command.add_option(
      "--seed", seed,
      "Seed of the random inputs that are used when none is given");
}

/// The position in `0.npy` or `input_0.pb`.
static std::optional<uint32_t> positionOf(const std::string &name) {
  std::string_view digits = name;
  if (digits.ends_with(".npy"))
    digits.remove_suffix(4);
  else if (digits.starts_with("input_") && digits.ends_with(".pb")) {
    digits.remove_prefix(6);
    digits.remove_suffix(3);
  } else
    return std::nullopt;
  uint32_t position = 0;
  const char *end = digits.data() + digits.size();
  auto [stop, error] = std::from_chars(digits.data(), end, position);
  if (error != std::errc() || stop != end || digits.empty())
    return std::nullopt;
  return position;
}

Status Inputs::readFolder() {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return invalid(folder +
                   ": is no folder; accepted is one with 0.npy, 1.npy, … "
                   "or input_0.pb, …");
  std::map<uint32_t, std::string> files;
  for (const fs::directory_entry &entry :
       fs::directory_iterator(folder, error)) {
    std::string path = entry.path().string();
    if (std::optional<uint32_t> position =
            positionOf(entry.path().filename().string())) {
      auto [it, isNew] = files.emplace(*position, path);
      if (!isNew)
        return invalid(fmt::format("{} and {}: are both input {}",
                                   std::min(it->second, path),
                                   std::max(it->second, path), *position));
    }
  }
  if (error)
    return invalid(fmt::format("{}: {}", folder, error.message()));
  if (files.empty())
    return invalid(folder + ": holds neither 0.npy nor input_0.pb");
  uint32_t next = 0;
  for (const auto &[position, path] : files) {
    if (position != next++)
      return invalid(fmt::format("{}: holds input {} but not input {}", folder,
                                 position, next - 1));
    TESSERA_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(path));
    byPosition[position] = {std::move(tensor), path};
  }
  return Status::success();
}

Status Inputs::read() {
  if (!folder.empty())
    TESSERA_RETURN_IF_ERROR(readFolder());
  for (const std::string &text : named) {
    // An input's name may hold '='; a file's hardly does.
    size_t equals = text.rfind('=');
    std::string name = text.substr(0, equals), path = text.substr(equals + 1);
    if (byName.count(name))
      return invalid(fmt::format("input '{}': is given twice, by {} and {}",
                                 name, byName[name].file, path));
    TESSERA_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(path));
    byName[name] = {std::move(tensor), path};
  }
  return Status::success();
}

void Inputs::describeTo(CompileOptions &options) const {
  // What decides shapes is a list of a few numbers.
  constexpr size_t fewBytes = 1024;
  auto bytesOf = [](const HostTensor &tensor) {
    return std::string(reinterpret_cast<const char *>(tensor.bytes.data()),
                       tensor.bytes.size());
  };
  for (const auto &[name, given] : byName) {
    options.inputShapes[name] = given.tensor.shape;
    if (given.tensor.bytes.size() <= fewBytes)
      options.inputBytes[name] = bytesOf(given.tensor);
  }
  for (const auto &[position, given] : byPosition) {
    options.inputShapesByPosition[position] = given.tensor.shape;
    if (given.tensor.bytes.size() <= fewBytes)
      options.inputBytesByPosition[position] = bytesOf(given.tensor);
  }
}

Status Inputs::check(const Given &given, const TensorSignature &wanted) {
  if (!acceptsAs(given.tensor.type, wanted.type) ||
      given.tensor.shape != wanted.shape)
    return invalid(fmt::format("{}: input '{}' is {}; accepted is {}",
                               given.file, wanted.name,
                               typeText(given.tensor.type, given.tensor.shape),
                               typeText(wanted.type, wanted.shape)));
  if (given.tensor.bytes.size() != wanted.bytes)
    return Status(
        StatusCode::Unsupported,
        fmt::format("{}: input '{}' has {} bytes, the program takes {}",
                    given.file, wanted.name, given.tensor.bytes.size(),
                    wanted.bytes));
  return Status::success();
}

Result<std::vector<HostTensor>>
Inputs::match(std::span<const TensorSignature> signature) const {
  std::vector<std::string> names;
  for (const TensorSignature &input : signature)
    names.push_back("'" + input.name + "'");
  if (!byPosition.empty() && byPosition.rbegin()->first >= signature.size())
    return invalid(fmt::format("{}: is input {}, the program has {}: {}",
                               byPosition.rbegin()->second.file,
                               byPosition.rbegin()->first, signature.size(),
                               fmt::join(names, ", ")));
  for (const auto &[name, given] : byName)
    if (std::none_of(signature.begin(), signature.end(),
                     [&](const TensorSignature &s) { return s.name == name; }))
      return invalid(fmt::format("{}: there is no input '{}'; accepted are {}",
                                 given.file, name, fmt::join(names, ", ")));
  bool random = byName.empty() && byPosition.empty();
  std::vector<HostTensor> tensors;
  for (uint32_t i = 0; i < signature.size(); ++i) {
    const TensorSignature &wanted = signature[i];
    HostTensor tensor;
    if (random) {
      TESSERA_ASSIGN_OR_RETURN(tensor, makeRandomTensor(wanted, seed, i));
    } else {
      auto named = byName.find(wanted.name);
      auto placed = byPosition.find(i);
      if (named != byName.end() && placed != byPosition.end())
        return invalid(fmt::format("input '{}': is given twice, by {} and {}",
                                   wanted.name, placed->second.file,
                                   named->second.file));
      if (named == byName.end() && placed == byPosition.end())
        return invalid(
            fmt::format("input '{}': is missing while others are given; "
                        "accepted are all of {} or none",
                        wanted.name, fmt::join(names, ", ")));
      const Given &given =
          named != byName.end() ? named->second : placed->second;
      TESSERA_RETURN_IF_ERROR(check(given, wanted));
      tensor = given.tensor;
    }
    tensor.name = wanted.name;
    tensor.type = wanted.type;
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<std::optional<std::vector<int64_t>>> Inputs::labels() const {
  std::error_code error;
  std::string path = folder + "/labels.npy";
  if (folder.empty() || !fs::exists(path, error))
    return std::optional<std::vector<int64_t>>();
  TESSERA_ASSIGN_OR_RETURN(HostTensor tensor, readTensorFile(path));
  std::vector<int64_t> labels;
  uint64_t width = elementBytes(tensor.type);
  for (size_t at = 0; at < tensor.bytes.size(); at += width) {
    const std::byte *from = tensor.bytes.data() + at;
    if (tensor.type == "i64" || tensor.type == "u64")
      labels.push_back(loadLittleEndian<int64_t>(from));
    else if (tensor.type == "i32" || tensor.type == "u32")
      labels.push_back(loadLittleEndian<int32_t>(from));
    else if (tensor.type == "u8" || tensor.type == "i8")
      labels.push_back(loadLittleEndian<uint8_t>(from));
    else
      return invalid(fmt::format("{}: is {}; accepted are integers", path,
                                 typeText(tensor.type, tensor.shape)));
  }
  return std::optional(std::move(labels));
}

} // namespace tessera::tool
