//===- CopyEngine.h - The command processor's own DMA -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Executes copy and fill packets, one after the other: of those that wait the
// one of highest priority, which grows by one with every cp.ageing cycles; the
// oldest of equals. In chunks that cross no burst boundary on either side: a
// chunk a cycle is read, then written, at most dma.outstanding under way. The
// bytes move when the last write is acknowledged.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CP_COPYENGINE_H
#define TESSERA_SIM_CP_COPYENGINE_H

#include "core/Core.h"

namespace tessera::sim {

struct CopyJob {
  uint64_t slot = 0;   ///< The packet, for whoever asked.
  uint32_t packet = 0; ///< Its identifier, for traces.
  uint64_t priority = 0;
  Cycle since = 0; ///< When it was handed over.
  uint64_t root = 0;
  uint64_t destination = 0, source = 0, bytes = 0;
  uint32_t pattern = 0;
  bool fill = false;
  template <typename A> void serialize(A &ar) {
    fields(ar, slot, packet, priority, since, root, destination, source, bytes,
           pattern, fill);
  }
};

class CopyListener {
public:
  virtual ~CopyListener() = default;
  /// `fault` None: done.
  virtual void copyDone(const CopyJob &job, FaultCause fault,
                        uint64_t address) = 0;
};

class CopyEngine final : public Component {
public:
  CopyEngine(Services &services, CopyListener &listener, uint32_t node);

  void start(const CopyJob &job);
  /// A queue's jobs end where they are; nobody is told.
  void drop(uint32_t queue);
  /// Nothing more is issued before `cycle`.
  void stall(Cycle cycle) { stalledUntil = cycle; }
  /// Bytes moved for a queue since the device's reset.
  uint64_t moved(uint32_t queue) const {
    return queue < movedBytes.size() ? movedBytes[queue] : 0;
  }
  void reset();
  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    fields(ar, jobs, epoch, position, chunks, written, freeChunks, translating,
           stepAt, stalledUntil, movedBytes);
    if constexpr (A::loading)
      for (uint32_t c : freeChunks)
        if (c >= chunks.size())
          ar.fail();
  }

private:
  enum Code : uint8_t { Step, ReadDone, WriteDone, Translated };
  struct Chunk {
    uint64_t offset = 0;
    uint32_t bytes = 0;
    template <typename A> void serialize(A &ar) { fields(ar, offset, bytes); }
  };

  void wake(Cycle cycle);
  void choose();
  void step();
  void trace(TraceEvent::Kind kind) const;
  Cycle exploredDelay() const;
  bool request(bool write, uint32_t chunk);
  void finish(FaultCause fault, uint64_t address);
  /// The running job is gone: goes on with another one.
  void next();
  static uint32_t queueOf(const CopyJob &job) {
    return uint32_t(job.slot >> 48);
  }
  FaultCause move(uint64_t &address);

  Services &services;
  CopyListener &listener;
  uint32_t node;
  uint16_t client;
  ComponentId self;

  std::deque<CopyJob> jobs; ///< The first one runs.
  uint32_t epoch = 1;
  uint64_t position = 0; ///< Bytes of the job handed out.
  std::vector<Chunk> chunks;
  uint64_t written = 0; ///< Bytes acknowledged.
  std::vector<uint32_t> freeChunks;
  bool translating = false;
  Cycle stepAt = never;
  Cycle stalledUntil = 0;
  std::vector<uint64_t> movedBytes; ///< By queue.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CP_COPYENGINE_H
