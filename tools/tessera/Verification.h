//===- Verification.h - Comparison with the reference -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tolerance of a floating-point output is n · u · max|reference|: each of
// the n roundings on the longest way from the inputs to an output may be off by
// the unit roundoff u of f32, 2^-24, relative to values no larger than the
// largest. n counts, over all operators of the model, K + 1 for a contraction
// or reduction over K elements (its products and sums, in whatever order and
// fusion either side takes) and one for each vector operation, two for a
// special function. An output in a narrower format is rounded once more, by the
// unit roundoff of that format. Integers and booleans must be equal.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_VERIFICATION_H
#define TESSERA_TOOLS_TESSERA_VERIFICATION_H

#include "tessera/Pipelines/Compiler.h"
#include "tessera/Report/RunReport.h"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::tool {

/// Roundings that can lie between an input and an output.
uint64_t countRoundings(const Object &object);

/// Compares each element of the outputs. `rounded` are the reference's outputs
/// with other roundings, none or any number: what they differ by widens the
/// tolerance of that element (docs/command-line.md, Verification). Internal if
/// the reference has other tensors.
Result<std::vector<report::OutputCheck>>
compareOutputs(const Object &object, std::span<const HostTensor> outputs,
               std::span<const HostTensor> reference,
               std::span<const std::vector<HostTensor>> rounded = {});

/// Predictions of a tensor of scores [N, C]: the largest of each row, the first
/// of equal ones. Nothing for another shape or type.
std::optional<std::vector<int64_t>> predictions(const HostTensor &scores);

/// How many positions are equal.
uint64_t countEqual(std::span<const int64_t> a, std::span<const int64_t> b);

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_VERIFICATION_H
