//===- CodeLoader.cpp - Loading a kernel into a core ------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/CodeLoader.h"

namespace tessera::sim {

CodeLoader::CodeLoader(Core &core)
    : Unit(core, Engine::Sequencer), client(core.services.mmu.addClient()) {}

CodeLoader::Region CodeLoader::regionAt(unsigned index) const {
  const isa::KernelRecord &r = core.task.record;
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

void CodeLoader::start() {
  region = 0, position = 0, inFlight = 0;
  translating = false, active = true;
  wake(core.services.now());
}

void CodeLoader::reset() {
  active = false;
  forgetWake();
}

void CodeLoader::step(Cycle now) {
  if (!active || translating)
    return;
  while (region < numRegions && position >= regionAt(region).bytes)
    ++region, position = 0;
  if (region == numRegions) {
    if (inFlight == 0) {
      active = false;
      core.codeLoaded();
    }
    return;
  }
  const DmaConfig &dma = core.services.arch.dma;
  if (inFlight >= dma.outstanding)
    return;
  Region r = regionAt(region);
  VirtualRequest request;
  request.root = core.task.root;
  request.address = r.address + position;
  uint64_t toBoundary = dma.burstBytes - request.address % dma.burstBytes;
  request.bytes = uint32_t(std::min(toBoundary, r.bytes - position));
  request.access = r.access;
  request.client = client;
  request.node = core.services.noc.coreNode(core.index);
  request.account = core.index;
  request.reply = {self, BurstDone, core.epoch, request.address};
  request.translatedCode = Translated;
  position += request.bytes;
  ++inFlight;
  translating = !core.services.mmu.request(request);
  if (!translating)
    wake(now + 1);
}

void CodeLoader::handle(const Event &event) {
  if (!accept(event))
    return;
  Cycle now = core.services.now();
  if (event.code == Translated) {
    translating = false;
    wake(now);
    return;
  }
  if (event.fault)
    return core.fault(FaultCause(event.fault), 0, event.payload);
  --inFlight;
  wake(now);
}

} // namespace tessera::sim
