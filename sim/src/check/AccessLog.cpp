//===- AccessLog.cpp - Collects what dispatches read and write ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check/AccessLog.h"
#include "core/Tensor.h"

namespace tessera::sim {

void AccessLog::add(const CoreTask &task, const isa::Descriptor &td,
                    bool writes) {
  KernelAccesses &dispatch = dispatches[task.place];
  RangeSet &set = writes ? dispatch.written : dispatch.read;
  Runs runs(td);
  uint64_t bits = bitWidth(td.format);
  runs.forEach([&](int64_t element) {
    uint64_t first = td.base * 8 + uint64_t(element) * bits;
    set.add(first / 8, (first + runs.runElements * bits + 7) / 8);
  });
}

std::vector<KernelAccesses> AccessLog::take() {
  std::vector<KernelAccesses> result;
  for (auto &[place, accesses] : dispatches) {
    accesses.place = place;
    result.push_back(std::move(accesses));
  }
  dispatches.clear();
  return result;
}

} // namespace tessera::sim
