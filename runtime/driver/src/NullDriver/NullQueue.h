//===- NullQueue.h - Packets of one queue of the null device ----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue reads its ring in order into a window of packets. A packet starts
// when its wait is met; one with the barrier flag also needs all earlier ones
// to have completed, and holds back all later ones until it starts. Completion
// is counted in order.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DRIVER_SRC_NULLQUEUE_H
#define TESSERA_DRIVER_SRC_NULLQUEUE_H

#include "NullMemory.h"
#include "tessera/ISA/Packet.h"
#include <deque>

namespace tessera::driver {

/// What a queue needs of the device around it.
class NullDevice {
public:
  virtual ~NullDevice() = default;
  virtual NullMemory &memory() = 0;
  virtual uint64_t semaphore(uint32_t index) const = 0;
  virtual NullFault signal(const isa::SemaphoreValue &point) = 0;
  virtual void interrupt(Interrupt::Kind kind, uint32_t queue,
                         uint32_t payload) = 0;
  virtual Time deviceTime() const = 0;
  virtual Time packetTime() const = 0;
};

class NullQueue {
public:
  NullQueue(NullDevice &device, uint32_t number)
      : device(device), number(number) {}

  Status writeRegister(uint64_t offset, uint64_t value);
  Result<uint64_t> readRegister(uint64_t offset) const;

  void reset();

  /// Reads new packets and starts what can start.
  void schedule();
  /// When the next running packet completes; timeInfinite: none runs.
  Time nextCompletion() const;
  /// Executes and completes what is due now.
  void complete();

private:
  /// A packet of the ring; an Indirect runs several, one after the other.
  struct Entry {
    uint64_t index = 0;
    isa::Packet packet;
    std::vector<isa::Packet> program;
    size_t position = 0; ///< In the program.
    bool started = false, done = false;
    bool running = false; ///< The packet at `position` runs, until `finish`.
    Time finish = 0;
  };
  void fetch();
  NullFault start(Entry &entry);
  bool ready(const isa::Packet &packet) const;
  NullFault execute(const isa::Packet &packet);
  NullFault finishEntry(Entry &entry);
  void fault(const Entry &entry, NullFault what);
  void retire();
  void tellDone();

  NullDevice &device;
  uint32_t number;
  uint64_t ring = 0, size = 0, context = 0, priority = 0;
  bool enabled = false, faulted = false;
  uint64_t first = 0, read = 0, done = 0;
  uint64_t copied = 0, coresRun = 0; ///< Work that was really done.
  std::optional<uint64_t> notify;    ///< A QueueDone interrupt is asked for.
  static constexpr size_t windowSize = 64;
  std::deque<Entry> window;
  NullFault faultRecord;
  uint64_t faultPacket = 0;
};

} // namespace tessera::driver

#endif // TESSERA_DRIVER_SRC_NULLQUEUE_H
