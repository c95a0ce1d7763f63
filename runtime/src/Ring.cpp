//===- Ring.cpp - A ring of packets in host memory ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ring.h"
#include <atomic>
#include <cassert>
#include <cstring>

namespace tessera::runtime {

Result<std::unique_ptr<Ring>>
Ring::create(const std::shared_ptr<Hardware> &hardware, uint32_t slots,
             uint64_t firstIndex, const std::string &label) {
  uint64_t bytes = uint64_t(slots) * isa::packetBytes;
  TESSERA_ASSIGN_OR_RETURN(uint64_t offset,
                           hardware->allocatePhysical(isa::PhysicalSpace::Host,
                                                      bytes, isa::packetBytes,
                                                      label + " ring"));
  return std::unique_ptr<Ring>(new Ring(hardware, offset, slots, firstIndex));
}

Ring::Ring(std::shared_ptr<Hardware> h, uint64_t offset, uint32_t slots,
           uint64_t firstIndex)
    : hardware(std::move(h)), offset(offset), numSlots(slots),
      publishedCount(firstIndex), retiredCount(firstIndex),
      base(hardware->driver->hostMemory().data() + offset) {
  assert(slots >= 2 && (slots & (slots - 1)) == 0);
  for (uint32_t i = 0; i < numSlots; ++i) {
    std::memset(slot(i) + 1, 0, isa::packetBytes - 1);
    storeHeader(i, static_cast<uint8_t>(isa::PacketType::Invalid));
  }
}

Ring::~Ring() {
  hardware->releasePhysical(isa::PhysicalSpace::Host, offset,
                            uint64_t(numSlots) * isa::packetBytes);
}

uint8_t *Ring::slot(uint64_t index) const {
  return reinterpret_cast<uint8_t *>(base) +
         (index & (numSlots - 1)) * isa::packetBytes;
}

void Ring::storeHeader(uint64_t index, uint8_t type) {
  std::atomic_ref<uint8_t>(*slot(index)).store(type, std::memory_order_release);
}

void Ring::publish(std::span<const PacketImage> packets) {
  assert(packets.size() <= room());
  for (size_t i = 0; i < packets.size(); ++i)
    std::memcpy(slot(publishedCount + i) + 1, packets[i].data() + 1,
                isa::packetBytes - 1);
  for (size_t i = 0; i < packets.size(); ++i)
    storeHeader(publishedCount + i, packets[i][0]);
  publishedCount += packets.size();
}

uint64_t Ring::reserve(uint64_t packets) {
  assert(packets <= room());
  return std::exchange(publishedCount, publishedCount + packets);
}

void Ring::publishAt(uint64_t index, const PacketImage &packet) {
  std::memcpy(slot(index) + 1, packet.data() + 1, isa::packetBytes - 1);
  storeHeader(index, packet[0]);
}

PacketImage Ring::image(uint64_t index) const {
  PacketImage image;
  image[0] =
      std::atomic_ref<uint8_t>(*slot(index)).load(std::memory_order_acquire);
  std::memcpy(image.data() + 1, slot(index) + 1, isa::packetBytes - 1);
  return image;
}

void Ring::retire(uint64_t completed) {
  assert(int64_t(publishedCount - completed) >= 0);
  for (; int64_t(completed - retiredCount) > 0; ++retiredCount)
    storeHeader(retiredCount, static_cast<uint8_t>(isa::PacketType::Invalid));
}

} // namespace tessera::runtime
