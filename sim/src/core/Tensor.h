//===- Tensor.h - Tensors in memory -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walking, checking, gathering and scattering what a tensor descriptor names.
// The dense form is row major, one element after the other; i4 takes a byte
// each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_TENSOR_H
#define TESSERA_SIM_CORE_TENSOR_H

#include "kernel/Serialize.h"
#include "memory/PhysicalMemory.h"
#include "tessera/ISA/Window.h"

namespace tessera::isa {
template <typename A> void serialize(A &ar, Descriptor &td) {
  tessera::sim::fields(ar, td.space, td.format, td.rank, td.base, td.extents,
                       td.strides, td.padding);
  if constexpr (A::loading)
    if (td.rank > maxRank || uint8_t(td.format) >= numNumericFormats) {
      ar.fail();
      td = Descriptor();
    }
}
template <typename A> void serialize(A &ar, Window &window) {
  tessera::sim::fields(ar, window.first, window.last);
}
} // namespace tessera::isa

namespace tessera::sim {

/// The most elements that one instruction may touch in one operand.
inline constexpr uint64_t maxOperandElements = uint64_t(1) << 26;

/// A tensor as runs of adjacent elements: the dimensions that are adjacent in
/// memory are merged, innermost first.
struct Runs {
  Runs() = default; ///< One element.
  explicit Runs(const isa::Descriptor &td);

  uint64_t runElements = 1, count = 1;
  unsigned dims = 0; ///< Outer dimensions, slowest first.
  std::array<uint32_t, isa::maxRank> extents{};
  std::array<int64_t, isa::maxRank> strides{}; ///< Elements.

  /// Element offset of run `index`, relative to the base.
  int64_t offset(uint64_t index) const;
  /// Calls f(element offset) for each run in order.
  template <typename F> void forEach(F f) const {
    std::array<uint32_t, isa::maxRank> at{};
    int64_t offset = 0;
    for (uint64_t i = 0; i < count; ++i) {
      f(offset);
      for (unsigned d = dims; d-- > 0;) {
        offset = int64_t(uint64_t(offset) + uint64_t(strides[d]));
        if (++at[d] < extents[d])
          break;
        offset = int64_t(uint64_t(offset) - uint64_t(strides[d]) * extents[d]);
        at[d] = 0;
      }
    }
  }
};

/// Bytes that a local tensor touches, [low, high).
struct ByteInterval {
  uint64_t low = 0, high = 0;
  bool overlaps(const ByteInterval &other) const {
    return low < other.high && other.low < high;
  }
  template <typename A> void serialize(A &ar) { fields(ar, low, high); }
};

/// What an instruction requires of any operand: alignment, number of elements,
/// and for destinations no broadcast dimension.
FaultCause checkOperand(const isa::Descriptor &td, bool written);
/// True if it lies in [0, bytes); then `interval` is what it touches.
bool localInterval(const isa::Descriptor &td, uint64_t bytes,
                   ByteInterval &interval);

/// The dimensions in another order: first those in `mask`, then the rest, each
/// in their own order.
isa::Descriptor maskFirst(const isa::Descriptor &td, unsigned mask);
/// Product of the extents in `mask`.
uint64_t maskedElements(const isa::Descriptor &td, unsigned mask);

/// Size of the dense form.
uint64_t denseSize(const isa::Descriptor &td);
/// Local operands must have passed localInterval.
void gatherLocal(const uint8_t *memory, const isa::Descriptor &td,
                 uint8_t *dense);
void scatterLocal(uint8_t *memory, const isa::Descriptor &td,
                  const uint8_t *dense);
/// Global ones may fault; nothing more is moved then.
FaultCause gatherGlobal(const PhysicalMemory &memory, uint64_t root,
                        const isa::Descriptor &td, uint8_t *dense,
                        uint64_t &faultAddress);
FaultCause scatterGlobal(PhysicalMemory &memory, uint64_t root,
                         const isa::Descriptor &td, const uint8_t *dense,
                         uint64_t &faultAddress);
/// Whether every byte could be accessed.
FaultCause probeGlobal(const PhysicalMemory &memory, uint64_t root,
                       const isa::Descriptor &td, Access access,
                       uint64_t &faultAddress);

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_TENSOR_H
