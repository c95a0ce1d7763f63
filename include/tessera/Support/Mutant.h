//===- Mutant.h - Switches for planted bugs ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// TESSERA_MUTANT("name") is where the planted bug `name` sits: false, so that
// nothing of it is compiled, except in the one test program that is built with
// TESSERA_MUTANTS (test/mutation) and switches one of them on. Each is killed
// by a named scenario: docs/kill-matrix.md, docs/decisions/.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_MUTANT_H
#define TESSERA_SUPPORT_MUTANT_H

#ifdef TESSERA_MUTANTS
#include <string_view>

namespace tessera::mutants {
/// Whether this is the planted bug that the test program switched on.
bool active(std::string_view name);
} // namespace tessera::mutants

#define TESSERA_MUTANT(name) ::tessera::mutants::active(name)
#else
#define TESSERA_MUTANT(name) false
#endif

#endif // TESSERA_SUPPORT_MUTANT_H
