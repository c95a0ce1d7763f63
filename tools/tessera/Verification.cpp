//===- Verification.cpp - Comparison with the reference -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "TensorFiles.h"
#include "TensorValues.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tool {

uint64_t countRoundings(const Object &object) {
  uint64_t roundings = 0;
  for (const OperatorRecord &op : object.workload)
    roundings += (op.k ? op.k + 1 : 0) + op.aluOps + 2 * uint64_t(op.sfuOps);
  return roundings;
}

namespace {
/// What an element of an output may differ by.
class Tolerance {
public:
  Tolerance(const TensorValues &expected, uint64_t roundings,
            std::span<const HostTensor *const> rounded)
      : expected(expected) {
    for (const HostTensor *other : rounded)
      others.emplace_back(*other);
    if (!expected.isFloat())
      return;
    double largest = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      if (double value = std::fabs(expected[i]); std::isfinite(value))
        largest = std::max(largest, value);
    double unit = expected.unitRoundoff();
    base = (roundings * 0x1p-24 + unit) * largest;
    reason = fmt::format(
        "{} roundings of 2^-24{} times the largest value {:.3g}", roundings,
        unit ? fmt::format(" and one of {:.3g} to {}", unit, expected.type())
             : "",
        largest);
    if (!others.empty())
      reason += fmt::format(
          ", and {} times what rounding up or down changes in the reference",
          spreadFactor);
  }
  double of(size_t i) const {
    double spread = 0;
    for (const TensorValues &other : others)
      if (double change = std::fabs(other[i] - expected[i]);
          std::isfinite(change))
        spread = std::max(spread, change);
    return base + (expected.isFloat() ? spreadFactor * spread : 0);
  }

  std::string reason;

private:
  /// Of two computations each errs by up to what the other does, and errors of
  /// either sign may cancel in the one that was looked at.
  static constexpr int spreadFactor = 4;
  const TensorValues &expected;
  std::vector<TensorValues> others;
  double base = 0;
};
} // namespace

static report::OutputCheck compare(const HostTensor &output,
                                   const HostTensor &reference,
                                   uint64_t roundings,
                                   std::span<const HostTensor *const> rounded) {
  report::OutputCheck check;
  check.name = output.name;
  TensorValues actual(output), expected(reference);
  Tolerance tolerance(expected, roundings, rounded);
  check.reason =
      actual.isFloat() ? tolerance.reason : output.type + " is exact";
  check.elements = actual.size();
  double squares = 0;
  uint64_t finite = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    double accepted = tolerance.of(i);
    check.tolerance = std::max(check.tolerance, accepted);
    double a = actual[i], e = expected[i];
    bool same = actual.equalBits(expected, i);
    if (same || (std::isnan(a) && std::isnan(e))) {
      ++finite;
      continue;
    }
    double error = std::fabs(a - e);
    if (!std::isfinite(error)) { // A NaN or infinity on one side only.
      error = INFINITY;
    } else {
      squares += error * error;
      ++finite;
    }
    check.maxAbsError = std::max(check.maxAbsError, error);
    // Relative to zero there is no error; the absolute one tells.
    if (error != 0 && e != 0)
      check.maxRelError = std::max(check.maxRelError, error / std::fabs(e));
    // Different bits of equal numbers are a zero's sign, or lost digits of a
    // 64-bit integer.
    if (!(error <= accepted) || (!actual.isFloat() && error == 0))
      ++check.departing;
  }
  check.ok = check.departing == 0;
  check.rmsError = finite ? std::sqrt(squares / double(finite)) : 0;
  return check;
}

Result<std::vector<report::OutputCheck>>
compareOutputs(const Object &object, std::span<const HostTensor> outputs,
               std::span<const HostTensor> reference,
               std::span<const std::vector<HostTensor>> rounded) {
  if (outputs.size() != reference.size())
    return Status(StatusCode::Internal,
                  fmt::format("the reference has {} outputs, the program {}",
                              reference.size(), outputs.size()));
  uint64_t roundings = countRoundings(object);
  std::vector<report::OutputCheck> checks;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type != reference[i].type ||
        outputs[i].shape != reference[i].shape ||
        outputs[i].bytes.size() != reference[i].bytes.size())
      return Status(
          StatusCode::Internal,
          fmt::format("output '{}': the program's is {}, the reference's "
                      "{}",
                      outputs[i].name,
                      typeText(outputs[i].type, outputs[i].shape),
                      typeText(reference[i].type, reference[i].shape)));
    std::vector<const HostTensor *> others;
    for (const std::vector<HostTensor> &run : rounded)
      others.push_back(&run[i]);
    checks.push_back(compare(outputs[i], reference[i], roundings, others));
  }
  return checks;
}

std::optional<std::vector<int64_t>> predictions(const HostTensor &scores) {
  TensorValues elements(scores);
  if (scores.shape.size() != 2 || scores.shape[1] == 0 || !elements.isFloat())
    return std::nullopt;
  std::vector<int64_t> result;
  uint64_t classes = scores.shape[1];
  for (uint64_t row = 0; row < scores.shape[0]; ++row) {
    int64_t best = 0;
    for (uint64_t c = 1; c < classes; ++c)
      if (elements[row * classes + c] > elements[row * classes + best])
        best = c;
    result.push_back(best);
  }
  return result;
}

uint64_t countEqual(std::span<const int64_t> a, std::span<const int64_t> b) {
  uint64_t count = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    count += a[i] == b[i];
  return count;
}

} // namespace tessera::tool
