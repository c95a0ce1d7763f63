//===- KernelImage.h - A kernel as the cores run it -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_KERNELIMAGE_H
#define TESSERA_SIM_CORE_KERNELIMAGE_H

#include "kernel/Serialize.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/ISA/Packet.h"
#include <memory>
#include <optional>

namespace tessera::sim {

/// Decoded once for all cores of a dispatch. Words that are no instruction end
/// the program: a core that gets there faults.
struct KernelImage {
  std::vector<uint8_t> text, descriptorBytes, mapBytes;

  std::vector<isa::Instruction> program;
  /// For each instruction the one that opens the innermost loop around it, or
  /// -1; `programBroken`: what follows the last instruction is not one.
  std::vector<int32_t> enclosingLoop;
  bool programBroken = false;
  /// Malformed descriptors are absent.
  std::vector<std::optional<isa::Descriptor>> descriptors;
  std::vector<isa::MapProgram> maps;

  static std::shared_ptr<const KernelImage>
  decode(std::vector<uint8_t> text, std::vector<uint8_t> descriptorBytes,
         std::vector<uint8_t> mapBytes);
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_KERNELIMAGE_H
