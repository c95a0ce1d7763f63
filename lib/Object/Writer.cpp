//===- Writer.cpp - From an object to a file ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "fmt/format.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"
#include <cassert>

namespace tessera::object {

uint32_t SymbolIndices::symbolOf(const Reference &reference) const {
  switch (reference.kind) {
  case SymbolKind::Rodata:
    return rodata();
  case SymbolKind::Arena:
    return arena();
  case SymbolKind::SharedArena:
    return sharedArena();
  case SymbolKind::Input:
    return input(reference.index);
  case SymbolKind::Output:
    return output(reference.index);
  case SymbolKind::Kernel:
    return record(reference.index);
  case SymbolKind::Args:
    return args();
  }
  return 0;
}

std::optional<Reference> SymbolIndices::referenceTo(uint32_t symbol) const {
  if (symbol < record(0) || symbol >= count() || symbol == map())
    return std::nullopt;
  if (symbol < map())
    return Reference{SymbolKind::Kernel, symbol - record(0)};
  if (symbol == rodata())
    return Reference{SymbolKind::Rodata};
  if (symbol == args())
    return Reference{SymbolKind::Args};
  if (symbol == arena())
    return Reference{SymbolKind::Arena};
  if (symbol == sharedArena())
    return Reference{SymbolKind::SharedArena};
  if (symbol < output(0))
    return Reference{SymbolKind::Input, symbol - input(0)};
  return Reference{SymbolKind::Output, symbol - output(0)};
}

namespace {

/// .symtab and .strtab.
class SymbolTable {
public:
  SymbolTable() { add("", 0, STT_NOTYPE, STB_LOCAL, SHN_UNDEF, 0); }
  void define(const std::string &name, unsigned type, uint32_t section,
              uint64_t value, uint64_t size) {
    add(name, value, type, STB_GLOBAL, section, size);
  }
  void require(const std::string &name) {
    add(name, 0, STT_NOTYPE, STB_GLOBAL, SHN_UNDEF, 0);
  }
  uint32_t count() const { return symbols.size() / sizeof(Elf64_Sym); }
  std::vector<uint8_t> takeSymbols() { return symbols.take(); }
  std::vector<uint8_t> takeNames() { return names.take(); }

private:
  void add(const std::string &name, uint64_t value, unsigned type,
           unsigned binding, uint32_t section, uint64_t size) {
    Elf64_Sym symbol{};
    symbol.st_name = name.empty() ? 0 : uint32_t(names.size());
    symbol.st_info = uint8_t(binding << 4 | type);
    symbol.st_shndx = uint16_t(section);
    symbol.st_value = value;
    symbol.st_size = size;
    symbols.writeBytes(
        std::span(reinterpret_cast<const uint8_t *>(&symbol), sizeof(symbol)));
    for (char c : name)
      names.write(c);
    names.write('\0');
  }

  ByteWriter symbols, names;
};

class ImageBuilder {
public:
  ImageBuilder(const Object &object, ElfImage &image)
      : object(object), image(image), indices(object) {}

  void build(uint64_t checksum) {
    add(".note.tessera", SHT_NOTE, 0, 4, encodeNotes(object, checksum));
    symtab = add(".symtab", SHT_SYMTAB, 0, 8, {});
    strtab = add(".strtab", SHT_STRTAB, 0, 1, {});
    std::vector<uint32_t> texts, descriptors;
    for (const KernelCode &kernel : object.kernels) {
      texts.push_back(addView(std::string(textPrefix) + kernel.name,
                              SHF_ALLOC | SHF_EXECINSTR, kernel.text));
      descriptors.push_back(add(std::string(descriptorsPrefix) + kernel.name,
                                SHT_PROGBITS, SHF_ALLOC, dataAlignment,
                                encodeDescriptors(kernel)));
      add(std::string(locationsPrefix) + kernel.name, sectionLocations, 0, 4,
          encodeLocations(kernel));
    }
    uint32_t map = addView(".tsr.map", SHF_ALLOC, object.mapPrograms);
    uint32_t rodata = addView(".rodata", SHF_ALLOC, object.rodata);
    uint32_t args = addView(".tsr.args", SHF_ALLOC, object.args);
    addRelocations(".rela.tsr.args", args, Relocation::Section::Args);
    uint32_t commands = addView(".tsr.commands", SHF_ALLOC, object.commands);
    addRelocations(".rela.tsr.commands", commands,
                   Relocation::Section::Commands);
    uint32_t records = add(".tsr.records", SHT_PROGBITS, SHF_ALLOC,
                           dataAlignment, encodeRecords(object));
    addRecordRelocations(records);
    uint32_t arena = addArena(".bss", object.arenaBytes);
    uint32_t sharedArena = addArena(".bss.shared", object.sharedArenaBytes);
    add(".tsr.dispatches", sectionDispatches, 0, 4, encodeDispatches(object));
    add(".tsr.workload", sectionWorkload, 0, 4, encodeWorkload(object));

    SymbolTable symbols;
    for (size_t i = 0; i < object.kernels.size(); ++i)
      symbols.define(object.kernels[i].name, STT_FUNC, texts[i], 0,
                     object.kernels[i].text.size());
    for (size_t i = 0; i < object.kernels.size(); ++i)
      symbols.define(
          "descriptors." + object.kernels[i].name, STT_OBJECT, descriptors[i],
          0, object.kernels[i].descriptors.size() * isa::descriptorBytes);
    for (size_t i = 0; i < object.kernels.size(); ++i)
      symbols.define("record." + object.kernels[i].name, STT_OBJECT, records,
                     i * isa::kernelRecordBytes, isa::kernelRecordBytes);
    symbols.define("map", STT_OBJECT, map, 0, object.mapPrograms.size());
    symbols.define("rodata", STT_OBJECT, rodata, 0, object.rodata.size());
    symbols.define("args", STT_OBJECT, args, 0, object.args.size());
    symbols.define("arena", STT_OBJECT, arena, 0, object.arenaBytes);
    symbols.define("shared_arena", STT_OBJECT, sharedArena, 0,
                   object.sharedArenaBytes);
    for (size_t i = 0; i < object.inputs.size(); ++i)
      symbols.require(fmt::format("input.{}", i));
    for (size_t i = 0; i < object.outputs.size(); ++i)
      symbols.require(fmt::format("output.{}", i));
    assert(symbols.count() == indices.count());
    ElfSection &table = image.section(symtab);
    table.bytes = image.own(symbols.takeSymbols());
    table.link = strtab;
    table.info = 1; // The first symbol that is not local.
    table.entrySize = sizeof(Elf64_Sym);
    image.section(strtab).bytes = image.own(symbols.takeNames());
    image.finish();
  }

private:
  uint32_t addArena(std::string name, uint64_t bytes) {
    uint32_t section = add(std::move(name), SHT_NOBITS, SHF_ALLOC | SHF_WRITE,
                           dataAlignment, {});
    image.section(section).noBitsSize = bytes;
    return section;
  }
  static constexpr uint64_t dataAlignment = 64;

  uint32_t add(std::string name, uint32_t type, uint64_t flags,
               uint64_t alignment, std::vector<uint8_t> bytes) {
    ElfSection section;
    section.name = std::move(name);
    section.type = type;
    section.flags = flags;
    section.alignment = alignment;
    section.bytes = image.own(std::move(bytes));
    return image.add(std::move(section));
  }

  /// A section that the object itself holds.
  uint32_t addView(std::string name, uint64_t flags,
                   std::span<const uint8_t> bytes) {
    uint32_t index =
        add(std::move(name), SHT_PROGBITS, flags, dataAlignment, {});
    image.section(index).bytes = bytes;
    return index;
  }

  static void appendRela(ByteWriter &out, uint64_t offset, uint32_t symbol,
                         uint64_t addend) {
    Elf64_Rela rela{};
    rela.r_offset = offset;
    rela.r_info = uint64_t(symbol) << 32 | absoluteRelocation;
    rela.r_addend = int64_t(addend);
    out.writeBytes(
        std::span(reinterpret_cast<const uint8_t *>(&rela), sizeof(rela)));
  }

  void addRela(std::string name, uint32_t target, ByteWriter entries) {
    uint32_t index =
        add(std::move(name), SHT_RELA, SHF_INFO_LINK, 8, entries.take());
    image.section(index).link = symtab;
    image.section(index).info = target;
    image.section(index).entrySize = sizeof(Elf64_Rela);
  }

  void addRelocations(std::string name, uint32_t target,
                      Relocation::Section section) {
    ByteWriter entries;
    for (const Relocation &relocation : object.relocations)
      if (relocation.section == section)
        appendRela(entries, relocation.offset,
                   indices.symbolOf(relocation.target),
                   relocation.target.offset);
    addRela(std::move(name), target, std::move(entries));
  }

  /// The three addresses at the start of a kernel record.
  void addRecordRelocations(uint32_t records) {
    ByteWriter entries;
    for (uint32_t i = 0; i < object.kernels.size(); ++i) {
      uint64_t at = uint64_t(i) * isa::kernelRecordBytes;
      appendRela(entries, at, indices.text(i), 0);
      appendRela(entries, at + 8, indices.descriptors(i), 0);
      appendRela(entries, at + 16, indices.map(), 0);
    }
    addRela(".rela.tsr.records", records, std::move(entries));
  }

  const Object &object;
  ElfImage &image;
  SymbolIndices indices;
  uint32_t symtab = 0, strtab = 0;
};

} // namespace

void buildImage(const Object &object, uint64_t checksum, ElfImage &image) {
  ImageBuilder(object, image).build(checksum);
}

} // namespace tessera::object

namespace tessera {

std::vector<uint8_t> writeObject(const Object &object) {
  object::ElfImage image(object::elfMachine, objectVersion);
  object::buildImage(object, 0, image);
  std::vector<uint8_t> file = image.write();
  storeLittleEndian(file.data() + object::checksumOffset,
                    object::computeChecksum(file));
  return file;
}

} // namespace tessera
