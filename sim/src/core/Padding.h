//===- Padding.h - What a load writes without a burst -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_PADDING_H
#define TESSERA_SIM_CORE_PADDING_H

#include "core/Banks.h"
#include "tessera/ISA/Window.h"

namespace tessera::sim {

/// The elements of a local tensor outside a window, or those of absent rows
/// (indices of its first dimension).
struct Padding {
  isa::Descriptor td;
  isa::Window window;
  std::vector<uint8_t> absentRows; ///< Empty: all are present.
  template <typename A> void serialize(A &ar) {
    fields(ar, td, window, absentRows);
  }
};

/// Cuts them, in row-major order, into accesses of so many bytes.
class PaddingWalk {
public:
  PaddingWalk(const Padding &padding, uint64_t accessBytes);

  /// Puts the next access into `access`; false if there is none.
  bool next(BankAccess &access);

private:
  /// A line is a row of the last dimension.
  void enterLine();
  /// The next elements of the line that are padding, [first, last); empty at
  /// its end.
  std::pair<uint64_t, uint64_t> nextRun() const;

  const Padding &padding;
  const uint64_t perAccess; ///< Elements.
  uint64_t line = 0, lines = 1, lineElements = 1;
  int64_t lineOffset = 0;                   ///< Elements.
  uint64_t insideFirst = 0, insideLast = 0; ///< Of the line: no padding.
  uint64_t at = 0;                          ///< Of the line.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_PADDING_H
