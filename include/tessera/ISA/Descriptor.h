//===- Descriptor.h - Tensor descriptors ----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tensor descriptor (TD): how an instruction names a tensor, and its fixed
// 128-byte image in a kernel's constant section:
//
//   byte  0 space (u8)   1 format (u8)   2 rank (u8)
//         3 sparsity (u8): 0 dense; 1 reserved for 2:4 structured sparsity
//         4-7 reserved, 0
//         8 base, bytes (u64; 48-bit virtual address for global, byte offset in
//           the core's memory for spm and acc; for core a byte offset in the
//           SPM of the core whose index is in bits 32-47)
//        16 extents[6] (u32; 1 beyond the rank)
//        40 strides[6] (i64, elements; 0 = broadcast; 0 beyond the rank)
//        88 scale base (u64)  96 scale strides[6] (i32): reserved, 0
//       120 padding value (u32, the element's bits)
//       124 reserved, 0
//
// The formats 16 to 21 are reserved for block-scaled elements, 32 of which share
// a scale: see reservedFormats.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_DESCRIPTOR_H
#define TESSERA_ISA_DESCRIPTOR_H

#include "tessera/Support/NumericFormat.h"
#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::isa {

inline constexpr unsigned descriptorBytes = 128;
inline constexpr unsigned maxRank = 6;
/// Names of the formats whose codes, from firstReservedFormat on, are kept for
/// block-scaled elements. Decoding refuses them by name.
inline constexpr unsigned firstReservedFormat = 16;
inline constexpr std::string_view reservedFormats[] = {
    "mxf8E4M3", "mxf8E5M2", "mxf6E3M2", "mxf6E2M3", "mxf4E2M1", "mxi8"};

/// Descriptor spaces (the values are part of the encoding).
enum class Space : uint8_t { Global = 0, Spm = 1, Acc = 2, Core = 3 };
inline constexpr unsigned numSpaces = 4;

/// "global", "spm", "acc", "core".
std::string_view spaceName(Space space);

/// Of a base in Space::Core: the core's index in the dispatch, and the byte
/// offset in its SPM.
inline uint64_t coreOfBase(uint64_t base) { return base >> 32; }
inline uint64_t offsetOfBase(uint64_t base) { return base & 0xffffffff; }

struct Descriptor {
  Space space = Space::Global;
  NumericFormat format = NumericFormat::F32;
  uint8_t rank = 0;  ///< 0: one element.
  uint64_t base = 0; ///< Bytes.
  std::array<uint32_t, maxRank> extents{1, 1, 1, 1, 1, 1};
  std::array<int64_t, maxRank> strides{}; ///< Elements.
  uint32_t padding = 0;

  uint64_t numElements() const;
  /// Lowest and one-past-highest byte touched, relative to base; base-relative
  /// offsets may be negative with negative strides.
  struct Range {
    int64_t low, high;
  };
  Range byteRange() const;
  bool operator==(const Descriptor &) const = default;
};

void encode(const Descriptor &td, std::span<uint8_t, descriptorBytes> out);
/// Rejects unknown and reserved spaces, formats and sparsities, rank > 6, zero extents, extents or
/// strides beyond the rank, more than 2^40 elements, non-zero reserved bytes.
Result<Descriptor> decodeDescriptor(std::span<const uint8_t> bytes);
/// `spm f32 [2, 8] strides [8, 1] base 64`, as the `isa` dialect prints it.
std::string print(const Descriptor &td);

} // namespace tessera::isa

#endif // TESSERA_ISA_DESCRIPTOR_H
