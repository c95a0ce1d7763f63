//===- LaneProgram.cpp - Running lane programs ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "numerics/LaneProgram.h"
#include "numerics/ExactFma.h"
#include "numerics/Formats.h"
#include "numerics/Functions.h"
#include "numerics/HostVectors.h"
#include "numerics/Order.h"
#include <algorithm>
#include <limits>

namespace tessera::sim {

using isa::LaneOpcode;

static uint32_t toInteger(float x) {
  if (x != x)
    return 0;
  if (x >= 0x1p31f)
    return 0x7fffffff;
  if (x < -0x1p31f)
    return 0x80000000;
  return uint32_t(int32_t(x));
}

static int32_t divide(int32_t a, int32_t b) {
  if (b == 0)
    return 0;
  if (a == std::numeric_limits<int32_t>::min() && b == -1)
    return a;
  return a / b;
}

#if TESSERA_HOST_X86
TESSERA_TARGET_V3 static void fmaV3(const uint32_t *a, const uint32_t *b,
                                    const uint32_t *c, uint32_t *dst,
                                    unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    dst[i] =
        canonical(__builtin_fmaf(asFloat(a[i]), asFloat(b[i]), asFloat(c[i])));
}
#endif
static void fma(const uint32_t *a, const uint32_t *b, const uint32_t *c,
                uint32_t *dst, unsigned count) {
#if TESSERA_HOST_X86
  if (hostVectors() >= HostVectors::V3)
    return fmaV3(a, b, c, dst, count);
#endif
  for (unsigned i = 0; i < count; ++i)
    dst[i] = canonical(exactFma(asFloat(a[i]), asFloat(b[i]), asFloat(c[i])));
}

void runLaneProgram(const isa::MapProgram &program, LaneRegisters &regs,
                    unsigned count) {
  for (const isa::LaneInst &inst : program.ops) {
    const uint32_t *a = regs.value[inst.a].data();
    const uint32_t *b = regs.value[inst.b].data();
    const uint32_t *c = regs.value[inst.c].data();
    uint32_t *dst = regs.value[inst.dst].data();
    auto each = [&](auto f) __attribute__((always_inline)) {
      for (unsigned i = 0; i < count; ++i)
        dst[i] = f(i);
    };
    auto floats = [&](auto f)
                      __attribute__((always_inline)) { // f32 × f32 → f32
                        for (unsigned i = 0; i < count; ++i)
                          dst[i] = canonical(f(asFloat(a[i]), asFloat(b[i])));
                      };
    auto unary = [&](auto f) __attribute__((always_inline)) { // f32 → f32
      for (unsigned i = 0; i < count; ++i)
        dst[i] = canonical(f(asFloat(a[i])));
    };
    auto compare = [&](auto f) __attribute__((always_inline)) {
      for (unsigned i = 0; i < count; ++i)
        dst[i] = f(asFloat(a[i]), asFloat(b[i]));
    };
    auto ints = [&](auto f) __attribute__((always_inline)) {
      for (unsigned i = 0; i < count; ++i)
        dst[i] = uint32_t(f(int32_t(a[i]), int32_t(b[i])));
    };
    auto words = [&](auto f) __attribute__((always_inline)) {
      for (unsigned i = 0; i < count; ++i)
        dst[i] = f(a[i], b[i]);
    };
    switch (inst.opcode) {
    case LaneOpcode::CONST:
      each([&](unsigned) { return inst.imm; });
      break;
    case LaneOpcode::ADDF:
      floats([](float x, float y) { return x + y; });
      break;
    case LaneOpcode::SUBF:
      floats([](float x, float y) { return x - y; });
      break;
    case LaneOpcode::MULF:
      floats([](float x, float y) { return x * y; });
      break;
    case LaneOpcode::FMA:
      fma(a, b, c, dst, count);
      break;
    case LaneOpcode::MINF:
      floats(minimum);
      break;
    case LaneOpcode::MAXF:
      floats(maximum);
      break;
    case LaneOpcode::NEGF:
      each([&](unsigned i) { return a[i] ^ 0x80000000; });
      break;
    case LaneOpcode::ABSF:
      each([&](unsigned i) { return a[i] & 0x7fffffff; });
      break;
    case LaneOpcode::FLOORF:
      unary([](float x) { return __builtin_floorf(x); });
      break;
    case LaneOpcode::CEILF:
      unary([](float x) { return __builtin_ceilf(x); });
      break;
    case LaneOpcode::ROUNDF:
      unary([](float x) { return __builtin_roundevenf(x); });
      break;
    case LaneOpcode::EQF:
      compare([](float x, float y) { return x == y; });
      break;
    case LaneOpcode::NEF:
      compare([](float x, float y) { return x != y; });
      break;
    case LaneOpcode::LTF:
      compare([](float x, float y) { return x < y; });
      break;
    case LaneOpcode::LEF:
      compare([](float x, float y) { return x <= y; });
      break;
    case LaneOpcode::SELECT:
      each([&](unsigned i) { return a[i] ? b[i] : c[i]; });
      break;
    case LaneOpcode::ADDI:
      words([](uint32_t x, uint32_t y) { return x + y; });
      break;
    case LaneOpcode::SUBI:
      words([](uint32_t x, uint32_t y) { return x - y; });
      break;
    case LaneOpcode::MULI:
      words([](uint32_t x, uint32_t y) { return x * y; });
      break;
    case LaneOpcode::MINI:
      ints([](int32_t x, int32_t y) { return std::min(x, y); });
      break;
    case LaneOpcode::MAXI:
      ints([](int32_t x, int32_t y) { return std::max(x, y); });
      break;
    case LaneOpcode::ANDI:
      words([](uint32_t x, uint32_t y) { return x & y; });
      break;
    case LaneOpcode::ORI:
      words([](uint32_t x, uint32_t y) { return x | y; });
      break;
    case LaneOpcode::XORI:
      words([](uint32_t x, uint32_t y) { return x ^ y; });
      break;
    case LaneOpcode::SHLI:
      words([](uint32_t x, uint32_t y) { return y < 32 ? x << y : 0; });
      break;
    case LaneOpcode::SHRSI:
      words([](uint32_t x, uint32_t y) {
        return uint32_t(int32_t(x) >> std::min(y, 31u));
      });
      break;
    case LaneOpcode::SHRUI:
      words([](uint32_t x, uint32_t y) { return y < 32 ? x >> y : 0; });
      break;
    case LaneOpcode::EQI:
      words([](uint32_t x, uint32_t y) { return uint32_t(x == y); });
      break;
    case LaneOpcode::NEI:
      words([](uint32_t x, uint32_t y) { return uint32_t(x != y); });
      break;
    case LaneOpcode::LTI:
      ints([](int32_t x, int32_t y) { return x < y; });
      break;
    case LaneOpcode::LEI:
      ints([](int32_t x, int32_t y) { return x <= y; });
      break;
    case LaneOpcode::LTU:
      words([](uint32_t x, uint32_t y) { return uint32_t(x < y); });
      break;
    case LaneOpcode::MULHSI:
      ints([](int32_t x, int32_t y) { return int32_t(int64_t(x) * y >> 32); });
      break;
    case LaneOpcode::ITOF:
      each([&](unsigned i) { return asBits(float(int32_t(a[i]))); });
      break;
    case LaneOpcode::UTOF:
      each([&](unsigned i) { return asBits(float(a[i])); });
      break;
    case LaneOpcode::FTOI:
      each([&](unsigned i) { return toInteger(asFloat(a[i])); });
      break;
    case LaneOpcode::RNDBF16:
      each([&](unsigned i) {
        return widenFloat(bf16Shape, narrowFloat(bf16Shape, a[i]));
      });
      break;
    case LaneOpcode::RNDF16:
      each([&](unsigned i) {
        return widenFloat(f16Shape, narrowFloat(f16Shape, a[i]));
      });
      break;
    case LaneOpcode::DIVI:
      ints(divide);
      break;
    case LaneOpcode::REMI:
      words([](uint32_t x, uint32_t y) {
        return x - uint32_t(divide(int32_t(x), int32_t(y))) * y;
      });
      break;
    case LaneOpcode::DIVF:
      floats([](float x, float y) { return x / y; });
      break;
    case LaneOpcode::SQRT:
      unary([](float x) { return __builtin_sqrtf(x); });
      break;
    case LaneOpcode::RCP:
      unary([](float x) { return 1.0f / x; });
      break;
    case LaneOpcode::RSQRT:
      unary(functions::rsqrt);
      break;
    case LaneOpcode::EXP:
      unary(functions::exp);
      break;
    case LaneOpcode::LOG:
      unary(functions::log);
      break;
    case LaneOpcode::TANH:
      unary(functions::tanh);
      break;
    case LaneOpcode::ERF:
      unary(functions::erf);
      break;
    case LaneOpcode::SIN:
      unary(functions::sin);
      break;
    case LaneOpcode::COS:
      unary(functions::cos);
      break;
    case LaneOpcode::SIGMOID:
      unary(functions::sigmoid);
      break;
    }
  }
}

} // namespace tessera::sim
