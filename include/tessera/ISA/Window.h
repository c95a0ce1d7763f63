//===- Window.h - Windows over the edges of tensors -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `td.window` adds to a descriptor register: which of a descriptor's
// elements lie inside the tensor that it is a window over.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_WINDOW_H
#define TESSERA_ISA_WINDOW_H

#include "tessera/ISA/Descriptor.h"
#include <algorithm>
#include <limits>
#include <optional>

namespace tessera::isa {

struct Window {
  /// Of each dimension the elements inside the tensor, [first, last); elements
  /// beyond the extent do not exist.
  std::array<uint32_t, maxRank> first{};
  std::array<uint32_t, maxRank> last = filled();

  /// No element of `td` is outside.
  bool covers(const Descriptor &td) const {
    for (unsigned d = 0; d < td.rank; ++d)
      if (first[d] > 0 || last[d] < td.extents[d])
        return false;
    return true;
  }
  void forget(unsigned dim) { first[dim] = 0, last[dim] = noLimit; }
  /// Element i of a dimension of `extent` elements is at origin + i * step of a
  /// tensor with coordinates 0 to size - 1; step >= 1.
  void place(unsigned dim, uint32_t extent, int64_t origin, int64_t size,
             uint32_t step) {
    // The first element at or above a coordinate.
    auto elementAt = [&](int64_t coordinate) {
      __int128 distance = __int128(coordinate) - origin;
      if (distance <= 0)
        return uint32_t(0);
      __int128 element = (distance + step - 1) / step;
      return element < extent ? uint32_t(element) : extent;
    };
    first[dim] = elementAt(0);
    last[dim] = std::max(first[dim], elementAt(size));
  }
  /// The same part of any descriptor of these extents, not of i4 (whose odd
  /// elements no base can name); nothing if it is empty.
  std::optional<Descriptor> inside(Descriptor td) const {
    uint64_t bits = bitWidth(td.format), offset = 0;
    for (unsigned d = 0; d < td.rank; ++d) {
      uint32_t end = std::min(last[d], td.extents[d]);
      if (first[d] >= end)
        return std::nullopt;
      offset += first[d] * uint64_t(td.strides[d]);
      td.extents[d] = end - first[d];
    }
    td.base += offset * (bits / 8);
    return td;
  }

private:
  static constexpr uint32_t noLimit = std::numeric_limits<uint32_t>::max();
  static constexpr std::array<uint32_t, maxRank> filled() {
    std::array<uint32_t, maxRank> limits{};
    limits.fill(noLimit);
    return limits;
  }
};

} // namespace tessera::isa

#endif // TESSERA_ISA_WINDOW_H
