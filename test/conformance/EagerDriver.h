//===- EagerDriver.h - A device that runs while the host works --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulated time passes only while the host waits. Behind this decorator it
// also passes at every register write, as much as the device likes: what the
// host does after a doorbell, it does too late.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_EAGERDRIVER_H
#define TESSERA_TEST_CONFORMANCE_EAGERDRIVER_H

#include "tessera/driver/ForwardingDriver.h"

namespace tessera::runtime {

class EagerDriver final : public driver::ForwardingDriver {
public:
  /// As long as the device has an interrupt to tell of, it waits for the host.
  static constexpr driver::Time headStart = 2'000'000'000; // 2 us

  explicit EagerDriver(std::unique_ptr<driver::Driver> inner)
      : ForwardingDriver(std::move(inner)) {}

private:
  Status doMmioWrite(uint64_t offset, uint64_t value) override {
    Status written = below->mmioWrite(offset, value);
    if (written.ok())
      (void)below->advance(below->now() + headStart);
    return written;
  }
};

} // namespace tessera::runtime

#endif // TESSERA_TEST_CONFORMANCE_EAGERDRIVER_H
