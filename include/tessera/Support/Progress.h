//===- Progress.h - How far long work is -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_PROGRESS_H
#define TESSERA_SUPPORT_PROGRESS_H

#include <cstdint>
#include <functional>
#include <string_view>

namespace tessera {

/// Hears, often, what the work is at ("importing", …), how many steps of it
/// are done and how many there are; `step` names the next one. Empty: nobody
/// listens.
using ProgressFunction =
    std::function<void(std::string_view what, uint64_t done, uint64_t total,
                       std::string_view step)>;

} // namespace tessera

#endif // TESSERA_SUPPORT_PROGRESS_H
