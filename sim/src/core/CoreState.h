//===- CoreState.h - Saving and restoring a core ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_CORESTATE_H
#define TESSERA_SIM_CORE_CORESTATE_H

#include "core/CodeLoader.h"
#include "core/Core.h"
#include "core/DmaEngine.h"
#include "core/MatrixEngine.h"
#include "core/Sequencer.h"
#include "core/VectorEngine.h"

namespace tessera::isa {
template <typename A> void serialize(A &ar, SemaphoreStep &step) {
  tessera::sim::fields(ar, step.sem, step.count);
  if constexpr (A::loading)
    if (step.sem >= maxSemaphores || step.count > maxSemaphoreStep) {
      ar.fail();
      step = {};
    }
}
template <typename A> void serialize(A &ar, KernelRecord &r) {
  tessera::sim::fields(ar, r.text, r.descriptors, r.mapPrograms, r.textBytes,
                       r.numDescriptors, r.mapBytes, r.numArguments);
}
} // namespace tessera::isa

namespace tessera::sim {

template <typename A> void serialize(A &ar, InstructionStatistics &s) {
  fields(ar, s.count, s.issue, s.execution);
}

/// What a kernel was decoded from; it decodes again.
template <typename A>
void serialize(A &ar, std::shared_ptr<const KernelImage> &image) {
  std::vector<uint8_t> text, descriptors, maps;
  bool has = bool(image);
  fields(ar, has);
  if (!has) {
    image.reset();
    return;
  }
  if constexpr (!A::loading)
    text = image->text, descriptors = image->descriptorBytes,
    maps = image->mapBytes;
  fields(ar, text, descriptors, maps);
  if constexpr (A::loading)
    image = KernelImage::decode(std::move(text), std::move(descriptors),
                                std::move(maps));
}

template <typename A> void CoreTask::serialize(A &ar) {
  fields(ar, root, kernel, record, arguments, indexInDispatch, numCores, cores,
         unchangedSince, place.queue, place.packet, place.command);
  sim::serialize(ar, image);
}

template <typename A> void CodeLoader::Place::serialize(A &ar) {
  fields(ar, state, root, kernel, record, since, generation, region, position,
         inFlight, translating, life);
  sim::serialize(ar, image);
  if constexpr (A::loading)
    if (state > State::Loaded || (state != State::Empty && !image))
      ar.fail();
}

template <typename A> void CodeLoader::serialize(A &ar) {
  fields(ar, places, running, upcoming, lastRun, nextFailed, announced, wakeAt);
  if constexpr (A::loading)
    if (running > none || upcoming > none || lastRun >= numPlaces) {
      ar.fail();
      running = upcoming = none;
      lastRun = 0;
    }
}

template <typename A> void QueueEntry::serialize(A &ar) {
  fields(ar, opcode, pc, visible, waits, signals, operands, options, window,
         value, maskA, maskB, indexBase, accumulate, posted, pad, convert,
         transpose, keepWeights, remote, multicast);
  if constexpr (A::loading) {
    isa::Instruction inst;
    inst.opcode = opcode;
    inst.fields = options;
    if (!isa::verify(inst).ok())
      ar.fail();
  }
}

template <typename A> void Core::serialize(A &ar) {
  fields(ar, epoch, isRunning, task, next, taskSpmPeak);
  size_t spmBytes = spm.size(), accBytes = acc.size(),
         count = semaphores.size();
  fields(ar, spm, acc, banks, semaphores, executions, profile, inbox,
         nextMessage, arrivedAtBarrier);
  CoreStatistics &c = counters;
  fields(ar, c.macs, c.instructions, c.spmPeakBytes, c.spmBytesRead,
         c.spmBytesWritten, c.accBytesRead, c.accBytesWritten, c.vectorAluOps,
         c.vectorSfuOps, c.vectorElements, c.drawnIndices);
  fields(ar, *loader, *sequencer, *load, *store);
  for (auto &engine : matrix)
    fields(ar, *engine);
  fields(ar, *vector);
  if constexpr (A::loading)
    if (spm.size() != spmBytes || acc.size() != accBytes ||
        semaphores.size() != count || (isRunning && !task.image) ||
        (next && !next->image))
      ar.fail();
  if constexpr (A::loading)
    for (Semaphore &s : semaphores)
      if (!has(s.lastSignaller) || (s.waiter && !has(*s.waiter))) {
        ar.fail();
        s = {};
      }
}

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_CORESTATE_H
