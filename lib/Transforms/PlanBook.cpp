//===- PlanBook.cpp - Files of tile plans ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Transforms/PlanBook.h"
#include <charconv>
#include <fmt/format.h>

using namespace tessera;

static constexpr std::string_view firstLine = "tessera plans 1";
static constexpr size_t hashDigits = 16;

Result<PlanBook> PlanBook::parse(std::string_view text) {
  PlanBook book;
  std::string remark;
  unsigned number = 0;
  auto error = [&](std::string what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("line {}: {}", number, what));
  };
  while (number == 0 || !text.empty()) {
    ++number;
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    if (number == 1) {
      if (line != firstLine)
        return error(fmt::format("'{}' is expected first", firstLine));
      continue;
    }
    if (line.empty()) {
      remark.clear();
      continue;
    }
    if (line.front() == '#') {
      line.remove_prefix(line.starts_with("# ") ? 2 : 1);
      remark += (remark.empty() ? "" : "\n") + std::string(line);
      continue;
    }
    uint64_t problem = 0;
    auto [end, failure] = std::from_chars(
        line.data(), line.data() + std::min(line.size(), hashDigits), problem,
        16);
    if (failure != std::errc() || end != line.data() + hashDigits ||
        line.size() < hashDigits + 2 || line[hashDigits] != ' ')
      return error(fmt::format("a hash of {} hexadecimal digits, a space and a "
                               "plan are expected",
                               hashDigits));
    if (book.find(problem))
      return error(fmt::format("{:016x} has a plan already", problem));
    book.set(problem, std::string(line.substr(hashDigits + 1)),
             std::move(remark));
    remark.clear();
  }
  return book;
}

std::string PlanBook::print() const {
  std::string text = fmt::format("{}\n", firstLine);
  for (const auto &[problem, entry] : entries) {
    std::string_view rest = entry.remark;
    while (!rest.empty()) {
      std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      text += fmt::format("# {}\n", line);
    }
    text += fmt::format("{:016x} {}\n", problem, entry.plan);
  }
  return text;
}

const std::string *PlanBook::find(uint64_t problem) const {
  auto found = entries.find(problem);
  return found == entries.end() ? nullptr : &found->second.plan;
}

void PlanBook::set(uint64_t problem, std::string plan, std::string remark) {
  entries[problem] = {std::move(plan), std::move(remark)};
}
