//===- SparseStore.cpp - Bytes of a large memory ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/SparseStore.h"
#include "tessera/Support/Hash.h"
#include <algorithm>

namespace tessera::sim {

void SparseStore::read(uint64_t address, void *data, uint64_t length) const {
  auto *out = static_cast<uint8_t *>(data);
  while (length) {
    uint64_t offset = address % pageBytes;
    uint64_t part = std::min(length, pageBytes - offset);
    if (const auto &page = pages[address / pageBytes])
      std::memcpy(out, page->data() + offset, part);
    else
      std::memset(out, 0, part);
    out += part, address += part, length -= part;
  }
}

void SparseStore::write(uint64_t address, const void *data, uint64_t length) {
  const auto *in = static_cast<const uint8_t *>(data);
  while (length) {
    uint64_t offset = address % pageBytes;
    uint64_t part = std::min(length, pageBytes - offset);
    auto &page = pages[address / pageBytes];
    if (!page)
      page = std::make_unique<Page>();
    std::memcpy(page->data() + offset, in, part);
    in += part, address += part, length -= part;
  }
}

void SparseStore::clear() {
  for (auto &page : pages)
    page.reset();
}

uint64_t SparseStore::hash(uint64_t seed) const {
  uint64_t result = seed;
  for (uint64_t index = 0; index < pages.size(); ++index) {
    const auto &page = pages[index];
    if (page && std::any_of(page->begin(), page->end(),
                            [](uint8_t b) { return b != 0; }))
      result = hashBytes(std::span<const uint8_t>(*page), result ^ (index + 1));
  }
  return result;
}

} // namespace tessera::sim
