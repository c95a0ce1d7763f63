//===- Queue.h - Submission of work -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A ring of 64-byte packets in host memory that the command processor reads.
// Submission: reserve slots, write the bodies, release-store each header byte,
// ring the doorbell. A slot that is not published is Invalid; the slot behind
// the last published packet always is, so a ring of N slots holds N - 1
// packets. Nobody touches a packet after its publication.
//
// Order comes from semaphores, from barrier() and from the `barrier` option,
// and from nothing else: an operation whose waits are not met parks and holds
// back nothing behind it. An operation with the `barrier` option holds back all
// that is behind it until it starts.
//
// The queue keeps alive what its operations touch until they have completed.
// Dropping the last handle of a queue lets the device finish the work that can
// finish; the rest keeps its memory until the device goes.
//
// An operation whose waits depend on something that has not been submitted yet
// stays on the host until it has been. An operation that depends on failed work
// fails, its signals take the failure, and so does what barriers order behind
// it until waitIdle() has told of it.
//
// A fault stops the queue: the packet at fault and those behind it never signal
// their semaphores, which take the failure instead; other queues go on.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_QUEUE_H
#define TESSERA_RUNTIME_QUEUE_H

#include "tessera/runtime/CommandBuffer.h"
#include "tessera/runtime/Semaphore.h"
#include <functional>
#include <span>
#include <vector>

namespace tessera::runtime {

struct Operation;
struct QueueHandle;

struct QueueOptions {
  uint32_t packets = 256;  ///< Slots of the ring, a power of two ≥ 4.
  uint8_t priority = 0;    ///< 0 lowest … 15.
  uint32_t firstId = 0;    ///< Id of the first packet; ids wrap at 2^32.
  uint64_t firstIndex = 0; ///< Of the first packet; indices wrap at 2^64.
  /// Every operation is a barrier (Stream.h).
  bool inOrder = false;
  std::string label = "queue";
};

/// What to do when the ring has no room.
enum class WhenFull : uint8_t {
  Wait, ///< Let the device run until there is.
  Fail, ///< ResourceExhausted, and nothing changes.
};

/// Who may rely on what an operation wrote once its signals are seen
/// (docs/memory-model.md).
enum class Scope : uint8_t {
  Device, ///< Operations of the device that wait for them, not the host.
  System, ///< The host, too.
};

/// Bytes that kernels of an operation touch.
struct MemoryUse {
  BufferRange range;
  Use use = Use::ReadWrite;
};

struct SubmitOptions {
  // Initialisers let callers name only the fields that they mean.
  std::vector<TimelinePoint> wait{}, signal{};
  bool barrier = false; ///< Start when all earlier work of the queue completed.
  WhenFull whenFull = WhenFull::Wait;
  std::string label{}; ///< Empty: the operation's name.
  /// Of the signals. On this device every completion releases to all: the race
  /// detector tells what relies on more than was asked for.
  Scope release = Scope::System;
  /// Beyond what the packet says; kept alive until the operation is complete.
  std::vector<MemoryUse> uses{};
};

/// Slots of a queue whose packets are written later, by any thread. The device
/// never passes a slot that is not published, nor runs it.
class Reservation {
public:
  Reservation() = default;
  Reservation(Reservation &&) = default;
  Reservation &operator=(Reservation &&other);
  /// What was not published becomes packets that do nothing.
  ~Reservation();

  uint32_t count() const { return uint32_t(packets.size()); }
  /// The packet of one slot, 64 bytes, of any type but Invalid. InvalidArgument
  /// for anything else; FailedPrecondition after publish().
  Status write(uint32_t slot, std::span<const uint8_t> packet);
  /// Bodies, headers, doorbell. FailedPrecondition if a slot was not written,
  /// or a second time; Aborted if the queue stopped meanwhile: then nothing was
  /// published, and the packets can be submitted again.
  Status publish();

private:
  friend class Queue;
  std::shared_ptr<QueueHandle> handle;
  uint64_t first = 0, life = 0;
  std::vector<std::array<uint8_t, isa::packetBytes>> packets;
  std::vector<bool> written;
};

class Queue {
public:
  Queue() = default;
  /// Any number of queues shares the device's queue slots.
  static Result<Queue> create(const AddressSpace &space,
                              QueueOptions options = {});

  Status copy(const BufferRange &destination, const BufferRange &source,
              const SubmitOptions &options = {});
  /// Repeats the 32-bit pattern; the size is a multiple of 4.
  Status fill(const BufferRange &destination, uint32_t pattern,
              const SubmitOptions &options = {});
  /// Captures `data` at the call and copies it through host memory.
  Status update(const BufferRange &destination, std::span<const std::byte> data,
                const SubmitOptions &options = {});
  /// Copies through host memory and waits for the data.
  Status readBack(const BufferRange &source, std::span<std::byte> data,
                  const SubmitOptions &options = {},
                  Deadline deadline = Deadline::infinite());
  /// All later work of the queue starts after all earlier work completed and
  /// the waits are met.
  Status barrier(const SubmitOptions &options = {});
  /// Signals once any of the 1 to 4 waits is met; orders nothing else. Fails
  /// when one of them fails before any is met.
  Status barrierAny(const SubmitOptions &options);
  /// Calls the function on the host once the waits are met, in a thread that
  /// waits for something of the device, without any lock held. It may submit
  /// work; a wait in it is FailedPrecondition. The signals follow when it has
  /// come back with success, else they take its failure.
  Status hostCall(std::function<Status()> function,
                  const SubmitOptions &options = {});
  /// Signals once the waits are met; orders nothing else.
  Status signal(const SubmitOptions &options);
  /// `arguments` is looked at if the kernel takes any.
  Status dispatch(const Kernel &kernel, const BufferRange &arguments,
                  CoreRectangle cores, const SubmitOptions &options = {});
  Status execute(const CommandBuffer &commands,
                 std::span<const Buffer> bindings,
                 const SubmitOptions &options = {});
  /// Stores device time, femtoseconds, in 8 bytes.
  Status timestamp(const BufferRange &destination,
                   const SubmitOptions &options = {});

  /// Takes the next `count` slots for packets that are written later. What the
  /// options name must be in the packets; it is only recorded. A reservation
  /// holds a queue slot of the device until it is published.
  Result<Reservation> reserve(uint32_t count,
                              const SubmitOptions &options = {});

  /// One packet as it is, for tests of what a device does with bad ones.
  Status submitRaw(std::span<const uint8_t> packet,
                   const SubmitOptions &options = {});

  /// Stops whatever the queue has on the device, cancels the rest (their
  /// signals fail with Aborted) and makes a stopped queue usable again.
  Status reset();

  /// Until all that was submitted has completed or failed; then the first
  /// failure, which it tells once. A stopped queue: always why it stopped.
  Status waitIdle(Deadline deadline = Deadline::infinite()) const;

  uint64_t submitted() const; ///< Packets accepted so far.
  uint64_t completed() const; ///< Packets completed in order.
  /// Success, or why the queue stopped.
  Status status() const;
  const std::string &label() const;
  uint8_t priority() const;
  explicit operator bool() const { return handle != nullptr; }

private:
  friend class MemoryPool;
  static Operation start(std::string_view name, const SubmitOptions &options);
  std::shared_ptr<QueueHandle> handle;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_QUEUE_H
