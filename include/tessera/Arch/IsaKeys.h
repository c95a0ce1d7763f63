//===- IsaKeys.h - What programs depend on ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ARCH_ISAKEYS_H
#define TESSERA_ARCH_ISAKEYS_H

#include "tessera/Arch/Architecture.h"
#include <string>
#include <string_view>

namespace tessera {

/// What an object depends on to run at all, Architecture::isaHash()'s text: a
/// line `key=value` for each of these keys, in the order of the schema.
std::string isaKeys(const Architecture &arch);
/// The same of all keys, those that change timing only behind the others.
std::string machineKeys(const Architecture &arch);

/// Every key that is not the same in two such texts, as "key is there's value
/// against here's value; …".
std::string describeKeyDifference(std::string_view there,
                                  std::string_view here);

} // namespace tessera

#endif // TESSERA_ARCH_ISAKEYS_H
