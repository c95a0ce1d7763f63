//===- InlineVector.h - A vector that is mostly short -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps up to N elements in itself: the submission of ordinary work allocates
// nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_INLINEVECTOR_H
#define TESSERA_RUNTIME_SRC_INLINEVECTOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tessera::runtime {

template <typename T, uint32_t N> class InlineVector {
public:
  InlineVector() : at(inside()) {}
  InlineVector(const InlineVector &other) : InlineVector() {
    for (const T &value : other)
      push_back(value);
  }
  InlineVector(InlineVector &&other) noexcept { take(other); }
  InlineVector &operator=(const InlineVector &other) {
    return *this = InlineVector(other);
  }
  InlineVector &operator=(InlineVector &&other) noexcept {
    if (this != &other) {
      giveUp();
      take(other);
    }
    return *this;
  }
  ~InlineVector() { giveUp(); }

  template <typename... Arguments> void emplace_back(Arguments &&...arguments) {
    if (count == room) [[unlikely]]
      grow();
    std::construct_at(at + count, std::forward<Arguments>(arguments)...);
    ++count;
  }
  void push_back(const T &value) { emplace_back(value); }
  void push_back(T &&value) { emplace_back(std::move(value)); }
  void clear() {
    std::destroy_n(at, count);
    count = 0;
  }

  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *begin() { return at; }
  T *end() { return at + count; }
  const T *begin() const { return at; }
  const T *end() const { return at + count; }
  const T *data() const { return at; }
  T &operator[](size_t i) { return at[i]; }
  const T &operator[](size_t i) const { return at[i]; }
  const T &front() const { return *at; }

private:
  T *inside() { return reinterpret_cast<T *>(storage); }
  bool isInside() const { return at == reinterpret_cast<const T *>(storage); }
  /// Takes over what `other` has; this has nothing.
  void take(InlineVector &other) {
    room = other.room;
    count = other.count;
    if (other.isInside()) {
      at = inside();
      std::uninitialized_move_n(other.at, count, at);
      std::destroy_n(other.at, count);
    } else {
      at = other.at;
      other.at = other.inside();
      other.room = N;
    }
    other.count = 0;
  }
  /// Destroys all; the members say nothing any more.
  void giveUp() {
    std::destroy_n(at, count);
    if (!isInside())
      std::allocator<T>().deallocate(at, room);
  }
  void grow() {
    T *larger = std::allocator<T>().allocate(2 * size_t(room));
    std::uninitialized_move_n(at, count, larger);
    giveUp();
    at = larger;
    room *= 2;
  }

  T *at;
  uint32_t count = 0, room = N;
  alignas(T) std::byte storage[N * sizeof(T)];
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_INLINEVECTOR_H
