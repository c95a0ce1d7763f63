//===- RuntimeFixture.cpp - A device of each kind for tests ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include "EagerDriver.h"
#include "tessera/driver/FaultDriver.h"
#include "tessera/driver/RecordDriver.h"
#include "tessera/driver/SimDriver.h"

namespace tessera::runtime {

const std::vector<BackEnd> &backEnds() {
  static const std::vector<BackEnd> all = {
      {"null",
       [](const Architecture &arch) { return driver::makeNullDriver(arch); }},
      {"simulator",
       [](const Architecture &arch) -> std::unique_ptr<driver::Driver> {
         return std::make_unique<driver::SimDriver>(arch);
       }},
      // A schedule out of many that the memory model allows.
      {"exploring",
       [](const Architecture &arch) -> std::unique_ptr<driver::Driver> {
         sim::DeviceOptions options;
         options.explore = true;
         options.seed = 12;
         return std::make_unique<driver::SimDriver>(arch, options);
       }},
      // Runs on while the host is at work, as hardware does.
      {"eager",
       [](const Architecture &arch) -> std::unique_ptr<driver::Driver> {
         return std::make_unique<EagerDriver>(
             std::make_unique<driver::SimDriver>(arch));
       }},
      // Doorbells and interrupts come late, twice or never.
      {"unreliable",
       [](const Architecture &arch) -> std::unique_ptr<driver::Driver> {
         driver::FaultPlan plan;
         plan.seed = 7;
         using driver::FaultKind;
         for (FaultKind kind :
              {FaultKind::DropDoorbell, FaultKind::DuplicateDoorbell,
               FaultKind::DelayDoorbell, FaultKind::TearFetch,
               FaultKind::DropInterrupt, FaultKind::DuplicateInterrupt,
               FaultKind::DelayInterrupt, FaultKind::CorrectedFlip})
           plan[kind] = 60;
         return std::make_unique<driver::FaultDriver>(
             std::make_unique<driver::SimDriver>(arch), plan);
       }},
      {"recorded",
       [](const Architecture &arch) -> std::unique_ptr<driver::Driver> {
         return std::make_unique<driver::RecordDriver>(
             std::make_unique<driver::SimDriver>(arch),
             driver::RecordOptions{.threadsTakeTurns = true});
       }},
  };
  return all;
}

std::vector<std::string> driverKinds() {
  std::vector<std::string> names;
  for (const BackEnd &backEnd : backEnds())
    names.push_back(backEnd.name);
  return names;
}

std::unique_ptr<driver::Driver> makeDriver(const std::string &kind,
                                           const Architecture &arch) {
  for (const BackEnd &backEnd : backEnds())
    if (backEnd.name == kind)
      return backEnd.make(arch);
  ADD_FAILURE() << "no back end '" << kind << "'";
  return nullptr;
}

} // namespace tessera::runtime
