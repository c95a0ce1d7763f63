//===- Noc.cpp - The network on chip ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "noc/Noc.h"

namespace tessera::sim {

Noc::Noc(const Architecture &arch, const Clock &coreClock, EventQueue &events)
    : coreClock(coreClock), clock(arch.noc.clockGhz),
      dramClock(1.0 / arch.dram.tckNs), events(events), self(events.add(*this)),
      network(arch), coreReceivers(std::max(1u, arch.cores.count)) {}

void Noc::schedule() {
  Cycle next = network.nextStep();
  if (next >= scheduled)
    return;
  scheduled = next;
  Event event;
  event.time = clock.at(next);
  event.phase = Phase::Network;
  event.component = self;
  events.post(event);
}

void Noc::handle(const Event &) {
  Cycle now = clock.floor(events.now());
  if (now != scheduled)
    return; // An earlier step took its place.
  scheduled = noc::Network::never;
  network.step(now, *this);
  schedule();
}

void Noc::inject(noc::Packet &packet, const Reply &reply, Phase phase,
                 Time time) {
  packet.component = reply.component;
  packet.code = reply.code;
  packet.epoch = reply.epoch;
  packet.payload = reply.payload;
  packet.phase = uint8_t(phase);
  network.inject(packet, clock.ceil(std::max(time, events.now())));
  schedule();
}

void Noc::send(uint32_t from, uint32_t to, Class traffic, uint32_t bytes,
               const Reply &reply, Phase phase, Time time) {
  noc::Packet packet;
  packet.source = from;
  packet.destination = to;
  packet.traffic = traffic;
  packet.bytes = bytes;
  inject(packet, reply, phase, time);
}

void Noc::multicast(uint32_t from, const Rectangle &cores, Class traffic,
                    uint32_t bytes, const Reply &reply, Phase phase,
                    Time time) {
  assert(!cores.empty() && shape().hasCores(cores) && "no cores");
  noc::Packet packet;
  packet.source = from;
  packet.traffic = traffic;
  packet.bytes = bytes;
  packet.cores = cores;
  inject(packet, reply, phase, time);
}

void Noc::delivers(const noc::Packet &packet, uint32_t endpoint, Cycle cycle) {
  const Clock &domain = shape().isMemory(endpoint) ? dramClock : coreClock;
  Event event;
  event.time = domain.at(domain.ceil(clock.at(cycle)));
  event.phase = Phase(packet.phase);
  event.component = packet.component == receivers ? coreReceivers[endpoint]
                                                  : packet.component;
  event.code = packet.code;
  event.epoch = packet.epoch;
  event.payload = packet.payload;
  event.detail = endpoint;
  events.post(event);
}

void Noc::whenAdvanced(uint32_t endpoint, Class traffic, const Reply &reply) {
  waiters.push_back({endpoint, traffic, reply});
  network.watch(endpoint, traffic);
}

void Noc::sourceAdvanced(uint32_t endpoint, Class traffic) {
  std::erase_if(waiters, [&](const Waiter &w) {
    if (w.endpoint != endpoint || w.traffic != traffic)
      return false;
    Event event;
    event.time = coreClock.at(coreClock.floor(events.now()) + 1);
    event.phase = Phase::Start;
    event.component = w.reply.component;
    event.code = w.reply.code;
    event.epoch = w.reply.epoch;
    event.payload = w.reply.payload;
    events.post(event);
    return true;
  });
}

void Noc::release(uint32_t endpoint, Time time) {
  network.release(endpoint, clock.ceil(std::max(time, events.now())));
  schedule();
}

bool Noc::consistent() const {
  // Receivers are cores, which only multicasts are sure to come to.
  return network.all([&](const noc::Packet &p) {
    return p.component == receivers ? !p.cores.empty()
                                    : events.knows(p.component);
  }) && std::ranges::all_of(waiters, [&](const Waiter &w) {
           return events.knows(w.reply.component);
         });
}

} // namespace tessera::sim
