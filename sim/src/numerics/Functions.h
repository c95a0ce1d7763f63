//===- Functions.h - Functions of the special function units ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The f32 functions of lane programs that are not one rounded operation: own
// algorithms in double precision additions, multiplications and divisions,
// rounded once at the end; each within 2 ulp of the correctly rounded value,
// the same on every host. docs/numerics.md writes them down.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_FUNCTIONS_H
#define TESSERA_SIM_NUMERICS_FUNCTIONS_H

namespace tessera::sim::functions {

float rsqrt(float x);
float exp(float x);
float log(float x);
float tanh(float x);
float erf(float x);
float sin(float x);
float cos(float x);
float sigmoid(float x);

} // namespace tessera::sim::functions

#endif // TESSERA_SIM_NUMERICS_FUNCTIONS_H
