//===- Snapshot.h - A device's state ----------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All memory, semaphores and the clock of a device at rest, byte for byte, made
// by Device::snapshot(). It can be given back to the same device, as often as
// one likes, while the same objects live as when it was made.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SNAPSHOT_H
#define TESSERA_RUNTIME_SNAPSHOT_H

#include "tessera/Support/Status.h"
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace tessera::runtime {

class Snapshot {
public:
  Snapshot() = default;

  /// What the driver saved.
  std::span<const std::byte> bytes() const {
    return image ? std::span<const std::byte>(*image)
                 : std::span<const std::byte>();
  }
  explicit operator bool() const { return image != nullptr; }

private:
  friend class Device;
  std::shared_ptr<const std::vector<std::byte>> image;
  std::weak_ptr<const void> device; ///< That it is of.
  // Of the device's runtime then (Hardware.h).
  uint64_t objects = 0, changes = 0, semaphoresMade = 0;
  std::vector<Status> failures; ///< Of the device's semaphores.
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SNAPSHOT_H
