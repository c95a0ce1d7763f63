//===- Noc.h - The network on chip ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network (Network.h) in the simulator's time. Whoever sends says what
// event is to come of it at the destination: memories get theirs at an edge of
// the DRAM clock, all others at one of the core clock. In a cycle of its own
// the network does its step after everything else of that moment, so that all
// that is sent in a cycle takes part in that cycle's arbitration.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_NOC_NOC_H
#define TESSERA_SIM_NOC_NOC_H

#include "kernel/EventQueue.h"
#include "noc/Network.h"

namespace tessera::sim {

/// Whom to tell, and how.
struct Reply {
  ComponentId component = 0;
  uint8_t code = 0;
  uint32_t epoch = 0;
  uint64_t payload = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, component, code, epoch, payload);
  }
};

class Noc final : public Component, noc::NetworkListener {
public:
  using Class = noc::TrafficClass;
  using Rectangle = noc::Rectangle;

  Noc(const Architecture &arch, const Clock &coreClock, EventQueue &events);

  // Endpoints.
  uint32_t coreNode(uint32_t core) const { return shape().core(core); }
  uint32_t memoryNode(uint32_t channel) const {
    return shape().channel(channel);
  }
  uint32_t sharedNode(uint32_t slice) const { return shape().slice(slice); }
  uint32_t cpNode() const { return shape().commandProcessor(); }
  uint32_t hostNode() const { return shape().host(); }

  /// Sends `bytes` of payload (0: a message that is all header) now, or at
  /// `time` if that is later. `reply` comes as an event of `phase`; its
  /// `detail` is the endpoint.
  void send(uint32_t from, uint32_t to, Class traffic, uint32_t bytes,
            const Reply &reply, Phase phase = Phase::Complete, Time time = 0);
  /// The same to every core of a rectangle, along a tree; an event for each, to
  /// the core's receiver if `reply` is for `receivers`.
  void multicast(uint32_t from, const Rectangle &cores, Class traffic,
                 uint32_t bytes, const Reply &reply,
                 Phase phase = Phase::Complete, Time time = 0);

  /// Stands for the component that a core has named.
  static constexpr ComponentId receivers = 0xffff;
  void setReceiver(uint32_t core, ComponentId component) {
    coreReceivers[core] = component;
  }

  /// Whether an endpoint's queue into the network has a place. Those whose
  /// requests are few by themselves need not ask.
  bool accepts(uint32_t endpoint, Class traffic) const {
    return network.queued(endpoint, traffic) < network.places();
  }
  uint32_t queued(uint32_t endpoint, Class traffic) const {
    return network.queued(endpoint, traffic);
  }
  /// Sends `reply` as an event of phase Start at the first edge of the core
  /// clock after the endpoint's queue has next advanced.
  void whenAdvanced(uint32_t endpoint, Class traffic, const Reply &reply);
  /// A memory or a slice has room for another request from `time` on.
  void release(uint32_t endpoint, Time time);

  const noc::Network &state() const { return network; }
  uint64_t byteHops() const { return network.byteHops(); }

  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    fields(ar, network, scheduled, waiters);
    if constexpr (A::loading)
      if (!ar.ok() || !consistent())
        ar.fail();
  }

private:
  struct Waiter {
    uint32_t endpoint = 0;
    Class traffic = Class::Request;
    Reply reply;
    template <typename A> void serialize(A &ar) {
      fields(ar, endpoint, traffic, reply);
    }
  };

  const noc::Topology &shape() const { return network.topology(); }
  void inject(noc::Packet &packet, const Reply &reply, Phase phase, Time time);
  void schedule();
  void delivers(const noc::Packet &packet, uint32_t endpoint,
                Cycle cycle) override;
  void sourceAdvanced(uint32_t endpoint, Class traffic) override;
  bool consistent() const;

  const Clock &coreClock;
  const Clock clock, dramClock;
  EventQueue &events;
  const ComponentId self;
  noc::Network network;
  Cycle scheduled = noc::Network::never;
  std::vector<Waiter> waiters;
  std::vector<ComponentId> coreReceivers;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_NOC_NOC_H
