//===- ElfImage.h - An ELF file in the making -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sections and their layout in a file, without copying what they hold.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_OBJECT_ELFIMAGE_H
#define TESSERA_LIB_OBJECT_ELFIMAGE_H

#include <cstdint>
#include <deque>
#include <elf.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::object {

struct ElfSection {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = 0;
  uint64_t alignment = 1;
  uint64_t entrySize = 0;
  uint32_t link = 0, info = 0;
  std::span<const uint8_t> bytes;
  uint64_t noBitsSize = 0; ///< Size of a SHT_NOBITS section.
};

/// A little-endian relocatable ELF64 file: header, sections in order, section
/// headers.
class ElfImage {
public:
  ElfImage(uint16_t machine, uint32_t flags);

  /// Adds a section whose bytes outlive the image; returns its index.
  uint32_t add(ElfSection section);
  ElfSection &section(uint32_t index) { return sections[index]; }
  /// Keeps bytes for the life of the image.
  std::span<const uint8_t> own(std::vector<uint8_t> bytes);

  /// Adds the section names and places everything; nothing is added after.
  void finish();

  std::vector<uint8_t> write() const;
  /// The first offset at which `bytes` is not this image.
  std::optional<uint64_t> firstDifference(std::span<const uint8_t> bytes) const;
  /// What lies at a file offset, for messages.
  std::string_view whatIsAt(uint64_t offset) const;

private:
  struct Piece {
    uint64_t offset;
    std::span<const uint8_t> bytes;
    std::string_view name;
  };
  uint64_t place(uint64_t alignment);

  uint16_t machine;
  uint32_t flags;
  std::deque<ElfSection> sections; // Names must not move.
  std::deque<std::vector<uint8_t>> owned;
  std::vector<Piece> pieces; // Ascending; zeros between them.
  uint64_t size = 0;
};

} // namespace tessera::object

#endif // TESSERA_LIB_OBJECT_ELFIMAGE_H
