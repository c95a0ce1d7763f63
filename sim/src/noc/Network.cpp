//===- Network.cpp - Messages through routers -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "noc/Network.h"

namespace tessera::sim::noc {

/// The ring's rule needs two places.
static uint32_t placesFor(const NocConfig &noc) {
  return std::max(2u, noc.buffers != 0 ? noc.buffers : 2 * noc.hopCycles + 2);
}

Network::Network(const Architecture &arch)
    : shape(arch), linkBytes(std::max(1u, arch.noc.linkBytes)),
      hopCycles(std::max(1u, arch.noc.hopCycles)),
      vcs(std::max(2u, arch.noc.vcs)), slots(placesFor(arch.noc)),
      buffers(shape.inputs().size() * vcs), outputs(shape.outputs().size()),
      firstBuffer(shape.routers() + 1), bufferAt(buffers.size()),
      releases(outputs.size() * vcs * slots), places_(outputs.size() * vcs),
      sourceCount(size_t(shape.endpoints()) * 2), watched(sourceCount.size()),
      links(outputs.size()), counters(buffers.size()) {
  for (uint32_t r = 0; r != shape.routers(); ++r)
    firstBuffer[r + 1] = firstBuffer[r] + shape.inputsOf(r) * vcs;
  for (uint32_t i = 0; i != buffers.size(); ++i) {
    const Topology::Input &input = shape.inputs()[i / vcs];
    Buffer &b = buffers[i];
    b.input = i / vcs;
    b.channel = i % vcs;
    b.router = input.router;
    b.bit = input.place * vcs + b.channel;
    b.feeder = input.output;
    b.endpoint = input.endpoint;
    bufferAt[firstBuffer[b.router] + b.bit] = i;
  }
  uint32_t words = 0;
  for (uint32_t i = 0; i != outputs.size(); ++i) {
    const Topology::Output &output = shape.outputs()[i];
    Output &o = outputs[i];
    o.router = output.router;
    o.endpoint = output.endpoint;
    if (output.input != none)
      o.buffers = output.input * vcs;
    o.bits = shape.inputsOf(output.router) * vcs;
    o.asking = words;
    o.words = (o.bits + 63) / 64;
    o.isRing = shape.entersRing(shape.injection(0), i);
    words += o.words;
    for (uint32_t c = 0; c != vcs; ++c)
      places_[placesOf(i, c)].limited =
          o.endpoint == none || (c < vcs / 2 && !shape.takesAll(o.endpoint));
  }
  asking.resize(words);
}

uint32_t Network::channelOf(const Packet &packet) const {
  // Packets from one endpoint to another stay in order.
  uint32_t requests = vcs / 2;
  if (packet.traffic == TrafficClass::Request)
    return packet.destination % requests;
  return requests + packet.destination % (vcs - requests);
}

uint32_t Network::newFlight() {
  if (freePackets.empty()) {
    freePackets.push_back(uint32_t(packets.size()));
    packets.emplace_back();
  }
  uint32_t index = freePackets.back();
  freePackets.pop_back();
  return index;
}

uint32_t Network::waiting(uint32_t endpoint, TrafficClass traffic) const {
  uint32_t first = shape.injection(endpoint) * vcs, count = 0;
  bool response = traffic == TrafficClass::Response;
  for (uint32_t c = response ? vcs / 2 : 0; c != (response ? vcs : vcs / 2);
       ++c)
    count += buffers[first + c].count;
  return count;
}

void Network::inject(const Packet &packet, Cycle cycle) {
  uint32_t index = newFlight();
  uint32_t buffer = shape.injection(packet.source) * vcs + channelOf(packet);
  packets[index] = {packet, buffer, flitsOf(packet.bytes), none, 0};
  ++sourceCount[2 * packet.source + unsigned(packet.traffic)];
  ++underWay;
  ++injected;
  wheel.put(std::max(cycle, current), Arrive << kindShift | index);
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

uint32_t Network::freePlaces(uint32_t index, Cycle now) {
  Places &p = places_[index];
  const Cycle *ring = releases.data() + size_t(index) * slots;
  while (p.pending != 0 && ring[p.first] <= now) {
    p.first = p.first + 1 == slots ? 0 : p.first + 1;
    --p.pending;
    --p.used;
  }
  return slots - p.used;
}

void Network::giveBack(uint32_t output, uint32_t channel, Cycle usable) {
  uint32_t index = placesOf(output, channel);
  Places &p = places_[index];
  if (p.pending == p.used)
    return; // Taken before a damaged snapshot was restored.
  uint32_t last = p.first + p.pending; // both below `slots`
  releases[size_t(index) * slots + (last < slots ? last : last - slots)] =
      usable;
  ++p.pending;
  if (p.wanted) {
    p.wanted = false;
    wake(output, usable);
  }
}

void Network::release(uint32_t endpoint, Cycle cycle) {
  uint32_t output = shape.ejection(endpoint), channel = endpoint % (vcs / 2);
  if (places_[placesOf(output, channel)].limited)
    giveBack(output, channel, std::max(cycle + hopCycles, current));
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

void Network::wake(uint32_t output, Cycle cycle) {
  Output &o = outputs[output];
  if (o.wake <= cycle)
    return;
  o.wake = cycle;
  wheel.put(cycle, Wake << kindShift | output);
}

void Network::countOccupancy(uint32_t buffer, Cycle now) {
  Buffer &b = buffers[buffer];
  counters[buffer].occupancyCycles += b.count * (now - b.countedTo);
  b.countedTo = now;
}

void Network::arrive(uint32_t index, Cycle now) {
  Flight &flight = packets[index];
  Buffer &b = buffers[flight.buffer];
  countOccupancy(flight.buffer, now);
  flight.arrived = now;
  flight.next = none;
  ++counters[flight.buffer].arrived;
  counters[flight.buffer].flitsArrived += flight.flits;
  (b.head == none ? b.head : packets[b.tail].next) = index;
  b.tail = index;
  if (++b.count != 1)
    return;
  if (b.ready <= now)
    becomeFront(flight.buffer, now);
  else
    wheel.put(b.ready, Front << kindShift | flight.buffer);
}

void Network::markAsked(uint32_t output) {
  Output &o = outputs[output];
  if (o.wake == current)
    return; // It is looked at in this step already.
  o.wake = current;
  asked.push_back(output);
}

/// The head of a buffer asks for an output.
void Network::ask(uint32_t output, uint32_t buffer, Cycle now) {
  Buffer &b = buffers[buffer];
  Output &o = outputs[output];
  asking[o.asking + b.bit / 64] |= uint64_t(1) << (b.bit % 64);
  ++o.askers;
  o.askerBits ^= buffer;
  ++b.branches;
  if (o.free <= now)
    markAsked(output);
  else
    wake(output, o.free);
}

void Network::becomeFront(uint32_t buffer, Cycle now) {
  const Buffer &b = buffers[buffer];
  const Packet &packet = packets[b.head].packet;
  if (packet.cores.empty())
    ask(shape.route(b.router, packet.destination), buffer, now);
  else
    shape.branches(
        b.input, packet.source, packet.cores,
        [&](const Branch &branch) { ask(branch.output, buffer, now); });
}

/// Whether there is a place for the head of `buffer` behind `output`; if not,
/// the output is looked at again when there may be.
[[gnu::always_inline]] inline bool
Network::hasPlace(uint32_t output, const Buffer &buffer, Cycle now) {
  uint32_t index = placesOf(output, buffer.channel);
  Places &p = places_[index];
  if (!p.limited)
    return true;
  uint32_t needed = outputs[output].isRing && buffer.feeder == none ? 2 : 1;
  if (slots - p.used >= needed || freePlaces(index, now) >= needed)
    return true;
  if (p.pending == 0)
    p.wanted = true;
  else
    wake(output, releases[size_t(index) * slots + p.first]);
  return false;
}

/// The head of the buffer has been sent everywhere; its last flit is on its way
/// from now + flits - 1 at the latest.
[[gnu::always_inline]] inline void Network::leave(uint32_t buffer, Cycle now,
                                                  NetworkListener &listener) {
  Buffer &b = buffers[buffer];
  const Flight &flight = packets[b.head];
  countOccupancy(buffer, now);
  ++counters[buffer].left;
  counters[buffer].waitCycles += now - flight.arrived;
  if (b.feeder != none) {
    giveBack(b.feeder, b.channel, now + flight.flits - 1 + hopCycles);
  } else {
    uint32_t queue = 2 * b.endpoint + unsigned(flight.packet.traffic);
    --sourceCount[queue];
    if (watched[queue]) {
      watched[queue] = 0;
      listener.sourceAdvanced(b.endpoint, flight.packet.traffic);
    }
  }
  b.ready = now + flight.flits;
  b.head = flight.next;
  if (--b.count == 0)
    b.tail = none;
  else
    wheel.put(b.ready, Front << kindShift | buffer);
}

[[gnu::always_inline]] inline void Network::grant(uint32_t output,
                                                  uint32_t buffer, Cycle now,
                                                  NetworkListener &listener) {
  Output &o = outputs[output];
  Buffer &b = buffers[buffer];
  const uint32_t index = b.head;
  const uint32_t flits = packets[index].flits;
  const uint32_t bytes = packets[index].packet.bytes;
  asking[o.asking + b.bit / 64] &= ~(uint64_t(1) << (b.bit % 64));
  o.free = now + flits;
  o.askerBits ^= buffer;
  if (--o.askers != 0)
    wake(output, o.free);
  LinkCounters &link = links[output];
  ++link.packets;
  link.flits += flits;
  link.bytes += bytes;
  byteHopCount += bytes;
  Places &p = places_[placesOf(output, b.channel)];
  p.used += p.limited;

  bool last = --b.branches == 0;
  copied += !last;
  const bool ends = o.endpoint != none;
  uint32_t sent = index;
  if (ends) {
    ++ejected;
    listener.delivers(packets[index].packet, o.endpoint,
                      now + hopCycles + flits - 1);
  } else if (!packets[index].packet.cores.empty()) {
    Rectangle part;
    shape.branches(b.input, packets[index].packet.source,
                   packets[index].packet.cores, [&](const Branch &branch) {
                     if (branch.output == output)
                       part = branch.cores;
                   });
    if (!last) {
      sent = newFlight();
      packets[sent] = packets[index];
      ++underWay;
    }
    packets[sent].packet.cores = part;
  }
  if (last)
    leave(buffer, now, listener);
  if (!ends) {
    packets[sent].buffer = o.buffers + b.channel;
    wheel.put(now + hopCycles, Arrive << kindShift | sent);
  } else if (last) {
    freePackets.push_back(index);
    --underWay;
  }
}

/// Of those who ask for an output and for whom there is a place, the first from
/// the one whose turn it is, once around; or none.
uint32_t Network::choose(uint32_t output, Cycle now) {
  Output &o = outputs[output];
  if (o.askers == 1)
    return hasPlace(output, buffers[o.askerBits], now) ? o.askerBits : none;
  const uint64_t *bits = asking.data() + o.asking;
  const uint32_t *bufferOf = bufferAt.data() + firstBuffer[o.router];
  const uint64_t fromTurn = ~uint64_t(0) << (o.turn % 64);
  uint32_t word = o.turn / 64;
  for (uint32_t i = 0; i <= o.words;
       ++i, word = word + 1 == o.words ? 0 : word + 1) {
    uint64_t rest = bits[word];
    if (i == 0)
      rest &= fromTurn;
    else if (i == o.words)
      rest &= ~fromTurn;
    for (; rest; rest &= rest - 1) {
      uint32_t buffer = bufferOf[word * 64 + uint32_t(std::countr_zero(rest))];
      if (hasPlace(output, buffers[buffer], now))
        return buffer;
    }
  }
  return none;
}

void Network::arbitrate(uint32_t output, Cycle now, NetworkListener &listener) {
  Output &o = outputs[output];
  if (o.askers == 0)
    return;
  if (o.free > now)
    return wake(output, o.free);
  uint32_t buffer = choose(output, now);
  if (buffer == none) {
    if (o.blocked == never)
      o.blocked = now;
    return;
  }
  if (o.blocked != never) {
    links[output].blockedCycles += now - o.blocked;
    o.blocked = never;
  }
  uint32_t bit = buffers[buffer].bit;
  o.turn = bit + 1 == o.bits ? 0 : bit + 1;
  grant(output, buffer, now, listener);
}

void Network::step(Cycle now, NetworkListener &listener) {
  wheel.take(now, items);
  current = now;
  asked.clear();
  for (uint32_t item : items) {
    uint32_t index = item & ((1u << kindShift) - 1);
    switch (Kind(item >> kindShift)) {
    case Arrive:
      arrive(index, now);
      break;
    case Front:
      becomeFront(index, now);
      break;
    case Wake:
      if (outputs[index].wake == now)
        asked.push_back(index);
      break;
    }
  }
  for (uint32_t output : asked)
    if (outputs[output].wake == now) { // once, though it may be listed twice
      outputs[output].wake = never;
      arbitrate(output, now, listener);
    }
  current = now + 1;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

bool Network::conserves() const {
  for (uint32_t i = 0; i != buffers.size(); ++i)
    if (counters[i].arrived != counters[i].left + buffers[i].count)
      return false;
  if (!idle())
    return true;
  if (injected + copied != ejected)
    return false;
  // What went into a link came out of it.
  for (uint32_t o = 0; o != outputs.size(); ++o) {
    uint32_t input = shape.outputs()[o].input;
    if (input == none)
      continue;
    uint64_t came = 0;
    for (uint32_t c = 0; c != vcs; ++c)
      came += counters[input * vcs + c].flitsArrived;
    if (came != links[o].flits)
      return false;
  }
  return true;
}

bool Network::consistent() const {
  size_t numPackets = packets.size(), numBuffers = shape.inputs().size() * vcs;
  size_t numOutputs = shape.outputs().size();
  size_t words = outputs.back().asking + outputs.back().words;
  if (counters.size() != numBuffers || links.size() != numOutputs ||
      releases.size() != places_.size() * slots ||
      sourceCount.size() != size_t(shape.endpoints()) * 2 ||
      watched.size() != sourceCount.size() || asking.size() != words)
    return false;
  std::vector<uint8_t> seen(numPackets);
  for (uint32_t i : freePackets)
    if (i >= numPackets || seen[i]++)
      return false;
  for (uint32_t i = 0; i != numBuffers; ++i) {
    const Buffer &b = buffers[i];
    uint32_t count = 0, last = none;
    for (uint32_t f = b.head; f != none; f = packets[f].next, ++count) {
      if (f >= numPackets || seen[f]++ || packets[f].buffer != i)
        return false;
      last = f;
    }
    if (count != b.count || last != b.tail)
      return false;
  }
  for (uint32_t i = 0; i != numPackets; ++i) {
    const Flight &f = packets[i];
    if (f.packet.source >= shape.endpoints() ||
        f.packet.destination >= shape.endpoints() ||
        f.flits != flitsOf(f.packet.bytes) ||
        uint8_t(f.packet.traffic) > uint8_t(TrafficClass::Response) ||
        (f.buffer != none && f.buffer >= numBuffers))
      return false;
    const Rectangle &r = f.packet.cores;
    if (!r.empty() && !shape.hasCores(r))
      return false;
  }
  for (const Places &p : places_)
    if (p.used > slots || p.pending > p.used || p.first >= slots)
      return false;
  std::vector<uint32_t> asks(numBuffers);
  for (uint32_t o = 0; o != numOutputs; ++o) {
    const Output &output = outputs[o];
    uint32_t bits = output.bits, count = 0, askers = 0;
    for (uint32_t w = 0; w != output.words; ++w) {
      uint64_t word = asking[output.asking + w];
      if (bits - w * 64 < 64 && word >> (bits - w * 64))
        return false;
      for (; word; word &= word - 1, ++count) {
        uint32_t bit = w * 64 + uint32_t(std::countr_zero(word));
        uint32_t buffer = bufferAt[firstBuffer[output.router] + bit];
        ++asks[buffer];
        askers ^= buffer;
      }
    }
    if (count != output.askers || output.turn >= bits ||
        askers != output.askerBits)
      return false;
  }
  for (uint32_t i = 0; i != numBuffers; ++i)
    if (asks[i] != buffers[i].branches || (asks[i] && buffers[i].head == none))
      return false;
  return wheel.all([&](uint32_t item) {
    uint32_t index = item & ((1u << kindShift) - 1);
    switch (Kind(item >> kindShift)) {
    case Arrive:
      return index < numPackets && !seen[index] &&
             packets[index].buffer != none;
    case Front:
      return index < numBuffers && buffers[index].head != none;
    case Wake:
      return index < numOutputs;
    }
    return false;
  });
}

} // namespace tessera::sim::noc
