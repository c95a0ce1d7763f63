//===- CodeLoader.cpp - Loading kernels into a core -------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CodeLoader.h"

namespace tessera::sim {

CodeLoader::CodeLoader(Core &core)
    : core(core), self(core.services.events.add(*this)),
      client(core.services.mmu.addClient()) {}

CodeLoader::Region CodeLoader::regionAt(const isa::KernelRecord &r,
                                        uint32_t index) {
  switch (index) {
  case 0:
    return {r.text, r.textBytes, Access::Execute};
  case 1:
    return {r.descriptors, uint64_t(r.numDescriptors) * isa::descriptorBytes,
            Access::Read};
  default:
    return {r.mapPrograms, r.mapBytes, Access::Read};
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

uint32_t CodeLoader::holding(const CoreTask &task) const {
  if (!task.unchangedSince)
    return none;
  for (uint32_t i = 0; i < numPlaces; ++i) {
    const Place &p = places[i];
    if (p.state != Place::State::Empty && p.root == task.root &&
        p.kernel == task.kernel && p.record == task.record &&
        p.generation == core.services.mmu.generation() &&
        p.since >= *task.unchangedSince)
      return i;
  }
  return none;
}

bool CodeLoader::fitTogether(const isa::KernelRecord &a,
                             const isa::KernelRecord &b) const {
  const Architecture &arch = core.services.arch;
  return uint64_t(a.textBytes) + a.mapBytes + b.textBytes + b.mapBytes <=
             arch.imemBytes &&
         (uint64_t(a.numDescriptors) + b.numDescriptors) *
                 isa::descriptorBytes <=
             arch.tdmemBytes;
}

void CodeLoader::claim(uint32_t index, const CoreTask &task) {
  Place &p = places[index];
  uint32_t life = p.life + 1;
  p = Place();
  p.life = life;
  p.state = Place::State::Loading;
  p.root = task.root;
  p.kernel = task.kernel;
  p.record = task.record;
  p.image = task.image;
  p.since = core.services.now();
  p.generation = core.services.mmu.generation();
}

void CodeLoader::empty(uint32_t index) {
  uint32_t life = places[index].life + 1;
  places[index] = Place();
  places[index].life = life;
}

void CodeLoader::load(uint32_t index, const CoreTask &task) {
  uint32_t other = 1 - index;
  if (places[other].state != Place::State::Empty &&
      !fitTogether(places[other].record, task.record)) {
    if (upcoming == other)
      upcoming = none;
    empty(other);
  }
  claim(index, task);
}

void CodeLoader::placeNext() {
  const CoreTask *next = core.nextTask();
  if (!next || upcoming != none || nextFailed)
    return;
  upcoming = holding(*next);
  if (upcoming == none) {
    uint32_t index = 1 - (running != none ? running : lastRun);
    if (running != none && !fitTogether(places[running].record, next->record))
      return; // when the core's task is over
    load(index, *next);
    upcoming = index;
  }
  wake(core.services.now());
}

//===----------------------------------------------------------------------===//
// Tasks
//===----------------------------------------------------------------------===//

void CodeLoader::begin() {
  running = holding(core.task);
  if (running == none) {
    running = 1 - (upcoming != none ? upcoming : lastRun);
    load(running, core.task);
  } else {
    core.task.image = places[running].image;
  }
  announced = false;
  wake(core.services.now());
  placeNext(); // if it had to give way and there is another place
}

void CodeLoader::beginPrepared() {
  nextFailed = false;
  if (upcoming == none)
    return begin();
  running = upcoming;
  upcoming = none;
  core.task.image = places[running].image;
  announced = false;
  wake(core.services.now());
}

void CodeLoader::prepare() {
  nextFailed = false;
  placeNext();
}

void CodeLoader::dropPrepared() {
  if (upcoming != none && upcoming != running &&
      places[upcoming].state == Place::State::Loading)
    empty(upcoming);
  upcoming = none;
  nextFailed = false;
}

void CodeLoader::end() {
  if (running == none)
    return;
  lastRun = running;
  if (places[running].state == Place::State::Loading && upcoming != running)
    empty(running);
  running = none;
  announced = true;
  placeNext();
}

//===----------------------------------------------------------------------===//
// Bursts
//===----------------------------------------------------------------------===//

void CodeLoader::wake(Cycle cycle) {
  if (wakeAt <= cycle)
    return;
  wakeAt = cycle;
  Event event;
  event.time = core.services.clock.at(cycle);
  event.phase = Phase::Start;
  event.component = self;
  event.code = Step;
  core.services.events.post(event);
}

bool CodeLoader::request(uint32_t index, Cycle now) {
  Place &p = places[index];
  if (p.state != Place::State::Loading || p.translating)
    return false;
  while (p.region < numRegions &&
         p.position >= regionAt(p.record, p.region).bytes)
    ++p.region, p.position = 0;
  if (p.region == numRegions)
    return false;
  const DmaConfig &dma = core.services.arch.dma;
  Region r = regionAt(p.record, p.region);
  VirtualRequest request;
  request.root = p.root;
  request.address = r.address + p.position;
  uint64_t toBoundary = dma.burstBytes - request.address % dma.burstBytes;
  request.bytes = uint32_t(std::min(toBoundary, r.bytes - p.position));
  request.access = r.access;
  request.client = client;
  request.node = core.services.noc.coreNode(core.index);
  request.account = core.index;
  request.reply = {self, uint8_t(BurstDone + index), p.life, request.address};
  request.translatedCode = uint8_t(Translated + index);
  p.position += request.bytes;
  ++p.inFlight;
  p.translating = !core.services.mmu.request(request);
  wake(now + 1);
  return true;
}

void CodeLoader::step(Cycle now) {
  uint32_t inFlight = 0;
  for (Place &p : places) {
    inFlight += p.inFlight;
    if (p.state != Place::State::Loading || p.translating || p.inFlight != 0)
      continue;
    while (p.region < numRegions &&
           p.position >= regionAt(p.record, p.region).bytes)
      ++p.region, p.position = 0;
    if (p.region == numRegions)
      p.state = Place::State::Loaded;
  }
  if (inFlight < core.services.arch.dma.outstanding)
    for (uint32_t index : {running, upcoming})
      if (index != none && request(index, now))
        break;
  if (running != none && !announced &&
      places[running].state == Place::State::Loaded) {
    announced = true;
    core.codeLoaded();
  }
}

void CodeLoader::handle(const Event &event) {
  Cycle now = core.services.now();
  if (event.code == Step) {
    if (now == wakeAt) { // else an earlier request took its place
      wakeAt = ~Cycle(0);
      step(now);
    }
    return;
  }
  bool translated = event.code >= Translated;
  uint32_t index = event.code - (translated ? Translated : BurstDone);
  if (index >= numPlaces || places[index].life != event.epoch)
    return;
  Place &p = places[index];
  if (translated) {
    p.translating = false;
  } else if (event.fault) {
    // What is loaded ahead may fail: the task may never begin.
    bool ofTask = index == running, ofNext = index == upcoming;
    empty(index);
    if (ofNext) {
      upcoming = none;
      nextFailed = true;
    }
    if (ofTask)
      return core.fault(FaultCause(event.fault), 0, event.payload);
  } else {
    --p.inFlight;
  }
  wake(now);
}

} // namespace tessera::sim
