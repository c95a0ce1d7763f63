//===- SparseStore.h - Bytes of a large memory ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A physical memory's contents; pages exist once written, everything else
// reads 0.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_SPARSESTORE_H
#define TESSERA_SIM_MEMORY_SPARSESTORE_H

#include "kernel/Serialize.h"
#include <memory>
#include <vector>

namespace tessera::sim {

class SparseStore {
public:
  static constexpr uint64_t pageBytes = 64 << 10;

  explicit SparseStore(uint64_t bytes)
      : bytes(bytes), pages((bytes + pageBytes - 1) / pageBytes) {}

  uint64_t size() const { return bytes; }
  bool contains(uint64_t address, uint64_t length) const {
    return length <= bytes && address <= bytes - length;
  }
  /// Both need contains(address, length).
  void read(uint64_t address, void *data, uint64_t length) const;
  void write(uint64_t address, const void *data, uint64_t length);
  uint64_t read64(uint64_t address) const {
    uint64_t value;
    read(address, &value, 8);
    return value;
  }
  void clear();
  /// Order-independent of how the contents came about: pages of zeros count as
  /// absent.
  uint64_t hash(uint64_t seed) const;

  template <typename A> void serialize(A &ar) {
    uint64_t present = 0;
    for (auto &page : pages)
      present += bool(page);
    fields(ar, present);
    if constexpr (A::loading) {
      clear();
      for (uint64_t i = 0; i < present && ar.ok(); ++i) {
        uint64_t index = 0;
        fields(ar, index);
        if (index >= pages.size()) {
          ar.fail();
          return;
        }
        pages[index] = std::make_unique<Page>();
        ar.bytes(pages[index]->data(), pageBytes);
      }
    } else {
      for (uint64_t index = 0; index < pages.size(); ++index)
        if (pages[index]) {
          fields(ar, index);
          ar.bytes(pages[index]->data(), pageBytes);
        }
    }
  }

private:
  using Page = std::array<uint8_t, pageBytes>;
  uint64_t bytes;
  std::vector<std::unique_ptr<Page>> pages;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_SPARSESTORE_H
