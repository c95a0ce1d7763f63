//===- FrontEnd.cpp - Command processor: fetch and decode -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/CommandProcessor.h"
#include "tessera/Support/Mutant.h"
#include <atomic>
#include <cstring>

namespace tessera::sim {

void CommandProcessor::post(Cycle cycle, Phase phase, Code code, uint32_t q,
                            uint64_t payload) {
  Event event;
  event.time = services.clock.at(cycle);
  event.phase = phase;
  event.component = self;
  event.code = code;
  event.epoch = queues[q].epoch;
  event.payload = pack(q, payload);
  services.events.post(event);
}

Reply CommandProcessor::reply(Code code, uint32_t q, uint64_t id) {
  return {self, code, queues[q].epoch, pack(q, id)};
}

void CommandProcessor::requestVirtual(uint32_t q, uint64_t address,
                                      uint32_t bytes, Access access, Code code,
                                      uint64_t id) {
  VirtualRequest r;
  r.root = queues[q].context;
  r.address = address;
  r.bytes = bytes;
  r.access = access;
  r.client = client;
  r.node = services.noc.cpNode();
  r.account = services.arch.cores.count;
  r.reply = reply(code, q, id);
  r.translatedCode = Translated;
  (void)services.mmu.request(r); // a miss only takes longer
}

CommandProcessor::Slot *CommandProcessor::find(uint32_t q, uint64_t id) {
  for (Slot &slot : queues[q].window)
    if (slot.id == id)
      return &slot;
  return nullptr;
}

void CommandProcessor::advance(uint32_t q) {
  Queue &queue = queues[q];
  if (queue.busy)
    return;
  // Command buffers first: they come earlier than what the ring still holds,
  // and go on when that is read no more.
  for (uint64_t id : queue.streams)
    if (Slot *parent = find(q, id); parent && work(q, parent))
      return;
  if (queue.enabled && !queue.faulted)
    (void)work(q, nullptr);
}

/// Packets of a command buffer that a barrier packet of it keeps from starting.
static bool holdsBack(uint8_t flags) {
  return (flags & isa::packetBarrier) &&
         !TESSERA_MUTANT("barrier-holds-nothing-back");
}

bool CommandProcessor::held(const Queue &queue, const Slot &slot) const {
  if (!slot.fetched.parent)
    return false; // the ring's are not decoded until they may start
  for (const Slot &earlier : queue.window) {
    if (earlier.id == slot.id)
      break;
    if (earlier.fetched.parent == slot.fetched.parent &&
        earlier.state == Slot::State::Parked && holdsBack(earlier.packet.flags))
      return true;
  }
  return false;
}

size_t CommandProcessor::heldBack(const Queue &queue, uint64_t parent) const {
  size_t count = 0;
  bool holds = false;
  for (const Slot &slot : queue.window)
    if (slot.fetched.parent == parent && slot.state == Slot::State::Parked) {
      count += holds;
      holds |= holdsBack(slot.packet.flags);
    }
  return holds ? count + 1 : 0;
}

bool CommandProcessor::work(uint32_t q, Slot *parent) {
  Queue &queue = queues[q];
  Source &source = sourceOf(queue, parent);
  size_t underWay = parent ? parent->childrenLeft : queue.window.size();
  if (source.heldBy || underWay >= windowSize ||
      (parent && heldBack(queue, parent->id) > decodedAhead))
    return false;
  Cycle now = std::max(services.now(), queue.stalledUntil);
  if (!source.buffer.empty()) {
    queue.busy = true;
    queue.decodeParent = parent ? parent->id : 0;
    post(now + services.arch.cp.decode, Phase::Complete, Decoded, q);
    return true;
  }
  if (parent) {
    if (parent->nextCommand == parent->commandCount)
      return false;
    const auto &indirect = std::get<isa::IndirectPacket>(parent->packet.body);
    uint64_t address =
        indirect.address + uint64_t(parent->nextCommand) * isa::packetBytes;
    // One read stays within a page.
    uint64_t toPageEnd = (isa::smallPageBytes - address % isa::smallPageBytes) /
                         isa::packetBytes;
    queue.fetchParent = parent->id;
    queue.fetchCount = uint32_t(std::min<uint64_t>(
        {fetchBatch, toPageEnd, parent->commandCount - parent->nextCommand}));
    if (!parent->fetchBegun) {
      parent->fetchBegun = true;
      parent->firstFetch = now;
    }
  } else {
    if (queue.sleeping || int64_t(queue.published - queue.read) <= 0)
      return false;
    uint64_t slot = queue.read & (queue.size - 1);
    if (TESSERA_MUTANT("wrap-one-late"))
      slot = std::min<uint64_t>(slot, 1);
    // One read does not wrap around.
    queue.fetchParent = 0;
    queue.fetchCount = uint32_t(std::min<uint64_t>(
        {fetchBatch, queue.published - queue.read, queue.size - slot}));
  }
  queue.busy = true;
  queue.fetchCycle = now;
  post(now + services.arch.cp.fetch, Phase::Start, FetchIssue, q);
  return true;
}

void CommandProcessor::fetchIssue(uint32_t q) {
  Queue &queue = queues[q];
  uint32_t bytes = queue.fetchCount * isa::packetBytes;
  if (queue.fetchParent) {
    Slot *parent = find(q, queue.fetchParent);
    if (!parent) {
      queue.busy = false;
      return advance(q);
    }
    const auto &indirect = std::get<isa::IndirectPacket>(parent->packet.body);
    requestVirtual(
        q, indirect.address + uint64_t(parent->nextCommand) * isa::packetBytes,
        bytes, Access::Read, FetchDone, 0);
    return;
  }
  MemoryRequest r;
  r.space = isa::PhysicalSpace::Host;
  r.bytes = bytes;
  r.address = queue.ring + (queue.read & (queue.size - 1)) * isa::packetBytes;
  r.node = services.noc.cpNode();
  r.account = services.arch.cores.count;
  r.reply = reply(FetchDone, q, 0);
  services.memorySystem.request(r);
}

void CommandProcessor::fetchDone(uint32_t q, FaultCause faultCause) {
  Queue &queue = queues[q];
  queue.busy = false;
  Fetched fetched;
  fetched.fetchCycle = queue.fetchCycle;
  if (queue.fetchParent) {
    Slot *parent = find(q, queue.fetchParent);
    if (!parent)
      return advance(q);
    const auto &indirect = std::get<isa::IndirectPacket>(parent->packet.body);
    std::vector<uint8_t> bytes(size_t(queue.fetchCount) * isa::packetBytes);
    uint64_t address =
        indirect.address + uint64_t(parent->nextCommand) * isa::packetBytes;
    if (faultCause == FaultCause::None)
      faultCause =
          services.memory.readVirtual(queue.context, address, bytes.data(),
                                      bytes.size(), Access::Read, address);
    if (faultCause != FaultCause::None)
      return fault(q, parent->id, faultCause, address);
    fetched.ringIndex = parent->fetched.ringIndex;
    fetched.publishedBy = parent->fetched.publishedBy;
    fetched.parent = parent->id;
    for (uint32_t i = 0; i < queue.fetchCount; ++i) {
      std::copy_n(bytes.begin() + i * isa::packetBytes, isa::packetBytes,
                  fetched.image.begin());
      fetched.command = parent->nextCommand++;
      parent->source.buffer.push_back(fetched);
    }
    return advance(q);
  }
  fetched.publishedBy = services.now();
  // The host publishes a packet by storing its header last, from any thread.
  std::byte *at = services.memory.host().data() + queue.ring +
                  (queue.read & (queue.size - 1)) * isa::packetBytes;
  for (uint32_t i = 0; i < queue.fetchCount; ++i, at += isa::packetBytes) {
    auto &header = reinterpret_cast<uint8_t &>(*at);
    fetched.image[0] =
        std::atomic_ref<uint8_t>(header).load(std::memory_order_acquire);
    if (fetched.image[0] == uint8_t(isa::PacketType::Invalid)) {
      // Reserved, not yet published: its publication rings again.
      if (TESSERA_MUTANT("unpublished-skipped")) {
        ++queue.read;
        continue;
      }
      queue.sleeping = true;
      break;
    }
    std::memcpy(fetched.image.data() + 1, at + 1, isa::packetBytes - 1);
    fetched.ringIndex = queue.read++;
    queue.source.buffer.push_back(fetched);
  }
  advance(q);
}

void CommandProcessor::decoded(uint32_t q) {
  Queue &queue = queues[q];
  queue.busy = false;
  uint64_t parentId = queue.decodeParent;
  Slot *parent = parentId ? find(q, parentId) : nullptr;
  if (parentId && !parent)
    return advance(q);
  Source &source = sourceOf(queue, parent);
  if (source.buffer.empty())
    return advance(q);
  Slot slot;
  slot.fetched = source.buffer.front();
  source.buffer.pop_front();

  if (parent && slot.fetched.image[0] == uint8_t(isa::PacketType::Return)) {
    parent->source.buffer.clear();
    parent->exhausted = true;
    std::erase(queue.streams, parentId);
    if (parent->childrenLeft == 0)
      complete(q, *parent);
    return advance(q);
  }

  Result<isa::Packet> packet = isa::decodePacket(slot.fetched.image);
  slot.id = nextId++;
  if (packet)
    slot.packet = *packet;
  uint64_t id = slot.id;
  slot.illegal =
      !packet ||
      (parent && std::holds_alternative<isa::IndirectPacket>(slot.packet.body));
  // Program order: a command buffer's packets come before what followed the
  // packet that runs it.
  auto place = queue.window.end();
  if (parent) {
    ++parent->childrenLeft;
    if (slot.fetched.command + 1 == parent->commandCount) {
      parent->exhausted = true;
      std::erase(queue.streams, parentId);
    }
    place = std::find_if(queue.window.begin(), queue.window.end(),
                         [&](const Slot &s) { return s.id == parentId; });
    for (++place;
         place != queue.window.end() && place->fetched.parent == parentId;)
      ++place;
  } else if (holdsBack(slot.packet.flags)) {
    queue.source.heldBy = id;
  }
  queue.window.insert(place, std::move(slot)); // pointers to slots are void now
  tryStart(q, id);
  advance(q);
}

} // namespace tessera::sim
