//===- LinearExpr.h - Linear expressions of a kernel's scalars -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Index arithmetic as constant + sum of coefficient * symbol, where a symbol is
// whatever a register holds: a loop's iteration number, an argument, a slot.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_LINEAREXPR_H
#define TESSERA_LIB_CONVERSION_LINEAREXPR_H

#include <compare>
#include <cstdint>
#include <map>
#include <optional>

namespace tessera {

/// Number of a symbol in its kernel's table.
using SymbolId = uint32_t;

struct LinearExpr {
  int64_t constant = 0;
  std::map<SymbolId, int64_t> terms; ///< No coefficient is 0.

  LinearExpr() = default;
  LinearExpr(int64_t constant) : constant(constant) {}
  static LinearExpr ofSymbol(SymbolId symbol) {
    LinearExpr expr;
    expr.terms[symbol] = 1;
    return expr;
  }

  bool isConstant() const { return terms.empty(); }
  /// The symbol if the expression is just that.
  std::optional<SymbolId> asSymbol() const {
    if (constant == 0 && terms.size() == 1 && terms.begin()->second == 1)
      return terms.begin()->first;
    return std::nullopt;
  }

  LinearExpr &operator+=(const LinearExpr &other) {
    constant += other.constant;
    for (auto [symbol, coefficient] : other.terms)
      if ((terms[symbol] += coefficient) == 0)
        terms.erase(symbol);
    return *this;
  }
  LinearExpr operator*(int64_t factor) const {
    LinearExpr result;
    if (factor == 0)
      return result;
    result.constant = constant * factor;
    for (auto [symbol, coefficient] : terms)
      result.terms[symbol] = coefficient * factor;
    return result;
  }
  friend LinearExpr operator+(LinearExpr a, const LinearExpr &b) {
    return a += b;
  }
  friend LinearExpr operator-(LinearExpr a, const LinearExpr &b) {
    return a += b * -1;
  }
  auto operator<=>(const LinearExpr &) const = default;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_LINEAREXPR_H
