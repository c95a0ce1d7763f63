//===- FirstFit.h - Lowest free offsets -------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_FIRSTFIT_H
#define TESSERA_LIB_CONVERSION_FIRSTFIT_H

#include "tessera/Conversion/MemoryPlan.h"
#include <vector>

namespace tessera {

/// Places buffers one after the other, each where nothing that lives at the
/// same time lies.
class FirstFit {
public:
  explicit FirstFit(const std::vector<MemoryPlanProblem::Buffer> &buffers)
      : buffers(buffers), offsets(buffers.size()) {}

  /// The lowest offset at which the buffer fits.
  uint64_t findOffset(size_t index) const;
  void place(size_t index, uint64_t offset);

private:
  const std::vector<MemoryPlanProblem::Buffer> &buffers;
  std::vector<uint64_t> offsets;
  std::vector<size_t> placed; ///< By ascending offset.
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_FIRSTFIT_H
