//===- FlitModel.cpp - A network moved flit by flit -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlitModel.h"

namespace tessera::sim::noc::test {

FlitModel::FlitModel(const Architecture &arch, Cycle serviceCycles)
    : arch(arch), serviceCycles(serviceCycles), numCores(arch.cores.count),
      vcs(arch.noc.vcs), slots(arch.noc.buffers), hop(arch.noc.hopCycles),
      topology(arch.noc.topology) {
  uint32_t x = arch.cores.meshX, y = arch.cores.meshY;
  bool one = topology == NocTopology::Crossbar;
  uint32_t routers = one ? 1 : numCores;
  ofRouter.resize(routers);
  auto addBuffers = [&](uint32_t router) {
    std::vector<Buffer *> made;
    for (uint32_t c = 0; c != vcs; ++c) {
      Buffer &b = buffers.emplace_back();
      b.router = router;
      b.channel = c;
      b.number = uint32_t(ofRouter[router].size());
      ofRouter[router].push_back(&b);
      made.push_back(&b);
    }
    return made;
  };
  auto addLink = [&](uint32_t from, uint32_t to, int dx, int dy) {
    Output &o = outputs.emplace_back();
    o.router = from;
    o.credits.assign(vcs, slots);
    o.returning.resize(vcs);
    o.next = addBuffers(to);
    o.ringLink = topology == NocTopology::Ring;
    o.direction = dx;
    for (Buffer *b : o.next)
      b->feeder = &o, b->direction = dx;
    links[{from, dx, dy}] = &o;
  };
  for (uint32_t r = 0; r != routers && !one; ++r) {
    if (topology == NocTopology::Ring) {
      if (routers > 1) {
        addLink(r, (r + routers - 1) % routers, -1, 0);
        addLink(r, (r + 1) % routers, 1, 0);
      }
      continue;
    }
    if (r % x > 0)
      addLink(r, r - 1, -1, 0);
    if (r % x + 1 < x)
      addLink(r, r + 1, 1, 0);
    if (r / x > 0)
      addLink(r, r - x, 0, -1);
    if (r / x + 1 < y)
      addLink(r, r + x, 0, 1);
  }
  std::vector<uint32_t> nodes;
  for (uint32_t i = 0; i != numCores; ++i)
    nodes.push_back(i);
  nodes.push_back(arch.noc.cpPort);
  nodes.push_back(arch.noc.hostPort);
  for (uint32_t i = 0; i != arch.dram.channels; ++i)
    nodes.push_back(arch.noc.memoryPorts[i % arch.noc.memoryPorts.size()]);
  for (uint32_t i = 0; i != arch.shared.slices; ++i)
    nodes.push_back(arch.noc.sharedPorts[i % arch.noc.sharedPorts.size()]);
  for (uint32_t e = 0; e != nodes.size(); ++e) {
    routerOf.push_back(one ? 0 : nodes[e]);
    sources.push_back(addBuffers(routerOf[e]));
    Output &o = outputs.emplace_back();
    o.router = routerOf[e];
    o.endpoint = e;
    o.credits.assign(vcs, slots);
    o.returning.resize(vcs);
    ejections.push_back(&o);
  }
  memoryFree.assign(nodes.size(), 0);
}

FlitModel::Output *FlitModel::link(uint32_t router, int dx, int dy) {
  return links.at({router, dx, dy});
}

std::map<FlitModel::Output *, std::vector<uint32_t>>
FlitModel::ways(const Buffer &buffer, const Message &message) {
  std::map<Output *, std::vector<uint32_t>> result;
  uint32_t at = buffer.router, x = arch.cores.meshX;
  uint32_t routers = uint32_t(ofRouter.size());
  std::vector<uint32_t> endpoints = message.cores;
  if (endpoints.empty())
    endpoints = {message.packet.destination};
  for (uint32_t e : endpoints) {
    uint32_t to = routerOf[e];
    Output *way;
    if (to == at) {
      way = toEndpoint(e);
    } else if (topology == NocTopology::Ring) {
      // In the ring the direction is chosen once.
      uint32_t up = (to + routers - at) % routers;
      int direction = buffer.direction    ? buffer.direction
                      : 2 * up <= routers ? 1
                                          : -1;
      way = link(at, direction, 0);
    } else if (to % x != at % x) {
      way = link(at, to % x < at % x ? -1 : 1, 0);
    } else {
      way = link(at, 0, to < at ? -1 : 1);
    }
    result[way].push_back(e);
  }
  return result;
}

void FlitModel::send(const Packet &packet) {
  auto m = std::make_shared<Message>();
  m->packet = packet;
  m->flits = std::max(1u, (packet.bytes + arch.noc.linkBytes - 1) /
                              arch.noc.linkBytes);
  uint32_t half = vcs / 2, to = packet.destination;
  m->channel = packet.traffic == TrafficClass::Request
                   ? to % half
                   : half + to % (vcs - half);
  const Rectangle &r = packet.cores;
  for (uint32_t y = r.y; y < uint32_t(r.y) + r.height; ++y)
    for (uint32_t x = r.x; x < uint32_t(r.x) + r.width; ++x)
      m->cores.push_back(y * arch.cores.meshX + x);
  Buffer *b = sources[packet.source][m->channel];
  b->messages.push_back(m);
  b->present.push_back(m->flits);
}

size_t FlitModel::queued(uint32_t endpoint, TrafficClass traffic) const {
  size_t count = 0;
  for (uint32_t channel = 0; channel != vcs; ++channel) {
    if ((channel < vcs / 2) != (traffic == TrafficClass::Request))
      continue;
    const Buffer &b = *sources[endpoint][channel];
    bool leaves = b.frontKnown && b.asks.empty();
    count += b.messages.size() - leaves;
  }
  return count;
}

std::vector<std::pair<Packet, uint32_t>> FlitModel::arrive() {
  std::vector<std::pair<Packet, uint32_t>> came;
  for (Output &o : outputs)
    for (uint32_t c = 0; c != vcs; ++c)
      while (!o.returning[c].empty() && o.returning[c].front() <= now) {
        o.returning[c].pop_front();
        ++o.credits[c];
      }
  for (Output &o : outputs)
    for (; !o.wire.empty() && o.wire.front().due == now; o.wire.pop_front()) {
      const Flit &flit = o.wire.front();
      uint32_t channel = flit.message->channel;
      if (o.endpoint == none) {
        Buffer *b = o.next[channel];
        if (flit.number == 0) {
          b->messages.push_back(flit.message);
          b->present.push_back(0);
          EXPECT_LE(b->messages.size(), slots) << "a buffer overflows";
        }
        ++b->present.back();
        continue;
      }
      if (flit.number + 1 != flit.message->flits)
        continue;
      const Packet &p = flit.message->packet;
      came.push_back({p, o.endpoint});
      if (p.traffic == TrafficClass::Request && !takesAll(o.endpoint)) {
        Cycle &free = memoryFree[o.endpoint];
        free = std::max(free, now) + serviceCycles;
        o.returning[channel].push_back(free + hop);
      }
    }
  return came;
}

void FlitModel::move() {
  for (Buffer &b : buffers)
    if (!b.messages.empty() && !b.frontKnown) {
      b.frontKnown = true;
      b.asks = ways(b, *b.messages.front());
    }
  for (Output &o : outputs) {
    if (o.sending)
      continue;
    auto &inputs = ofRouter[o.router];
    for (uint32_t i = 0; i != inputs.size(); ++i) {
      Buffer *b = inputs[(o.turn + i) % inputs.size()];
      auto ask = b->asks.find(&o);
      if (ask == b->asks.end())
        continue;
      const Message &m = *b->messages.front();
      bool counts =
          o.endpoint == none ||
          (m.packet.traffic == TrafficClass::Request && !takesAll(o.endpoint));
      uint32_t needed = o.ringLink && !b->feeder ? 2 : 1;
      if (counts && o.credits[m.channel] < needed)
        continue;
      if (counts)
        --o.credits[m.channel];
      o.copy = std::make_shared<Message>(m);
      if (!m.cores.empty())
        o.copy->cores = ask->second;
      o.sending = b;
      o.sent = 0;
      o.turn = (b->number + 1) % uint32_t(inputs.size());
      b->asks.erase(ask);
      b->going[&o] = 0;
      break;
    }
  }
  for (Output &o : outputs) {
    if (!o.sending)
      continue;
    Buffer *b = o.sending;
    EXPECT_GT(b->present.front(), o.sent) << "a flit that has not come";
    o.wire.push_back({o.copy, o.sent, now + hop});
    if (++o.sent != o.copy->flits)
      continue;
    o.sending = nullptr;
    b->going.erase(&o);
    if (!b->asks.empty() || !b->going.empty())
      continue;
    if (b->feeder)
      b->feeder->returning[b->channel].push_back(now + hop);
    b->messages.pop_front();
    b->present.pop_front();
    b->frontKnown = false;
  }
  ++now;
}

Deliveries FlitModel::run(std::vector<Traffic> traffic) {
  std::deque<Traffic> coming(traffic.begin(), traffic.end());
  Deliveries deliveries;
  size_t expected = 0, came = 0;
  for (const Traffic &t : traffic) {
    const Rectangle &r = t.packet.cores;
    expected += r.empty() ? 1 : size_t(r.width) * r.height;
  }
  while (came != expected && now != 1'000'000) {
    for (const auto &[packet, endpoint] : arrive()) {
      ++came;
      deliveries[{packet.payload, endpoint}] = now;
    }
    for (; !coming.empty() && coming.front().cycle <= now; coming.pop_front())
      send(coming.front().packet);
    move();
  }
  EXPECT_EQ(came, expected) << "the model did not finish";
  return deliveries;
}

} // namespace tessera::sim::noc::test
