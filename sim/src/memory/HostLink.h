//===- HostLink.h - The link to the host ------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A link like PCI Express, in closed form: each direction has a bandwidth, a
// way takes a latency. Writes are posted: they are acknowledged when they are
// on the link. A read's request costs no bandwidth, its data comes back after
// both ways. docs/timing.md, "Host link".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_HOSTLINK_H
#define TESSERA_SIM_MEMORY_HOSTLINK_H

#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <algorithm>

namespace tessera::sim {

struct HostLinkCounters {
  uint64_t requests = 0, bytes = 0;
  uint64_t busyFs = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, requests, bytes, busyFs);
  }
};

class HostLink {
public:
  explicit HostLink(const HostConfig &host)
      : latency(Time(host.latencyNs) * femtosecondsPerNanosecond),
        fsPerByte(double(femtosecondsPerNanosecond) / host.gbps) {}

  struct Service {
    Time start = 0; ///< It needs no room at the link any more.
    Time ready = 0; ///< The answer is there.
  };
  /// A request that came to the link at `now`, after all earlier ones.
  Service access(bool write, uint64_t bytes, Time now) {
    auto service = Time(double(bytes) * fsPerByte + 0.5);
    Direction &d = directions[write ? 0 : 1];
    Time begin = std::max(d.free, write ? now : now + 2 * latency);
    d.free = begin + service;
    ++d.count.requests;
    d.count.bytes += bytes;
    d.count.busyFs += service;
    return {write ? begin : now, d.free};
  }

  const HostLinkCounters &toHost() const { return directions[0].count; }
  const HostLinkCounters &toDevice() const { return directions[1].count; }

  template <typename A> void serialize(A &ar) {
    for (Direction &d : directions)
      fields(ar, d.free, d.count);
  }

private:
  struct Direction {
    Time free = 0;
    HostLinkCounters count;
  };
  Time latency;
  double fsPerByte;
  std::array<Direction, 2> directions; ///< Device to host, host to device.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_MEMORY_HOSTLINK_H
