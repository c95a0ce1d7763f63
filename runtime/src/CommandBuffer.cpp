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

/// The address of an operand now (0 for a binding), after checking its range.
static Result<uint64_t> addressOf(const CommandBufferState &state,
                                  const Operand &operand,
                                  const std::shared_ptr<BufferState> &buffer,
                                  uint64_t bytes) {
  if (std::holds_alternative<Binding>(operand))
    return uint64_t(0);
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
  TESSERA_RETURN_IF_ERROR(buffer->checkRange(range.offset, bytes));
  if (range.size != BufferRange::wholeSize && range.size < bytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': {} bytes asked for of a range "
                    "of {} in buffer '{}'",
                    state.label, bytes, range.size, buffer->label));
  return buffer->address + range.offset;
}

/// Records `packet`, whose fields at `slots` (byte offsets) are `operands`.
static Status record(CommandBufferState &state, const Packet &packet,
                     std::span<const std::pair<uint64_t, Binding>> slots,
                     uint64_t bytes) {
  auto image = encode(packet);
  uint64_t base = state.packets.size();
  state.packets.insert(state.packets.end(), image.begin(), image.end());
  for (const auto &[offset, binding] : slots) {
    state.sites.push_back({nullptr, base + offset, binding, bytes});
    state.numBindings = std::max(state.numBindings, binding.index + 1);
  }
  return Status::success();
}

static void noteBinding(const Operand &operand, uint64_t offset,
                        std::vector<std::pair<uint64_t, Binding>> &slots) {
  if (const Binding *binding = std::get_if<Binding>(&operand))
    slots.push_back({offset, *binding});
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
  auto bufferOf = [](const Operand &operand) {
    const BufferRange *range = std::get_if<BufferRange>(&operand);
    return range ? range->buffer.state : nullptr;
  };
  TESSERA_ASSIGN_OR_RETURN(
      body.destination,
      addressOf(*state, destination, bufferOf(destination), bytes));
  TESSERA_ASSIGN_OR_RETURN(body.source,
                           addressOf(*state, source, bufferOf(source), bytes));
  body.size = bytes;
  std::vector<std::pair<uint64_t, Binding>> slots;
  noteBinding(destination, destinationField, slots);
  noteBinding(source, sourceField, slots);
  for (const Operand *operand : {&destination, &source})
    if (auto buffer = bufferOf(*operand))
      state->keepAlive.push_back(buffer);
  Packet packet{uint8_t(barrier ? packetBarrier : 0), state->numCommands(),
                body};
  return record(*state, packet, slots, bytes);
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
  auto buffer = range ? range->buffer.state : nullptr;
  FillPacket body;
  TESSERA_ASSIGN_OR_RETURN(body.destination,
                           addressOf(*state, destination, buffer, bytes));
  body.size = bytes;
  body.pattern = pattern;
  if (buffer)
    state->keepAlive.push_back(buffer);
  std::vector<std::pair<uint64_t, Binding>> slots;
  noteBinding(destination, destinationField, slots);
  Packet packet{uint8_t(barrier ? packetBarrier : 0), state->numCommands(),
                body};
  return record(*state, packet, slots, bytes);
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
  const BufferRange *range = std::get_if<BufferRange>(&arguments);
  auto buffer = range ? range->buffer.state : nullptr;
  uint64_t bytes = 8 * uint64_t(kernel.numArguments);
  DispatchPacket body;
  TESSERA_ASSIGN_OR_RETURN(body.arguments,
                           addressOf(*state, arguments, buffer, bytes));
  body.kernel = kernel.record;
  body.numArguments = kernel.numArguments;
  body.x = cores.x, body.y = cores.y;
  body.width = cores.width, body.height = cores.height;
  state->keepAlive.push_back(kernel.owner);
  if (buffer)
    state->keepAlive.push_back(buffer);
  state->names[state->numCommands()] = kernel.name;
  std::vector<std::pair<uint64_t, Binding>> slots;
  noteBinding(arguments, argumentsField, slots);
  Packet packet{uint8_t(barrier ? packetBarrier : 0), state->numCommands(),
                body};
  return record(*state, packet, slots, bytes);
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
  state->requirements = std::move(bindings);
  state->numBindings =
      std::max<uint32_t>(state->numBindings, state->requirements.size());
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

Status CommandBufferState::bind(
    std::span<const std::shared_ptr<BufferState>> buffers) {
  if (buffers.size() != numBindings)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("command buffer '{}': {} buffers bound, it has {} "
                    "bindings",
                    label, buffers.size(), numBindings));
  std::vector<uint64_t> addresses;
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::string name =
        i < requirements.size() ? requirements[i].name : fmt::format("{}", i);
    if (!buffers[i])
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("command buffer '{}': binding '{}' is an empty "
                                "buffer handle",
                                label, name));
    if (buffers[i]->space != space)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("command buffer '{}': binding '{}': buffer '{}' is "
                      "of another address space, '{}'",
                      label, name, buffers[i]->label,
                      buffers[i]->space->label));
    if (i < requirements.size() && buffers[i]->size < requirements[i].bytes)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("command buffer '{}': binding '{}': buffer '{}' has "
                      "{} bytes, {} are needed",
                      label, name, buffers[i]->label, buffers[i]->size,
                      requirements[i].bytes));
    if (Status usable = buffers[i]->checkUsable(); !usable.ok())
      return usable.withContext(
          fmt::format("command buffer '{}': binding '{}'", label, name));
    addresses.push_back(buffers[i]->address);
  }
  for (const PatchSite &site : sites)
    TESSERA_RETURN_IF_ERROR(buffers[site.binding.index]->checkRange(
        site.binding.offset, site.bytes));
  if (addresses == bound)
    return Status::success();
  // An execution that has just completed no longer pins its bindings.
  if (executionsInFlight)
    TESSERA_RETURN_IF_ERROR(space->hardware->update());
  if (executionsInFlight)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("command buffer '{}': other bindings while {} "
                              "executions are in flight",
                              label, executionsInFlight));
  for (const PatchSite &site : sites) {
    uint64_t address = addresses[site.binding.index] + site.binding.offset;
    BufferState &target = site.target ? *site.target : *memory;
    TESSERA_RETURN_IF_ERROR(
        target.write(site.offset, std::as_bytes(std::span(&address, 1))));
  }
  bound = std::move(addresses);
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
