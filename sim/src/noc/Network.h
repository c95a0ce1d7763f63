//===- Network.h - Messages through routers ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Virtual cut-through in network cycles, exact to the flit: a message holds a
// link for as many cycles as it has flits, its first flit may leave a router in
// the cycle in which it came, and it leaves only when the next buffer of its
// virtual channel has a place for all of it. So flits never need cycles of
// their own: a hop is one arrival and one grant. docs/timing.md, "NoC", has the
// rules; the tests compare them with a model that moves every flit.
//
// Deadlock cannot occur. On the mesh every message goes along x before y, so
// waits for buffers form no cycle. On the ring a message enters only if two
// places are free, so every ring keeps a free place and something can always
// move. Requests and responses have virtual channels of their own, and
// endpoints take responses unconditionally.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NOC_NETWORK_H
#define TESSERA_SIM_NOC_NETWORK_H

#include "noc/CycleWheel.h"
#include "noc/Topology.h"

namespace tessera::sim::noc {

enum class TrafficClass : uint8_t { Request, Response };

/// What the network carries.
struct Packet {
  uint32_t source = 0, destination = 0; ///< Endpoints.
  TrafficClass traffic = TrafficClass::Request;
  uint32_t bytes = 0; ///< Of payload; the header has wires of its own.
  Rectangle cores;    ///< Destinations of a multicast; empty: `destination`.
  // For whoever is told of its arrival.
  uint64_t payload = 0;
  uint32_t epoch = 0;
  uint16_t component = 0;
  uint8_t code = 0, phase = 0;

  template <typename A> void serialize(A &ar) {
    fields(ar, source, destination, traffic, bytes, cores, payload, epoch,
           component, code, phase);
  }
};

/// Who is told what happens in a step.
class NetworkListener {
public:
  virtual ~NetworkListener() = default;
  /// The packet's last flit will have come to `endpoint` at `cycle`.
  virtual void delivers(const Packet &packet, uint32_t endpoint,
                        Cycle cycle) = 0;
  /// A packet began to leave `endpoint`, which has been asked about.
  virtual void sourceAdvanced(uint32_t endpoint, TrafficClass traffic) = 0;
};

/// Of one output: a link, or an endpoint's port.
struct LinkCounters {
  uint64_t packets = 0, flits = 0, bytes = 0;
  /// Cycles in which somebody asked for the idle link and no place was free.
  uint64_t blockedCycles = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, packets, flits, bytes, blockedCycles);
  }
};

/// Of one virtual channel's buffer at an input.
struct BufferCounters {
  uint64_t arrived = 0, left = 0; ///< Packets; copies of a multicast once.
  uint64_t flitsArrived = 0;
  /// Packets waiting, summed over cycles; and the waits of those that left.
  uint64_t occupancyCycles = 0, waitCycles = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, arrived, left, flitsArrived, occupancyCycles, waitCycles);
  }
};

class Network {
public:
  static constexpr Cycle never = CycleWheel::never;

  explicit Network(const Architecture &arch);

  const Topology &topology() const { return shape; }
  uint32_t flitsOf(uint32_t bytes) const {
    return bytes <= linkBytes ? 1 : (bytes + linkBytes - 1) / linkBytes;
  }
  /// Cycles of a packet alone in the network.
  Cycle zeroLoadLatency(uint32_t from, uint32_t to, uint32_t bytes) const {
    return Cycle(shape.hops(from, to)) * hopCycles + flitsOf(bytes) - 1;
  }

  /// Puts a packet into its source's queue in `cycle`, or in the first cycle
  /// that has not been stepped through if that is later.
  void inject(const Packet &packet, Cycle cycle);
  /// Packets in an endpoint's queue, also those that come later.
  uint32_t queued(uint32_t endpoint, TrafficClass traffic) const {
    return sourceCount[2 * endpoint + unsigned(traffic)];
  }
  /// Packets of an endpoint's queue that are there and have not begun to leave.
  uint32_t waiting(uint32_t endpoint, TrafficClass traffic) const;
  /// Places of a buffer; an endpoint's queue should hold no more.
  uint32_t places() const { return slots; }
  /// The listener is told when the endpoint's queue next advances.
  void watch(uint32_t endpoint, TrafficClass traffic) {
    watched[2 * endpoint + unsigned(traffic)] = 1;
  }
  /// Endpoint `endpoint`, which has limited room (takesAll), can take another
  /// request from `cycle` on.
  void release(uint32_t endpoint, Cycle cycle);
  /// The virtual channel of a packet.
  uint32_t channelOf(const Packet &packet) const;

  /// The next cycle in which something happens, or never.
  Cycle nextStep() const { return wheel.next(); }
  /// Does what happens in `cycle`, which is nextStep().
  void step(Cycle cycle, NetworkListener &listener);
  bool idle() const { return underWay == 0; }

  const std::vector<LinkCounters> &linkCounters() const { return links; }
  const std::vector<BufferCounters> &bufferCounters() const { return counters; }
  uint32_t channels() const { return vcs; }
  /// Whether all packets under way are `good`.
  template <typename Good> bool all(Good good) const {
    std::vector<uint8_t> unused(packets.size());
    for (uint32_t i : freePackets)
      unused[i] = 1;
    for (size_t i = 0; i != packets.size(); ++i)
      if (!unused[i] && !good(packets[i].packet))
        return false;
    return true;
  }
  uint64_t injectedPackets() const { return injected; }
  uint64_t ejectedPackets() const { return ejected; }
  uint64_t byteHops() const { return byteHopCount; }
  /// Whether as many packets came to every buffer as left it or wait in it,
  /// and, if the network is idle, as many flits came out of every link as went
  /// in and as many packets were ejected as injected and copied.
  bool conserves() const;

  template <typename A> void serialize(A &ar) {
    fields(ar, wheel, packets, freePackets, asking, releases, sourceCount,
           watched, links, counters, current, underWay, injected, copied,
           ejected, byteHopCount);
    // Their numbers and where they are do not change.
    for (Buffer &buffer : buffers)
      fields(ar, buffer);
    for (Output &output : outputs)
      fields(ar, output);
    for (Places &places : places_)
      fields(ar, places);
    if constexpr (A::loading)
      if (!consistent())
        ar.fail();
  }

private:
  enum Kind : uint32_t { Arrive, Front, Wake }; ///< Top bits of a wheel's item.
  static constexpr unsigned kindShift = 30;

  /// A packet, or a multicast's copy, in the network.
  struct Flight {
    Packet packet;
    uint32_t buffer = none; ///< In, or on its way to.
    uint32_t flits = 0;
    uint32_t next = none; ///< Behind it in the buffer.
    Cycle arrived = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, packet, buffer, flits, next, arrived);
    }
  };
  /// A virtual channel at an input: packets in order of arrival.
  struct Buffer {
    uint32_t head = none, tail = none;
    uint32_t count = 0;
    uint32_t branches = 0; ///< Outputs that the head still asks for.
    Cycle ready = 0;       ///< From when on the next head may ask.
    Cycle countedTo = 0;

    // Where it is.
    uint32_t input = 0, channel = 0, router = 0;
    uint32_t bit = 0;         ///< In `asking` of its router's outputs.
    uint32_t feeder = none;   ///< The output that it is behind, or none.
    uint32_t endpoint = none; ///< Else the endpoint that it comes from.
    template <typename A> void serialize(A &ar) {
      fields(ar, head, tail, count, branches, ready, countedTo);
    }
  };
  struct Output {
    Cycle free = 0;        ///< First cycle without a flit on it.
    Cycle wake = never;    ///< The wheel's next look at it.
    Cycle blocked = never; ///< Since when it could send but for a place.
    uint32_t turn = 0;     ///< Whose turn it is.
    uint32_t askers = 0;
    uint32_t askerBits = 0; ///< Of all askers' numbers, xor: the one of one.

    // Where it is.
    uint32_t router = 0;
    uint32_t endpoint = none; ///< That it leads to,
    uint32_t buffers = none;  ///< or the first buffer of the input.
    uint32_t asking = 0;      ///< Its part of `asking`,
    uint32_t words = 0;       ///< so many words
    uint32_t bits = 0;        ///< and bits.
    bool isRing = false;      ///< Who enters here enters a ring.
    template <typename A> void serialize(A &ar) {
      fields(ar, free, wake, blocked, turn, askers, askerBits);
    }
  };
  /// The places behind an output, by virtual channel: a buffer's, or a memory
  /// endpoint's. Places come back in order.
  struct Places {
    uint32_t used = 0;
    uint32_t first = 0, pending = 0; ///< In its part of `releases`.
    bool wanted = false;             ///< Its output waits for a place.
    bool limited = false; ///< Else there is always one; it never changes.
    template <typename A> void serialize(A &ar) {
      fields(ar, used, first, pending, wanted);
    }
  };

  uint32_t placesOf(uint32_t output, uint32_t channel) const {
    return output * vcs + channel;
  }
  /// Places that are free in `now`.
  uint32_t freePlaces(uint32_t index, Cycle now);
  void giveBack(uint32_t output, uint32_t channel, Cycle usable);
  void wake(uint32_t output, Cycle cycle);
  void markAsked(uint32_t output);
  void arrive(uint32_t flight, Cycle now);
  void becomeFront(uint32_t buffer, Cycle now);
  void ask(uint32_t output, uint32_t buffer, Cycle now);
  bool hasPlace(uint32_t output, const Buffer &buffer, Cycle now);
  uint32_t choose(uint32_t output, Cycle now);
  void arbitrate(uint32_t output, Cycle now, NetworkListener &listener);
  void grant(uint32_t output, uint32_t buffer, Cycle now,
             NetworkListener &listener);
  void leave(uint32_t buffer, Cycle now, NetworkListener &listener);
  void countOccupancy(uint32_t buffer, Cycle now);
  uint32_t newFlight();
  bool consistent() const;

  Topology shape;
  const uint32_t linkBytes, hopCycles, vcs, slots;

  CycleWheel wheel;
  std::vector<Flight> packets;
  std::vector<uint32_t> freePackets;
  std::vector<Buffer> buffers; ///< Input × virtual channel.
  std::vector<Output> outputs;
  std::vector<uint32_t> firstBuffer; ///< By router, in `bufferAt`.
  std::vector<uint32_t> bufferAt;    ///< By router and bit.
  std::vector<uint64_t> asking;      ///< Bits of (place × channel), by output.
  std::vector<Cycle> releases;
  std::vector<Places> places_;
  std::vector<uint32_t> sourceCount; ///< Endpoint × class.
  std::vector<uint8_t> watched;
  std::vector<LinkCounters> links;
  std::vector<BufferCounters> counters;
  Cycle current = 0; ///< First cycle not stepped through.
  uint64_t underWay = 0;
  uint64_t injected = 0, copied = 0, ejected = 0, byteHopCount = 0;

  std::vector<uint32_t> items, asked; ///< Within a step.
};

} // namespace tessera::sim::noc

#endif // TESSERA_SIM_NOC_NETWORK_H
