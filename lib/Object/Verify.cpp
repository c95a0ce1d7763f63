//===- Verify.cpp - The rules of an object --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Object/Object.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/ElementType.h"
#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace tessera {

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The indices in an instruction that point into the kernel's tables.
static Status verifyIndices(const isa::Instruction &inst,
                            const KernelCode &kernel, size_t numMapPrograms) {
  auto check = [](std::string_view what, int64_t index,
                  size_t count) -> Status {
    if (uint64_t(index) < count)
      return Status::success();
    return invalid(fmt::format("{} {} of {}", what, index, count));
  };
  switch (inst.opcode) {
  case isa::Opcode::TDLOAD:
    return check("descriptor", inst.get(isa::td_load::index),
                 kernel.descriptors.size());
  case isa::Opcode::MAP:
    return check("map program", inst.get(isa::map::program), numMapPrograms);
  case isa::Opcode::LDARG:
    return check("argument", inst.get(isa::ldarg::index), kernel.numArguments);
  default:
    return Status::success();
  }
}

static Status verifyKernel(const KernelCode &kernel, size_t numMapPrograms) {
  std::string section = ".text." + kernel.name;
  constexpr uint32_t limit = std::numeric_limits<uint32_t>::max();
  if (kernel.text.size() > limit)
    return invalid(section + ": more than 4 GiB");
  if (kernel.text.empty())
    return invalid(section + ": is empty");
  Result<std::vector<isa::Instruction>> program =
      isa::decodeProgram(kernel.text);
  if (!program.ok())
    return program.status().withContext(section);
  for (size_t i = 0; i < program->size(); ++i)
    if (Status status = verifyIndices((*program)[i], kernel, numMapPrograms);
        !status.ok())
      return status.withContext(fmt::format("{}: instruction {}", section, i));

  for (size_t i = 0; i < kernel.descriptors.size(); ++i) {
    std::array<uint8_t, isa::descriptorBytes> image;
    isa::encode(kernel.descriptors[i], image);
    if (Status status = isa::decodeDescriptor(image).status(); !status.ok())
      return status.withContext(
          fmt::format(".tsr.desc.{}: number {}", kernel.name, i));
  }
  for (size_t i = 0; i < kernel.locations.size(); ++i) {
    uint32_t first = kernel.locations[i].firstInstruction;
    if (first >= program->size() ||
        (i > 0 && first <= kernel.locations[i - 1].firstInstruction))
      return invalid(fmt::format(
          ".tsr.loc.{}: entry {} starts at instruction {}, not after its "
          "predecessor or beyond the last of {}",
          kernel.name, i, first, program->size()));
  }
  return Status::success();
}

static Status verifyNames(const Object &object) {
  std::set<std::string_view> names;
  for (const KernelCode &kernel : object.kernels) {
    if (kernel.name.empty() || kernel.name.find('\0') != std::string::npos)
      return invalid("a kernel's name is empty or holds a NUL");
    if (!names.insert(kernel.name).second)
      return invalid(fmt::format("kernel {} is there twice", kernel.name));
  }
  return Status::success();
}

//===----------------------------------------------------------------------===//
// Relocations and packets
//===----------------------------------------------------------------------===//

namespace {

/// A signature's buffer holds just its elements: tools size host memory by it.
Status verifySignature(std::string_view what,
                       const std::vector<TensorSignature> &tensors) {
  for (const TensorSignature &tensor : tensors) {
    uint64_t bytes = elementBytes(tensor.type);
    if (bytes == 0)
      return invalid(fmt::format("{} '{}': unknown type '{}'", what,
                                 tensor.name, tensor.type));
    for (uint64_t extent : tensor.shape)
      if (__builtin_mul_overflow(bytes, extent, &bytes))
        return invalid(fmt::format("{} '{}': the shape [{}] overflows", what,
                                   tensor.name, fmt::join(tensor.shape, ", ")));
    if (bytes != tensor.bytes)
      return invalid(fmt::format("{} '{}': {} bytes for the {} of {} [{}]",
                                 what, tensor.name, tensor.bytes, bytes,
                                 tensor.type, fmt::join(tensor.shape, ", ")));
  }
  return Status::success();
}

std::string_view sectionName(Relocation::Section section) {
  return section == Relocation::Section::Args ? ".tsr.args" : ".tsr.commands";
}

class CommandVerifier {
public:
  explicit CommandVerifier(const Object &object) : object(object) {}

  Status verify() {
    for (size_t i = 0; i < object.relocations.size(); ++i) {
      const Relocation &relocation = object.relocations[i];
      Status status = verifyRelocation(
          relocation, i == 0 ? nullptr : &object.relocations[i - 1]);
      if (!status.ok())
        return status.withContext(fmt::format("{}: relocation at {}",
                                              sectionName(relocation.section),
                                              relocation.offset));
      if (relocation.section == Relocation::Section::Commands)
        commandSlots[relocation.offset] = relocation.target;
    }
    if (object.args.size() % 8 != 0)
      return invalid(fmt::format(".tsr.args: {} bytes are not whole slots",
                                 object.args.size()));
    if (object.commands.size() % isa::packetBytes != 0)
      return invalid(
          fmt::format(".tsr.commands: {} bytes are not whole packets",
                      object.commands.size()));
    for (size_t at = 0; at < object.commands.size(); at += isa::packetBytes)
      if (Status status = verifyPacket(at); !status.ok())
        return status.withContext(
            fmt::format(".tsr.commands: packet {}", at / isa::packetBytes));
    return Status::success();
  }

private:
  struct Extent {
    std::string_view name;
    uint64_t count, bytes; ///< How many there are, and the size of this one.
  };

  Extent extentOf(const Reference &target) const {
    auto tensor = [&](std::string_view name,
                      const std::vector<TensorSignature> &tensors) -> Extent {
      return {name, tensors.size(),
              target.index < tensors.size() ? tensors[target.index].bytes : 0};
    };
    switch (target.kind) {
    case SymbolKind::Rodata:
      return {"rodata", 1, object.rodata.size()};
    case SymbolKind::Arena:
      return {"arena", 1, object.arenaBytes};
    case SymbolKind::SharedArena:
      return {"shared arena", 1, object.sharedArenaBytes};
    case SymbolKind::Input:
      return tensor("input", object.inputs);
    case SymbolKind::Output:
      return tensor("output", object.outputs);
    case SymbolKind::Kernel:
      return {"kernel", object.kernels.size(), 0};
    case SymbolKind::Args:
      return {"args", 1, object.args.size()};
    }
    return {"unknown symbol", 0, 0};
  }

  /// `size` bytes at `target` are inside what it points at.
  Status verifyTarget(const Reference &target, uint64_t size) const {
    Extent extent = extentOf(target);
    if (target.index >= extent.count)
      return invalid(
          fmt::format("{} {} of {}", extent.name, target.index, extent.count));
    if (target.offset > extent.bytes || size > extent.bytes - target.offset)
      return invalid(fmt::format("{} bytes at {} + {}, which has {} bytes",
                                 size, extent.name, target.offset,
                                 extent.bytes));
    return Status::success();
  }

  Status verifyRelocation(const Relocation &relocation,
                          const Relocation *previous) const {
    const std::vector<uint8_t> &section =
        relocation.section == Relocation::Section::Args ? object.args
                                                        : object.commands;
    if (previous && (relocation.section < previous->section ||
                     (relocation.section == previous->section &&
                      relocation.offset <= previous->offset)))
      return invalid("is not after its predecessor");
    if (relocation.offset % 8 != 0 || section.size() < 8 ||
        relocation.offset > section.size() - 8)
      return invalid(
          fmt::format("is no 8-byte slot of {} bytes", section.size()));
    if (loadLittleEndian<uint64_t>(&section[relocation.offset]) != 0)
      return invalid("the slot is not 0");
    return verifyTarget(relocation.target, 0);
  }

  /// The address slot at `offset` of the packet at `at` is a relocation to
  /// `size` bytes.
  Status verifySlot(size_t at, unsigned offset, std::string_view name,
                    uint64_t size) {
    auto slot = commandSlots.find(at + offset);
    if (slot == commandSlots.end())
      return invalid(fmt::format("{} is not a relocation", name));
    ++slotsUsed;
    if (Status status = verifyTarget(slot->second, size); !status.ok())
      return status.withContext(name);
    return Status::success();
  }

  Status verifyBody(size_t at, const isa::DispatchPacket &packet) {
    TESSERA_RETURN_IF_ERROR(verifySlot(at, 8, "kernel", 0));
    const Reference &target = commandSlots[at + 8];
    if (target.kind != SymbolKind::Kernel)
      return invalid("kernel points at no kernel");
    const KernelCode &kernel = object.kernels[target.index];
    if (packet.numArguments != kernel.numArguments)
      return invalid(fmt::format("{} arguments; kernel {} expects {}",
                                 packet.numArguments, kernel.name,
                                 kernel.numArguments));
    if (packet.numArguments == 0 && !commandSlots.contains(at + 16))
      return Status::success();
    return verifySlot(at, 16, "arguments", 8 * uint64_t(packet.numArguments));
  }
  Status verifyBody(size_t at, const isa::CopyPacket &packet) {
    TESSERA_RETURN_IF_ERROR(verifySlot(at, 8, "destination", packet.size));
    return verifySlot(at, 16, "source", packet.size);
  }
  Status verifyBody(size_t at, const isa::FillPacket &packet) {
    return verifySlot(at, 8, "destination", packet.size);
  }
  Status verifyBody(size_t at, const isa::TimestampPacket &) {
    return verifySlot(at, 8, "destination", 8);
  }
  Status verifyBody(size_t, const isa::IndirectPacket &) {
    return invalid("an object cannot run another command buffer");
  }
  Status verifyBody(size_t, const isa::BarrierPacket &) {
    return Status::success();
  }
  Status verifyBody(size_t, const isa::SignalPacket &) {
    return Status::success();
  }
  Status verifyBody(size_t, const isa::InterruptPacket &) {
    return Status::success();
  }
  Status verifyBody(size_t, const isa::NopPacket &) {
    return Status::success();
  }

  Status verifyPacket(size_t at) {
    // Any good address stands for those that the loader fills in.
    constexpr uint64_t someAddress = 1 << 16;
    std::array<uint8_t, isa::packetBytes> bytes;
    std::copy_n(object.commands.begin() + at, bytes.size(), bytes.begin());
    auto begin = commandSlots.lower_bound(at);
    auto end = commandSlots.lower_bound(at + isa::packetBytes);
    for (auto slot = begin; slot != end; ++slot)
      storeLittleEndian(&bytes[slot->first - at], someAddress);
    TESSERA_ASSIGN_OR_RETURN(isa::Packet packet, isa::decodePacket(bytes));
    slotsUsed = 0;
    TESSERA_RETURN_IF_ERROR(std::visit(
        [&](const auto &body) { return verifyBody(at, body); }, packet.body));
    if (slotsUsed != size_t(std::distance(begin, end)))
      return invalid("a relocation lies on a field that is no address");
    return Status::success();
  }

  const Object &object;
  std::map<uint64_t, Reference> commandSlots;
  size_t slotsUsed = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static Status verifyReports(const Object &object) {
  uint64_t numPackets = object.commands.size() / isa::packetBytes;
  for (const DispatchInfo &dispatch : object.dispatches) {
    if (dispatch.packet >= numPackets)
      return invalid(fmt::format(".tsr.dispatches: {}: packet {} of {}",
                                 dispatch.name, dispatch.packet, numPackets));
    if (dispatch.liveBytes > object.arenaBytes &&
        dispatch.liveBytes - object.arenaBytes > object.sharedArenaBytes)
      return invalid(fmt::format(
          ".tsr.dispatches: {}: {} bytes are live; the arenas have {} and {}",
          dispatch.name, dispatch.liveBytes, object.arenaBytes,
          object.sharedArenaBytes));
    for (uint32_t op : dispatch.operators)
      if (op >= object.workload.size())
        return invalid(fmt::format(".tsr.dispatches: {}: operator {} of {}",
                                   dispatch.name, op, object.workload.size()));
  }
  for (size_t i = 0; i < object.workload.size(); ++i) {
    const OperatorRecord &record = object.workload[i];
    if (unsigned(record.format) >= numNumericFormats)
      return invalid(fmt::format(".tsr.workload: {}: unknown format {}",
                                 record.name, unsigned(record.format)));
    for (size_t p = 0; p < record.producers.size(); ++p)
      if (record.producers[p] >=
          (p + 1 < record.producers.size() ? record.producers[p + 1] : i))
        return invalid(fmt::format(
            ".tsr.workload: {}: producer {} of operator {}; they ascend, and "
            "come before it",
            record.name, record.producers[p], i));
  }
  return Status::success();
}

Status verifyObject(const Object &object) {
  TESSERA_RETURN_IF_ERROR(verifyNames(object));
  TESSERA_RETURN_IF_ERROR(verifySignature("input", object.inputs));
  TESSERA_RETURN_IF_ERROR(verifySignature("output", object.outputs));
  Result<std::vector<isa::MapProgram>> maps =
      isa::decodeMapPrograms(object.mapPrograms);
  if (!maps.ok())
    return maps.status().withContext(".tsr.map");
  for (const KernelCode &kernel : object.kernels)
    TESSERA_RETURN_IF_ERROR(verifyKernel(kernel, maps->size()));
  TESSERA_RETURN_IF_ERROR(CommandVerifier(object).verify());
  return verifyReports(object);
}

} // namespace tessera
