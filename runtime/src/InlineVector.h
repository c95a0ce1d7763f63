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

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace tessera::runtime {

template <typename T, size_t N> class InlineVector {
public:
  InlineVector() = default;
  InlineVector(const InlineVector &) = default;
  InlineVector &operator=(const InlineVector &) = default;
  InlineVector(InlineVector &&other) noexcept { take(other); }
  InlineVector &operator=(InlineVector &&other) noexcept {
    if (this != &other) {
      clear();
      take(other);
    }
    return *this;
  }

  void push_back(T value) {
    if (count < N) {
      few[count++] = std::move(value);
      return;
    }
    if (count == N)
      many.assign(std::make_move_iterator(few.begin()),
                  std::make_move_iterator(few.end()));
    many.push_back(std::move(value));
    ++count;
  }
  void clear() {
    for (size_t i = 0; i < count && i < N; ++i)
      few[i] = T();
    many.clear();
    count = 0;
  }

  size_t size() const { return count; }
  bool empty() const { return count == 0; }
  T *begin() { return count <= N ? few.data() : many.data(); }
  T *end() { return begin() + count; }
  const T *begin() const { return count <= N ? few.data() : many.data(); }
  const T *end() const { return begin() + count; }
  const T *data() const { return begin(); }
  T &operator[](size_t i) { return begin()[i]; }
  const T &operator[](size_t i) const { return begin()[i]; }
  const T &front() const { return *begin(); }

private:
  void take(InlineVector &other) {
    for (size_t i = 0; i < other.count && i < N; ++i)
      few[i] = std::move(other.few[i]);
    many = std::move(other.many);
    count = std::exchange(other.count, 0);
    other.many.clear();
  }

  std::array<T, N> few{};
  std::vector<T> many; ///< All of them, once there are more than N.
  size_t count = 0;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_INLINEVECTOR_H
