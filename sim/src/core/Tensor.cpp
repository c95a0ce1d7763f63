//===- Tensor.cpp - Tensors in memory ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Tensor.h"
#include "numerics/Formats.h"
#include <algorithm>

namespace tessera::sim {

Runs::Runs(const isa::Descriptor &td) {
  unsigned outer = td.rank;
  for (; outer > 0; --outer) {
    if (td.extents[outer - 1] == 1)
      continue;
    if (td.strides[outer - 1] != int64_t(runElements))
      break;
    runElements *= td.extents[outer - 1];
  }
  for (unsigned d = 0; d < outer; ++d) {
    if (td.extents[d] == 1)
      continue;
    extents[dims] = td.extents[d];
    strides[dims] = td.strides[d];
    count *= td.extents[d];
    ++dims;
  }
}

int64_t Runs::offset(uint64_t index) const {
  if (dims == 0)
    return 0;
  uint64_t offset = 0;
  for (unsigned d = dims - 1; d != 0; --d) {
    offset += uint64_t(strides[d]) * (index % extents[d]);
    index /= extents[d];
  }
  // No more runs than `count`: what is left is the slowest dimension's.
  return int64_t(offset + uint64_t(strides[0]) * index);
}

static uint64_t elementBits(const isa::Descriptor &td) {
  return bitWidth(td.format);
}

/// Byte address of an element; i4 elements are reached by their even neighbour.
static uint64_t address(const isa::Descriptor &td, int64_t element) {
  if (td.format == NumericFormat::I4)
    return td.base + uint64_t(element >> 1);
  return td.base + uint64_t(element) * (elementBits(td) / 8);
}

FaultCause checkOperand(const isa::Descriptor &td, bool written) {
  uint64_t elements = 1;
  for (unsigned d = 0; d < td.rank; ++d) {
    elements *= td.extents[d];
    if (elements == 0 || elements > maxOperandElements)
      return FaultCause::IllegalDescriptor;
    if (written && td.extents[d] > 1 && td.strides[d] == 0)
      return FaultCause::IllegalDescriptor;
  }
  if (td.format == NumericFormat::I4) {
    bool innermost = true;
    for (unsigned d = td.rank; d-- > 0;) {
      if (td.extents[d] == 1)
        continue;
      bool adjacent = innermost && td.strides[d] == 1;
      if (!adjacent && td.strides[d] % 2 != 0)
        return FaultCause::Misaligned;
      innermost = false;
    }
  } else if (td.base % (elementBits(td) / 8) != 0) {
    return FaultCause::Misaligned;
  }
  return FaultCause::None;
}

bool localInterval(const isa::Descriptor &td, uint64_t bytes,
                   ByteInterval &interval) {
  __int128 low = 0, high = 0;
  for (unsigned d = 0; d < td.rank; ++d) {
    __int128 reach = __int128(td.strides[d]) * (int64_t(td.extents[d]) - 1);
    (reach < 0 ? low : high) += reach;
  }
  __int128 bits = elementBits(td), base = __int128(td.base) * 8;
  low = base + low * bits;
  high = base + (high + 1) * bits;
  if (low < 0 || high > __int128(bytes) * 8)
    return false;
  interval.low = uint64_t(low / 8);
  interval.high = uint64_t((high + 7) / 8);
  return true;
}

isa::Descriptor maskFirst(const isa::Descriptor &td, unsigned mask) {
  isa::Descriptor result = td;
  unsigned to = 0;
  for (unsigned pass = 0; pass < 2; ++pass)
    for (unsigned d = 0; d < td.rank; ++d)
      if (bool(mask >> d & 1) == (pass == 0)) {
        result.extents[to] = td.extents[d];
        result.strides[to] = td.strides[d];
        ++to;
      }
  return result;
}

uint64_t maskedElements(const isa::Descriptor &td, unsigned mask) {
  uint64_t elements = 1;
  for (unsigned d = 0; d < td.rank; ++d)
    if (mask >> d & 1)
      elements *= td.extents[d];
  return elements;
}

uint64_t denseSize(const isa::Descriptor &td) {
  return maskedElements(td, ~0u) * denseBytes(td.format);
}

static void unpackNibbles(const uint8_t *packed, int64_t first, uint64_t count,
                          uint8_t *out) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = uint64_t(first & 1) + i;
    out[i] = packed[at / 2] >> (4 * (at % 2)) & 15;
  }
}
static void packNibbles(uint8_t *packed, int64_t first, uint64_t count,
                        const uint8_t *in) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t at = uint64_t(first & 1) + i;
    unsigned shift = 4 * (at % 2);
    packed[at / 2] =
        uint8_t((packed[at / 2] & ~(15 << shift)) | (in[i] & 15) << shift);
  }
}

/// Copies runs of elements of `Bytes` bytes; single elements without memcpy's
/// call.
template <unsigned Bytes, bool Gather>
static void copyRuns(uint8_t *memory, const isa::Descriptor &td,
                     uint8_t *dense) {
  Runs runs(td);
  uint64_t bytes = runs.runElements * Bytes;
  runs.forEach([&](int64_t offset) {
    uint8_t *at = memory + td.base + offset * int64_t(Bytes);
    uint8_t *to = Gather ? dense : at;
    const uint8_t *from = Gather ? at : dense;
    if (runs.runElements == 1)
      std::memcpy(to, from, Bytes);
    else
      std::memcpy(to, from, bytes);
    dense += bytes;
  });
}

template <bool Gather>
static void copyLocal(uint8_t *memory, const isa::Descriptor &td,
                      uint8_t *dense) {
  if (td.format == NumericFormat::I4) {
    Runs runs(td);
    runs.forEach([&](int64_t offset) {
      uint8_t *at = memory + address(td, offset);
      if (Gather)
        unpackNibbles(at, offset, runs.runElements, dense);
      else
        packNibbles(at, offset, runs.runElements, dense);
      dense += runs.runElements;
    });
    return;
  }
  switch (elementBits(td)) {
  case 8:
    return copyRuns<1, Gather>(memory, td, dense);
  case 16:
    return copyRuns<2, Gather>(memory, td, dense);
  default:
    return copyRuns<4, Gather>(memory, td, dense);
  }
}

void gatherLocal(const uint8_t *memory, const isa::Descriptor &td,
                 uint8_t *dense) {
  // Gathering only reads.
  copyLocal<true>(const_cast<uint8_t *>(memory), td, dense);
}

void scatterLocal(uint8_t *memory, const isa::Descriptor &td,
                  const uint8_t *dense) {
  // Scattering only reads the dense form.
  copyLocal<false>(memory, td, const_cast<uint8_t *>(dense));
}

/// Calls f(address, bytes, first element's offset, elements) for each run until
/// it reports a fault.
template <typename F>
static FaultCause forGlobalRuns(const isa::Descriptor &td, F f) {
  Runs runs(td);
  FaultCause fault = FaultCause::None;
  uint64_t bits = elementBits(td);
  runs.forEach([&](int64_t offset) {
    if (fault != FaultCause::None)
      return;
    uint64_t lead =
        td.format == NumericFormat::I4 ? uint64_t(offset & 1) * 4 : 0;
    fault = f(address(td, offset), (lead + runs.runElements * bits + 7) / 8,
              offset, runs.runElements);
  });
  return fault;
}

FaultCause gatherGlobal(const PhysicalMemory &memory, uint64_t root,
                        const isa::Descriptor &td, uint8_t *dense,
                        uint64_t &faultAddress) {
  std::vector<uint8_t> packed;
  return forGlobalRuns(
      td, [&](uint64_t at, uint64_t bytes, int64_t first, uint64_t count) {
        if (td.format != NumericFormat::I4) {
          FaultCause fault = memory.readVirtual(root, at, dense, bytes,
                                                Access::Read, faultAddress);
          dense += bytes;
          return fault;
        }
        packed.resize(bytes);
        FaultCause fault = memory.readVirtual(root, at, packed.data(), bytes,
                                              Access::Read, faultAddress);
        unpackNibbles(packed.data(), first, count, dense);
        dense += count;
        return fault;
      });
}

FaultCause scatterGlobal(PhysicalMemory &memory, uint64_t root,
                         const isa::Descriptor &td, const uint8_t *dense,
                         uint64_t &faultAddress) {
  std::vector<uint8_t> packed;
  return forGlobalRuns(td, [&](uint64_t at, uint64_t bytes, int64_t first,
                               uint64_t count) {
    if (td.format != NumericFormat::I4) {
      FaultCause fault =
          memory.writeVirtual(root, at, dense, bytes, faultAddress);
      dense += bytes;
      return fault;
    }
    packed.resize(bytes);
    FaultCause fault = memory.readVirtual(root, at, packed.data(), bytes,
                                          Access::Write, faultAddress);
    if (fault != FaultCause::None)
      return fault;
    packNibbles(packed.data(), first, count, dense);
    dense += count;
    return memory.writeVirtual(root, at, packed.data(), bytes, faultAddress);
  });
}

FaultCause probeGlobal(const PhysicalMemory &memory, uint64_t root,
                       const isa::Descriptor &td, Access access,
                       uint64_t &faultAddress) {
  uint64_t lastPage = ~uint64_t(0);
  return forGlobalRuns(td, [&](uint64_t at, uint64_t bytes, int64_t, uint64_t) {
    while (bytes) {
      uint64_t part =
          std::min(bytes, isa::smallPageBytes - at % isa::smallPageBytes);
      if (at / isa::smallPageBytes != lastPage) {
        Translation t = memory.translate(root, at, part, access);
        if (t.fault != FaultCause::None) {
          faultAddress = at;
          return t.fault;
        }
        lastPage = at / isa::smallPageBytes;
      }
      at += part, bytes -= part;
    }
    return FaultCause::None;
  });
}

} // namespace tessera::sim
