//===- Mutants.h - The planted bugs -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_MUTATION_MUTANTS_H
#define TESSERA_TEST_MUTATION_MUTANTS_H

#include <span>

namespace tessera::mutants {

struct Mutant {
  const char *name;        ///< As in TESSERA_MUTANT.
  const char *killer;      ///< The scenario that must fail.
  const char *description; ///< What is wrong.
};
std::span<const Mutant> all();

} // namespace tessera::mutants

#endif // TESSERA_TEST_MUTATION_MUTANTS_H
