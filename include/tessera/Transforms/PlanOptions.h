//===- PlanOptions.h - Where tile plans come from ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TRANSFORMS_PLANOPTIONS_H
#define TESSERA_TRANSFORMS_PLANOPTIONS_H

#include <string>

namespace tessera {

/// What kernels take instead of the plan that the mapper expects to be best.
struct PlanOptions {
  /// The text of a PlanBook; empty: none.
  std::string book;
  /// Of kernels without a plan there: this one of the mapper's ranking, from 0
  /// on, or its last.
  unsigned candidate = 0;
};

} // namespace tessera

#endif // TESSERA_TRANSFORMS_PLANOPTIONS_H
