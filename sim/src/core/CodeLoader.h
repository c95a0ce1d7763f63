//===- CodeLoader.h - Loading kernels into a core ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fetches text, descriptors and lane programs into the core's memories, one
// burst per cycle, at most dma.outstanding in flight. The memories hold two
// kernels if both fit: the one that runs and one more, which is the next one or
// the one before. docs/timing.md says when a kernel is loaded ahead and when it
// need not be loaded at all.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_CODELOADER_H
#define TESSERA_SIM_CORE_CODELOADER_H

#include "core/Core.h"

namespace tessera::sim {

class CodeLoader final : public Component {
public:
  explicit CodeLoader(Core &core);

  /// The core's task begins: its kernel is loaded, unless it is there, before
  /// anything else. Core::codeLoaded() follows, at the earliest in this cycle.
  void begin();
  /// Likewise for the task that was prepared and is the core's now.
  void beginPrepared();
  /// The kernel of Core::nextTask() is loaded as soon as there is room.
  void prepare();
  /// It is not wanted any more.
  void dropPrepared();
  /// The core's task is over, in whatever way.
  void end();

  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar);

private:
  static constexpr unsigned numPlaces = 2, numRegions = 3;
  static constexpr uint32_t none = numPlaces;

  /// A kernel in the memories, or on its way to them.
  struct Place {
    enum class State : uint8_t { Empty, Loading, Loaded };
    State state = State::Empty;
    uint64_t root = 0, kernel = 0;
    isa::KernelRecord record;
    std::shared_ptr<const KernelImage> image;
    Cycle since = 0;         ///< When its loading began.
    uint64_t generation = 0; ///< Of the translations then.
    uint32_t region = 0;
    uint64_t position = 0; ///< Bytes of the region requested.
    uint32_t inFlight = 0;
    bool translating = false;
    uint32_t life = 1; ///< Replies of earlier contents are void.

    template <typename A> void serialize(A &ar);
  };
  struct Region {
    uint64_t address = 0, bytes = 0;
    Access access = Access::Read;
  };
  enum Code : uint8_t { Step, BurstDone, Translated = BurstDone + numPlaces };

  static Region regionAt(const isa::KernelRecord &record, uint32_t index);
  /// The place that has what `task` needs, or `none`.
  uint32_t holding(const CoreTask &task) const;
  bool fitTogether(const isa::KernelRecord &a,
                   const isa::KernelRecord &b) const;
  void claim(uint32_t index, const CoreTask &task);
  void empty(uint32_t index);
  /// Puts `task` in `index`; what does not fit beside it gives way.
  void load(uint32_t index, const CoreTask &task);
  /// Gives the prepared task a place, if there is room for it.
  void placeNext();
  void wake(Cycle cycle);
  void step(Cycle now);
  /// Requests the next burst; false if there is none to request.
  bool request(uint32_t index, Cycle now);

  Core &core;
  ComponentId self;
  uint16_t client;
  std::array<Place, numPlaces> places;
  uint32_t running = none;  ///< Of the core's task.
  uint32_t upcoming = none; ///< Of the prepared task.
  uint32_t lastRun = 0;
  bool nextFailed = false; ///< Its loading; it is repeated when it begins.
  bool announced = true;   ///< Core::codeLoaded() was called for the task.
  Cycle wakeAt = ~Cycle(0);
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_CODELOADER_H
