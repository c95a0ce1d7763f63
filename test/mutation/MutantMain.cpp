//===- MutantMain.cpp - The conformance scenarios with a planted bug ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// conformance-mutants [--mutant=NAME] [--list] [GoogleTest options]: runs the
// scenarios, built with all planted bugs, one of which is switched on.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "tessera/Support/Mutant.h"
#include <cstdio>
#include <gtest/gtest.h>
#include <string>

namespace {
/// Set before any test runs; the planted bugs have no other way to know.
std::string switchedOn;
} // namespace

bool tessera::mutants::active(std::string_view name) {
  return switchedOn == name;
}

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--list") {
      for (const tessera::mutants::Mutant &mutant : tessera::mutants::all())
        std::printf("%s\t%s\t%s\n", mutant.name, mutant.killer,
                    mutant.description);
      return 0;
    }
    if (argument.substr(0, 9) != "--mutant=") {
      std::fprintf(stderr, "error: unknown option '%s'\n", argv[i]);
      return 2;
    }
    switchedOn = argument.substr(9);
    bool known = false;
    for (const tessera::mutants::Mutant &mutant : tessera::mutants::all())
      known |= switchedOn == mutant.name;
    if (!known) {
      std::fprintf(stderr, "error: no mutant '%s'; --list lists them\n",
                   switchedOn.c_str());
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
