//===- Mmio.h - Device registers ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device's register file as host software sees it: 64-bit registers at the
// byte offsets below. docs/device.md describes each.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_MMIO_H
#define TESSERA_ISA_MMIO_H

#include <cstdint>
#include <string_view>

namespace tessera::isa::mmio {

inline constexpr uint64_t deviceId = 0x000;   ///< RO: "TSR" and ISA version.
inline constexpr uint64_t deviceTime = 0x008; ///< RO: femtoseconds.
inline constexpr uint64_t reset = 0x010;      ///< WO: 1 resets the device.

/// Queue slot q (0 .. cp.queues-1) has its registers at queueBase + q *
/// queueStride.
inline constexpr uint64_t queueBase = 0x1000, queueStride = 0x100;
inline constexpr uint64_t queueRing =
    0x00; ///< RW: ring's byte offset in host memory, 64-aligned.
inline constexpr uint64_t queueSize = 0x08; ///< RW: packets, a power of two.
inline constexpr uint64_t queueContext =
    0x10; ///< RW: physical address of the level-3 page table.
inline constexpr uint64_t queuePriority = 0x18; ///< RW: 0 lowest .. 15.
inline constexpr uint64_t queueEnable =
    0x20; ///< RW: 1 starts, 0 stops at the next packet.
inline constexpr uint64_t queueDoorbell =
    0x28; ///< WO: index (unwrapped) of the last published packet; a wake-up.
inline constexpr uint64_t queueRead =
    0x30; ///< RO: index (unwrapped) of the next packet to fetch.
inline constexpr uint64_t queueDone = 0x38; ///< RO: packets completed in order.
inline constexpr uint64_t queueStatus = 0x40; ///< RO: QueueStatus.
inline constexpr uint64_t faultCause =
    0x48; ///< RO: FaultCause of a faulted queue.
inline constexpr uint64_t faultPacket =
    0x50; ///< RO: ring index | index in the command buffer << 32.
inline constexpr uint64_t faultCore = 0x58; ///< RO: core.
inline constexpr uint64_t faultPc =
    0x60; ///< RO: instruction index in the kernel.
inline constexpr uint64_t faultAddress =
    0x68; ///< RO: virtual address or offending value.

/// Timeline semaphores: value at semaphoreBase + 8 * index; index 0 is null.
inline constexpr uint64_t queueNotify =
    0x70; ///< WO: a QueueDone interrupt once queueDone has reached the value.
inline constexpr uint64_t queueDoneMask =
    0x78; ///< RO: bit i: packet queueDone + i has completed.
inline constexpr uint64_t queueFirst =
    0x80; ///< RW while disabled: index of the first packet once enabled.
inline constexpr uint64_t queueCopied =
    0x88; ///< RO: bytes that the copy engine has moved for the queue.
inline constexpr uint64_t queueCoresRun =
    0x90; ///< RO: cores that have halted in the queue's dispatches.

inline constexpr uint64_t semaphoreBase = 0x100000;
inline constexpr uint32_t numSemaphores = 4096;

enum class QueueStatus : uint64_t {
  Disabled,
  Idle,
  Running,
  Faulted,
  Stopping, ///< Disabled, but what had started has not finished.
};

/// Why a queue stopped. Names are printed in fault reports.
enum class FaultCause : uint64_t {
  None,
  IllegalPacket,
  IllegalInstruction,
  IllegalDescriptor,
  DescriptorIndex,
  MapIndex,
  ArgumentIndex,
  IllegalBranch,
  IllegalLoop,
  LoopNesting,
  DivideByZero,
  SpmOutOfBounds,
  AccOutOfBounds,
  Misaligned,
  PageFault,
  ProtectionFault,
  PoisonedPage,
  BusError,
  InstructionMemoryOverflow,
  DescriptorMemoryOverflow,
  SemaphoreOverflow,
  SemaphoreWaiters,
  SemaphoreNotZero,
  SemaphoreRange,
  NonIncreasingSignal,
  Watchdog,
  Trap,
  CoreNotRunning,
  IndexOutOfRange,
  NoSuchQueue,
};
std::string_view faultCauseName(FaultCause cause);

} // namespace tessera::isa::mmio

#endif // TESSERA_ISA_MMIO_H
