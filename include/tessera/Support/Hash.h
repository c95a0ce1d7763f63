//===- Hash.h - 64-bit hashes -----------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// XXH3-64: checksums of objects and snapshots, configuration and result hashes.
// The same bytes give the same hash on every host. Not cryptographic.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_HASH_H
#define TESSERA_SUPPORT_HASH_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera {

uint64_t hashBytes(std::span<const uint8_t> bytes, uint64_t seed = 0);
uint64_t hashBytes(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t hashBytes(std::string_view text, uint64_t seed = 0);

} // namespace tessera

#endif // TESSERA_SUPPORT_HASH_H
