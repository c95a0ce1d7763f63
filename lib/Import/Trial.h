//===- Trial.h - Work that may end its process -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_TRIAL_H
#define TESSERA_LIB_IMPORT_TRIAL_H

#include "tessera/Support/Status.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <cstdint>

namespace tessera {

/// What a trial may use more than its process did before.
struct TrialLimits {
  uint64_t bytes;        ///< Of address space.
  uint64_t microseconds; ///< Of processor time.
};

/// Runs `prepare` and then, within the limits and half of the stack, `action`
/// in a copy of this process, which ends with it: nothing that it does to
/// memory is seen here, and it prints nothing. Gives what `action` does, or an
/// error that tells how the copy ended.
///
/// Neither may use threads that run already: the copy has none of them.
Status runTrial(llvm::function_ref<void()> prepare,
                llvm::function_ref<Status()> action, TrialLimits limits);

} // namespace tessera

#endif // TESSERA_LIB_IMPORT_TRIAL_H
