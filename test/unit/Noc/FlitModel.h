//===- FlitModel.h - A network moved flit by flit ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An independent implementation of docs/timing.md's rules of the network: every
// flit is an object in a buffer or on a wire, every cycle is executed, every
// credit travels. It shares nothing with the network under test but the
// structure of packets; routes come from coordinates.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_NOC_FLITMODEL_H
#define TESSERA_TEST_UNIT_NOC_FLITMODEL_H

#include "NetworkFixture.h"
#include <deque>

namespace tessera::sim::noc::test {

class FlitModel {
public:
  FlitModel(const Architecture &arch, Cycle serviceCycles);

  /// Sends all and runs until everything has come.
  Deliveries run(std::vector<Traffic> traffic);
  /// A cycle in three parts: what comes in it, and where to; what is sent in
  /// it; then everything moves, and the cycle is over.
  std::vector<std::pair<Packet, uint32_t>> arrive();
  void send(const Packet &packet);
  /// Messages of an endpoint that have not begun to leave.
  size_t queued(uint32_t endpoint, TrafficClass traffic) const;
  void move();
  Cycle cycles() const { return now; }

private:
  struct Message {
    Packet packet;
    uint32_t flits = 0, channel = 0;
    std::vector<uint32_t> cores; ///< Of a multicast, in this copy.
  };
  struct Flit {
    std::shared_ptr<Message> message;
    uint32_t number = 0;
    Cycle due = 0; ///< On a wire: when it comes.
  };
  struct Buffer;
  /// A link or an endpoint's port, sending one flit a cycle.
  struct Output {
    uint32_t router = 0;
    uint32_t endpoint = none;
    std::vector<Buffer *> next; ///< By virtual channel; of a link.
    std::vector<uint32_t> credits;
    std::vector<std::deque<Cycle>> returning;
    std::deque<Flit> wire;
    Buffer *sending = nullptr; ///< A message that holds it.
    std::shared_ptr<Message> copy;
    uint32_t sent = 0;
    uint32_t turn = 0;
    bool ringLink = false;
    int direction = 0; ///< Of a ring's link: +1, -1.
  };
  struct Buffer {
    uint32_t router = 0, number = 0; ///< Among its router's.
    uint32_t channel = 0;
    Output *feeder = nullptr; ///< Or an endpoint.
    int direction = 0;        ///< Of the ring's link that feeds it.
    std::deque<std::shared_ptr<Message>> messages;
    std::deque<uint32_t> present; ///< Flits of each that have come.
    /// Ways of the front message that have not begun, and flits that have gone
    /// each of those that have.
    std::map<Output *, std::vector<uint32_t>> asks;
    std::map<Output *, uint32_t> going;
    bool frontKnown = false;
  };

  std::map<Output *, std::vector<uint32_t>> ways(const Buffer &buffer,
                                                 const Message &message);
  Output *toEndpoint(uint32_t endpoint) { return ejections[endpoint]; }
  Output *link(uint32_t router, int dx, int dy);
  bool takesAll(uint32_t endpoint) const { return endpoint <= numCores; }

  const Architecture arch;
  Cycle serviceCycles, now = 0;
  uint32_t numCores, vcs, slots, hop;
  NocTopology topology;
  std::vector<uint32_t> routerOf;
  std::deque<Output> outputs;
  std::deque<Buffer> buffers;
  std::vector<std::vector<Buffer *>> ofRouter;
  std::map<std::tuple<uint32_t, int, int>, Output *> links;
  std::vector<Output *> ejections;
  std::vector<std::vector<Buffer *>> sources; ///< Endpoint, channel.
  std::vector<Cycle> memoryFree;
};

} // namespace tessera::sim::noc::test

#endif // TESSERA_TEST_UNIT_NOC_FLITMODEL_H
