//===- KeyDifference.cpp - In which keys two machines differ --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/IsaKeys.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace tessera;

/// Values by key, of lines `key=value`.
static std::map<std::string_view, std::string_view>
parseKeys(std::string_view lines) {
  std::map<std::string_view, std::string_view> values;
  while (!lines.empty()) {
    std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    size_t equals = std::min(line.find('='), line.size());
    values[line.substr(0, equals)] =
        line.substr(std::min(equals + 1, line.size()));
  }
  return values;
}

std::string tessera::describeKeyDifference(std::string_view there,
                                           std::string_view here) {
  auto theirs = parseKeys(there), ours = parseKeys(here);
  std::string text;
  auto add = [&](std::string_view key, std::string_view their,
                 std::string_view our) {
    if (their != our)
      text += fmt::format("{}{} is {} against {}", text.empty() ? "" : "; ",
                          key, their, our);
  };
  for (auto [key, value] : ours)
    add(key, theirs.count(key) ? theirs[key] : "absent", value);
  for (auto [key, value] : theirs)
    if (!ours.count(key))
      add(key, value, "absent");
  return text;
}
