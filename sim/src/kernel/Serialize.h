//===- Serialize.h - Component state to bytes and back ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One description of a component's state serves saving and restoring:
// serialize(archive, state) visits the fields in order; a Saver writes them, a
// Loader reads them. Fields, never padding, so that equal states are equal
// bytes.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_SERIALIZE_H
#define TESSERA_SIM_KERNEL_SERIALIZE_H

#include "tessera/Support/Bytes.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::sim {

/// Writes a component's state.
class Saver {
public:
  static constexpr bool loading = false;
  explicit Saver(ByteWriter &out) : out(out) {}

  void bytes(void *data, size_t size) {
    out.writeBytes(std::span(static_cast<const uint8_t *>(data), size));
  }
  bool ok() const { return true; }

private:
  ByteWriter &out;
};

/// Reads it back; past the input's end, or after a bad value, everything is
/// zero and ok() is false.
class Loader {
public:
  static constexpr bool loading = true;
  explicit Loader(ByteReader &in) : in(in) {}

  void bytes(void *data, size_t size) {
    std::span<const uint8_t> image;
    if (!failed)
      image = in.readBytes(size);
    if (image.size() != size) {
      failed = true;
      std::memset(data, 0, size);
      return;
    }
    if (size)
      std::memcpy(data, image.data(), size);
  }
  size_t remaining() const { return failed ? 0 : in.remaining(); }
  void fail() { failed = true; }
  bool ok() const { return !failed && in.ok(); }

private:
  ByteReader &in;
  bool failed = false;
};

template <typename A, typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
void serialize(A &ar, T &value) {
  if constexpr (std::is_same_v<T, bool>) {
    uint8_t byte = value;
    ar.bytes(&byte, 1);
    if constexpr (A::loading)
      value = byte & 1;
  } else {
    ar.bytes(&value, sizeof(T));
  }
}

template <typename A, typename T>
  requires requires(T &t, A &ar) { t.serialize(ar); }
void serialize(A &ar, T &value) {
  value.serialize(ar);
}

template <typename A, typename T, size_t N>
void serialize(A &ar, std::array<T, N> &values);
template <typename A, typename T>
void serialize(A &ar, std::optional<T> &value);
template <typename A, typename T> void serialize(A &ar, std::vector<T> &values);
template <typename A, typename T> void serialize(A &ar, std::deque<T> &values);
template <typename A, typename K, typename T>
void serialize(A &ar, std::map<K, T> &values);

/// Visits several fields in order.
template <typename A, typename... Ts> void fields(A &ar, Ts &...values) {
  (serialize(ar, values), ...);
}

template <typename A, typename T, size_t N>
void serialize(A &ar, std::array<T, N> &values) {
  for (T &v : values)
    serialize(ar, v);
}

template <typename A, typename T>
void serialize(A &ar, std::optional<T> &value) {
  bool has = value.has_value();
  serialize(ar, has);
  if constexpr (A::loading) {
    if (has)
      value.emplace();
    else
      value.reset();
  }
  if (has)
    serialize(ar, *value);
}

namespace detail {
/// The size of a container; a Loader refuses one that cannot be in the input.
template <typename A> size_t size(A &ar, size_t current) {
  uint64_t n = current;
  serialize(ar, n);
  if constexpr (A::loading)
    if (n > ar.remaining()) {
      ar.fail();
      n = 0;
    }
  return n;
}
} // namespace detail

template <typename A, typename T>
void serialize(A &ar, std::vector<T> &values) {
  size_t n = detail::size(ar, values.size());
  if constexpr (A::loading) {
    values.clear();
    values.resize(n);
  }
  if constexpr (std::is_same_v<T, std::byte> || std::is_same_v<T, uint8_t>) {
    ar.bytes(values.data(), n);
  } else {
    for (T &v : values)
      serialize(ar, v);
  }
}

template <typename A, typename T> void serialize(A &ar, std::deque<T> &values) {
  size_t n = detail::size(ar, values.size());
  if constexpr (A::loading) {
    values.clear();
    values.resize(n);
  }
  for (T &v : values)
    serialize(ar, v);
}

template <typename A, typename K, typename T>
void serialize(A &ar, std::map<K, T> &values) {
  size_t n = detail::size(ar, values.size());
  if constexpr (A::loading) {
    values.clear();
    for (size_t i = 0; i < n; ++i) {
      K key{};
      serialize(ar, key);
      serialize(ar, values[key]);
    }
  } else {
    for (auto &[key, value] : values) {
      K copy = key;
      serialize(ar, copy);
      serialize(ar, value);
    }
  }
}

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_SERIALIZE_H
