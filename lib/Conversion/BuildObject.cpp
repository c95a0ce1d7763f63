//===- BuildObject.cpp - The object of a compiled module ------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/BuildObject.h"
#include "ConstantData.h"
#include "dialects/Device/DeviceDialect.h"
#include "tessera/Conversion/ISAToObject.h"
#include "tessera/ISA/Packet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <fmt/format.h>
#include <map>

using namespace mlir;
using namespace tessera;

namespace {

/// Byte offsets of the address slots in packets (tessera/ISA/Packet.h).
constexpr uint64_t kernelSlot = 8, argumentsSlot = 16, destinationSlot = 8,
                   copySourceSlot = 16;

class ObjectBuilder {
public:
  ObjectBuilder(ModuleOp module, const Architecture &arch)
      : module(module), arch(arch) {}

  Result<Object> build();

private:
  Status addKernels();
  Status addProgram(device::ProgramOp program);
  Status addPacketOf(Operation &op);
  void planLiveBytes(device::ProgramOp program);
  Status addDispatch(device::DispatchOp dispatch);

  /// Appends a packet that starts when the earlier ones have completed, and a
  /// relocation for each of its address slots.
  void addPacket(isa::Packet packet,
                 std::vector<std::pair<uint64_t, Reference>> slots);
  static Status error(Operation *op, std::string what) {
    return {StatusCode::InvalidArgument,
            describeLocation(op->getLoc()) + ": " + what};
  }

  ModuleOp module;
  const Architecture &arch;
  Object object;
  ConstantData constants;
  llvm::DenseMap<Value, Reference> buffers;
  /// Of each operation of the program: bytes of the arena that hold data then.
  llvm::DenseMap<Operation *, uint64_t> liveBytes;
  std::map<std::string, uint32_t> kernelNumbers;
};

} // namespace

Status ObjectBuilder::addKernels() {
  TESSERA_ASSIGN_OR_RETURN(object, encodeKernels(module, arch));
  for (auto [number, code] : llvm::enumerate(object.kernels)) {
    auto tooLarge = [&](const char *what, size_t bytes, uint64_t available) {
      return Status(
          StatusCode::ResourceExhausted,
          fmt::format("kernel '{}' has {} bytes of {}s; the core's {} "
                      "memory holds {}",
                      code.name, bytes, what, what, available));
    };
    if (code.text.size() > arch.imemBytes)
      return tooLarge("instruction", code.text.size(), arch.imemBytes);
    size_t descriptorBytes = code.descriptors.size() * isa::descriptorBytes;
    if (descriptorBytes > arch.tdmemBytes)
      return tooLarge("descriptor", descriptorBytes, arch.tdmemBytes);
    kernelNumbers[code.name] = number;
  }
  return Status::success();
}

static TensorSignature signatureOf(device::TensorAttr tensor, Value buffer) {
  TensorSignature signature;
  signature.name = tensor.getName().str();
  signature.type = tensor.getType().str();
  for (int64_t extent : tensor.getShape())
    signature.shape.push_back(extent);
  signature.bytes = cast<device::BufferType>(buffer.getType()).getBytes();
  return signature;
}

void ObjectBuilder::addPacket(
    isa::Packet packet, std::vector<std::pair<uint64_t, Reference>> slots) {
  uint64_t at = object.commands.size();
  packet.flags = isa::packetBarrier;
  // Nothing that the program does writes its own code or arguments.
  if (std::holds_alternative<isa::DispatchPacket>(packet.body))
    packet.flags |= isa::packetPrefetch;
  packet.id = at / isa::packetBytes;
  auto bytes = isa::encode(packet);
  object.commands.insert(object.commands.end(), bytes.begin(), bytes.end());
  for (auto &[slot, target] : slots)
    object.relocations.push_back(
        {Relocation::Section::Commands, at + slot, target});
}

Status ObjectBuilder::addDispatch(device::DispatchOp dispatch) {
  std::string name = dispatch.getKernel().str();
  auto kernel = kernelNumbers.find(name);
  if (kernel == kernelNumbers.end())
    return error(dispatch, fmt::format("'{}' is no isa.kernel", name));
  int32_t width = dispatch.getCores()[0], height = dispatch.getCores()[1];
  if (uint32_t(width) > arch.cores.meshX || uint32_t(height) > arch.cores.meshY)
    return error(dispatch,
                 fmt::format("needs {} x {} cores; the mesh has {} x {}", width,
                             height, arch.cores.meshX, arch.cores.meshY));
  DispatchInfo info;
  info.name = name;
  for (Attribute node : dispatch.getNodes())
    info.nodes.push_back(cast<StringAttr>(node).str());
  info.packet = object.commands.size() / isa::packetBytes;
  if (device::MappingAttr mapping = dispatch.getMappingAttr()) {
    info.mapping = {mapping.getPlan().str(), mapping.getCycles()};
    if (mapping.getRunnerUp())
      info.runnerUp = {mapping.getRunnerUp().str(),
                       mapping.getRunnerUpCycles()};
  }
  info.liveBytes = liveBytes.lookup(dispatch);
  object.dispatches.push_back(std::move(info));

  isa::DispatchPacket packet;
  packet.numArguments = dispatch.getBuffers().size();
  packet.width = width;
  packet.height = height;
  uint64_t arguments = object.args.size();
  for (Value buffer : dispatch.getBuffers()) {
    object.relocations.push_back(
        {Relocation::Section::Args, object.args.size(), buffers[buffer]});
    object.args.resize(object.args.size() + 8);
  }
  std::vector<std::pair<uint64_t, Reference>> slots;
  slots.push_back({kernelSlot, {SymbolKind::Kernel, kernel->second, 0}});
  if (packet.numArguments > 0)
    slots.push_back({argumentsSlot, {SymbolKind::Args, 0, arguments}});
  addPacket({0, 0, packet}, std::move(slots));
  return Status::success();
}

Status ObjectBuilder::addPacketOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, Status>(&op)
      .Case<device::ConstantOp>([&](device::ConstantOp constant) -> Status {
        auto offset = constants.add(constant.getValue());
        if (!offset)
          return error(&op, "the constant's contents are not there");
        buffers[constant.getBuffer()] = {SymbolKind::Rodata, 0, *offset};
        return Status::success();
      })
      .Case<device::AllocOp>([&](device::AllocOp alloc) -> Status {
        if (!alloc.getOffset())
          return error(&op, "the buffer has no place yet; run plan-arena");
        buffers[alloc.getBuffer()] = {
            alloc.getShared() ? SymbolKind::SharedArena : SymbolKind::Arena, 0,
            uint64_t(*alloc.getOffset())};
        return Status::success();
      })
      .Case<device::DispatchOp>(
          [&](device::DispatchOp dispatch) { return addDispatch(dispatch); })
      .Case<device::CopyOp>([&](device::CopyOp copy) {
        isa::CopyPacket packet;
        packet.size = copy.getSource().getType().getBytes();
        addPacket({0, 0, packet},
                  {{destinationSlot, buffers[copy.getTarget()]},
                   {copySourceSlot, buffers[copy.getSource()]}});
        return Status::success();
      })
      .Case<device::FillOp>([&](device::FillOp fill) {
        isa::FillPacket packet;
        packet.size = fill.getBuffer().getType().getBytes();
        packet.pattern = fill.getPattern();
        addPacket({0, 0, packet},
                  {{destinationSlot, buffers[fill.getBuffer()]}});
        return Status::success();
      })
      .Case<device::ReturnOp>([](auto) { return Status::success(); })
      .Default([&](Operation *) { return error(&op, "is no packet"); });
}

void ObjectBuilder::planLiveBytes(device::ProgramOp program) {
  uint64_t live = 0;
  llvm::DenseMap<Operation *, uint64_t> ending;
  llvm::DenseSet<Operation *> begun;
  for (Operation &op : program.getBody().front()) {
    // From its first user on, as the arena's plan has it.
    for (Value operand : op.getOperands()) {
      auto alloc = operand.getDefiningOp<device::AllocOp>();
      if (!alloc || !begun.insert(alloc).second)
        continue;
      uint64_t bytes = alloc.getBuffer().getType().getBytes();
      Operation *last = &op;
      for (Operation *user : alloc.getBuffer().getUsers())
        if (last->isBeforeInBlock(user))
          last = user;
      ending[last] += bytes;
      live += bytes;
    }
    liveBytes[&op] = live;
    live -= ending.lookup(&op);
  }
}

Status ObjectBuilder::addProgram(device::ProgramOp program) {
  for (auto [index, attribute] : llvm::enumerate(program.getInputs())) {
    Value buffer = program.getInput(index);
    object.inputs.push_back(
        signatureOf(cast<device::TensorAttr>(attribute), buffer));
    buffers[buffer] = {SymbolKind::Input, uint32_t(index), 0};
  }
  for (auto [index, attribute] : llvm::enumerate(program.getOutputs())) {
    Value buffer = program.getOutput(index);
    object.outputs.push_back(
        signatureOf(cast<device::TensorAttr>(attribute), buffer));
    buffers[buffer] = {SymbolKind::Output, uint32_t(index), 0};
  }
  object.arenaBytes = program.getArenaBytes().value_or(0);
  object.sharedArenaBytes = program.getSharedArenaBytes().value_or(0);
  planLiveBytes(program);
  for (Operation &op : program.getBody().front())
    TESSERA_RETURN_IF_ERROR(addPacketOf(op));
  return Status::success();
}

Result<Object> ObjectBuilder::build() {
  TESSERA_RETURN_IF_ERROR(addKernels());
  object.toolVersion = TESSERA_VERSION;
  auto programs = llvm::to_vector(module.getOps<device::ProgramOp>());
  if (programs.size() != 1)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("the module has {} device programs; an object has "
                    "exactly one",
                    programs.size()));
  TESSERA_RETURN_IF_ERROR(addProgram(programs.front()));
  // If all outputs are empty, there is nothing to do; a program does it.
  if (object.commands.empty())
    addPacket({0, 0, isa::NopPacket()}, {});
  object.rodata = constants.takeBytes();
  // Arguments and packets were made together; the object wants the sections one
  // after the other.
  llvm::sort(object.relocations, [](const Relocation &a, const Relocation &b) {
    return std::pair(a.section, a.offset) < std::pair(b.section, b.offset);
  });
  if (Status status = verifyObject(object); !status.ok())
    return status.withContext("the compiler made a malformed object");
  return std::move(object);
}

Result<Object> tessera::buildObject(ModuleOp module, const Architecture &arch) {
  return ObjectBuilder(module, arch).build();
}
