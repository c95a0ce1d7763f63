//===- Shadow.cpp - Who accessed which byte -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check/Shadow.h"

namespace tessera::sim {

void Shadow::collect() {
  std::vector<SetId> numberOf(sets.size(), noReaders);
  std::vector<std::vector<AccessId>> kept{{}};
  for (auto &[index, page] : pages)
    for (Byte &byte : page) {
      if (byte.readers == noReaders)
        continue;
      SetId &number = numberOf[byte.readers];
      if (number == noReaders) {
        number = SetId(kept.size());
        kept.push_back(std::move(sets[byte.readers]));
      }
      byte.readers = number;
    }
  sets = std::move(kept);
  collectAt = std::max(collectAt, 2 * sets.size());
  latest = noAccess;
}

} // namespace tessera::sim
