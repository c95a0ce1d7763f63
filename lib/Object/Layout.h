//===- Layout.h - Names and numbers of the object file ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the writer and the reader agree on; docs/object.md describes it.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_OBJECT_LAYOUT_H
#define TESSERA_LIB_OBJECT_LAYOUT_H

#include "ElfImage.h"
#include "tessera/Object/Object.h"

namespace tessera::object {

inline constexpr uint16_t elfMachine = 0x5453;    // "ST"
inline constexpr uint32_t absoluteRelocation = 1; // 64 bits: symbol + addend.

/// Section types for what is not loaded onto the device.
enum : uint32_t {
  sectionLocations = SHT_LOUSER + 0x5401,
  sectionDispatches = SHT_LOUSER + 0x5402,
  sectionWorkload = SHT_LOUSER + 0x5403,
};

inline constexpr std::string_view textPrefix = ".text.";
inline constexpr std::string_view descriptorsPrefix = ".tsr.desc.";
inline constexpr std::string_view locationsPrefix = ".tsr.loc.";

inline constexpr std::string_view noteOwner{"Tessera", 8}; // With its NUL.
enum : uint32_t {
  noteChecksum = 1,
  noteVersions = 2,
  noteBuild = 3,
  noteInputs = 4,
  noteOutputs = 5,
};

/// .note.tessera is the first section and the checksum its first note, so that
/// the 8 bytes of the checksum are always here.
inline constexpr uint64_t checksumOffset = sizeof(Elf64_Ehdr) + 12 + 8;
/// Of the whole file but for the checksum's own bytes; the file holds these.
uint64_t computeChecksum(std::span<const uint8_t> file);

/// Places of symbols in .symtab: per kernel its text, then per kernel its
/// descriptors, then per kernel its record; then what follows here; then the
/// inputs and the outputs.
class SymbolIndices {
public:
  explicit SymbolIndices(const Object &object)
      : kernels(uint32_t(object.kernels.size())),
        inputs(uint32_t(object.inputs.size())),
        outputs(uint32_t(object.outputs.size())) {}

  uint32_t text(uint32_t kernel) const { return 1 + kernel; }
  uint32_t descriptors(uint32_t kernel) const { return 1 + kernels + kernel; }
  uint32_t record(uint32_t kernel) const { return 1 + 2 * kernels + kernel; }
  uint32_t map() const { return 1 + 3 * kernels; }
  uint32_t rodata() const { return map() + 1; }
  uint32_t args() const { return map() + 2; }
  uint32_t arena() const { return map() + 3; }
  uint32_t sharedArena() const { return map() + 4; }
  uint32_t input(uint32_t index) const { return map() + 5 + index; }
  uint32_t output(uint32_t index) const { return input(inputs) + index; }
  uint32_t count() const { return output(outputs); }

  uint32_t symbolOf(const Reference &reference) const;
  /// The inverse of symbolOf; nullopt for a symbol that no Reference names.
  std::optional<Reference> referenceTo(uint32_t symbol) const;

private:
  uint32_t kernels, inputs, outputs;
};

/// The file with this checksum in its note; refers to `object`'s bytes.
void buildImage(const Object &object, uint64_t checksum, ElfImage &image);

// The contents of sections.
std::vector<uint8_t> encodeNotes(const Object &object, uint64_t checksum);
Status decodeNotes(std::span<const uint8_t> bytes, Object &object);
std::vector<uint8_t> encodeDescriptors(const KernelCode &kernel);
Status decodeDescriptors(std::span<const uint8_t> bytes, KernelCode &kernel);
std::vector<uint8_t> encodeLocations(const KernelCode &kernel);
Status decodeLocations(std::span<const uint8_t> bytes, KernelCode &kernel);
std::vector<uint8_t> encodeRecords(const Object &object);
Status decodeRecords(std::span<const uint8_t> bytes, Object &object);
std::vector<uint8_t> encodeDispatches(const Object &object);
Status decodeDispatches(std::span<const uint8_t> bytes, Object &object);
std::vector<uint8_t> encodeWorkload(const Object &object);
Status decodeWorkload(std::span<const uint8_t> bytes, Object &object);

} // namespace tessera::object

#endif // TESSERA_LIB_OBJECT_LAYOUT_H
