//===- Executable.cpp - A loaded object -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Executable.h"
#include "tessera/Support/Bytes.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

namespace {
/// Where the parts of an object lie in device memory.
struct Sections {
  Buffer code; ///< Text, descriptors, lane programs, kernel records.
  /// Empty handles where the object has none.
  Buffer rodata, args, arena, sharedArena;
};
} // namespace

struct ExecutableState {
  std::string label;
  std::shared_ptr<Sections> sections;
  CommandBuffer commands;
  std::vector<TensorSignature> inputs, outputs;
  std::vector<Kernel> kernels;
};

namespace {

class Loader {
public:
  Loader(AddressSpace space, const Object &object, ExecutableState &state)
      : space(std::move(space)), object(object), state(state) {}
  Status load();

private:
  Status placeCode();
  Status placeArenas();
  Result<Buffer> place(std::span<const uint8_t> bytes, Access access,
                       const char *section);
  /// The device address of what a relocation names; inputs and outputs, whose
  /// address comes later, have a binding instead.
  Result<std::variant<uint64_t, Binding>>
  resolve(const Reference &reference) const;
  Status relocate();
  Status recordCommands();
  Status error(std::string_view message) const {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("executable '{}': {}", state.label, message));
  }

  AddressSpace space;
  const Object &object;
  ExecutableState &state;
  std::vector<uint8_t> args, commands; ///< With relocations applied.
  std::vector<CommandBuffer::Patch> patches;
};

} // namespace

Result<Buffer> Loader::place(std::span<const uint8_t> bytes, Access access,
                             const char *section) {
  if (bytes.empty())
    return Buffer();
  BufferOptions options;
  options.access = access;
  options.label = state.label + " " + section;
  TESSERA_ASSIGN_OR_RETURN(Buffer buffer,
                           space.allocate(bytes.size(), options));
  TESSERA_RETURN_IF_ERROR(buffer.write(0, std::as_bytes(bytes)));
  return buffer;
}

Status Loader::placeCode() {
  ByteWriter image;
  std::vector<KernelRecord> records;
  // Offsets first; the addresses follow when the buffer is there.
  for (const KernelCode &kernel : object.kernels) {
    KernelRecord record;
    image.align(descriptorBytes);
    record.descriptors = image.size();
    record.numDescriptors = kernel.descriptors.size();
    for (const Descriptor &descriptor : kernel.descriptors) {
      std::array<uint8_t, descriptorBytes> bytes;
      encode(descriptor, bytes);
      image.writeBytes(std::span<const uint8_t>(bytes));
    }
    image.align(packetBytes);
    record.text = image.size();
    record.textBytes = kernel.text.size();
    image.writeBytes(std::span<const uint8_t>(kernel.text));
    record.mapBytes = object.mapPrograms.size();
    record.numArguments = kernel.numArguments;
    records.push_back(record);
  }
  image.align(packetBytes);
  uint64_t map = image.size();
  image.writeBytes(std::span<const uint8_t>(object.mapPrograms));
  image.align(kernelRecordBytes);
  uint64_t firstRecord = image.size();
  uint64_t total = firstRecord + records.size() * kernelRecordBytes;
  if (total == 0)
    return Status::success();

  BufferOptions options;
  options.access = {.read = true, .write = false, .execute = true};
  options.label = state.label + " code";
  TESSERA_ASSIGN_OR_RETURN(Buffer code, space.allocate(total, options));
  for (KernelRecord &record : records) {
    record.text += code.address();
    // What a kernel does not have stays null.
    record.descriptors =
        record.numDescriptors ? record.descriptors + code.address() : 0;
    record.mapPrograms = record.mapBytes ? code.address() + map : 0;
    auto bytes = encode(record);
    image.writeBytes(std::span<const uint8_t>(bytes));
  }
  TESSERA_RETURN_IF_ERROR(code.write(0, std::as_bytes(image.bytes())));
  state.sections->code = code;
  for (size_t i = 0; i < records.size(); ++i)
    state.kernels.push_back(
        {object.kernels[i].name,
         code.address() + firstRecord + i * kernelRecordBytes,
         object.kernels[i].numArguments,
         state.sections,
         {}});
  return Status::success();
}

Result<std::variant<uint64_t, Binding>>
Loader::resolve(const Reference &reference) const {
  using Target = std::variant<uint64_t, Binding>;
  auto within = [&](const Buffer &buffer,
                    const char *section) -> Result<Target> {
    if (!buffer || reference.offset >= buffer.size())
      return error(fmt::format("relocation to byte {} of {}, which has {}",
                               reference.offset, section, buffer.size()));
    return Target(buffer.address() + reference.offset);
  };
  auto binding = [&](const std::vector<TensorSignature> &tensors, size_t first,
                     const char *kind) -> Result<Target> {
    if (reference.index >= tensors.size() ||
        reference.offset >=
            std::max<uint64_t>(tensors[reference.index].bytes, 1))
      return error(fmt::format("relocation to byte {} of {} {}",
                               reference.offset, kind, reference.index));
    return Target(Binding{uint32_t(first + reference.index), reference.offset});
  };
  switch (reference.kind) {
  case SymbolKind::Rodata:
    return within(state.sections->rodata, ".rodata");
  case SymbolKind::Arena:
    return within(state.sections->arena, ".bss");
  case SymbolKind::SharedArena:
    return within(state.sections->sharedArena, ".bss.shared");
  case SymbolKind::Args:
    return within(state.sections->args, ".tsr.args");
  case SymbolKind::Kernel:
    if (reference.index >= state.kernels.size())
      return error(fmt::format("relocation to kernel {} of {}", reference.index,
                               state.kernels.size()));
    return Target(state.kernels[reference.index].record + reference.offset);
  case SymbolKind::Input:
    return binding(object.inputs, 0, "input");
  case SymbolKind::Output:
    return binding(object.outputs, object.inputs.size(), "output");
  }
  return error("relocation of an unknown kind");
}

Status Loader::relocate() {
  for (const Relocation &relocation : object.relocations) {
    bool inArgs = relocation.section == Relocation::Section::Args;
    std::vector<uint8_t> &section = inArgs ? args : commands;
    if (relocation.offset % 8 || relocation.offset > section.size() ||
        section.size() - relocation.offset < 8)
      return error(fmt::format(
          "relocation at byte {} of {}, which has {}", relocation.offset,
          inArgs ? ".tsr.args" : ".tsr.commands", section.size()));
    TESSERA_ASSIGN_OR_RETURN(auto target, resolve(relocation.target));
    if (const uint64_t *address = std::get_if<uint64_t>(&target))
      storeLittleEndian(section.data() + relocation.offset, *address);
    else
      patches.push_back({inArgs ? state.sections->args : Buffer(),
                         relocation.offset, std::get<Binding>(target)});
  }
  if (!args.empty())
    TESSERA_RETURN_IF_ERROR(
        state.sections->args.write(0, std::as_bytes(std::span(args))));
  return Status::success();
}

Status Loader::recordCommands() {
  TESSERA_ASSIGN_OR_RETURN(state.commands,
                           CommandBuffer::create(space, state.label));
  TESSERA_RETURN_IF_ERROR(state.commands.append(commands, patches));
  std::vector<BindingRequirement> requirements;
  for (const TensorSignature &tensor : object.inputs)
    requirements.push_back({tensor.name, tensor.bytes, Use::Read});
  for (const TensorSignature &tensor : object.outputs)
    requirements.push_back({tensor.name, tensor.bytes, Use::Write});
  // Executions share the sections: two at once would race for the arena.
  for (const auto &[section, use] :
       {std::pair(&state.sections->code, Use::Read),
        std::pair(&state.sections->rodata, Use::Read),
        std::pair(&state.sections->args, Use::Read),
        std::pair(&state.sections->arena, Use::ReadWrite),
        std::pair(&state.sections->sharedArena, Use::ReadWrite)})
    if (*section)
      TESSERA_RETURN_IF_ERROR(state.commands.uses(*section, use));
  TESSERA_RETURN_IF_ERROR(state.commands.require(std::move(requirements)));
  for (const DispatchInfo &dispatch : object.dispatches)
    state.commands.nameCommand(dispatch.packet, dispatch.name);
  state.commands.keepAlive(state.sections);
  return state.commands.finish();
}

/// What is meant for the shared SRAM is in DRAM if others have taken that.
Status Loader::placeArenas() {
  BufferOptions options;
  if (object.arenaBytes) {
    options.label = state.label + " .bss";
    TESSERA_ASSIGN_OR_RETURN(state.sections->arena,
                             space.allocate(object.arenaBytes, options));
  }
  if (!object.sharedArenaBytes)
    return Status::success();
  options.label = state.label + " .bss.shared";
  options.space = isa::PhysicalSpace::Shared;
  Result<Buffer> buffer = space.allocate(object.sharedArenaBytes, options);
  if (buffer.status().code() == StatusCode::OutOfMemory) {
    options.space = isa::PhysicalSpace::Dram;
    buffer = space.allocate(object.sharedArenaBytes, options);
  }
  TESSERA_RETURN_IF_ERROR(buffer.status());
  state.sections->sharedArena = *buffer;
  return Status::success();
}

Status Loader::load() {
  args = object.args;
  commands = object.commands;
  state.inputs = object.inputs;
  state.outputs = object.outputs;
  TESSERA_RETURN_IF_ERROR(placeCode());
  Access readOnly{.read = true, .write = false, .execute = false};
  TESSERA_ASSIGN_OR_RETURN(state.sections->rodata,
                           place(object.rodata, readOnly, ".rodata"));
  TESSERA_ASSIGN_OR_RETURN(state.sections->args,
                           place(object.args, readOnly, ".tsr.args"));
  TESSERA_RETURN_IF_ERROR(placeArenas());
  TESSERA_RETURN_IF_ERROR(relocate());
  return recordCommands();
}

Result<Executable> Executable::load(const AddressSpace &space,
                                    const Object &object, std::string label) {
  if (!space)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("executable '{}': the address space is an empty "
                              "handle",
                              label));
  TESSERA_RETURN_IF_ERROR(checkCompatible(object, space.architecture()));
  Executable executable;
  executable.state = std::make_shared<ExecutableState>();
  executable.state->label = std::move(label);
  executable.state->sections = std::make_shared<Sections>();
  TESSERA_RETURN_IF_ERROR(Loader(space, object, *executable.state).load());
  for (Kernel &kernel : executable.state->kernels)
    kernel.space = space.state;
  return executable;
}

bool Executable::missesSharedMemory() const {
  return state && state->sections->sharedArena &&
         state->sections->sharedArena.space() != PhysicalSpace::Shared;
}

const CommandBuffer &Executable::commands() const {
  static const CommandBuffer none;
  return state ? state->commands : none;
}
std::span<const TensorSignature> Executable::inputs() const {
  return state ? std::span<const TensorSignature>(state->inputs)
               : std::span<const TensorSignature>();
}
std::span<const TensorSignature> Executable::outputs() const {
  return state ? std::span<const TensorSignature>(state->outputs)
               : std::span<const TensorSignature>();
}
Result<Kernel> Executable::kernel(std::string_view name) const {
  if (!state)
    return Status(StatusCode::FailedPrecondition, "executable: empty handle");
  std::string known;
  for (const Kernel &kernel : state->kernels) {
    if (kernel.name == name)
      return kernel;
    known += (known.empty() ? "" : ", ") + kernel.name;
  }
  return Status(StatusCode::InvalidArgument,
                fmt::format("executable '{}': no kernel '{}'; it has: {}",
                            state->label, name, known));
}
const std::string &Executable::label() const {
  static const std::string none;
  return state ? state->label : none;
}

} // namespace tessera::runtime
