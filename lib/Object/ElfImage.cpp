//===- ElfImage.cpp - An ELF file in the making ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfImage.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>
#include <cassert>

namespace tessera::object {

ElfImage::ElfImage(uint16_t machine, uint32_t flags)
    : machine(machine), flags(flags) {
  ElfSection null;
  null.type = SHT_NULL;
  null.alignment = 0;
  sections.push_back(null);
}

uint32_t ElfImage::add(ElfSection section) {
  assert(pieces.empty() && "the image is finished");
  assert(sections.size() < SHN_LORESERVE && "too many sections for plain ELF");
  sections.push_back(std::move(section));
  return uint32_t(sections.size() - 1);
}

std::span<const uint8_t> ElfImage::own(std::vector<uint8_t> bytes) {
  owned.push_back(std::move(bytes));
  return owned.back();
}

uint64_t ElfImage::place(uint64_t alignment) {
  if (alignment > 1)
    size = (size + alignment - 1) / alignment * alignment;
  return size;
}

template <typename T> static void append(ByteWriter &out, const T &record) {
  out.writeBytes(
      std::span(reinterpret_cast<const uint8_t *>(&record), sizeof(record)));
}

void ElfImage::finish() {
  ElfSection names;
  names.name = ".shstrtab";
  names.type = SHT_STRTAB;
  uint32_t namesIndex = add(names);
  std::vector<uint8_t> text;
  std::vector<uint32_t> nameOffsets;
  for (const ElfSection &section : sections) {
    nameOffsets.push_back(section.name.empty() ? 0 : uint32_t(text.size()));
    text.insert(text.end(), section.name.begin(), section.name.end());
    text.push_back(0);
  }
  sections[namesIndex].bytes = own(std::move(text));

  size = sizeof(Elf64_Ehdr);
  ByteWriter headers;
  for (size_t i = 0; i < sections.size(); ++i) {
    const ElfSection &section = sections[i];
    Elf64_Shdr header{};
    if (section.type != SHT_NULL) {
      bool noBits = section.type == SHT_NOBITS;
      header.sh_name = nameOffsets[i];
      header.sh_type = section.type;
      header.sh_flags = section.flags;
      header.sh_offset = place(section.alignment);
      header.sh_size = noBits ? section.noBitsSize : section.bytes.size();
      header.sh_link = section.link;
      header.sh_info = section.info;
      header.sh_addralign = section.alignment;
      header.sh_entsize = section.entrySize;
      if (!noBits) {
        pieces.push_back({size, section.bytes, section.name});
        size += section.bytes.size();
      }
    }
    append(headers, header);
  }

  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;
  header.e_machine = machine;
  header.e_version = EV_CURRENT;
  header.e_flags = flags;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shoff = place(8);
  header.e_shnum = uint16_t(sections.size());
  header.e_shstrndx = uint16_t(namesIndex);
  pieces.push_back({size, own(headers.take()), "section headers"});
  size += pieces.back().bytes.size();

  ByteWriter first;
  append(first, header);
  pieces.insert(pieces.begin(), {0, own(first.take()), "ELF header"});
}

std::vector<uint8_t> ElfImage::write() const {
  std::vector<uint8_t> file(size);
  for (const Piece &piece : pieces)
    std::ranges::copy(piece.bytes, file.begin() + piece.offset);
  return file;
}

std::optional<uint64_t>
ElfImage::firstDifference(std::span<const uint8_t> bytes) const {
  uint64_t at = 0; // All before is equal.
  for (const Piece &piece : pieces) {
    for (; at < piece.offset; ++at)
      if (at >= bytes.size() || bytes[at] != 0)
        return at;
    auto [mine, theirs] = std::ranges::mismatch(
        piece.bytes, bytes.subspan(std::min<uint64_t>(at, bytes.size())));
    at += mine - piece.bytes.begin();
    if (mine != piece.bytes.end())
      return at;
  }
  if (at != bytes.size())
    return at;
  return std::nullopt;
}

std::string_view ElfImage::whatIsAt(uint64_t offset) const {
  std::string_view name = "the end of the file";
  for (const Piece &piece : pieces)
    if (offset >= piece.offset)
      name = piece.name;
  return offset < size ? name : "the end of the file";
}

} // namespace tessera::object
