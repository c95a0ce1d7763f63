//===- Recording.cpp - The recording's file -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/Recording.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

/// "TSRRECOR".
static constexpr uint64_t recordingMagic = 0x524f'4345'5252'5354;
static constexpr uint32_t recordingVersion = 2;
/// Kind, space, code, progress, and the counts of data and interrupts.
static constexpr uint64_t leastOperationBytes = 4 + 4 * 8 + 2 * 8;

std::vector<uint8_t> encodeRecording(const Recording &recording) {
  ByteWriter out;
  out.write(recordingMagic);
  out.write(recordingVersion);
  out.writeString(recording.architecture);
  out.write(recording.isaHash);
  out.write(recording.timingHash);
  out.write(recording.hostBytes);
  out.write<uint64_t>(recording.operations.size());
  for (const RecordedOperation &o : recording.operations) {
    out.write(o.kind);
    out.write(o.space);
    out.write(o.code);
    out.write(o.progress);
    out.write(o.address);
    out.write(o.value);
    out.write(o.time);
    out.write(o.result);
    out.write<uint64_t>(o.data.size());
    out.writeBytes(std::span<const uint8_t>(o.data));
    out.write<uint64_t>(o.interrupts.size());
    for (const Interrupt &i : o.interrupts) {
      out.write(i.kind);
      out.write(i.queue);
      out.write(i.payload);
      out.write(i.time);
    }
  }
  out.write(hashBytes(std::as_const(out).bytes()));
  return out.take();
}

namespace {

Status malformed(std::string what) {
  return Status(StatusCode::InvalidArgument, "recording: " + what);
}

Status readOperation(ByteReader &in, uint64_t index, RecordedOperation &o) {
  auto bad = [&](std::string_view field, uint64_t value) {
    return malformed(
        fmt::format("operation {}: no {} {}", index, field, value));
  };
  auto kind = in.read<uint8_t>(), space = in.read<uint8_t>(),
       code = in.read<uint8_t>(), progress = in.read<uint8_t>();
  if (kind >= RecordedOperation::numKinds)
    return bad("operation of kind", kind);
  if (space > uint8_t(PhysicalSpace::Host))
    return bad("physical space", space);
  if (code > uint8_t(StatusCode::Internal))
    return bad("status code", code);
  if (progress > uint8_t(Progress::Quiescent))
    return bad("progress", progress);
  o.kind = RecordedOperation::Kind(kind);
  o.space = PhysicalSpace(space);
  o.code = StatusCode(code);
  o.progress = Progress(progress);
  in.read(o.address);
  in.read(o.value);
  in.read(o.time);
  in.read(o.result);
  o.data = in.readVector<uint8_t>();
  auto count = in.read<uint64_t>();
  constexpr uint64_t interruptBytes = 1 + 4 + 4 + 8;
  if (count > in.remaining() / interruptBytes)
    return bad("room for interrupts:", count);
  for (uint64_t i = 0; i < count; ++i) {
    auto interruptKind = in.read<uint8_t>();
    if (interruptKind > uint8_t(Interrupt::Kind::QueueDone))
      return bad("interrupt of kind", interruptKind);
    Interrupt interrupt;
    interrupt.kind = Interrupt::Kind(interruptKind);
    in.read(interrupt.queue);
    in.read(interrupt.payload);
    in.read(interrupt.time);
    o.interrupts.push_back(interrupt);
  }
  return in.status();
}

} // namespace

Result<Recording> decodeRecording(std::span<const uint8_t> bytes) {
  if (bytes.size() < 8 + 8)
    return malformed(fmt::format("{} bytes are too few", bytes.size()));
  std::span<const uint8_t> body = bytes.first(bytes.size() - 8);
  ByteReader in(body);
  if (in.read<uint64_t>() != recordingMagic)
    return malformed("the file does not begin with TSRRECOR");
  if (auto version = in.read<uint32_t>(); version != recordingVersion)
    return malformed(fmt::format("version {}; this program reads version {}",
                                 version, recordingVersion));
  if (hashBytes(body) != loadLittleEndian<uint64_t>(bytes.data() + body.size()))
    return malformed("the checksum is wrong");
  Recording recording;
  recording.architecture = in.readString();
  in.read(recording.isaHash);
  in.read(recording.timingHash);
  in.read(recording.hostBytes);
  auto count = in.read<uint64_t>();
  if (count > in.remaining() / leastOperationBytes)
    return malformed(
        fmt::format("{} operations in {} bytes", count, in.remaining()));
  for (uint64_t i = 0; i < count; ++i)
    TESSERA_RETURN_IF_ERROR(
        readOperation(in, i, recording.operations.emplace_back()));
  if (Status end = in.finish(); !end.ok())
    return malformed(end.message());
  return recording;
}

static std::string registerName(uint64_t offset) {
  if (offset >= mmio::semaphoreBase)
    return fmt::format("semaphore {}", (offset - mmio::semaphoreBase) / 8);
  if (offset < mmio::queueBase)
    return fmt::format("register {:#x}", offset);
  static constexpr std::string_view names[] = {
      "ring",         "size",       "context",    "priority",     "enable",
      "doorbell",     "read index", "done index", "status",       "fault cause",
      "fault packet", "fault core", "fault pc",   "fault address"};
  uint64_t within = (offset - mmio::queueBase) % mmio::queueStride / 8;
  return fmt::format("queue {} {}",
                     (offset - mmio::queueBase) / mmio::queueStride,
                     within < std::size(names) ? names[within] : "register");
}

static std::string_view progressName(Progress progress) {
  switch (progress) {
  case Progress::Interrupted:
    return "interrupted";
  case Progress::Deadline:
    return "deadline";
  case Progress::Quiescent:
    break;
  }
  return "quiescent";
}

std::string RecordedOperation::print() const {
  static constexpr std::string_view spaces[] = {"DRAM", "shared SRAM",
                                                "host memory"};
  std::string_view in = spaces[size_t(space) % 3];
  std::string outcome = code == StatusCode::Ok
                            ? std::string()
                            : fmt::format(": {}", statusCodeName(code));
  switch (kind) {
  case Kind::HostWrite:
    return fmt::format("host stores {} bytes at {:#x}", data.size(), address);
  case Kind::RegisterWrite:
    return fmt::format("write {} := {:#x}{}", registerName(address), value,
                       outcome);
  case Kind::RegisterRead:
    return fmt::format("read {} = {:#x}{}", registerName(address), result,
                       outcome);
  case Kind::MemoryWrite:
    return fmt::format("write {} bytes of {} at {:#x}{}", data.size(), in,
                       address, outcome);
  case Kind::MemoryRead:
    return fmt::format("read {} bytes of {} at {:#x}, hash {:#x}{}", value, in,
                       address, result, outcome);
  case Kind::Advance:
    return fmt::format("advance to {}: {} at {} fs, host memory {:#x}", value,
                       progressName(progress), time, result);
  case Kind::TakeInterrupts: {
    std::string text = fmt::format("{} interrupts", interrupts.size());
    for (const Interrupt &i : interrupts)
      text += fmt::format(" (kind {}, queue {}, payload {}, {} fs)",
                          unsigned(i.kind), i.queue, i.payload, i.time);
    return text;
  }
  case Kind::Arm:
    return fmt::format("arm semaphore {} >= {}{}", address, value, outcome);
  case Kind::Claim:
    return fmt::format("claim {} bytes of {} at {:#x}{}", value, in, address,
                       outcome);
  case Kind::Release:
    return fmt::format("release {} bytes of {} at {:#x}", value, in, address);
  case Kind::Stall:
    return fmt::format("stall unit {} of queue {} for {} cycles{}",
                       address & 0xff, address >> 8, value, outcome);
  case Kind::Idle:
    return fmt::format("idle until {}: {} fs", value, time);
  }
  return "unknown";
}

} // namespace tessera::driver
