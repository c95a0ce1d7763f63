//===- Compatible.cpp - Whether an object runs on a machine ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Object/Object.h"
#include <algorithm>
#include <map>

namespace tessera {

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

/// Every key that is not the same in both.
static std::string describeDifference(std::string_view object,
                                      std::string_view machine) {
  auto theirs = parseKeys(object), ours = parseKeys(machine);
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

Status checkCompatible(const Object &object, const Architecture &arch) {
  std::string machine = isaKeys(arch);
  if (object.isaKeys == machine)
    return Status::success();
  return {StatusCode::FailedPrecondition,
          fmt::format("the object was compiled for architecture '{}' and "
                      "cannot run on '{}': {}; compile it again for '{}'",
                      object.architectureName, arch.name,
                      describeDifference(object.isaKeys, machine), arch.name)};
}

} // namespace tessera
