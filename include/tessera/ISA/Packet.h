//===- Packet.h - Command processor packets -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 64-byte packets that the command processor reads from queue rings and
// from command buffers in memory, and the kernel record that a dispatch points
// to. Little endian; docs/device.md tells what each does.
//
// Every packet starts with
//   byte 0 type (u8; Invalid until published)  1 flags (u8)  2-3 reserved, 0
//   byte 4 id (u32; echoed in traces and fault records)
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_ISA_PACKET_H
#define TESSERA_ISA_PACKET_H

#include "tessera/Support/Status.h"
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <variant>

namespace tessera::isa {

inline constexpr unsigned packetBytes = 64;
inline constexpr unsigned kernelRecordBytes = 64;
/// That a dispatch may pass.
inline constexpr uint32_t maxDispatchArguments = 4096;

/// 0 is no type: a zeroed ring holds no valid packet.
enum class PacketType : uint8_t {
  Dispatch = 0x01,
  Copy = 0x02,
  Fill = 0x03,
  BarrierAnd = 0x04,
  BarrierOr = 0x05,
  Signal = 0x06,
  Timestamp = 0x07,
  Indirect = 0x08,
  Interrupt = 0x09,
  Nop = 0x0a,
  Return = 0x0b,   ///< End of a command buffer run by Indirect.
  Finished = 0x7f, ///< Written back by nobody; reserved for rings in use.
  Invalid = 0xff,  ///< Reserved slot, not yet published.
};

/// Flags of every packet.
enum : uint8_t {
  packetBarrier =
      1, ///< Starts when all earlier packets of its queue completed.
  /// Of a dispatch: its kernel record, text, descriptors, lane programs and
  /// arguments are in memory when the packet is published (in a command buffer:
  /// the packet that runs it), and nothing changes them until it has completed.
  /// So the device may read them before what the dispatch waits for happens.
  packetPrefetch = 2,
};

/// Semaphore 0 is the null semaphore: waits on it are satisfied, signals lost.
struct SemaphoreValue {
  uint32_t semaphore = 0; ///< Index in the device's semaphore table.
  uint64_t value = 0;
  bool operator==(const SemaphoreValue &) const = default;
};

/// bytes 8 kernel (u64 virtual address of a KernelRecord), 16 arguments (u64
/// virtual address of an array of u64), 24 number of arguments (u32), 28 core
/// rectangle x, y, width, height (u8 each), 32 wait semaphore (u32), 36
/// completion semaphore (u32), 40 wait value (u64), 48 completion value (u64),
/// 56 cycle budget (u64; 0 = none).
struct DispatchPacket {
  uint64_t kernel = 0, arguments = 0;
  uint32_t numArguments = 0;
  uint8_t x = 0, y = 0, width = 1, height = 1;
  SemaphoreValue wait, completion;
  uint64_t budget = 0;
  bool operator==(const DispatchPacket &) const = default;
};
/// bytes 8 destination, 16 source (u64 virtual), 24 size (u64), 32 wait
/// semaphore, 36 completion semaphore, 40 wait value, 48 completion value.
struct CopyPacket {
  uint64_t destination = 0, source = 0, size = 0;
  SemaphoreValue wait, completion;
  bool operator==(const CopyPacket &) const = default;
};
/// bytes 8 destination, 16 pattern (u32), 20 reserved, 24 size in bytes
/// (multiple of 4), 32.. as CopyPacket.
struct FillPacket {
  uint64_t destination = 0, size = 0;
  uint32_t pattern = 0;
  SemaphoreValue wait, completion;
  bool operator==(const FillPacket &) const = default;
};
/// bytes 8 four semaphores (u32 each), 24 four values (u64 each), 56 completion
/// semaphore (u32), 60 completion value (u32).
struct BarrierPacket {
  bool any = false; ///< BarrierOr.
  std::array<SemaphoreValue, 4> waits{};
  SemaphoreValue completion; ///< Value < 2^32.
  bool operator==(const BarrierPacket &) const = default;
};
/// bytes 36 semaphore, 48 value.
struct SignalPacket {
  SemaphoreValue completion;
  bool operator==(const SignalPacket &) const = default;
};
/// bytes 8 destination (u64): receives device time in femtoseconds; 36, 48.
struct TimestampPacket {
  uint64_t destination = 0;
  SemaphoreValue completion;
  bool operator==(const TimestampPacket &) const = default;
};
/// bytes 8 address of packets (u64 virtual), 16 number of packets (u32), 32..
/// wait and completion as CopyPacket.
struct IndirectPacket {
  uint64_t address = 0;
  uint32_t count = 0;
  SemaphoreValue wait, completion;
  bool operator==(const IndirectPacket &) const = default;
};
/// bytes 8 vector payload (u32).
struct InterruptPacket {
  uint32_t payload = 0;
  bool operator==(const InterruptPacket &) const = default;
};
struct NopPacket {
  bool operator==(const NopPacket &) const = default;
};

struct Packet {
  uint8_t flags = 0;
  uint32_t id = 0;
  std::variant<NopPacket, DispatchPacket, CopyPacket, FillPacket, BarrierPacket,
               SignalPacket, TimestampPacket, IndirectPacket, InterruptPacket>
      body;
  bool operator==(const Packet &) const = default;
};

std::array<uint8_t, packetBytes> encode(const Packet &packet);
/// Unknown types, reserved bits, null kernels, empty rectangles, sizes that are
/// 0 or overflow 48 bits are errors that name the field.
Result<Packet> decodePacket(std::span<const uint8_t> bytes);
/// One line for dumps and disassembly.
std::string print(const Packet &packet);
/// How a dump names the address field at byte `offset` of a packet.
using AddressName = std::function<std::string(unsigned offset, uint64_t value)>;
std::string print(const Packet &packet, const AddressName &address);

/// What a dispatch's `kernel` points to, in device memory (64-byte aligned):
/// bytes 0 text (u64 virtual), 8 descriptors (u64), 16 map programs (u64),
/// 24 text bytes (u32), 28 descriptor count (u32), 32 map bytes (u32),
/// 36 arguments expected (u32), 40-63 reserved, 0.
struct KernelRecord {
  uint64_t text = 0, descriptors = 0, mapPrograms = 0;
  uint32_t textBytes = 0, numDescriptors = 0, mapBytes = 0, numArguments = 0;
  bool operator==(const KernelRecord &) const = default;
};
std::array<uint8_t, kernelRecordBytes> encode(const KernelRecord &record);
Result<KernelRecord> decodeKernelRecord(std::span<const uint8_t> bytes);

} // namespace tessera::isa

#endif // TESSERA_ISA_PACKET_H
