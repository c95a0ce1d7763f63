//===- ElfReader.h - The sections of an ELF file ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_OBJECT_ELFREADER_H
#define TESSERA_LIB_OBJECT_ELFREADER_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::object {

/// Views into the file.
struct InputSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t size = 0;
  std::span<const uint8_t> bytes; ///< Empty if the section has no bits.
};

struct InputFile {
  uint32_t flags = 0; ///< e_flags.
  std::vector<InputSection> sections;

  /// nullptr if there is none of that name.
  const InputSection *find(std::string_view name) const;
};

/// Whether the file is a relocatable ELF64 file of this machine, and its flags;
/// looks at nothing but the header.
Result<uint32_t> readElfFlags(std::span<const uint8_t> bytes, uint16_t machine);

/// Splits a file into its sections; every offset and size is checked.
Result<InputFile> readElf(std::span<const uint8_t> bytes, uint16_t machine);

} // namespace tessera::object

#endif // TESSERA_LIB_OBJECT_ELFREADER_H
