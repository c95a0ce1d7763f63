//===- ScalarRegisters.h - Scoped register allocation ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 32 scalar registers, handed out for the time of a block. There is no
// spilling: a kernel that needs more is refused.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_SCALARREGISTERS_H
#define TESSERA_LIB_CONVERSION_SCALARREGISTERS_H

#include "LinearExpr.h"
#include "tessera/ISA/Instruction.h"
#include <bitset>
#include <cassert>
#include <vector>

namespace tessera {

class ScalarRegisters {
public:
  ScalarRegisters() { scopes.emplace_back(); }

  /// nullopt if all are in use.
  std::optional<unsigned> allocate() {
    for (unsigned reg = 0; reg < isa::numScalarRegs; ++reg)
      if (!used[reg]) {
        used.set(reg);
        return reg;
      }
    return std::nullopt;
  }
  void release(unsigned reg) {
    assert(used[reg] && "released a free register");
    used.reset(reg);
  }
  unsigned numFree() const { return isa::numScalarRegs - used.count(); }

  /// Registers given to the innermost scope are released with it.
  void openScope() { scopes.emplace_back(); }
  void closeScope() {
    for (unsigned reg : scopes.back().owned)
      release(reg);
    scopes.pop_back();
  }
  void keepInScope(unsigned reg) { scopes.back().owned.push_back(reg); }

  /// Remembers that `reg`, which the innermost scope keeps, holds `value`.
  void remember(const LinearExpr &value, unsigned reg) {
    scopes.back().values[value] = reg;
  }
  /// A register that holds `value`.
  std::optional<unsigned> lookup(const LinearExpr &value) const {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (auto known = scope->values.find(value); known != scope->values.end())
        return known->second;
    return std::nullopt;
  }

private:
  struct Scope {
    std::vector<unsigned> owned;
    std::map<LinearExpr, unsigned> values;
  };
  std::bitset<isa::numScalarRegs> used;
  std::vector<Scope> scopes;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_SCALARREGISTERS_H
