//===- Text.cpp - Numbers for people --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"
#include <fmt/format.h>
#include <iterator>
#include <string_view>

using namespace tessera;

std::string report::groupedText(uint64_t value) {
  std::string digits = fmt::format("{}", value);
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, 1, ',');
  return digits;
}

std::string report::percentText(double part) {
  return fmt::format("{:.1f} %", part * 100);
}

std::string report::bytesText(uint64_t count) {
  static constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(count);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit)
    value /= 1024;
  return unit == 0 ? fmt::format("{} B", count)
                   : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string report::nameText(std::string_view name, size_t columns) {
  std::string text;
  size_t shown = 0, last = 0;
  for (char c : name) {
    // Bytes after the first one of a UTF-8 character take no column.
    bool begins = (uint8_t(c) & 0xc0) != 0x80;
    if (begins && shown == columns)
      return text.substr(0, last) + "…";
    if (begins) {
      last = text.size();
      ++shown;
    }
    text += uint8_t(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return text;
}

std::string report::durationText(double microseconds) {
  if (microseconds >= 1e6)
    return fmt::format("{:.3f} s", microseconds / 1e6);
  if (microseconds >= 1e3)
    return fmt::format("{:.3f} ms", microseconds / 1e3);
  return fmt::format("{:.3f} us", microseconds);
}
