//===- FaultCause.cpp - Names of fault causes -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Mmio.h"
#include <iterator>

namespace tessera::isa::mmio {

std::string_view faultCauseName(FaultCause cause) {
  static constexpr std::string_view names[] = {
      "None",
      "IllegalPacket",
      "IllegalInstruction",
      "IllegalDescriptor",
      "DescriptorIndex",
      "MapIndex",
      "ArgumentIndex",
      "IllegalBranch",
      "IllegalLoop",
      "LoopNesting",
      "DivideByZero",
      "SpmOutOfBounds",
      "AccOutOfBounds",
      "Misaligned",
      "PageFault",
      "ProtectionFault",
      "PoisonedPage",
      "BusError",
      "InstructionMemoryOverflow",
      "DescriptorMemoryOverflow",
      "SemaphoreOverflow",
      "SemaphoreWaiters",
      "SemaphoreNotZero",
      "SemaphoreRange",
      "NonIncreasingSignal",
      "Watchdog",
      "Trap",
      "CoreNotRunning",
      "IndexOutOfRange",
      "NoSuchQueue",
  };
  static_assert(std::size(names) == size_t(FaultCause::NoSuchQueue) + 1);
  return uint64_t(cause) < std::size(names) ? names[uint64_t(cause)]
                                            : "Unknown";
}

} // namespace tessera::isa::mmio
