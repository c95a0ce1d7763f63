//===- Verification.cpp - Comparison with the reference -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "TensorFiles.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <bit>
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
/// Reads elements of any type that outputs have as doubles; exact but for
/// 64-bit integers, which are compared as bits.
class Elements {
public:
  explicit Elements(const HostTensor &tensor)
      : tensor(tensor), width(elementBytes(tensor.type)) {}

  size_t size() const { return width ? tensor.bytes.size() / width : 0; }
  bool isFloat() const {
    return tensor.type[0] == 'f' || tensor.type == "bf16";
  }
  /// Of the format in which the output is stored.
  double unitRoundoff() const {
    if (tensor.type == "f16")
      return 0x1p-11;
    if (tensor.type == "bf16")
      return 0x1p-8;
    if (tensor.type == "f8E4M3FN")
      return 0x1p-4;
    if (tensor.type == "f8E5M2")
      return 0x1p-3;
    return 0;
  }
  bool equalBits(const Elements &other, size_t i) const {
    return std::equal(at(i), at(i) + width, other.at(i));
  }
  double operator[](size_t i) const;

private:
  const std::byte *at(size_t i) const {
    return tensor.bytes.data() + i * width;
  }
  const HostTensor &tensor;
  uint64_t width;
};
} // namespace

/// A small float with a sign, `exponentBits` and `mantissaBits`, without
/// infinities where `finite`.
static double smallFloat(unsigned bits, int exponentBits, int mantissaBits,
                         bool finite) {
  int exponentMask = (1 << exponentBits) - 1, bias = exponentMask / 2;
  int exponent = bits >> mantissaBits & exponentMask;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  double sign = bits >> (exponentBits + mantissaBits) & 1 ? -1 : 1;
  if (exponent == exponentMask) {
    if (finite ? mantissa == (1 << mantissaBits) - 1 : mantissa != 0)
      return NAN;
    if (!finite)
      return sign * INFINITY;
  }
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissaBits)
                               : std::ldexp((1 << mantissaBits) + mantissa,
                                            exponent - bias - mantissaBits);
  return sign * value;
}

double Elements::operator[](size_t i) const {
  const std::string &type = tensor.type;
  const std::byte *from = at(i);
  if (type == "f32")
    return loadLittleEndian<float>(from);
  if (type == "f64")
    return loadLittleEndian<double>(from);
  if (type == "bf16")
    return std::bit_cast<float>(uint32_t(loadLittleEndian<uint16_t>(from))
                                << 16);
  if (type == "f16")
    return smallFloat(loadLittleEndian<uint16_t>(from), 5, 10, false);
  if (type == "f8E4M3FN")
    return smallFloat(loadLittleEndian<uint8_t>(from), 4, 3, true);
  if (type == "f8E5M2")
    return smallFloat(loadLittleEndian<uint8_t>(from), 5, 2, false);
  if (type == "i8")
    return loadLittleEndian<int8_t>(from);
  if (type == "i16")
    return loadLittleEndian<int16_t>(from);
  if (type == "u16")
    return loadLittleEndian<uint16_t>(from);
  if (type == "i32")
    return loadLittleEndian<int32_t>(from);
  if (type == "u32")
    return loadLittleEndian<uint32_t>(from);
  if (type == "i64")
    return loadLittleEndian<int64_t>(from);
  if (type == "u64")
    return loadLittleEndian<uint64_t>(from);
  return loadLittleEndian<uint8_t>(from);
}

static report::OutputCheck compare(const HostTensor &output,
                                   const HostTensor &reference,
                                   uint64_t roundings) {
  report::OutputCheck check;
  check.name = output.name;
  Elements actual(output), expected(reference);
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    if (double value = std::fabs(expected[i]); std::isfinite(value))
      largest = std::max(largest, value);
  if (actual.isFloat()) {
    double relative = roundings * 0x1p-24 + actual.unitRoundoff();
    check.tolerance = relative * largest;
    check.reason = fmt::format(
        "{} roundings of 2^-24{} times the largest value {:.3g}", roundings,
        actual.unitRoundoff() ? fmt::format(" and one of {:.3g} to {}",
                                            actual.unitRoundoff(), output.type)
                              : "",
        largest);
  } else {
    check.reason = output.type + " is exact";
  }
  check.ok = true;
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual.equalBits(expected, i))
      continue;
    double a = actual[i], e = expected[i];
    if (std::isnan(a) && std::isnan(e))
      continue;
    double error = std::fabs(a - e);
    if (!std::isfinite(error)) // A NaN or infinity on one side only.
      error = INFINITY;
    check.maxAbsError = std::max(check.maxAbsError, error);
    // Relative to zero there is no error; the absolute one tells.
    if (error != 0 && e != 0)
      check.maxRelError = std::max(check.maxRelError, error / std::fabs(e));
    // Different bits of equal numbers are a zero's sign, or lost digits of a
    // 64-bit integer.
    if (!(error <= check.tolerance) || (!actual.isFloat() && error == 0))
      check.ok = false;
  }
  return check;
}

Result<std::vector<report::OutputCheck>>
compareOutputs(const Object &object, std::span<const HostTensor> outputs,
               std::span<const HostTensor> reference) {
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
    checks.push_back(compare(outputs[i], reference[i], roundings));
  }
  return checks;
}

std::optional<std::vector<int64_t>> predictions(const HostTensor &scores) {
  Elements elements(scores);
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
