//===- QueueOperations.cpp - What a queue can do -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::runtime {

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "queue: empty handle");
}

Operation Queue::start(std::string_view name, const SubmitOptions &options) {
  Operation operation;
  auto take = [](std::span<const TimelinePoint> points, Points &to) {
    for (const TimelinePoint &point : points)
      if (point.semaphore)
        to.emplace_back(point.semaphore.state, point.value);
  };
  take(options.wait, operation.waits);
  take(options.signal, operation.signals);
  operation.barrier = options.barrier;
  operation.whenFull = options.whenFull;
  operation.release = options.release;
  for (const MemoryUse &use : options.uses)
    operation.uses.push_back(
        {use.range.buffer.state, use.range.offset, use.range.size, use.use});
  operation.label = options.label.empty() ? name : options.label;
  return operation;
}

/// A buffer range of an operation, checked: its address and bytes. Whether the
/// buffer can still be used submit() looks at.
struct Span {
  uint64_t address = 0, bytes = 0;
};
static Result<Span> resolve(const QueueState &queue, const std::string &label,
                            const std::shared_ptr<BufferState> &buffer,
                            uint64_t offset, uint64_t size) {
  // Only said where it is needed: this is on the way of every submission.
  auto context = [&] {
    return fmt::format("queue '{}': '{}'", queue.label, label);
  };
  if (!buffer)
    return Status(StatusCode::FailedPrecondition,
                  context() + ": empty buffer handle");
  if (buffer->space != queue.space)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: buffer '{}' is of address space '{}', the queue "
                    "of '{}'",
                    context(), buffer->label, buffer->space->label,
                    queue.space->label));
  if (size == BufferRange::wholeSize)
    size = buffer->size - std::min(buffer->size, offset);
  if (Status checked = buffer->checkRange(offset, size); !checked.ok())
    return checked.withContext(context());
  if (size == 0)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: buffer '{}': 0 bytes at offset {}",
                              context(), buffer->label, offset));
  return Span{buffer->address + offset, size};
}

Status Queue::copy(const BufferRange &destination, const BufferRange &source,
                   const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("copy", options);
  QueueState &queue = *handle->state;
  TESSERA_ASSIGN_OR_RETURN(
      Span to, resolve(queue, operation.label, destination.buffer.state,
                       destination.offset, destination.size));
  TESSERA_ASSIGN_OR_RETURN(Span from,
                           resolve(queue, operation.label, source.buffer.state,
                                   source.offset, source.size));
  if (to.bytes != from.bytes)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': {} bytes of buffer '{}' to {} bytes "
                    "of buffer '{}'",
                    queue.label, operation.label, from.bytes,
                    source.buffer.label(), to.bytes,
                    destination.buffer.label()));
  operation.packet.body =
      CopyPacket{to.address, from.address, to.bytes, {}, {}};
  operation.operands.emplace_back(destination.buffer.state);
  operation.operands.emplace_back(source.buffer.state);
  return queue.submit(operation);
}

Status Queue::fill(const BufferRange &destination, uint32_t pattern,
                   const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("fill", options);
  QueueState &queue = *handle->state;
  TESSERA_ASSIGN_OR_RETURN(
      Span to, resolve(queue, operation.label, destination.buffer.state,
                       destination.offset, destination.size));
  if (to.bytes % 4 || to.address % 4)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': {} bytes at offset {} of buffer "
                    "'{}': both must be multiples of 4",
                    queue.label, operation.label, to.bytes, destination.offset,
                    destination.buffer.label()));
  operation.packet.body = FillPacket{to.address, to.bytes, pattern, {}, {}};
  operation.operands.emplace_back(destination.buffer.state);
  return queue.submit(operation);
}

static Result<std::shared_ptr<BufferState>>
stagingBuffer(QueueState &queue, uint64_t bytes, const std::string &label) {
  BufferOptions options;
  options.space = PhysicalSpace::Host;
  options.label = label + " staging";
  return allocateBuffer(queue.space, bytes, options);
}

Status Queue::update(const BufferRange &destination,
                     std::span<const std::byte> data,
                     const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("update", options);
  QueueState &queue = *handle->state;
  uint64_t size = destination.size == BufferRange::wholeSize ? data.size()
                                                             : destination.size;
  TESSERA_ASSIGN_OR_RETURN(Span to, resolve(queue, operation.label,
                                            destination.buffer.state,
                                            destination.offset, size));
  if (to.bytes != data.size())
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': {} bytes of data for {} bytes of "
                    "buffer '{}'",
                    queue.label, operation.label, data.size(), to.bytes,
                    destination.buffer.label()));
  TESSERA_ASSIGN_OR_RETURN(auto staging,
                           stagingBuffer(queue, to.bytes, operation.label));
  std::memcpy(queue.hardware->driver->hostMemory().data() + staging->physical,
              data.data(), data.size());
  operation.packet.body =
      CopyPacket{to.address, staging->address, to.bytes, {}, {}};
  operation.operands.emplace_back(destination.buffer.state);
  operation.keepAlive.emplace_back(staging);
  return queue.submit(operation);
}

Status Queue::readBack(const BufferRange &source, std::span<std::byte> data,
                       const SubmitOptions &options, Deadline deadline) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("read back", options);
  QueueState &queue = *handle->state;
  // Before anything is submitted.
  if (queue.hardware->closed.ok())
    TESSERA_RETURN_IF_ERROR(queue.hardware->mayWait(queue.label));
  uint64_t size =
      source.size == BufferRange::wholeSize ? data.size() : source.size;
  TESSERA_ASSIGN_OR_RETURN(Span from,
                           resolve(queue, operation.label, source.buffer.state,
                                   source.offset, size));
  if (from.bytes != data.size())
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': {} bytes of buffer '{}' for {} bytes "
                    "of data",
                    queue.label, operation.label, from.bytes,
                    source.buffer.label(), data.size()));
  TESSERA_ASSIGN_OR_RETURN(auto staging,
                           stagingBuffer(queue, from.bytes, operation.label));
  TESSERA_ASSIGN_OR_RETURN(auto arrived,
                           makeSemaphore(queue.hardware, operation.label));
  operation.packet.body =
      CopyPacket{staging->address, from.address, from.bytes, {}, {}};
  operation.operands.emplace_back(source.buffer.state);
  operation.keepAlive.emplace_back(staging);
  operation.signals.push_back({arrived, 1});
  TESSERA_RETURN_IF_ERROR(queue.submit(operation));
  TESSERA_RETURN_IF_ERROR(queue.hardware->waitAndWake(
      [&] { return waitForSemaphore(*arrived, 1, deadline); }));
  std::memcpy(data.data(),
              queue.hardware->driver->hostMemory().data() + staging->physical,
              data.size());
  return Status::success();
}

Status Queue::barrier(const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("barrier", options);
  operation.isBarrierOperation = true;
  return handle->state->submit(operation);
}

Status Queue::barrierAny(const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("barrier any", options);
  QueueState &queue = *handle->state;
  auto refuse = [&](const std::string &what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': '{}': {}", queue.label,
                              operation.label, what));
  };
  if (operation.waits.size() != options.wait.size()) {
    // An empty semaphore is satisfied, and so are they all.
    operation.waits.clear();
    operation.makeSignal();
    return queue.submit(operation);
  }
  if (operation.waits.empty() || operation.waits.size() > 4)
    return refuse(fmt::format("{} waits; 1 to 4 can be alternatives",
                              operation.waits.size()));
  for (const Point &signal : operation.signals)
    if (signal.value >> 32)
      return refuse(fmt::format("signal {} of semaphore '{}' is not below 2^32",
                                signal.value, signal.semaphore->label));
  BarrierPacket body;
  body.any = true;
  for (size_t i = 0; i < operation.waits.size(); ++i)
    body.waits[i] = {operation.waits[i].semaphore->index,
                     operation.waits[i].value};
  operation.packet.body = body;
  operation.anyWait = operation.waitsInPacket = true;
  return queue.submit(operation);
}

Status Queue::hostCall(std::function<Status()> function,
                       const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("host call", options);
  if (!function)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': '{}': an empty function",
                              handle->state->label, operation.label));
  operation.hostCall = std::move(function);
  return handle->state->submit(operation);
}

Status Queue::signal(const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("signal", options);
  if (operation.signals.empty())
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': '{}': no semaphore to signal",
                              handle->state->label, operation.label));
  operation.makeSignal();
  return handle->state->submit(operation);
}

Status Queue::dispatch(const Kernel &kernel, const BufferRange &arguments,
                       CoreRectangle cores, const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start(kernel.name, options);
  QueueState &queue = *handle->state;
  if (!kernel.record)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("queue '{}': '{}': empty kernel handle",
                              queue.label, operation.label));
  if (Status can = checkDispatch(kernel, cores, *queue.space); !can.ok())
    return can.withContext(
        fmt::format("queue '{}': '{}'", queue.label, operation.label));
  DispatchPacket body;
  if (kernel.numArguments) {
    TESSERA_ASSIGN_OR_RETURN(
        Span block, resolve(queue, operation.label, arguments.buffer.state,
                            arguments.offset, arguments.size));
    if (block.bytes < 8 * uint64_t(kernel.numArguments))
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("queue '{}': '{}': {} bytes of arguments in buffer "
                      "'{}', kernel '{}' takes {} of 8 bytes",
                      queue.label, operation.label, block.bytes,
                      arguments.buffer.label(), kernel.name,
                      kernel.numArguments));
    body.arguments = block.address;
    operation.operands.emplace_back(arguments.buffer.state);
  }
  body.kernel = kernel.record;
  body.numArguments = kernel.numArguments;
  body.x = cores.x, body.y = cores.y;
  body.width = cores.width, body.height = cores.height;
  operation.packet.body = body;
  operation.keepAlive.emplace_back(kernel.owner);
  return queue.submit(operation);
}

Status Queue::execute(const CommandBuffer &commands,
                      std::span<const Buffer> bindings,
                      const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation =
      start(commands ? commands.state->label : "execute", options);
  QueueState &queue = *handle->state;
  auto context = [&](const Status &status) {
    return status.withContext(
        fmt::format("queue '{}': '{}'", queue.label, operation.label));
  };
  if (!commands || !commands.state->memory)
    return context(Status(StatusCode::FailedPrecondition,
                          "the command buffer is empty or not finished"));
  CommandBufferState &state = *commands.state;
  if (state.space != queue.space)
    return context(Status(StatusCode::InvalidArgument,
                          "command buffer '" + state.label +
                              "' is of another address space, '" +
                              state.space->label + "'"));
  for (const Buffer &binding : bindings)
    operation.bindings.push_back(binding.state);
  IndirectPacket body;
  body.address = state.memory->address;
  body.count = state.numCommands();
  operation.packet.body = body;
  operation.commands = commands.state;
  Status submitted = queue.submit(operation);
  if (TESSERA_MUTANT("bindings-after-publication") && submitted.ok()) {
    --state.executionsInFlight; // Else it would refuse.
    (void)state.bind(operation.bindings);
    ++state.executionsInFlight;
  }
  return submitted;
}

Status Queue::timestamp(const BufferRange &destination,
                        const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("timestamp", options);
  QueueState &queue = *handle->state;
  TESSERA_ASSIGN_OR_RETURN(Span to,
                           resolve(queue, operation.label,
                                   destination.buffer.state, destination.offset,
                                   std::min<uint64_t>(destination.size, 8)));
  if (to.bytes != 8 || to.address % 8)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': {} bytes at offset {} of buffer "
                    "'{}': needs 8 at a multiple of 8",
                    queue.label, operation.label, to.bytes, destination.offset,
                    destination.buffer.label()));
  operation.packet.body = TimestampPacket{to.address, {}};
  operation.operands.emplace_back(destination.buffer.state);
  return queue.submit(operation);
}

Status Queue::submitRaw(std::span<const uint8_t> packet,
                        const SubmitOptions &options) {
  if (!handle)
    return emptyHandle();
  Hardware::Lock lock = handle->state->hardware->lock();
  Operation operation = start("raw packet", options);
  if (packet.size() != packetBytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("queue '{}': '{}': {} bytes; a packet has {}",
                              handle->state->label, operation.label,
                              packet.size(), packetBytes));
  if (packet[0] == static_cast<uint8_t>(PacketType::Invalid))
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}': '{}': the Invalid type would never be "
                    "read",
                    handle->state->label, operation.label));
  // What the options name must be in the packet already; it is only recorded.
  operation.raw.assign(packet.begin(), packet.end());
  return handle->state->submit(operation);
}

} // namespace tessera::runtime
