//===- ZeroedBytes.h - Memory that costs what is used of it -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fixed number of bytes, zero at first. The host's pages behind them come
// into being when they are written, so that hundreds of scratchpads of which
// few are used cost little.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_KERNEL_ZEROEDBYTES_H
#define TESSERA_SIM_KERNEL_ZEROEDBYTES_H

#include "kernel/Serialize.h"
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace tessera::sim {

class ZeroedBytes {
public:
  explicit ZeroedBytes(size_t size)
      : count(size), bytes(static_cast<uint8_t *>(
                         std::calloc(std::max<size_t>(size, 1), 1))) {
    if (!bytes)
      throw std::bad_alloc();
  }

  uint8_t *data() { return bytes.get(); }
  const uint8_t *data() const { return bytes.get(); }
  size_t size() const { return count; }
  uint8_t &operator[](size_t index) { return bytes.get()[index]; }
  operator std::span<const uint8_t>() const { return {bytes.get(), count}; }

  template <typename A> void serialize(A &ar) {
    uint64_t size = count;
    fields(ar, size);
    if constexpr (A::loading)
      if (size != count)
        return ar.fail();
    ar.bytes(bytes.get(), count);
  }

private:
  struct Free {
    void operator()(uint8_t *p) const { std::free(p); }
  };
  size_t count;
  std::unique_ptr<uint8_t, Free> bytes;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_KERNEL_ZEROEDBYTES_H
