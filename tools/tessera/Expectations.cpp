//===- Expectations.cpp - Values against what a model expects -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expectations.h"
#include "TensorValues.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::tool {

/// The indices of element `at`, in row-major order.
static std::vector<uint64_t> indicesOf(uint64_t at,
                                       const std::vector<uint64_t> &shape) {
  std::vector<uint64_t> indices(shape.size());
  for (size_t dim = shape.size(); dim-- > 0; at /= shape[dim])
    indices[dim] = at % shape[dim];
  return indices;
}

/// Whether the element is as expected.
static bool holds(const Expectation &expectation, const TensorValues &got,
                  const TensorValues &want, size_t i) {
  if (got.equalBits(want, i))
    return true;
  if (!got.isFloat())
    return false; // 64-bit integers as doubles might seem equal.
  double a = got[i], b = want[i];
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (!expectation.tolerance || std::isinf(a) || std::isinf(b))
    return a == b;
  return std::abs(a - b) <= expectation.tolerance->atol +
                                expectation.tolerance->rtol * std::abs(b);
}

/// What is wrong with the values, or nothing.
static std::string departure(const Expectation &expectation,
                             const HostTensor &gotTensor,
                             const HostTensor &wantTensor) {
  TensorValues got(gotTensor), want(wantTensor);
  size_t count = 0, first = 0;
  for (size_t i = 0; i < got.size(); ++i)
    if (!holds(expectation, got, want, i) && count++ == 0)
      first = i;
  if (count == 0)
    return "";
  std::string accepted = "equal elements";
  if (expectation.tolerance)
    accepted =
        fmt::format("differences of at most {:g} + {:g} * |expected|",
                    expectation.tolerance->atol, expectation.tolerance->rtol);
  return fmt::format("{}: {} of {} elements depart, first [{}]: {:.9g}, "
                     "expected {:.9g}; accepted are {}",
                     expectation.name, count, got.size(),
                     fmt::join(indicesOf(first, gotTensor.shape), ", "),
                     got[first], want[first], accepted);
}

std::vector<std::string> takeUnmet(std::span<const Expectation> expectations,
                                   std::vector<HostTensor> &outputs) {
  std::vector<std::string> unmet;
  for (const Expectation &one : expectations)
    if (std::string text =
            departure(one, outputs[one.output], outputs[one.output + 1]);
        !text.empty())
      unmet.push_back(std::move(text));
  // From the last one on, so that the places of the others stay.
  for (size_t i = expectations.size(); i-- > 0;) {
    auto at =
        outputs.begin() + static_cast<std::ptrdiff_t>(expectations[i].output);
    outputs.erase(at, at + 2);
  }
  return unmet;
}

} // namespace tessera::tool
