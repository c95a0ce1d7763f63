//===- Schema.h - The table of keys -----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table from which the loader, the printer, the hashes and the reference
// page are made: one entry per key. Private to the library.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_ARCH_SCHEMA_H
#define TESSERA_LIB_ARCH_SCHEMA_H

#include "tessera/Arch/Architecture.h"
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::schema {

/// A whole number. In bytes it may be written with KiB, MiB or GiB.
struct IntegerType {
  uint64_t min, max;
  std::variant<uint32_t &(*)(Architecture &), uint64_t &(*)(Architecture &)>
      member;
  bool powerOfTwo = false;

  uint64_t get(Architecture &arch) const;
  void set(Architecture &arch, uint64_t value) const;
};
struct RealType {
  double min, max;
  double &(*member)(Architecture &);
};
struct TextType {
  std::string_view accepted; ///< In words.
  std::string &(*member)(Architecture &);
};
/// One of a few names; their order is that of the enum.
struct ChoiceType {
  std::vector<std::string_view> names;
  unsigned (*get)(const Architecture &);
  void (*set)(Architecture &, unsigned);
};
/// [columns, rows] of the mesh of cores.
struct MeshType {};
/// A list of node numbers.
struct NodesType {
  std::vector<uint32_t> &(*member)(Architecture &);
};
/// {format: {macs_scale: real}, …}.
struct FormatsType {};

using KeyType = std::variant<IntegerType, RealType, TextType, ChoiceType,
                             MeshType, NodesType, FormatsType>;

enum class Presence : uint8_t {
  Required,
  Optional, ///< The default is the member's initialiser.
  Derived,  ///< The default depends on other keys; `defaultText` says how.
  Dram,     ///< From `dram.preset`; required without one.
};

/// Limits of macs_scale.
inline constexpr double minMacsScale = 0.0625, maxMacsScale = 16;

struct Key {
  std::string_view path; ///< "section.key", or "key" outside sections.
  KeyType type;
  std::string_view unit; ///< "bytes", "cycles", …; may be empty.
  Presence presence;
  bool isa; ///< Part of the ISA keys; else of the timing hash.
  std::string_view doc;
  std::string_view defaultText = {};
};

/// In the order of printing and documentation.
std::span<const Key> keys();
const Key *findKey(std::string_view path);
/// Keys that are not available yet, and are refused by name.
std::span<const std::string_view> reservedKeys();

/// The value as it is written in a file.
std::string formatValue(const Key &key, const Architecture &arch);
/// What the key accepts, in words: type, range and unit.
std::string acceptedText(const Key &key);
std::string formatBytes(uint64_t bytes);

/// A set of timings and the geometry of one channel; `bytes` is the capacity of
/// one channel.
struct DramPreset {
  std::string_view name;
  DramConfig config;
  std::string_view source; ///< Where the numbers come from.
};
std::span<const DramPreset> dramPresetTable();

/// What is wrong with a combination of values.
struct Conflict {
  std::string_view path; ///< The key to blame.
  std::string what, accepted;
};
/// The first combination that cannot work.
std::optional<Conflict> findConflict(const Architecture &arch);

} // namespace tessera::schema

#endif // TESSERA_LIB_ARCH_SCHEMA_H
