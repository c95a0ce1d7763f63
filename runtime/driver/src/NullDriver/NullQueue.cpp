//===- NullQueue.cpp - Packets of one queue of the null device ------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NullQueue.h"
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

/// Bytes of a copy or fill that are moved at once.
static constexpr uint64_t partBytes = 1 << 20;

Status NullQueue::writeRegister(uint64_t offset, uint64_t value) {
  auto refuse = [&](std::string_view what) {
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("null device: queue {}: {} {:#x}", number, what, value));
  };
  switch (offset) {
  case mmio::queueRing:
    if (value % packetBytes)
      return refuse("ring is not 64-byte aligned:");
    ring = value;
    return Status::success();
  case mmio::queueSize:
    if (!std::has_single_bit(value))
      return refuse("size is no power of two:");
    size = value;
    return Status::success();
  case mmio::queueContext:
    context = value;
    return Status::success();
  case mmio::queuePriority:
    priority = value;
    return Status::success();
  case mmio::queueEnable:
    if (value && !enabled) {
      uint64_t bytes = device.memory().host().size();
      if (size == 0 || ring > bytes || size * packetBytes > bytes - ring)
        return refuse("ring is not in host memory, enable");
      read = done = first;
      notify.reset();
      faulted = false;
      faultRecord = {};
      window.clear();
    }
    // What has started finishes, the rest is dropped.
    if (!value)
      std::erase_if(window, [](const Entry &e) { return !e.started; });
    enabled = value;
    return Status::success();
  case mmio::queueFirst:
    if (enabled)
      return refuse("the first index can only be set while disabled:");
    first = value;
    return Status::success();
  case mmio::queueNotify:
    notify = value;
    tellDone();
    return Status::success();
  case mmio::queueDoorbell:
    // Only a wake-up: the headers tell what is there.
    return Status::success();
  default:
    return Status(
        StatusCode::BusError,
        fmt::format("null device: queue {}: no writable register at {:#x}",
                    number, offset));
  }
}

void NullQueue::reset() {
  ring = size = context = priority = first = read = done = 0;
  enabled = faulted = false;
  notify.reset();
  window.clear();
  faultRecord = {};
  faultPacket = 0;
}

Result<uint64_t> NullQueue::readRegister(uint64_t offset) const {
  switch (offset) {
  case mmio::queueRing:
    return ring;
  case mmio::queueSize:
    return size;
  case mmio::queueContext:
    return context;
  case mmio::queuePriority:
    return priority;
  case mmio::queueEnable:
    return uint64_t(enabled);
  case mmio::queueRead:
    return read;
  case mmio::queueDone:
    return done;
  case mmio::queueStatus: {
    bool idle = std::all_of(window.begin(), window.end(),
                            [](const Entry &e) { return e.done; });
    auto status = !enabled         ? (idle ? mmio::QueueStatus::Disabled
                                           : mmio::QueueStatus::Stopping)
                  : faulted        ? mmio::QueueStatus::Faulted
                  : window.empty() ? mmio::QueueStatus::Idle
                                   : mmio::QueueStatus::Running;
    return static_cast<uint64_t>(status);
  }
  case mmio::queueFirst:
    return first;
  case mmio::queueDoneMask: {
    uint64_t mask = 0;
    for (const Entry &entry : window)
      if (entry.done && entry.index - done < 64)
        mask |= uint64_t(1) << (entry.index - done);
    return mask;
  }
  case mmio::queueCopied:
    return copied;
  case mmio::queueCoresRun:
    return coresRun;
  case mmio::faultCause:
    return static_cast<uint64_t>(faultRecord.cause);
  case mmio::faultPacket:
    return faultPacket;
  case mmio::faultCore:
  case mmio::faultPc:
    return uint64_t(0);
  case mmio::faultAddress:
    return faultRecord.address;
  default:
    return Status(StatusCode::BusError,
                  fmt::format("null device: queue {}: no register at {:#x}",
                              number, offset));
  }
}

void NullQueue::fault(const Entry &entry, NullFault what) {
  if (faulted)
    return;
  faulted = true;
  faultRecord = what;
  uint64_t command = entry.position < entry.program.size() ? entry.position : 0;
  faultPacket = uint32_t(entry.index) | command << 32;
  // What has started finishes; what has not never does.
  std::erase_if(window, [](const Entry &e) { return !e.started; });
  device.interrupt(Interrupt::Kind::Fault, number, 0);
}

void NullQueue::fetch() {
  while (enabled && !faulted &&
         window.size() < std::min<uint64_t>(size, windowSize)) {
    uint8_t *slot = reinterpret_cast<uint8_t *>(device.memory().host().data()) +
                    ring + (read & (size - 1)) * packetBytes;
    uint8_t header =
        std::atomic_ref<uint8_t>(*slot).load(std::memory_order_acquire);
    if (header == static_cast<uint8_t>(PacketType::Invalid))
      return;
    std::array<uint8_t, packetBytes> image;
    image[0] = header;
    std::memcpy(image.data() + 1, slot + 1, packetBytes - 1);
    Entry entry;
    entry.index = read++;
    Result<Packet> packet = decodePacket(image);
    if (packet)
      entry.packet = *packet;
    window.push_back(std::move(entry));
    if (!packet) {
      // Packets before it that have started finish; it goes no further.
      Entry bad = window.back();
      fault(bad, {mmio::FaultCause::IllegalPacket, header});
      return;
    }
  }
}

bool NullQueue::ready(const Packet &packet) const {
  auto met = [&](const SemaphoreValue &point) {
    return point.semaphore == 0 ||
           device.semaphore(point.semaphore) >= point.value;
  };
  return std::visit(
      [&](const auto &body) {
        if constexpr (requires { body.waits; }) {
          if (!body.any)
            return std::all_of(body.waits.begin(), body.waits.end(), met);
          return std::any_of(body.waits.begin(), body.waits.end(), met);
        } else if constexpr (requires { body.wait; }) {
          return met(body.wait);
        } else {
          return true;
        }
      },
      packet.body);
}

NullFault NullQueue::start(Entry &entry) {
  entry.started = true;
  const IndirectPacket *indirect =
      std::get_if<IndirectPacket>(&entry.packet.body);
  if (!indirect) {
    entry.program = {entry.packet};
    return {};
  }
  for (uint32_t i = 0; i < indirect->count; ++i) {
    entry.position = i;
    std::array<uint8_t, packetBytes> image;
    uint64_t address = indirect->address + uint64_t(i) * packetBytes;
    if (NullFault fault = device.memory().readVirtual(
            context, address, std::as_writable_bytes(std::span(image))))
      return fault;
    if (image[0] == static_cast<uint8_t>(PacketType::Return))
      break;
    Result<Packet> packet = decodePacket(image);
    if (!packet || std::holds_alternative<IndirectPacket>(packet->body)) {
      entry.program.resize(i + 1); // So that the record names the command.
      return {mmio::FaultCause::IllegalPacket, address};
    }
    entry.program.push_back(*packet);
  }
  entry.position = 0;
  return {};
}

void NullQueue::schedule() {
  fetch();
  bool earlierDone = true;
  for (size_t i = 0; i < window.size(); ++i) {
    Entry &entry = window[i];
    if (!entry.started && !faulted) {
      if ((entry.packet.flags & packetBarrier) &&
          !(earlierDone && ready(entry.packet)))
        return; // Holds back what is behind it.
      if (ready(entry.packet))
        if (NullFault what = start(entry)) {
          Entry bad = entry;
          window.erase(window.begin() + i);
          fault(bad, what);
          return;
        }
    }
    if (entry.started && !entry.done && !entry.running &&
        (entry.position >= entry.program.size() ||
         ready(entry.program[entry.position]))) {
      entry.running = true;
      entry.finish = device.deviceTime() + device.packetTime();
    }
    earlierDone &= entry.done;
  }
}

Time NullQueue::nextCompletion() const {
  Time next = timeInfinite;
  for (const Entry &entry : window)
    if (entry.running)
      next = std::min(next, entry.finish);
  return next;
}

NullFault NullQueue::execute(const Packet &packet) {
  NullMemory &memory = device.memory();
  if (const auto *copy = std::get_if<CopyPacket>(&packet.body)) {
    // In parts: the size is whatever the packet says.
    std::vector<std::byte> data(std::min(copy->size, partBytes));
    for (uint64_t at = 0; at < copy->size; at += partBytes) {
      std::span<std::byte> part =
          std::span(data).first(std::min(partBytes, copy->size - at));
      if (NullFault fault =
              memory.readVirtual(context, copy->source + at, part))
        return fault;
      if (NullFault fault =
              memory.writeVirtual(context, copy->destination + at, part))
        return fault;
    }
    copied += copy->size;
    return {};
  }
  if (const auto *fill = std::get_if<FillPacket>(&packet.body)) {
    std::vector<uint32_t> data(std::min(fill->size, partBytes) / 4,
                               fill->pattern);
    for (uint64_t at = 0; at < fill->size; at += partBytes)
      if (NullFault fault = memory.writeVirtual(
              context, fill->destination + at,
              std::as_bytes(std::span(data))
                  .first(std::min(partBytes, fill->size - at))))
        return fault;
    copied += fill->size;
    return {};
  }
  if (const auto *stamp = std::get_if<TimestampPacket>(&packet.body)) {
    uint64_t time = device.deviceTime();
    return memory.writeVirtual(context, stamp->destination,
                               std::as_bytes(std::span(&time, 1)));
  }
  if (const auto *dispatch = std::get_if<DispatchPacket>(&packet.body)) {
    std::array<uint8_t, kernelRecordBytes> image;
    if (NullFault fault =
            memory.readVirtual(context, dispatch->kernel,
                               std::as_writable_bytes(std::span(image))))
      return fault;
    if (!decodeKernelRecord(image))
      return {mmio::FaultCause::IllegalPacket, dispatch->kernel};
    coresRun += uint64_t(dispatch->width) * dispatch->height;
    return {};
  }
  if (const auto *interrupt = std::get_if<InterruptPacket>(&packet.body))
    device.interrupt(Interrupt::Kind::Packet, number, interrupt->payload);
  return {};
}

NullFault NullQueue::finishEntry(Entry &entry) {
  if (entry.position < entry.program.size()) {
    const Packet &packet = entry.program[entry.position];
    if (NullFault fault = execute(packet))
      return fault;
    NullFault fault = std::visit(
        [&](const auto &body) -> NullFault {
          if constexpr (requires { body.completion; })
            return device.signal(body.completion);
          return {};
        },
        packet.body);
    if (fault)
      return fault;
    if (++entry.position < entry.program.size())
      return {};
  }
  entry.done = true;
  // The command buffer's own completion; else the packet was its own program.
  if (const auto *indirect = std::get_if<IndirectPacket>(&entry.packet.body))
    return device.signal(indirect->completion);
  return {};
}

void NullQueue::complete() {
  for (size_t i = 0; i < window.size(); ++i) {
    if (!window[i].running || window[i].finish > device.deviceTime())
      continue;
    window[i].running = false;
    if (NullFault what = finishEntry(window[i])) {
      Entry bad = window[i];
      window.erase(window.begin() + i);
      fault(bad, what);
      break;
    }
  }
  retire();
}

void NullQueue::retire() {
  while (!window.empty() && window.front().done &&
         window.front().index == done) {
    ++done;
    window.pop_front();
  }
  tellDone();
}

void NullQueue::tellDone() {
  // Indices may wrap around: what counts is their distance.
  if (!notify || int64_t(done - *notify) < 0)
    return;
  notify.reset();
  device.interrupt(Interrupt::Kind::QueueDone, number, 0);
}

} // namespace tessera::driver
