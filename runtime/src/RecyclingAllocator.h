//===- RecyclingAllocator.h - Blocks used again -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For a deque of large elements, whose blocks hold one each: a block given back
// is the next one taken, instead of a way through malloc for every operation
// submitted. Keeps as many as were ever in use at once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_RECYCLINGALLOCATOR_H
#define TESSERA_RUNTIME_SRC_RECYCLINGALLOCATOR_H

#include <cstddef>
#include <memory>

namespace tessera::runtime {

template <typename T> class RecyclingAllocator {
public:
  using value_type = T;

  RecyclingAllocator() : spare(std::make_shared<Spare>()) {}
  /// Blocks of another type are no use here.
  template <typename U>
  explicit RecyclingAllocator(const RecyclingAllocator<U> &)
      : RecyclingAllocator() {}

  T *allocate(size_t count) {
    if (count != 1 || !spare->first)
      return std::allocator<T>().allocate(count);
    Block *block = spare->first;
    spare->first = block->next;
    return reinterpret_cast<T *>(block);
  }
  void deallocate(T *at, size_t count) {
    if (count != 1) {
      std::allocator<T>().deallocate(at, count);
      return;
    }
    static_assert(sizeof(T) >= sizeof(Block) && alignof(T) >= alignof(Block));
    spare->first = new (at) Block{spare->first};
  }
  /// What one has allocated, any other can take back.
  bool operator==(const RecyclingAllocator &) const { return true; }

private:
  struct Block {
    Block *next = nullptr;
  };
  struct Spare {
    ~Spare() {
      while (Block *block = first) {
        first = block->next;
        std::allocator<T>().deallocate(reinterpret_cast<T *>(block), 1);
      }
    }
    Block *first = nullptr;
  };
  std::shared_ptr<Spare> spare;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_RECYCLINGALLOCATOR_H
