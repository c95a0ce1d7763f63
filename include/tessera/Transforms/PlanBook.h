//===- PlanBook.h - Files of tile plans -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans that kernels are to take instead of the mapper's choice. A file of them
// (`--plans`, written by `--autotune`) is text: a first line, then a line for
// each kernel with the hash of its problem, which is also one of the
// architecture, and the plan in the words of `--explain`. Lines that begin with
// '#' are remarks; those right before a plan stay with it.
//
//   tessera plans 1
//   # fc1
//   08f3c2a15b7de694 n 512/2048, m 128/2048, k 2048; cores 4 along n; 2 buffers
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_PLANBOOK_H
#define TESSERA_TRANSFORMS_PLANBOOK_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tessera {

class PlanBook {
public:
  /// InvalidArgument, with the line and what would be accepted.
  static Result<PlanBook> parse(std::string_view text);
  /// What parse() reads, the problems in ascending order.
  std::string print() const;

  /// The plan of a problem (hashProblems in PlanText.h); null if there is none.
  const std::string *find(uint64_t problem) const;
  /// Gives a problem this plan, whatever it had. `remark` may be empty; it has
  /// no '#'.
  void set(uint64_t problem, std::string plan, std::string remark);
  size_t size() const { return entries.size(); }

private:
  struct Entry {
    std::string plan,
        remark; ///< Lines of the remark end with '\n' but the last.
  };
  std::map<uint64_t, Entry> entries;
};

} // namespace tessera

#endif // TESSERA_TRANSFORMS_PLANBOOK_H
