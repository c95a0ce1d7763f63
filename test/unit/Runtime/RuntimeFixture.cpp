//===- RuntimeFixture.cpp - A device of each kind for tests ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "tessera/driver/SimDriver.h"

namespace tessera::runtime {

std::vector<std::string> driverKinds() { return {"null", "simulator"}; }

std::unique_ptr<driver::Driver> makeDriver(const std::string &kind,
                                           const Architecture &arch) {
  if (kind == "simulator")
    return std::make_unique<driver::SimDriver>(arch);
  return driver::makeNullDriver(arch);
}

} // namespace tessera::runtime
