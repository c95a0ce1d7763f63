//===- NumericsBench.cpp - Host time of matrix products ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Multiply-accumulates per second of one host core, for every kernel that the
// host can run and every format, with what an `mma` does before: widening.
//
//===----------------------------------------------------------------------===//

#include "numerics/Formats.h"
#include "numerics/MatrixKernels.h"
#include <benchmark/benchmark.h>
#include <string>

using namespace tessera;
using namespace tessera::sim;

/// M × K by K × N, as large as tiles of hand-written kernels are.
static constexpr MatrixShape shape{256, 128, 1024};

static void multiply(benchmark::State &state, const MatrixKernel &kernel,
                     NumericFormat format) {
  std::vector<uint8_t> denseA(shape.m * shape.k * denseBytes(format)),
      denseB(shape.k * shape.n * denseBytes(format));
  // Small values of any format; 0x38 is 1 or 0.5 in f8, about 2^-5 in 16 bits.
  for (std::vector<uint8_t> *dense : {&denseA, &denseB})
    for (size_t i = 0; i < dense->size(); ++i)
      (*dense)[i] = uint8_t(0x38 + i % 5);
  std::vector<uint32_t> a(shape.m * shape.k), b(shape.k * shape.n),
      acc(shape.m * shape.n);
  auto function =
      isFloat(format) ? kernel.multiplyFloat : kernel.multiplyInteger;
  for (auto _ : state) {
    widen(format, denseA.data(), a.size(), a.data());
    widen(format, denseB.data(), b.size(), b.data());
    function(shape, a.data(), b.data(), acc.data());
    benchmark::DoNotOptimize(acc.data());
  }
  state.counters["macs"] =
      benchmark::Counter(double(shape.m * shape.n * shape.k),
                         benchmark::Counter::kIsIterationInvariantRate);
}

int main(int argc, char **argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  for (const MatrixKernel &kernel : matrixKernels())
    for (NumericFormat format :
         {NumericFormat::F32, NumericFormat::BF16, NumericFormat::F16,
          NumericFormat::F8E4M3FN, NumericFormat::F8E5M2, NumericFormat::I8,
          NumericFormat::U8, NumericFormat::I4})
      benchmark::RegisterBenchmark(
          (std::string(kernel.name) + "/" + std::string(formatName(format)))
              .c_str(),
          [&kernel, format](benchmark::State &state) {
            multiply(state, kernel, format);
          });
  benchmark::RunSpecifiedBenchmarks();
}
