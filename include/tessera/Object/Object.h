//===- Object.h - The executable object -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A compiled program as data, and its ELF64 file form (docs/object.md):
//
//   .text.<kernel>      instruction words           .tsr.desc.<kernel>
//   descriptors .tsr.map            lane programs, shared       .rodata
//   constants .tsr.args           argument blocks (u64 each)  .tsr.commands
//   packets .tsr.records        kernel records              .tsr.loc.<kernel>
//   locations .bss, .bss.shared   sizes of the arenas         .tsr.workload
//   operators .note.tessera       versions, hashes, signature .tsr.dispatches
//   packet names
//
// Addresses in .tsr.args, .tsr.commands and .tsr.records are relocations: the
// loader adds the symbol's device address. Inputs and outputs are undefined
// symbols `input.N` and `output.N`.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_OBJECT_OBJECT_H
#define TESSERA_OBJECT_OBJECT_H

#include "tessera/Arch/Architecture.h"
#include "tessera/ISA/Descriptor.h"
#include "tessera/ISA/Version.h"
#include "tessera/Support/NumericFormat.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Version of the file format; a loader refuses other values, as it does of
/// isaVersion.
inline constexpr uint32_t objectVersion = 5;

/// An input or output of the entry point: row-major, densely packed.
struct TensorSignature {
  std::string name;
  /// The element type in the model: "f32", "i64", "bool", ….
  std::string type;
  std::vector<uint64_t> shape;
  uint64_t bytes = 0; ///< Size of the device buffer.
  bool operator==(const TensorSignature &) const = default;
};

/// Where an instruction comes from; one entry covers instructions
/// [first, next entry's first).
struct LocationEntry {
  uint32_t firstInstruction = 0;
  std::string location; ///< Model node or file:line.
  bool operator==(const LocationEntry &) const = default;
};

struct KernelCode {
  std::string name;
  std::vector<uint8_t> text;
  std::vector<isa::Descriptor> descriptors;
  std::vector<LocationEntry> locations;
  uint32_t numArguments = 0;
  bool operator==(const KernelCode &) const = default;
};

/// What a relocation or argument points at.
enum class SymbolKind : uint8_t {
  Rodata,
  Arena,
  SharedArena,
  Input,
  Output,
  Kernel,
  Args
};
struct Reference {
  SymbolKind kind = SymbolKind::Rodata;
  uint32_t index = 0;  ///< Input, output or kernel number.
  uint64_t offset = 0; ///< Bytes.
  bool operator==(const Reference &) const = default;
};

/// One 8-byte slot in `.tsr.args` or `.tsr.commands` that the loader fills.
struct Relocation {
  enum class Section : uint8_t { Args, Commands };
  Section section = Section::Commands;
  uint64_t offset = 0; ///< Of the slot, bytes.
  Reference target;
  bool operator==(const Relocation &) const = default;
};

/// How the compiler mapped a dispatch, in words, and the cycles that its cost
/// model expects from the first instruction to the last; without words nothing
/// is known.
struct MappingInfo {
  std::string plan;
  uint64_t cycles = 0;
  bool operator==(const MappingInfo &) const = default;
};

/// What a packet of the command stream computes; for reports only.
struct DispatchInfo {
  std::string name;
  std::vector<std::string> nodes;  ///< Model nodes that it covers.
  uint32_t packet = 0;             ///< Index in the command stream.
  std::vector<uint32_t> operators; ///< Indices in Object::workload.
  MappingInfo mapping, runnerUp;   ///< Chosen, and the best other one.
  /// Of both arenas, that hold data which this packet or a later one reads.
  uint64_t liveBytes = 0;
  bool operator==(const DispatchInfo &) const = default;
};

/// One operator of the model, counted before any mapping: the input of the
/// bounds (docs/report.md). Contractions have M, K, N (and groups); reductions
/// have K, the values that go into one result; others 0.
struct OperatorRecord {
  std::string name; ///< Model node.
  std::string kind; ///< "matmul", "conv", "elementwise", "pool", "softmax", …
  NumericFormat format = NumericFormat::F32;
  uint64_t m = 0, k = 0, n = 0;
  uint64_t batch = 1; ///< Independent contractions of that size.
  /// Vector work: iteration points and operations at each of them.
  uint64_t elements = 0;
  uint32_t aluOps = 0, sfuOps = 0;
  /// Either engine may do it (GEMV, depthwise): vector work of a contraction.
  bool eitherEngine = false;
  /// Indices of the operators whose results it reads, each smaller than its
  /// own; ascending.
  std::vector<uint32_t> producers;
  bool operator==(const OperatorRecord &) const = default;
  uint64_t macs() const { return batch * m * k * n; }
};

struct Object {
  std::string toolVersion, architectureName, sourceName;
  std::string isaKeys; ///< tessera::isaKeys() of its architecture.
  uint64_t timingHash = 0;
  std::vector<TensorSignature> inputs, outputs;
  std::vector<KernelCode> kernels;
  std::vector<uint8_t> mapPrograms; ///< Encoded, shared by all kernels.
  std::vector<uint8_t> rodata;      ///< Packed weights and constants.
  uint64_t arenaBytes = 0;
  uint64_t sharedArenaBytes = 0; ///< Meant for the shared SRAM.
  std::vector<uint8_t> args;     ///< Argument blocks, 8-byte slots.
  std::vector<uint8_t> commands; ///< 64-byte packets.
  /// In the order of section and offset; the slots themselves hold 0.
  std::vector<Relocation> relocations;
  std::vector<DispatchInfo> dispatches;
  std::vector<OperatorRecord> workload;
  /// Weights, model inputs and outputs, once each: the DRAM floor.
  uint64_t compulsoryBytes = 0;
  bool operator==(const Object &) const = default;
};

/// The rules that a loader relies on: every instruction, descriptor, lane
/// program and packet decodes, every index and offset is in range, kernels have
/// different names, and every address in a packet is a relocation. Errors name
/// the section and what is wrong.
Status verifyObject(const Object &object);
/// The ELF image of an object that `verifyObject` accepts; deterministic.
std::vector<uint8_t> writeObject(const Object &object);
/// Reads and verifies: magic, versions, a checksum over the whole file, every
/// offset and size, `verifyObject`, and that the file is, byte for byte, what
/// `writeObject` makes of the result. Errors name the section and what is
/// wrong.
Result<Object> readObject(std::span<const uint8_t> bytes,
                          std::string_view name);
/// FailedPrecondition naming both architectures and every key that differs if
/// `object` was made for other ISA keys.
Status checkCompatible(const Object &object, const Architecture &arch);

} // namespace tessera

#endif // TESSERA_OBJECT_OBJECT_H
