//===- CopyEngine.cpp - The command processor's own DMA ---------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/CopyEngine.h"
#include "kernel/Exploration.h"
#include "tessera/Support/Bytes.h"
#include <algorithm>

namespace tessera::sim {

CopyEngine::CopyEngine(Services &services, CopyListener &listener,
                       uint32_t node)
    : services(services), listener(listener), node(node),
      client(services.mmu.addClient()), self(services.events.add(*this)) {}

void CopyEngine::reset() {
  if (position)
    trace(TraceEvent::Kind::CopyEngineEnd);
  ++epoch;
  jobs.clear();
  position = written = 0;
  chunks.clear();
  freeChunks.clear();
  translating = false;
  stepAt = never;
  stalledUntil = 0;
  movedBytes.clear();
}

/// Cycles before an idle engine begins: 0, or up to 255 when exploring, so that
/// later packets can overtake.
Cycle CopyEngine::exploredDelay() const {
  if (!services.options.explore)
    return 0;
  return exploredChoice(services.options.seed, services.events.now(), self) %
         256;
}

void CopyEngine::wake(Cycle cycle) {
  if (stepAt <= cycle)
    return;
  stepAt = cycle;
  Event event;
  event.time = services.clock.at(cycle);
  event.phase = Phase::Start;
  event.component = self;
  event.code = Step;
  event.epoch = epoch;
  services.events.post(event);
}

void CopyEngine::start(const CopyJob &job) {
  jobs.push_back(job);
  jobs.back().since = services.now();
  if (jobs.size() == 1) {
    position = written = 0;
    wake(services.now() + exploredDelay());
  }
}

/// Puts the job that runs next first. The others keep their order of arrival.
/// Nothing orders jobs that are under way together: when exploring, the seed
/// chooses.
void CopyEngine::choose() {
  if (services.options.explore) {
    uint64_t choice =
        exploredChoice(services.options.seed, services.events.now(), self);
    std::swap(jobs.front(), jobs[(choice >> 32) % jobs.size()]);
    return;
  }
  auto effective = [&](const CopyJob &job) {
    return job.priority +
           (services.now() - job.since) / services.arch.cp.ageing;
  };
  auto best = std::max_element(jobs.begin(), jobs.end(),
                               [&](const CopyJob &a, const CopyJob &b) {
                                 return effective(a) < effective(b);
                               });
  std::rotate(jobs.begin(), best, best + 1);
}

bool CopyEngine::request(bool write, uint32_t chunk) {
  const CopyJob &job = jobs.front();
  VirtualRequest r;
  r.root = job.root;
  r.address = (write ? job.destination : job.source) + chunks[chunk].offset;
  r.bytes = chunks[chunk].bytes;
  r.access = write ? Access::Write : Access::Read;
  r.client = client;
  r.node = node;
  r.account = services.arch.cores.count;
  r.reply = {self, uint8_t(write ? WriteDone : ReadDone), epoch, chunk};
  r.translatedCode = Translated;
  return services.mmu.request(r);
}

void CopyEngine::step() {
  Cycle now = services.now();
  if (jobs.empty() || translating)
    return;
  if (now < stalledUntil)
    return wake(stalledUntil);
  if (position == 0 && services.options.explore)
    choose(); // Among those that came meanwhile as well.
  const CopyJob &job = jobs.front();
  const DmaConfig &dma = services.arch.dma;
  if (position >= job.bytes)
    return;
  uint32_t chunk;
  if (!freeChunks.empty()) {
    chunk = freeChunks.back();
    freeChunks.pop_back();
  } else if (chunks.size() < std::max(1u, dma.outstanding)) {
    chunk = uint32_t(chunks.size());
    chunks.emplace_back();
  } else {
    return;
  }
  auto toBoundary = [&](uint64_t address) {
    return dma.burstBytes - (address + position) % dma.burstBytes;
  };
  uint64_t bytes = std::min(job.bytes - position, toBoundary(job.destination));
  if (!job.fill)
    bytes = std::min(bytes, toBoundary(job.source));
  chunks[chunk] = {position, uint32_t(bytes)};
  if (position == 0)
    trace(TraceEvent::Kind::CopyEngineBegin);
  position += bytes;
  translating = !request(job.fill, chunk);
  if (!translating)
    wake(now + 1);
}

FaultCause CopyEngine::move(uint64_t &address) {
  const CopyJob &job = jobs.front();
  std::vector<uint8_t> buffer;
  constexpr uint64_t part = 1 << 20;
  for (uint64_t at = 0; at < job.bytes; at += part) {
    uint64_t bytes = std::min(part, job.bytes - at);
    buffer.resize(bytes);
    FaultCause fault = FaultCause::None;
    if (job.fill) {
      for (uint64_t i = 0; i < bytes; ++i)
        buffer[i] = uint8_t(job.pattern >> (8 * (i % 4)));
    } else {
      fault =
          services.memory.readVirtual(job.root, job.source + at, buffer.data(),
                                      bytes, Access::Read, address);
    }
    if (fault == FaultCause::None)
      fault = services.memory.writeVirtual(job.root, job.destination + at,
                                           buffer.data(), bytes, address);
    if (fault != FaultCause::None)
      return fault;
  }
  size_t queue = queueOf(job);
  if (movedBytes.size() <= queue)
    movedBytes.resize(queue + 1);
  movedBytes[queue] += job.bytes;
  return FaultCause::None;
}

void CopyEngine::trace(TraceEvent::Kind kind) const {
  if (!services.observer)
    return;
  const CopyJob &job = jobs.front();
  TraceEvent event;
  event.kind = kind;
  event.opcode = job.fill;
  event.id = queueOf(job);
  event.pc = job.packet;
  event.value = job.bytes;
  event.timeFs = services.events.now();
  services.observer->event(event);
}

void CopyEngine::finish(FaultCause fault, uint64_t address) {
  trace(TraceEvent::Kind::CopyEngineEnd);
  CopyJob job = jobs.front();
  jobs.pop_front();
  next();
  listener.copyDone(job, fault, address);
}

void CopyEngine::drop(uint32_t queue) {
  if (jobs.empty())
    return;
  bool runs = queueOf(jobs.front()) == queue;
  if (runs && position)
    trace(TraceEvent::Kind::CopyEngineEnd);
  std::erase_if(jobs,
                [&](const CopyJob &job) { return queueOf(job) == queue; });
  if (runs)
    next();
}

void CopyEngine::next() {
  ++epoch; // chunks of the last job that are still under way do not matter
  position = written = 0;
  chunks.clear();
  freeChunks.clear();
  translating = false;
  stepAt = never;
  if (!jobs.empty()) {
    if (!services.options.explore) // Else at its first step.
      choose();
    wake(services.now());
  }
}

void CopyEngine::handle(const Event &event) {
  if (event.epoch != epoch || jobs.empty())
    return;
  Cycle now = services.now();
  switch (event.code) {
  case Step:
    if (stepAt != now)
      return;
    stepAt = never;
    return step();
  case Translated:
    translating = false;
    return wake(now);
  default:
    break;
  }
  auto chunk = uint32_t(event.payload);
  if (event.fault) {
    const CopyJob &job = jobs.front();
    return finish(FaultCause(event.fault),
                  (event.code == ReadDone ? job.source : job.destination) +
                      chunks[chunk].offset);
  }
  if (event.code == ReadDone) {
    (void)request(true, chunk); // a missing translation delays this chunk alone
    return;
  }
  written += chunks[chunk].bytes;
  freeChunks.push_back(chunk);
  if (written == jobs.front().bytes) {
    uint64_t address = 0;
    FaultCause fault = move(address);
    return finish(fault, address);
  }
  wake(now);
}

} // namespace tessera::sim
