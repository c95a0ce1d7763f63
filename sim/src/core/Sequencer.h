//===- Sequencer.h - The scalar part of a core ------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs one instruction a cycle and pushes engine instructions into their
// queues, capturing their descriptors.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_SEQUENCER_H
#define TESSERA_SIM_CORE_SEQUENCER_H

#include "core/Core.h"

namespace tessera::sim {

class Sequencer final : public Unit {
public:
  explicit Sequencer(Core &core) : Unit(core, Engine::Sequencer) {}

  void start();
  void reset();
  bool halted() const;
  uint32_t pc() const { return position; }
  /// The `wait` that it stands at, if it waits for semaphores.
  const isa::Instruction *waitingInstruction() const;
  std::optional<Engine> blockedOnQueue() const {
    return block == Block::Queue ? std::optional(fullQueue) : std::nullopt;
  }
  bool atBarrier() const { return block == Block::Barrier; }
  /// All cores have come to the barrier.
  void barrierOver();

  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    serializeUnit(ar);
    fields(ar, position, regs, descriptors, windows, loops, nextCycle, block,
           fullQueue, haltCycle, lacking, released, waitsAtBarrier,
           pendingRemote);
    if constexpr (A::loading)
      if (loops.size() > isa::maxLoopDepth || block > Block::Halted ||
          fullQueue == Engine::Sequencer || !core.has(fullQueue))
        ar.fail();
  }

protected:
  void step(Cycle now) override;

private:
  struct Loop {
    uint32_t first = 0, last = 0; ///< Instructions of the body.
    int64_t count = 0, iteration = 0;
    uint8_t reg = 0;
    template <typename A> void serialize(A &ar) {
      fields(ar, first, last, count, iteration, reg);
      reg %= isa::numScalarRegs;
    }
  };
  /// Why it does not go on by itself.
  enum class Block : uint8_t {
    None,
    Semaphore,
    Queue, ///< `fullQueue` has no place.
    Fence,
    Barrier,
    Halted
  };

  /// Executes; true if the instruction was done (the position is then the next
  /// instruction's).
  bool execute(const isa::Instruction &inst, Cycle now);
  bool executeScalar(const isa::Instruction &inst, Cycle now);
  RemoteSignal remoteSignal(const isa::Instruction &inst) const;
  /// What a vector instruction takes with it: descriptors and registers. An
  /// operand with elements outside its window is returned: it is refused.
  const isa::Descriptor *captureVector(const isa::Instruction &inst,
                                       QueueEntry &entry);
  bool validRemoteSignal(const isa::Instruction &inst);
  bool push(const isa::Instruction &inst, isa::Queue queue, Cycle now);
  bool aimMulticast(const isa::Instruction &inst, Multicast &multicast);
  bool executeDescriptor(const isa::Instruction &inst);
  bool enterLoop(const isa::Instruction &inst, uint8_t reg, int64_t count,
                 uint32_t length);
  bool branch(int64_t offset);
  void goOn(uint64_t next);
  void stall(Block reason, Cycle now);
  int64_t reg(int64_t field) const { return int64_t(regs[size_t(field)]); }

  uint32_t position = 0;
  std::array<uint64_t, isa::numScalarRegs> regs{};
  std::array<isa::Descriptor, isa::numDescRegs> descriptors{};
  std::array<isa::Window, isa::numDescRegs> windows{}; ///< Of `descriptors`.
  std::vector<Loop> loops;
  Cycle nextCycle = 0;
  Block block = Block::Halted;
  Engine fullQueue = Engine::Load;
  RemoteSignal pendingRemote; ///< Of the sequencer's own `signal.core`.
  bool waitsAtBarrier = false;
  bool released = false; ///< The barrier that it stands at is over.
  uint8_t lacking = 0;   ///< The semaphore that was missing at the last look.
  Cycle haltCycle = never;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_SEQUENCER_H
