//===- CommandBuffer.cpp - Recorded packets for replay --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/CommandBuffer.h"
#include "CommandBufferState.h"
#include "tessera/Support/Bytes.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "command buffer: empty handle");
}

static Status finished(const CommandBufferState &state) {
  return Status(StatusCode::FailedPrecondition,
                fmt::format("command buffer '{}': recording after finish()",
                            state.label));
}

Status checkDispatch(const Kernel &kernel, CoreRectangle cores,
                     const AddressSpaceState &space) {
  if (kernel.space && kernel.space.get() != &space)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("kernel '{}' is of another address space, '{}'",
                              kernel.name, kernel.space->label));
  const CoresConfig &mesh = space.hardware->driver->architecture().cores;
  if (!cores.width || !cores.height ||
      uint32_t(cores.x) + cores.width > mesh.meshX ||
      uint32_t(cores.y) + cores.height > mesh.meshY)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("kernel '{}': {} x {} cores at ({}, {}); the mesh has "
                    "{} x {}",
                    kernel.name, cores.width, cores.height, cores.x, cores.y,
                    mesh.meshX, mesh.meshY));
  if (kernel.numArguments > maxDispatchArguments)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("kernel '{}': {} arguments; at most {}",
                              kernel.name, kernel.numArguments,
                              maxDispatchArguments));
  return Status::success();
}

/// A slot must be one that an execution can fill, and may not wrap around.
static Status checkSlot(const CommandBufferState &state, const Binding &binding,
                        uint64_t bytes) {
  if (binding.index >= maxBindings)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': binding {}; numbers go from "
                    "0 to {}",
                    state.label, binding.index, maxBindings - 1));
  if (binding.offset > ~uint64_t(0) - bytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("command buffer '{}': {} bytes from byte {} of "
                              "binding {}: beyond 2^64",
                              state.label, bytes, binding.offset,
                              binding.index));
  return Status::success();
}

/// The address of an operand now (0 for a binding), after checking its range.
static Result<uint64_t> addressOf(const CommandBufferState &state,
                                  const Operand &operand,
                                  const std::shared_ptr<BufferState> &buffer,
                                  uint64_t bytes) {
  if (const Binding *binding = std::get_if<Binding>(&operand)) {
    TESSERA_RETURN_IF_ERROR(checkSlot(state, *binding, bytes));
    return uint64_t(0);
  }
  const BufferRange &range = std::get<BufferRange>(operand);
  if (!buffer)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("command buffer '{}': operand is an empty buffer "
                              "handle",
                              state.label));
  if (buffer->space != state.space)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("command buffer '{}': buffer '{}' is of another "
                              "address space, '{}'",
                              state.label, buffer->label,
                              buffer->space->label));
  if (Status usable = buffer->checkUsable(); !usable.ok())
    return usable.withContext(fmt::format("command buffer '{}'", state.label));
  TESSERA_RETURN_IF_ERROR(buffer->checkRange(range.offset, bytes));
  if (range.size != BufferRange::wholeSize && range.size < bytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': {} bytes asked for of a range "
                    "of {} in buffer '{}'",
                    state.label, bytes, range.size, buffer->label));
  return buffer->address + range.offset;
}

/// Fields of a packet that take bindings.
struct Slots {
  std::array<std::pair<uint64_t, Binding>, 2> fields;
  unsigned count = 0;

  void note(const Operand &operand, uint64_t offset) {
    if (const Binding *binding = std::get_if<Binding>(&operand))
      fields[count++] = {offset, *binding};
  }
};

/// Records `packet`; `bytes` are touched from each binding's offset on.
static void record(CommandBufferState &state, const Packet &packet,
                   const Slots &slots, uint64_t bytes) {
  auto image = encode(packet);
  uint64_t base = state.packets.size();
  state.packets.insert(state.packets.end(), image.begin(), image.end());
  for (unsigned i = 0; i < slots.count; ++i) {
    const auto &[offset, binding] = slots.fields[i];
    state.sites.push_back({nullptr, base + offset, binding, bytes});
    state.numBindings = std::max(state.numBindings, binding.index + 1);
  }
}

/// Keeps what a packet touches alive; a run of packets often touches the same.
template <typename T>
static void keep(std::vector<std::shared_ptr<T>> &kept,
                 const std::shared_ptr<T> &owner) {
  if (!owner)
    return;
  for (size_t i = kept.size(); i-- > 0 && kept.size() - i <= 4;)
    if (kept[i].get() == owner.get())
      return;
  kept.push_back(owner);
}

// Byte offsets of addresses in packets (tessera/ISA/Packet.h).
static constexpr uint64_t destinationField = 8, sourceField = 16,
                          argumentsField = 16;

Result<CommandBuffer> CommandBuffer::create(const AddressSpace &space,
                                            std::string label) {
  if (!space)
    return Status(StatusCode::FailedPrecondition,
                  label + ": the address space is an empty handle");
  CommandBuffer commands;
  commands.state = std::make_shared<CommandBufferState>();
  commands.state->space = space.state;
  commands.state->label = std::move(label);
  return commands;
}

Status CommandBuffer::copy(const Operand &destination, const Operand &source,
                           uint64_t bytes, bool barrier) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (bytes == 0)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': copy of 0 bytes", state->label));
  CopyPacket body;
  static const std::shared_ptr<BufferState> none;
  auto bufferOf =
      [](const Operand &operand) -> const std::shared_ptr<BufferState> & {
    const BufferRange *range = std::get_if<BufferRange>(&operand);
    return range ? range->buffer.state : none;
  };
  TESSERA_ASSIGN_OR_RETURN(
      body.destination,
      addressOf(*state, destination, bufferOf(destination), bytes));
  TESSERA_ASSIGN_OR_RETURN(body.source,
                           addressOf(*state, source, bufferOf(source), bytes));
  body.size = bytes;
  Slots slots;
  slots.note(destination, destinationField);
  slots.note(source, sourceField);
  keep(state->operands, bufferOf(destination));
  keep(state->operands, bufferOf(source));
  record(*state,
         {uint8_t(barrier ? packetBarrier : 0), state->numCommands(), body},
         slots, bytes);
  return Status::success();
}

Status CommandBuffer::fill(const Operand &destination, uint64_t bytes,
                           uint32_t pattern, bool barrier) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (bytes == 0 || bytes % 4)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': fill of {} bytes; must be a "
                    "multiple of 4",
                    state->label, bytes));
  const BufferRange *range = std::get_if<BufferRange>(&destination);
  static const std::shared_ptr<BufferState> none;
  const std::shared_ptr<BufferState> &buffer =
      range ? range->buffer.state : none;
  // Buffers begin at pages.
  uint64_t offset =
      range ? range->offset : std::get<Binding>(destination).offset;
  if (offset % 4)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': fill of {} from offset {}; must be a "
                    "multiple of 4",
                    state->label,
                    range ? fmt::format("buffer '{}'", range->buffer.label())
                          : fmt::format("binding {}",
                                        std::get<Binding>(destination).index),
                    offset));
  FillPacket body;
  TESSERA_ASSIGN_OR_RETURN(body.destination,
                           addressOf(*state, destination, buffer, bytes));
  body.size = bytes;
  body.pattern = pattern;
  keep(state->operands, buffer);
  Slots slots;
  slots.note(destination, destinationField);
  record(*state,
         {uint8_t(barrier ? packetBarrier : 0), state->numCommands(), body},
         slots, bytes);
  return Status::success();
}

Status CommandBuffer::dispatch(const Kernel &kernel, const Operand &arguments,
                               CoreRectangle cores, bool barrier) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (!kernel.record)
    return Status(
        StatusCode::FailedPrecondition,
        fmt::format("command buffer '{}': dispatch of an empty kernel",
                    state->label));
  if (Status can = checkDispatch(kernel, cores, *state->space); !can.ok())
    return can.withContext(fmt::format("command buffer '{}'", state->label));
  const BufferRange *range = std::get_if<BufferRange>(&arguments);
  static const std::shared_ptr<BufferState> none;
  const std::shared_ptr<BufferState> &buffer =
      range ? range->buffer.state : none;
  uint64_t bytes = 8 * uint64_t(kernel.numArguments);
  DispatchPacket body;
  // A kernel without arguments may do without a buffer; a binding stays one.
  bool named = bytes || !range;
  if (named) {
    TESSERA_ASSIGN_OR_RETURN(body.arguments,
                             addressOf(*state, arguments, buffer, bytes));
  }
  body.kernel = kernel.record;
  body.numArguments = kernel.numArguments;
  body.x = cores.x, body.y = cores.y;
  body.width = cores.width, body.height = cores.height;
  keep(state->keepAlive, kernel.owner);
  keep(state->operands, buffer);
  if (kernel.record != state->lastKernel) {
    state->kernelNames.try_emplace(kernel.record, kernel.name);
    state->lastKernel = kernel.record;
  }
  Slots slots;
  if (named)
    slots.note(arguments, argumentsField);
  record(*state,
         {uint8_t(barrier ? packetBarrier : 0), state->numCommands(), body},
         slots, bytes);
  return Status::success();
}

Status CommandBuffer::append(std::span<const uint8_t> packets,
                             std::span<const Patch> patches) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (packets.size() % packetBytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': {} bytes are no whole number "
                    "of packets",
                    state->label, packets.size()));
  for (const Patch &patch : patches) {
    uint64_t size = patch.target ? patch.target.size() : packets.size();
    if (patch.offset % 8 || patch.offset > size || size - patch.offset < 8)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("command buffer '{}': patch at byte {} of {}",
                                state->label, patch.offset, size));
    TESSERA_RETURN_IF_ERROR(checkSlot(*state, patch.binding, 0));
    if (patch.target && patch.target.state->space != state->space)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("command buffer '{}': patch of buffer '{}', which is of "
                      "another address space, '{}'",
                      state->label, patch.target.label(),
                      patch.target.state->space->label));
    if (patch.target)
      if (Status usable = patch.target.state->checkUsable(); !usable.ok())
        return usable.withContext(
            fmt::format("command buffer '{}'", state->label));
  }
  uint64_t base = state->packets.size();
  state->packets.insert(state->packets.end(), packets.begin(), packets.end());
  for (const Patch &patch : patches) {
    bool inPackets = !patch.target;
    state->sites.push_back({patch.target.state,
                            inPackets ? base + patch.offset : patch.offset,
                            patch.binding, 0});
    state->numBindings = std::max(state->numBindings, patch.binding.index + 1);
  }
  return Status::success();
}

Status CommandBuffer::require(std::vector<BindingRequirement> bindings) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (bindings.size() > maxBindings)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("command buffer '{}': {} bindings; at most {}",
                              state->label, bindings.size(), maxBindings));
  state->requirements = std::move(bindings);
  state->numBindings =
      std::max<uint32_t>(state->numBindings, state->requirements.size());
  return Status::success();
}

Status CommandBuffer::uses(const BufferRange &range, Use use) {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  const std::shared_ptr<BufferState> &buffer = range.buffer.state;
  uint64_t bytes = range.size;
  if (bytes == BufferRange::wholeSize)
    bytes = buffer ? buffer->size - std::min(buffer->size, range.offset) : 0;
  TESSERA_RETURN_IF_ERROR(
      addressOf(*state, Operand(range), buffer, bytes).status());
  state->kernelUses.push_back({buffer, range.offset, bytes, use});
  return Status::success();
}

void CommandBuffer::keepAlive(std::shared_ptr<const void> owner) {
  if (state)
    state->keepAlive.push_back(std::move(owner));
}

void CommandBuffer::nameCommand(uint32_t index, std::string name) {
  if (state)
    state->names[index] = std::move(name);
}

Status CommandBuffer::finish() {
  if (!state)
    return emptyHandle();
  if (state->memory)
    return finished(*state);
  if (state->packets.empty())
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("command buffer '{}': finished without a command",
                              state->label));
  if (state->packets.size() >> 32)
    return Status(StatusCode::ResourceExhausted,
                  fmt::format("command buffer '{}': {} packets; one holds less "
                              "than 4 GiB of them",
                              state->label, state->numCommands()));
  state->packetSites.clear(); // Of a finish() that found no memory.
  state->otherSites.clear();
  state->reach.assign(state->numBindings, {});
  for (const CommandBufferState::PatchSite &site : state->sites) {
    auto &reach = state->reach[site.binding.index];
    if (site.binding.offset + site.bytes >= reach.offset + reach.bytes)
      reach = {site.binding.offset, site.bytes};
    if (site.target) {
      state->otherSites.push_back(site);
      continue;
    }
    if (state->packetSites.empty())
      state->firstPatched = site.offset;
    state->firstPatched = std::min(state->firstPatched, site.offset);
    state->endPatched =
        std::max(state->endPatched, site.offset + sizeof(uint64_t));
    state->packetSites.push_back(
        {uint32_t(site.offset), site.binding.index, site.binding.offset});
  }
  state->work = engineWorkOf(*state);
  BufferOptions options;
  options.access.write = false;
  options.label = state->label + " packets";
  TESSERA_ASSIGN_OR_RETURN(
      std::shared_ptr<BufferState> memory,
      allocateBuffer(state->space, state->packets.size(), options));
  TESSERA_RETURN_IF_ERROR(
      memory->write(0, std::as_bytes(std::span(state->packets))));
  state->memory = std::move(memory);
  return Status::success();
}

std::string CommandBufferState::nameOf(uint32_t command) const {
  if (auto name = names.find(command); name != names.end())
    return name->second;
  if (command >= numCommands())
    return {};
  const uint8_t *image = packets.data() + uint64_t(command) * packetBytes;
  if (image[0] != uint8_t(PacketType::Dispatch))
    return {};
  auto kernel = kernelNames.find(loadLittleEndian<uint64_t>(image + 8));
  return kernel == kernelNames.end() ? std::string() : kernel->second;
}

Status CommandBufferState::checkBinding(size_t index,
                                        const BufferState *buffer) const {
  // Only said where it is needed: this is on the way of every execution.
  auto name = [&] {
    return fmt::format("command buffer '{}': binding '{}'", label,
                       index < requirements.size() ? requirements[index].name
                                                   : fmt::format("{}", index));
  };
  if (!buffer)
    return Status(StatusCode::FailedPrecondition,
                  name() + " is an empty buffer handle");
  if (buffer->space != space)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: buffer '{}' is of another address space, "
                              "'{}'",
                              name(), buffer->label, buffer->space->label));
  if (index < requirements.size() && buffer->size < requirements[index].bytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: buffer '{}' has {} bytes, {} are needed",
                              name(), buffer->label, buffer->size,
                              requirements[index].bytes));
  Status usable = buffer->checkUsable();
  if (usable.ok())
    usable = buffer->checkRange(reach[index].offset, reach[index].bytes);
  return usable.ok() ? usable : usable.withContext(name());
}

/// A write that is the runtime's own: no execution is in flight, which the race
/// detector could not know.
static Status store(const BufferState &target, uint64_t offset,
                    std::span<const std::byte> data) {
  TESSERA_RETURN_IF_ERROR(target.checkRange(offset, data.size()));
  TESSERA_RETURN_IF_ERROR(target.checkUsable());
  return target.space->hardware->driver->writeMemory(
      target.physicalSpace, target.physical + offset, data);
}

bool CommandBufferState::touches(const BufferState *buffer) const {
  auto is = [&](const std::shared_ptr<BufferState> &one) {
    return one.get() == buffer;
  };
  return is(memory) || std::ranges::any_of(operands, is) ||
         std::ranges::any_of(kernelUses, is, &KernelUse::buffer) ||
         std::ranges::any_of(otherSites, is, &PatchSite::target);
}

Status CommandBufferState::checkUsable() {
  // Nothing has gone since the last look: this is on the way of every
  // execution.
  uint64_t gone = space->hardware->buffersGone;
  if (usableAfter == gone)
    return Status::success();
  for (const std::shared_ptr<BufferState> &operand : operands)
    TESSERA_RETURN_IF_ERROR(operand->checkUsable());
  for (const KernelUse &use : kernelUses)
    TESSERA_RETURN_IF_ERROR(use.buffer->checkUsable());
  for (const PatchSite &site : otherSites)
    TESSERA_RETURN_IF_ERROR(site.target->checkUsable());
  usableAfter = gone;
  return Status::success();
}

Status CommandBufferState::bind(
    std::span<const std::shared_ptr<BufferState>> buffers) {
  if (buffers.size() != numBindings)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': {} buffers bound, it has {} "
                    "bindings",
                    label, buffers.size(), numBindings));
  if (Status usable = checkUsable(); !usable.ok())
    return usable.withContext(fmt::format("command buffer '{}'", label));
  bool same = bound.size() == buffers.size();
  for (size_t i = 0; i < buffers.size(); ++i) {
    TESSERA_RETURN_IF_ERROR(checkBinding(i, buffers[i].get()));
    same = same && bound[i] == buffers[i]->address;
  }
  uint64_t restores = space->hardware->restores;
  if (same && restores == boundAfter)
    return Status::success();
  // An execution that has just completed no longer pins its bindings.
  if (executionsInFlight)
    TESSERA_RETURN_IF_ERROR(space->hardware->update());
  if (executionsInFlight)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("command buffer '{}': other bindings while {} "
                              "executions are in flight",
                              label, executionsInFlight));
  bound.clear(); // Until all sites are written.
  std::vector<uint64_t> addresses;
  for (const auto &buffer : buffers)
    addresses.push_back(buffer->address);
  for (const PatchSite &site : otherSites) {
    uint64_t address = addresses[site.binding.index] + site.binding.offset;
    TESSERA_RETURN_IF_ERROR(store(*site.target, site.offset,
                                  std::as_bytes(std::span(&address, 1))));
  }
  for (const PacketSite &site : packetSites)
    storeLittleEndian(packets.data() + site.offset,
                      addresses[site.binding] + site.add);
  // The packets in one piece: one write costs less than one for each.
  if (!packetSites.empty())
    TESSERA_RETURN_IF_ERROR(
        store(*memory, firstPatched,
              std::as_bytes(std::span(packets).subspan(
                  firstPatched, endPatched - firstPatched))));
  bound = std::move(addresses);
  boundAfter = restores;
  return Status::success();
}

uint32_t CommandBuffer::numCommands() const {
  return state ? state->numCommands() : 0;
}
uint32_t CommandBuffer::numBindings() const {
  return state ? state->numBindings : 0;
}
const std::string &CommandBuffer::label() const {
  static const std::string none;
  return state ? state->label : none;
}

} // namespace tessera::runtime
