//===- Descriptor.cpp - Tensor descriptors --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Descriptor.h"
#include "fmt/ranges.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <limits>

namespace tessera::isa {

// Byte offsets in the image.
static constexpr unsigned spaceAt = 0, formatAt = 1, rankAt = 2, baseAt = 8;
static constexpr unsigned extentsAt = 16, stridesAt = 40, scaleAt = 88;
static constexpr unsigned paddingAt = 120, sparsityAt = 3;
static constexpr uint64_t maxElements = 1ull << 40;

uint64_t Descriptor::numElements() const {
  unsigned __int128 count = 1;
  for (uint32_t extent : extents) {
    count *= extent;
    if (count > std::numeric_limits<uint64_t>::max())
      return std::numeric_limits<uint64_t>::max();
  }
  return uint64_t(count);
}

static int64_t clampToInt64(__int128 value) {
  return int64_t(std::clamp<__int128>(value,
                                      std::numeric_limits<int64_t>::min(),
                                      std::numeric_limits<int64_t>::max()));
}

Descriptor::Range Descriptor::byteRange() const {
  __int128 low = 0, high = 0; // Offsets of the outermost elements.
  for (unsigned i = 0; i < maxRank; ++i) {
    __int128 reach = __int128(strides[i]) * (int64_t(extents[i]) - 1);
    (reach < 0 ? low : high) += reach;
  }
  // Bits to bytes, outwards: a shift rounds down.
  int64_t bits = bitWidth(format);
  return {clampToInt64((low * bits) >> 3),
          clampToInt64(((high + 1) * bits + 7) >> 3)};
}

void encode(const Descriptor &td, std::span<uint8_t, descriptorBytes> out) {
  std::fill(out.begin(), out.end(), 0);
  uint8_t *bytes = out.data();
  bytes[spaceAt] = uint8_t(td.space);
  bytes[formatAt] = uint8_t(td.format);
  bytes[rankAt] = td.rank;
  storeLittleEndian(bytes + baseAt, td.base);
  for (unsigned i = 0; i < maxRank; ++i) {
    storeLittleEndian(bytes + extentsAt + 4 * i, td.extents[i]);
    storeLittleEndian(bytes + stridesAt + 8 * i, td.strides[i]);
  }
  storeLittleEndian(bytes + paddingAt, td.padding);
}

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, "descriptor: " + message};
}

Result<Descriptor> decodeDescriptor(std::span<const uint8_t> bytes) {
  if (bytes.size() < descriptorBytes)
    return invalid(fmt::format("needs {} bytes, {} are left", descriptorBytes,
                               bytes.size()));
  const uint8_t *image = bytes.data();
  auto checkReserved = [&](unsigned begin, unsigned end) -> Status {
    for (unsigned i = begin; i < end; ++i)
      if (image[i] != 0)
        return invalid(fmt::format("reserved byte {} is not 0", i));
    return Status::success();
  };
  if (image[sparsityAt] == 1)
    return invalid("sparsity 1 is reserved for 2:4 structured sparsity, which "
                   "is not supported; accepted: 0");
  TESSERA_RETURN_IF_ERROR(checkReserved(sparsityAt, baseAt));
  if (std::any_of(image + scaleAt, image + paddingAt,
                  [](uint8_t byte) { return byte != 0; }))
    return invalid(fmt::format("bytes {} to {} are reserved for block scales, "
                               "which are not supported; accepted: 0",
                               scaleAt, paddingAt - 1));
  TESSERA_RETURN_IF_ERROR(checkReserved(paddingAt + 4, descriptorBytes));
  if (image[spaceAt] >= numSpaces)
    return invalid(fmt::format("unknown space {}", image[spaceAt]));
  if (unsigned reserved = image[formatAt] - firstReservedFormat;
      image[formatAt] >= firstReservedFormat &&
      reserved < std::size(reservedFormats))
    return invalid(fmt::format("format {} is reserved for {}; block-scaled "
                               "formats are not supported; accepted: 0 to {}",
                               image[formatAt], reservedFormats[reserved],
                               numNumericFormats - 1));
  if (image[formatAt] >= numNumericFormats)
    return invalid(fmt::format("unknown format {}; accepted: 0 to {}",
                               image[formatAt], numNumericFormats - 1));
  if (image[rankAt] > maxRank)
    return invalid(
        fmt::format("rank {}; accepted: 0 to {}", image[rankAt], maxRank));

  Descriptor td;
  td.space = Space(image[spaceAt]);
  td.format = NumericFormat(image[formatAt]);
  td.rank = image[rankAt];
  td.base = loadLittleEndian<uint64_t>(image + baseAt);
  td.padding = loadLittleEndian<uint32_t>(image + paddingAt);
  for (unsigned i = 0; i < maxRank; ++i) {
    td.extents[i] = loadLittleEndian<uint32_t>(image + extentsAt + 4 * i);
    td.strides[i] = loadLittleEndian<int64_t>(image + stridesAt + 8 * i);
    if (td.extents[i] == 0)
      return invalid(fmt::format("extent {} is 0", i));
    if (i >= td.rank && (td.extents[i] != 1 || td.strides[i] != 0))
      return invalid(
          fmt::format("dimension {} is beyond the rank {} and has extent {}, "
                      "stride {}; accepted: 1 and 0",
                      i, td.rank, td.extents[i], td.strides[i]));
  }
  if (td.numElements() > maxElements)
    return invalid(fmt::format("{} elements; accepted: up to {}",
                               td.numElements(), maxElements));
  return td;
}

std::string_view spaceName(Space space) {
  static constexpr std::string_view names[] = {"global", "spm", "acc", "core"};
  return names[unsigned(space)];
}

std::string print(const Descriptor &td) {
  std::span extents(td.extents.data(), td.rank);
  std::span strides(td.strides.data(), td.rank);
  std::string text =
      fmt::format("{} {} [{}] strides [{}] base {}", spaceName(td.space),
                  formatName(td.format), fmt::join(extents, ", "),
                  fmt::join(strides, ", "), td.base);
  if (td.padding != 0)
    text += fmt::format(" padding {:#x}", td.padding);
  return text;
}

} // namespace tessera::isa
