//===- Print.cpp - Objects as text ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Object/Print.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/MapProgram.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include <algorithm>
#include <iterator>
#include <map>

namespace tessera {

std::string print(const Object &object, const Reference &reference) {
  std::string text;
  switch (reference.kind) {
  case SymbolKind::Rodata:
    text = "rodata";
    break;
  case SymbolKind::Arena:
    text = "arena";
    break;
  case SymbolKind::SharedArena:
    text = "shared arena";
    break;
  case SymbolKind::Input:
    text = fmt::format("input.{} ({})", reference.index,
                       object.inputs[reference.index].name);
    break;
  case SymbolKind::Output:
    text = fmt::format("output.{} ({})", reference.index,
                       object.outputs[reference.index].name);
    break;
  case SymbolKind::Kernel:
    text = object.kernels[reference.index].name;
    break;
  case SymbolKind::Args:
    text = "args";
    break;
  }
  if (reference.offset != 0)
    text += fmt::format(" + {}", reference.offset);
  return text;
}

namespace {

class ObjectPrinter {
public:
  explicit ObjectPrinter(const Object &object)
      : object(object), maps(*isa::decodeMapPrograms(object.mapPrograms)) {
    for (const Relocation &relocation : object.relocations)
      (relocation.section == Relocation::Section::Args
           ? argSlots
           : commandSlots)[relocation.offset] = relocation.target;
  }

  std::string describe() {
    printHeader();
    size_t textBytes = 0, descriptors = 0;
    for (const KernelCode &kernel : object.kernels) {
      textBytes += kernel.text.size();
      descriptors += kernel.descriptors.size();
    }
    line(
        "kernels       {} ({} bytes of text, {} descriptors, {} lane programs)",
        object.kernels.size(), textBytes, descriptors, maps.size());
    line("constants     {} bytes", object.rodata.size());
    line("arena         {} bytes, {} more in shared SRAM", object.arenaBytes,
         object.sharedArenaBytes);
    line("commands      {} packets", object.commands.size() / isa::packetBytes);
    uint64_t macs = 0;
    for (const OperatorRecord &record : object.workload)
      macs += record.macs();
    line("operators     {} ({} multiply-accumulates)", object.workload.size(),
         macs);
    line("traffic floor {} bytes of weights, inputs and outputs",
         object.compulsoryBytes);
    for (const DispatchInfo &dispatch : object.dispatches)
      line("dispatch      packet {}: {} [{}]{}", dispatch.packet, dispatch.name,
           fmt::join(dispatch.nodes, ", "),
           dispatch.mapping.plan.empty()
               ? ""
               : fmt::format(" {}, {} cycles expected", dispatch.mapping.plan,
                             dispatch.mapping.cycles));
    return std::move(text);
  }

  std::string disassemble() {
    printHeader();
    for (size_t i = 0; i < maps.size(); ++i)
      printMapProgram(i);
    for (const KernelCode &kernel : object.kernels)
      printKernel(kernel);
    printCommands();
    printWorkload();
    section(".rodata", object.rodata.size());
    section(".bss", object.arenaBytes);
    section(".bss.shared", object.sharedArenaBytes);
    return std::move(text);
  }

private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args &&...args) {
    fmt::format_to(std::back_inserter(text), format,
                   std::forward<Args>(args)...);
    text += '\n';
  }

  void section(std::string_view name, uint64_t bytes) {
    line("\nsection {}, {} bytes", name, bytes);
  }

  void printTensors(std::string_view what,
                    const std::vector<TensorSignature> &tensors) {
    for (size_t i = 0; i < tensors.size(); ++i)
      line("{}{:<{}}{}: {}[{}], {} bytes", what, i, 13 - what.size(),
           tensors[i].name, tensors[i].type, fmt::join(tensors[i].shape, ", "),
           tensors[i].bytes);
  }

  void printHeader() {
    line("object        version {}, ISA version {}", objectVersion, isaVersion);
    line("source        {}", object.sourceName);
    line("compiler      {}", object.toolVersion);
    line("architecture  {} (ISA {:016x}, timing {:016x})",
         object.architectureName, hashBytes(object.isaKeys), object.timingHash);
    printTensors("input.", object.inputs);
    printTensors("output.", object.outputs);
  }

  void printMapProgram(size_t index) {
    const isa::MapProgram &program = maps[index];
    if (index == 0)
      section(".tsr.map", object.mapPrograms.size());
    std::string results;
    for (unsigned i = 0; i < program.outputs; ++i)
      fmt::format_to(std::back_inserter(results), "{}r{}", i == 0 ? "" : ", ",
                     program.outRegs[i]);
    line("{:6}  {} inputs to ({})", index, program.inputs, results);
    for (const isa::LaneInst &inst : program.ops)
      line("          {}", isa::print(inst));
  }

  void printKernel(const KernelCode &kernel) {
    section(".tsr.desc." + kernel.name,
            kernel.descriptors.size() * isa::descriptorBytes);
    for (size_t i = 0; i < kernel.descriptors.size(); ++i)
      line("{:6}  {}", i, isa::print(kernel.descriptors[i]));
    section(".text." + kernel.name, kernel.text.size());
    line("kernel {}, {} arguments", kernel.name, kernel.numArguments);
    std::vector<isa::Instruction> program = *isa::decodeProgram(kernel.text);
    std::string_view rest;
    std::string code = isa::disassemble(program);
    rest = code;
    auto location = kernel.locations.begin();
    for (size_t i = 0; i < program.size(); ++i) {
      if (location != kernel.locations.end() &&
          location->firstInstruction == i) {
        line("        // {}", location->location);
        ++location;
      }
      size_t end = rest.find('\n') + 1;
      text += rest.substr(0, end);
      rest.remove_prefix(end);
    }
  }

  /// The argument block of a dispatch, a line per slot.
  void printArguments(const Reference &block, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      uint64_t at = block.offset + 8 * uint64_t(i);
      auto slot = argSlots.find(at);
      line("          argument {} = {}", i,
           slot != argSlots.end()
               ? print(object, slot->second)
               : std::to_string(loadLittleEndian<uint64_t>(&object.args[at])));
    }
  }

  void printCommands() {
    section(".tsr.commands", object.commands.size());
    for (size_t at = 0; at < object.commands.size(); at += isa::packetBytes) {
      for (const DispatchInfo &dispatch : object.dispatches)
        if (dispatch.packet == at / isa::packetBytes)
          line("        // {} [{}]", dispatch.name,
               fmt::join(dispatch.nodes, ", "));
      // decodePacket wants addresses where the loader will put some.
      std::array<uint8_t, isa::packetBytes> bytes;
      std::copy_n(object.commands.begin() + at, bytes.size(), bytes.begin());
      auto end = commandSlots.lower_bound(at + isa::packetBytes);
      for (auto slot = commandSlots.lower_bound(at); slot != end; ++slot)
        storeLittleEndian(&bytes[slot->first - at], uint64_t(1) << 16);
      isa::Packet packet = *isa::decodePacket(bytes);
      line("{:6}  {}", at / isa::packetBytes,
           isa::print(packet, [&](unsigned offset, uint64_t value) {
             auto slot = commandSlots.find(at + offset);
             return slot != commandSlots.end() ? print(object, slot->second)
                                               : fmt::format("{:#x}", value);
           }));
      if (auto *dispatch = std::get_if<isa::DispatchPacket>(&packet.body);
          dispatch && dispatch->numArguments > 0)
        printArguments(commandSlots.at(at + 16), dispatch->numArguments);
    }
  }

  void printWorkload() {
    line("\nsection .tsr.workload, {} operators, {} compulsory bytes",
         object.workload.size(), object.compulsoryBytes);
    for (size_t i = 0; i < object.workload.size(); ++i) {
      const OperatorRecord &record = object.workload[i];
      line("{:6}  {} {} {} M {} K {} N {} batch {} elements {} alu {} sfu "
           "{}{}{}",
           i, record.name, record.kind, formatName(record.format), record.m,
           record.k, record.n, record.batch, record.elements, record.aluOps,
           record.sfuOps, record.eitherEngine ? " either engine" : "",
           record.producers.empty()
               ? ""
               : fmt::format(" after {}", fmt::join(record.producers, ", ")));
    }
  }

  const Object &object;
  std::vector<isa::MapProgram> maps;
  std::map<uint64_t, Reference> argSlots, commandSlots;
  std::string text;
};

} // namespace

std::string describeObject(const Object &object) {
  return ObjectPrinter(object).describe();
}

std::string disassembleObject(const Object &object) {
  return ObjectPrinter(object).disassemble();
}

} // namespace tessera
