//===- ElfReader.cpp - The sections of an ELF file ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfReader.h"
#include "fmt/format.h"
#include <algorithm>
#include <cstring>
#include <elf.h>
#include <optional>

namespace tessera::object {

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

const InputSection *InputFile::find(std::string_view name) const {
  auto it = std::ranges::find(sections, name, &InputSection::name);
  return it == sections.end() ? nullptr : &*it;
}

/// A view of `count` bytes at `offset`, if the file has them.
static std::optional<std::span<const uint8_t>>
slice(std::span<const uint8_t> bytes, uint64_t offset, uint64_t count) {
  if (offset > bytes.size() || count > bytes.size() - offset)
    return std::nullopt;
  return bytes.subspan(offset, count);
}

static Result<Elf64_Ehdr> readHeader(std::span<const uint8_t> bytes,
                                     uint16_t machine) {
  Elf64_Ehdr header;
  if (bytes.size() < SELFMAG || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return invalid("ELF header: no ELF magic; this is not an object file");
  if (bytes.size() < sizeof(header))
    return invalid("ELF header: is cut off");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT ||
      header.e_version != EV_CURRENT || header.e_type != ET_REL)
    return invalid("ELF header: not a relocatable little-endian ELF64 file");
  if (header.e_machine != machine)
    return invalid(fmt::format("ELF header: made for machine {:#x}; accepted: "
                               "{:#x}",
                               header.e_machine, machine));
  return header;
}

Result<uint32_t> readElfFlags(std::span<const uint8_t> bytes,
                              uint16_t machine) {
  TESSERA_ASSIGN_OR_RETURN(Elf64_Ehdr header, readHeader(bytes, machine));
  return header.e_flags;
}

/// The text at `offset` of a string table, up to its NUL.
static std::optional<std::string_view> readName(std::span<const uint8_t> table,
                                                uint64_t offset) {
  if (offset >= table.size())
    return std::nullopt;
  std::span<const uint8_t> rest = table.subspan(offset);
  auto end = std::ranges::find(rest, 0);
  if (end == rest.end())
    return std::nullopt;
  return std::string_view(reinterpret_cast<const char *>(rest.data()),
                          end - rest.begin());
}

Result<InputFile> readElf(std::span<const uint8_t> bytes, uint16_t machine) {
  TESSERA_ASSIGN_OR_RETURN(Elf64_Ehdr header, readHeader(bytes, machine));
  auto table = slice(bytes, header.e_shoff,
                     uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 ||
      header.e_shstrndx >= header.e_shnum || !table)
    return invalid("ELF header: the table of sections is outside the file");
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  std::memcpy(headers.data(), table->data(), table->size());

  InputFile file;
  file.flags = header.e_flags;
  for (size_t i = 0; i < headers.size(); ++i) {
    InputSection section;
    section.type = headers[i].sh_type;
    section.size = headers[i].sh_size;
    if (section.type != SHT_NOBITS && section.type != SHT_NULL) {
      auto contents = slice(bytes, headers[i].sh_offset, section.size);
      if (!contents)
        return invalid(
            fmt::format("section {}: {} bytes at offset {} are outside the "
                        "file of {} bytes",
                        i, section.size, headers[i].sh_offset, bytes.size()));
      section.bytes = *contents;
    }
    file.sections.push_back(section);
  }
  for (size_t i = 0; i < headers.size(); ++i) {
    auto name =
        readName(file.sections[header.e_shstrndx].bytes, headers[i].sh_name);
    if (!name)
      return invalid(fmt::format("section {}: its name is outside the table of "
                                 "names",
                                 i));
    file.sections[i].name = *name;
  }
  return file;
}

} // namespace tessera::object
