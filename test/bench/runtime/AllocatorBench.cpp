//===- AllocatorBench.cpp - Fragmentation under a trace of allocations ---===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays test/bench/runtime/allocations.txt against each placement in a space
// of every size, and prints the least space in which all of it fits, beside
// what is live at the peak:
//
//   allocator-bench [TRACE]
//
//===----------------------------------------------------------------------===//

#include "RangeAllocator.h"
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

using namespace tessera::runtime;

namespace {

struct Step {
  bool allocate = false;
  uint64_t block = 0, bytes = 0;
};

constexpr uint64_t page = 64 << 10, large = 2 << 20;

bool fits(const std::vector<Step> &steps, Placement placement, uint64_t size) {
  RangeAllocator ranges(0, size, placement);
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> live;
  for (const Step &step : steps) {
    if (!step.allocate) {
      auto [begin, bytes] = live[step.block];
      ranges.release(begin, bytes);
      live.erase(step.block);
      continue;
    }
    uint64_t bytes = (step.bytes + page - 1) / page * page;
    auto begin = ranges.allocate(bytes, bytes >= large ? large : page);
    if (!begin)
      return false;
    live[step.block] = {*begin, bytes};
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  std::string name = argc > 1 ? argv[1]
                              : TESSERA_SOURCE_DIR
                         "/test/bench/runtime/allocations.txt";
  std::ifstream file(name);
  if (!file) {
    fmt::print(stderr, "error: {} cannot be read\n", name);
    return 1;
  }
  std::vector<Step> steps;
  std::map<uint64_t, uint64_t> live;
  uint64_t now = 0, peak = 0, allocations = 0;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream in(line);
    char kind = 0;
    Step step;
    in >> kind >> step.block;
    step.allocate = kind == '+';
    if (step.allocate)
      in >> step.bytes;
    if (!in || (kind != '+' && kind != '-') ||
        (step.allocate ? step.bytes == 0 || live.count(step.block)
                       : !live.count(step.block))) {
      fmt::print(stderr,
                 "error: {}:{}: not `+ block bytes` of a new block or "
                 "`- block` of a live one\n",
                 name, number);
      return 1;
    }
    if (step.allocate) {
      now += live[step.block] = (step.bytes + page - 1) / page * page;
      ++allocations;
    } else {
      now -= live[step.block];
      live.erase(step.block);
    }
    peak = std::max(peak, now);
    steps.push_back(step);
  }
  fmt::print("{} allocations, {} MiB live at the peak\n\n", allocations,
             peak >> 20);
  fmt::print(
      "| placement | least space, MiB | beyond the peak |\n|---|---|---|\n");
  for (auto [placement, text] :
       {std::pair(Placement::FirstFit, "first fit"),
        std::pair(Placement::BestFit, "best fit"),
        std::pair(Placement::TwoEnded, "best fit, two-ended")}) {
    uint64_t low = peak / large, high = 2 * peak / large + 1;
    while (!fits(steps, placement, high * large))
      high *= 2;
    while (low + 1 < high) {
      uint64_t middle = (low + high) / 2;
      (fits(steps, placement, middle * large) ? high : low) = middle;
    }
    double beyond = 100.0 * (double(high * large) / double(peak) - 1.0);
    fmt::print("| {} | {} | {:.1f} % |\n", text, high * large >> 20, beyond);
  }
  return 0;
}
