//===- Submission.h - One operation from submission to its end --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_SUBMISSION_H
#define TESSERA_RUNTIME_SRC_SUBMISSION_H

#include "CommandBufferState.h"
#include "Frontier.h"
#include "InlineVector.h"
#include "Ring.h"
#include "SemaphoreState.h"
#include "tessera/ISA/Packet.h"
#include "tessera/runtime/Queue.h"
#include <functional>

namespace tessera::runtime {

/// A TimelinePoint inside the runtime; never null.
struct Point {
  std::shared_ptr<SemaphoreState> semaphore;
  uint64_t value = 0;
};
using Points = InlineVector<Point, 2>;
using KeepAlive = InlineVector<std::shared_ptr<const void>, 3>;
using Buffers = InlineVector<std::shared_ptr<BufferState>, 2>;

/// The life of an operation:
///
///   Pending ──► Armed ──► Completing ──► Done
///      └──────────┴──► Cancelling ──► Done
///
/// Pending: accepted and parked on the host, since a wait is not met and
/// nothing published will meet it, or since earlier work of the queue holds it
/// back, or since its queue has no hardware slot yet. Armed: the device has its
/// packets and decides when they run (a host call: its waits are armed).
/// Completing: the work is done; what it held is given back before anybody is
/// told. Cancelling: it will never run; its signals take the failure. Every
/// transition happens once, with the device's lock held.
enum class Stage : uint8_t { Pending, Armed, Completing, Cancelling, Done };

/// What submit() turns into packets.
struct Operation {
  isa::Packet packet; ///< Its waits and completion are filled in by submit().
  std::string label;
  Points waits, signals;
  bool anyWait = false; ///< One met wait is enough.
  bool barrier = false;
  bool isBarrierOperation = false;
  bool waitsInPacket = false; ///< `packet` names the waits already.
  WhenFull whenFull = WhenFull::Wait;
  std::shared_ptr<CommandBufferState> commands;       ///< Of an execute.
  std::vector<std::shared_ptr<BufferState>> bindings; ///< Likewise.
  Buffers operands;    ///< Must be usable; kept alive.
  KeepAlive keepAlive; ///< Anything else.
  /// Instead of `packet`, as it is.
  std::vector<uint8_t> raw;
  std::function<Status()> hostCall; ///< Instead of a packet.
  /// Looked at again whenever the operation is prepared: a submission that
  /// waits for room lets others go first.
  std::function<Status(Operation &)> refresh;
  /// Called once it is accepted, before anybody else can do anything.
  std::function<void()> accepted;
  /// Slots that are reserved and written later; instead of `packet`.
  uint32_t reserved = 0;
  Scope release = Scope::System;
  std::vector<KernelUse> uses; ///< Checked by submit().

  /// Makes the packet one that only waits and signals.
  void makeSignal();
};

/// One operation in flight: a run of consecutive packets.
struct Submission {
  Stage stage = Stage::Pending;
  /// Packet indices; until they are published, those it would have in order.
  uint64_t first = 0, last = 0;
  uint64_t number = 0; ///< Operations of the queue before it.
  std::string label;
  Points waits, signals;
  bool anyWait = false;
  /// Starts when all earlier work has completed.
  bool barrier = false;
  std::shared_ptr<CommandBufferState> commands; ///< Of an execute.
  KeepAlive keepAlive;
  std::vector<uint32_t> gates;     ///< Indices in QueueState::gates.
  std::vector<PacketImage> images; ///< Until they are published.
  bool isHostCall = false;
  std::function<Status()> hostCall; ///< Until it is called.
  /// What has been reached before it starts; kept while pools are in use.
  std::unique_ptr<Frontier> before;
  EngineWork work;
  RaceDetector::NodePointer raceNode; ///< While races are looked for.

  bool inFlight() const { return stage != Stage::Done; }
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_SUBMISSION_H
