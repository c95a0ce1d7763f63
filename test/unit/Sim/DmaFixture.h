//===- DmaFixture.h - Kernels that move data --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_SIM_DMAFIXTURE_H
#define TESSERA_TEST_UNIT_SIM_DMAFIXTURE_H

#include "SimFixture.h"

namespace tessera::sim::test {

inline constexpr auto F32 = NumericFormat::F32;
inline constexpr auto BF16 = NumericFormat::BF16;
inline constexpr auto I32 = NumericFormat::I32;
inline constexpr uint64_t data = Machine::dataArea;

/// A kernel under construction, with the memory at rest and its translations
/// and rows at hand when the body begins: an area of 4 KiB from `data` on was
/// read and written.
struct Body : Kernel {
  Body() {
    td(31, tensor(isa::Space::Spm, F32, {1024}, 32768));
    td(30, tensor(isa::Space::Global, F32, {1024}, data));
    load(31, 30, {}, {{0, 1}});
    store(30, 31, {{0, 1}}, {{1, 1}});
    wait(isa::Queue::Seq, {{1, 1}});
  }
  /// What follows starts together: descriptors are loaded before.
  void rest() { pause(300); }
  uint32_t here() const { return uint32_t(program.size()); }
  void window(unsigned reg, unsigned dim, int64_t at, int64_t extent,
              int64_t step = 1) {
    li(20, at);
    li(21, extent);
    add(isa::Opcode::TDWINDOW, {{isa::td_window::td, reg},
                                {isa::td_window::src, reg},
                                {isa::td_window::ra, 20},
                                {isa::td_window::rb, 21},
                                {isa::td_window::dim, dim},
                                {isa::td_window::step, step}});
  }
  void spm(unsigned reg, NumericFormat format,
           std::initializer_list<uint32_t> extents, uint64_t base) {
    td(reg, tensor(isa::Space::Spm, format, extents, base));
  }
  void global(unsigned reg, NumericFormat format,
              std::initializer_list<uint32_t> extents, uint64_t base) {
    td(reg, tensor(isa::Space::Global, format, extents, base));
  }
  isa::Instruction &gather(unsigned dst, unsigned src, unsigned index,
                           std::initializer_list<Step> signals = {}) {
    return add(isa::Opcode::LOADGATHER,
               {{isa::load_gather::dst, dst},
                {isa::load_gather::src, src},
                {isa::load_gather::index, index}},
               {}, signals);
  }
  isa::Instruction &scatter(unsigned dst, unsigned src, unsigned index) {
    return add(isa::Opcode::STORESCATTER, {{isa::store_scatter::dst, dst},
                                           {isa::store_scatter::src, src},
                                           {isa::store_scatter::index, index}});
  }
  void fill(unsigned dst, uint32_t bits = 0,
            std::initializer_list<Step> signals = {}) {
    add(isa::Opcode::FILL, {{isa::fill::dst, dst}, {isa::fill::value, bits}},
        {}, signals);
  }
  isa::Instruction &flag(unsigned field) {
    program.back().fields[field] = 1;
    return program.back();
  }
};

inline uint64_t length(Machine &m, uint32_t pc) {
  Span s = m.span(pc);
  return s.end - s.begin;
}

} // namespace tessera::sim::test

#endif // TESSERA_TEST_UNIT_SIM_DMAFIXTURE_H
