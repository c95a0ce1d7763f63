//===- TrafficSampler.cpp - Traffic over time, for traces -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrafficSampler.h"

namespace tessera::sim {

static NetworkPlace placeOf(const noc::Topology &shape,
                            const noc::Topology::Output &output) {
  using Kind = NetworkPlace::Kind;
  if (output.endpoint == noc::none)
    return {Kind::Router, shape.inputs()[output.input].router};
  uint32_t endpoint = output.endpoint;
  if (endpoint < shape.cores())
    return {Kind::Core, endpoint};
  if (endpoint == shape.commandProcessor())
    return {Kind::CommandProcessor, 0};
  if (endpoint == shape.host())
    return {Kind::Host, 0};
  if (shape.isMemory(endpoint))
    return {Kind::Channel, endpoint - shape.channel(0)};
  return {Kind::Slice, endpoint - shape.slice(0)};
}

void TrafficSampler::restart(Time now) {
  sources.clear();
  for (uint32_t i = 0; i != memory.channelCount(); ++i) {
    Source source;
    source.event.kind = TraceEvent::Kind::ChannelRate;
    source.event.id = i;
    sources.push_back(source);
  }
  const noc::Topology &shape = noc.state().topology();
  for (const noc::Topology::Output &output : shape.outputs()) {
    Source source;
    source.event.kind = TraceEvent::Kind::LinkRate;
    source.event.core = output.router;
    source.event.id = placeOf(shape, output).code();
    sources.push_back(source);
  }
  for (size_t i = 0; i != sources.size(); ++i)
    sources[i].bytes = bytesOf(sources[i], i);
  interval = firstInterval;
  samples = 0;
  last = now;
  due = clock.at(clock.floor(now) + interval);
}

uint64_t TrafficSampler::bytesOf(const Source &source, size_t index) const {
  if (source.event.kind == TraceEvent::Kind::ChannelRate) {
    const dram::ChannelCounters &c = memory.channel(uint32_t(index)).counters();
    return (c.reads + c.writes) * memory.atomSize();
  }
  return noc.state().linkCounters()[index - memory.channelCount()].bytes;
}

void TrafficSampler::sampleTo(Time next, TraceObserver &observer) {
  sample(due, observer);
  nextInterval();
  // Of a pause the first sample tells; what follows is the same.
  if (next < due)
    return;
  sample(due, observer);
  nextInterval();
  if (next < due)
    return;
  Time period = clock.at(interval);
  last += (next - last) / period * period;
  due = last + period;
}

void TrafficSampler::sample(Time at, TraceObserver &observer, bool always) {
  for (size_t i = 0; i != sources.size(); ++i) {
    Source &source = sources[i];
    uint64_t bytes = bytesOf(source, i);
    // Megabytes a second are bytes a femtosecond, times 10⁹.
    auto rate = uint64_t(__uint128_t(bytes - source.bytes) * 1'000'000'000 /
                         (at - last));
    source.bytes = bytes;
    if (rate == source.rate && !(always && source.seen))
      continue;
    source.seen = true;
    source.rate = rate;
    source.event.value = rate;
    source.event.timeFs = at;
    observer.event(source.event);
  }
  last = at;
}

void TrafficSampler::nextInterval() {
  if (++samples == samplesOfAnInterval) {
    samples = 0;
    interval *= 2;
  }
  due = last + clock.at(interval);
}

/// The intervals go on as they were: this one is in two parts.
void TrafficSampler::stop(Time now, TraceObserver &observer) {
  if (now > last)
    sample(now, observer, true);
}

} // namespace tessera::sim
