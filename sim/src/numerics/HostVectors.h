//===- HostVectors.h - Which vector instructions the host has ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that matter are compiled for several x86-64 levels and chosen at run
// time. The results are the same: only exactly defined operations are used.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NUMERICS_HOSTVECTORS_H
#define TESSERA_SIM_NUMERICS_HOSTVECTORS_H

#if defined(__x86_64__)
#define TESSERA_HOST_X86 1
#define TESSERA_TARGET_V3 __attribute__((target("avx2,fma,bmi2,f16c")))
#define TESSERA_TARGET_V4                                                      \
  __attribute__((                                                              \
      target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,f16c")))
#else
#define TESSERA_HOST_X86 0
#endif
#define TESSERA_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace tessera::sim {

enum class HostVectors { Baseline, V3, V4 };

inline HostVectors hostVectors() {
#if TESSERA_HOST_X86
  static const HostVectors level = [] {
    __builtin_cpu_init();
    bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2");
    bool v4 = v3 && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
    return v4 ? HostVectors::V4 : v3 ? HostVectors::V3 : HostVectors::Baseline;
  }();
  return level;
#else
  return HostVectors::Baseline;
#endif
}

} // namespace tessera::sim

#endif // TESSERA_SIM_NUMERICS_HOSTVECTORS_H
