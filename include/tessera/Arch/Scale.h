//===- Scale.h - Architectures with a faster or slower part ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What-if questions: the same machine with one number changed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ARCH_SCALE_H
#define TESSERA_ARCH_SCALE_H

#include "tessera/Arch/Architecture.h"
#include "tessera/Support/Status.h"
#include <span>
#include <string_view>

namespace tessera {

/// A unit of the machine that can be made `factor` times as fast.
struct ScaleGroup {
  std::string_view name;
  std::string_view doc; ///< What changes.
};
std::span<const ScaleGroup> scaleGroups();

/// `arch` with the unit `key` (of scaleGroups) `factor` times as fast, or with
/// the number of the file's key `key` ("section.key") multiplied by `factor`.
/// InvalidArgument if there is no such number, or if what comes of it is no
/// valid architecture; the text begins with "key=factor".
Result<Architecture> scaleArchitecture(const Architecture &arch,
                                       std::string_view key, double factor);

} // namespace tessera

#endif // TESSERA_ARCH_SCALE_H
