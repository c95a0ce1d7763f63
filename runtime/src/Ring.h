//===- Ring.h - A ring of packets in host memory ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The shared memory between a queue and the command processor. A slot's header
// byte is its publication: it is Invalid from the moment the slot's packet has
// completed until the next packet in it is whole. Since the device stops at the
// first Invalid header, the slot behind the last packet must be Invalid at any
// time, and so one slot of the ring stays empty.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_RING_H
#define TESSERA_RUNTIME_SRC_RING_H

#include "Hardware.h"
#include "tessera/ISA/Packet.h"

namespace tessera::runtime {

using PacketImage = std::array<uint8_t, isa::packetBytes>;

class Ring {
public:
  /// `slots` is a power of two; `firstIndex` the index of the first packet, a
  /// number that grows without end and wraps around at 2^64.
  static Result<std::unique_ptr<Ring>>
  create(const std::shared_ptr<Hardware> &hardware, uint32_t slots,
         uint64_t firstIndex, const std::string &label);
  ~Ring();

  uint32_t slots() const { return numSlots; }
  uint64_t capacity() const { return numSlots - 1; }
  uint64_t hostOffset() const { return offset; } ///< Bytes into host memory.
  uint64_t published() const { return publishedCount; }
  uint64_t retired() const { return retiredCount; }
  uint64_t room() const { return capacity() - (publishedCount - retiredCount); }

  /// Writes the bodies, then publishes header by header. There must be room.
  void publish(std::span<const PacketImage> packets);
  /// Takes slots whose packets come later, by publishAt(); returns the first
  /// index.
  uint64_t reserve(uint64_t packets);
  /// Publishes a reserved slot, once.
  void publishAt(uint64_t index, const PacketImage &packet);
  /// The packet at an index, as the device sees it.
  PacketImage image(uint64_t index) const;
  /// Marks the slots of packets below `completed` Invalid.
  void retire(uint64_t completed);

private:
  Ring(std::shared_ptr<Hardware> hardware, uint64_t offset, uint32_t slots,
       uint64_t firstIndex);
  uint8_t *slot(uint64_t index) const;
  void storeHeader(uint64_t index, uint8_t type);

  std::shared_ptr<Hardware> hardware;
  uint64_t offset;
  uint32_t numSlots;
  uint64_t publishedCount, retiredCount;
  std::byte *base; ///< Of the ring, in host memory.
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_RING_H
