//===- Reader.cpp - From a file to an object ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfReader.h"
#include "Layout.h"
#include "fmt/format.h"
#include "tessera/Support/Bytes.h"
#include <cstring>

namespace tessera {

using object::InputFile;
using object::InputSection;

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// Versions and checksum, before anything else of the file is believed.
static Status verifyFile(std::span<const uint8_t> bytes) {
  TESSERA_ASSIGN_OR_RETURN(uint32_t version,
                           object::readElfFlags(bytes, object::elfMachine));
  if (version != objectVersion)
    return {StatusCode::FailedPrecondition,
            fmt::format("ELF header: object version {}; accepted: {}", version,
                        objectVersion)};
  if (bytes.size() < object::checksumOffset + 8)
    return invalid(".note.tessera: is cut off");
  uint64_t sum =
      loadLittleEndian<uint64_t>(bytes.data() + object::checksumOffset);
  if (sum != object::computeChecksum(bytes))
    return invalid("the checksum is wrong; the file is damaged");
  return Status::success();
}

static Status decodeSection(const InputFile &file, std::string_view name,
                            auto decode) {
  const InputSection *section = file.find(name);
  if (!section)
    return invalid(fmt::format("section {} is missing", name));
  Status status = decode(*section);
  return status.ok() ? status : status.withContext(name);
}

static std::vector<uint8_t> copyOf(std::span<const uint8_t> bytes) {
  return {bytes.begin(), bytes.end()};
}

static Status readKernels(const InputFile &file, Object &object) {
  for (const InputSection &section : file.sections) {
    if (!section.name.starts_with(object::textPrefix))
      continue;
    KernelCode kernel;
    kernel.name = section.name.substr(object::textPrefix.size());
    kernel.text = copyOf(section.bytes);
    TESSERA_RETURN_IF_ERROR(decodeSection(
        file, std::string(object::descriptorsPrefix) + kernel.name,
        [&](const InputSection &descriptors) {
          return object::decodeDescriptors(descriptors.bytes, kernel);
        }));
    TESSERA_RETURN_IF_ERROR(
        decodeSection(file, std::string(object::locationsPrefix) + kernel.name,
                      [&](const InputSection &locations) {
                        return object::decodeLocations(locations.bytes, kernel);
                      }));
    object.kernels.push_back(std::move(kernel));
  }
  return Status::success();
}

static Status readRelocations(std::span<const uint8_t> bytes,
                              Relocation::Section section, Object &object) {
  if (bytes.size() % sizeof(Elf64_Rela) != 0)
    return invalid(
        fmt::format("{} bytes are not whole relocations", bytes.size()));
  object::SymbolIndices indices(object);
  for (size_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
    Elf64_Rela rela;
    std::memcpy(&rela, bytes.data() + at, sizeof(rela));
    std::optional<Reference> target =
        indices.referenceTo(ELF64_R_SYM(rela.r_info));
    if (!target || ELF64_R_TYPE(rela.r_info) != object::absoluteRelocation)
      return invalid(
          fmt::format("number {} has the unknown type or symbol {:#x}",
                      at / sizeof(rela), rela.r_info));
    target->offset = uint64_t(rela.r_addend);
    object.relocations.push_back({section, rela.r_offset, *target});
  }
  return Status::success();
}

static Result<Object> readSections(const InputFile &file) {
  Object object;
  auto decode = [&](std::string_view name, auto decoder) {
    return decodeSection(file, name, [&](const InputSection &section) {
      return decoder(section.bytes, object);
    });
  };
  auto copy = [&](std::string_view name, std::vector<uint8_t> Object::*member) {
    return decodeSection(file, name, [&](const InputSection &section) {
      object.*member = copyOf(section.bytes);
      return Status::success();
    });
  };
  TESSERA_RETURN_IF_ERROR(decode(".note.tessera", object::decodeNotes));
  TESSERA_RETURN_IF_ERROR(readKernels(file, object));
  TESSERA_RETURN_IF_ERROR(decode(".tsr.records", object::decodeRecords));
  TESSERA_RETURN_IF_ERROR(copy(".tsr.map", &Object::mapPrograms));
  TESSERA_RETURN_IF_ERROR(copy(".rodata", &Object::rodata));
  TESSERA_RETURN_IF_ERROR(copy(".tsr.args", &Object::args));
  TESSERA_RETURN_IF_ERROR(copy(".tsr.commands", &Object::commands));
  for (auto [name, bytes] :
       {std::pair(".bss", &Object::arenaBytes),
        std::pair(".bss.shared", &Object::sharedArenaBytes)})
    TESSERA_RETURN_IF_ERROR(
        decodeSection(file, name, [&](const InputSection &section) {
          object.*bytes = section.size;
          return Status::success();
        }));
  for (auto [name, section] :
       {std::pair(".rela.tsr.args", Relocation::Section::Args),
        std::pair(".rela.tsr.commands", Relocation::Section::Commands)})
    TESSERA_RETURN_IF_ERROR(
        decodeSection(file, name, [&](const InputSection &relocations) {
          return readRelocations(relocations.bytes, section, object);
        }));
  TESSERA_RETURN_IF_ERROR(decode(".tsr.dispatches", object::decodeDispatches));
  TESSERA_RETURN_IF_ERROR(decode(".tsr.workload", object::decodeWorkload));
  return object;
}

static Result<Object> readVerified(std::span<const uint8_t> bytes) {
  TESSERA_RETURN_IF_ERROR(verifyFile(bytes));
  TESSERA_ASSIGN_OR_RETURN(InputFile file,
                           object::readElf(bytes, object::elfMachine));
  TESSERA_ASSIGN_OR_RETURN(Object object, readSections(file));
  TESSERA_RETURN_IF_ERROR(verifyObject(object));

  // Whatever no decoder looked at (headers, symbols, padding) has one value.
  object::ElfImage image(object::elfMachine, objectVersion);
  object::buildImage(
      object, loadLittleEndian<uint64_t>(bytes.data() + object::checksumOffset),
      image);
  if (std::optional<uint64_t> at = image.firstDifference(bytes))
    return invalid(fmt::format("{}: the byte at file offset {} is not what an "
                               "object has there",
                               image.whatIsAt(*at), *at));
  return object;
}

Result<Object> readObject(std::span<const uint8_t> bytes,
                          std::string_view name) {
  Result<Object> object = readVerified(bytes);
  if (!object.ok())
    return object.status().withContext(name);
  return object;
}

} // namespace tessera
