//===- Bytes.h - Little-endian byte buffers ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reading and writing little-endian values: object sections, snapshots and
// files. The reader checks every access against the end of its buffer.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_BYTES_H
#define TESSERA_SUPPORT_BYTES_H

#include "tessera/Support/Status.h"
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera {

static_assert(std::endian::native == std::endian::little,
              "values are copied as they lie in the host's memory");

/// What has a fixed little-endian image: numbers, bool and enums.
template <typename T>
concept FixedImage = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <FixedImage T> T loadLittleEndian(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <FixedImage T> void storeLittleEndian(void *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// Appends to a growing buffer.
class ByteWriter {
public:
  template <FixedImage T> void write(T value) {
    size_t at = buffer.size();
    buffer.resize(at + sizeof(T));
    storeLittleEndian(buffer.data() + at, value);
  }
  void writeBytes(std::span<const uint8_t> bytes) {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
  }
  void writeBytes(std::span<const std::byte> bytes) {
    writeBytes(std::span(reinterpret_cast<const uint8_t *>(bytes.data()),
                         bytes.size()));
  }
  /// A 32-bit length, then the characters.
  void writeString(std::string_view text);
  /// A 64-bit count, then the elements.
  template <FixedImage T> void writeVector(const std::vector<T> &values) {
    write<uint64_t>(values.size());
    for (T value : values)
      write(value);
  }
  /// Zeros up to the next multiple of `alignment`.
  void align(size_t alignment) {
    buffer.resize((buffer.size() + alignment - 1) / alignment * alignment);
  }

  size_t size() const { return buffer.size(); }
  std::span<uint8_t> bytes() { return buffer; }
  std::span<const uint8_t> bytes() const { return buffer; }
  std::vector<uint8_t> take() { return std::move(buffer); }

private:
  std::vector<uint8_t> buffer;
};

/// Reads from a buffer that it does not own. The first access beyond the end
/// makes the reader fail for good: it and all later ones give zeros or empty
/// values, and `status` says where it happened. So a sequence of reads needs
/// one check at its end, but a value must be checked before it is trusted as a
/// count.
class ByteReader {
public:
  explicit ByteReader(std::span<const uint8_t> bytes) : buffer(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes)
      : buffer(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()) {}

  template <FixedImage T> T read() {
    std::span<const uint8_t> image = readBytes(sizeof(T));
    if constexpr (std::is_same_v<T, bool>)
      return image.size() == 1 && image[0] != 0;
    else
      return image.size() == sizeof(T) ? loadLittleEndian<T>(image.data())
                                       : T();
  }
  template <FixedImage T> void read(T &value) { value = read<T>(); }
  /// A view of the next `count` bytes; empty if there are fewer.
  std::span<const uint8_t> readBytes(uint64_t count);
  std::string readString();
  template <FixedImage T> std::vector<T> readVector() {
    uint64_t count = read<uint64_t>();
    std::vector<T> values;
    if (count > remaining() / sizeof(T)) {
      fail(count, sizeof(T));
      return values;
    }
    values.reserve(count);
    for (uint64_t i = 0; i < count; ++i)
      values.push_back(read<T>());
    return values;
  }
  void skip(uint64_t count) { (void)readBytes(count); }
  /// Skips to the next multiple of `alignment` from the buffer's start.
  void align(size_t alignment) {
    skip((alignment - position_ % alignment) % alignment);
  }

  size_t position() const { return position_; }
  size_t remaining() const { return buffer.size() - position_; }
  bool ok() const { return error.ok(); }
  const Status &status() const { return error; }
  /// `status`, or an error if bytes are left over.
  Status finish() const;

private:
  void fail(uint64_t count, size_t elementBytes);

  std::span<const uint8_t> buffer;
  size_t position_ = 0;
  Status error;
};

} // namespace tessera

#endif // TESSERA_SUPPORT_BYTES_H
