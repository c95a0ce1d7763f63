//===- Text.h - Numbers for people ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_TEXT_H
#define TESSERA_LIB_REPORT_TEXT_H

#include <cstdint>
#include <string>

namespace tessera::report {

/// With commas between thousands, whatever the locale.
std::string groupedText(uint64_t value);
/// 0.123 as "12.3 %".
std::string percentText(double part);
/// "1.5 MiB".
std::string bytesText(uint64_t count);
/// Microseconds in the unit that fits.
std::string durationText(double microseconds);
/// A name for one line of a terminal: control characters become '?', and what
/// is longer than `columns` characters ends in "…".
std::string nameText(std::string_view name, size_t columns);

} // namespace tessera::report

#endif // TESSERA_LIB_REPORT_TEXT_H
