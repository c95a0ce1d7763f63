//===- Compatible.cpp - Whether an object runs on a machine ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/Object/Object.h"

namespace tessera {

Status checkCompatible(const Object &object, const Architecture &arch) {
  std::string machine = isaKeys(arch);
  if (object.isaKeys == machine)
    return Status::success();
  return {StatusCode::FailedPrecondition,
          fmt::format("the object was compiled for architecture '{}' and "
                      "cannot run on '{}': {}; compile it again for '{}'",
                      object.architectureName, arch.name,
                      describeKeyDifference(object.isaKeys, machine),
                      arch.name)};
}

} // namespace tessera
