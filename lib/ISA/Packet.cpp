//===- Packet.cpp - Encoding and decoding of packets ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One function per packet type lists its fields with their offsets; it is run
// with a writer to encode, and with a reader, which also notes the bytes that
// have a meaning, to decode.
//
//===----------------------------------------------------------------------===//

#include "tessera/ISA/Packet.h"
#include "fmt/format.h"
#include "tessera/Support/Bytes.h"
#include <bitset>
#include <optional>

namespace tessera::isa {

namespace {

class FieldWriter {
public:
  template <typename T> void operator()(unsigned at, const T &value) {
    storeLittleEndian(bytes.data() + at, value);
  }
  std::array<uint8_t, packetBytes> bytes{};
};

class FieldReader {
public:
  explicit FieldReader(const uint8_t *bytes) : bytes(bytes) {}
  template <typename T> void operator()(unsigned at, T &value) {
    value = loadLittleEndian<T>(bytes + at);
    for (unsigned i = 0; i < sizeof(T); ++i)
      known.set(at + i);
  }
  Status checkReserved() const {
    for (unsigned i = 0; i < packetBytes; ++i)
      if (!known[i] && bytes[i] != 0)
        return {StatusCode::InvalidArgument,
                fmt::format("reserved byte {} is not 0", i)};
    return Status::success();
  }

private:
  const uint8_t *bytes;
  std::bitset<packetBytes> known;
};

// Where the semaphores of most packets are.
constexpr unsigned waitAt = 32, completionAt = 36;
constexpr unsigned waitValueAt = 40, completionValueAt = 48;

template <typename Visit, typename Body>
void visitCompletion(Visit &visit, Body &body) {
  visit(completionAt, body.completion.semaphore);
  visit(completionValueAt, body.completion.value);
}

template <typename Visit, typename Body>
void visitSemaphores(Visit &visit, Body &body) {
  visit(waitAt, body.wait.semaphore);
  visit(waitValueAt, body.wait.value);
  visitCompletion(visit, body);
}

template <typename Visit, typename Body>
void visitFields(Visit &visit, Body &body) {
  using T = std::remove_const_t<Body>;
  if constexpr (std::is_same_v<T, DispatchPacket>) {
    visit(8, body.kernel);
    visit(16, body.arguments);
    visit(24, body.numArguments);
    visit(28, body.x);
    visit(29, body.y);
    visit(30, body.width);
    visit(31, body.height);
    visitSemaphores(visit, body);
    visit(56, body.budget);
  } else if constexpr (std::is_same_v<T, CopyPacket>) {
    visit(8, body.destination);
    visit(16, body.source);
    visit(24, body.size);
    visitSemaphores(visit, body);
  } else if constexpr (std::is_same_v<T, FillPacket>) {
    visit(8, body.destination);
    visit(16, body.pattern);
    visit(24, body.size);
    visitSemaphores(visit, body);
  } else if constexpr (std::is_same_v<T, BarrierPacket>) {
    for (unsigned i = 0; i < 4; ++i) {
      visit(8 + 4 * i, body.waits[i].semaphore);
      visit(24 + 8 * i, body.waits[i].value);
    }
    visit(56, body.completion.semaphore);
    // The value's upper half has no place in the packet.
    auto value = uint32_t(body.completion.value);
    visit(60, value);
    if constexpr (!std::is_const_v<Body>)
      body.completion.value = value;
  } else if constexpr (std::is_same_v<T, SignalPacket>) {
    visitCompletion(visit, body);
  } else if constexpr (std::is_same_v<T, TimestampPacket>) {
    visit(8, body.destination);
    visitCompletion(visit, body);
  } else if constexpr (std::is_same_v<T, IndirectPacket>) {
    visit(8, body.address);
    visit(16, body.count);
    visitSemaphores(visit, body);
  } else if constexpr (std::is_same_v<T, InterruptPacket>) {
    visit(8, body.payload);
  } else {
    static_assert(std::is_same_v<T, NopPacket>);
  }
}

PacketType typeOf(const NopPacket &) { return PacketType::Nop; }
PacketType typeOf(const DispatchPacket &) { return PacketType::Dispatch; }
PacketType typeOf(const CopyPacket &) { return PacketType::Copy; }
PacketType typeOf(const FillPacket &) { return PacketType::Fill; }
PacketType typeOf(const BarrierPacket &body) {
  return body.any ? PacketType::BarrierOr : PacketType::BarrierAnd;
}
PacketType typeOf(const SignalPacket &) { return PacketType::Signal; }
PacketType typeOf(const TimestampPacket &) { return PacketType::Timestamp; }
PacketType typeOf(const IndirectPacket &) { return PacketType::Indirect; }
PacketType typeOf(const InterruptPacket &) { return PacketType::Interrupt; }

//===----------------------------------------------------------------------===//
// What a packet may hold
//===----------------------------------------------------------------------===//

constexpr uint64_t addressLimit = 1ull << 48;

Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

/// `size` bytes at `address` lie in the 48-bit address space.
Status checkArea(std::string_view field, uint64_t address, uint64_t size) {
  if (address >= addressLimit || size > addressLimit - address)
    return invalid(fmt::format("{} {:#x} with {} bytes is beyond 48 bits",
                               field, address, size));
  return Status::success();
}

Status checkSize(uint64_t size) {
  if (size == 0)
    return invalid("size is 0");
  return Status::success();
}

Status check(const NopPacket &) { return Status::success(); }
Status check(const SignalPacket &) { return Status::success(); }
Status check(const InterruptPacket &) { return Status::success(); }
Status check(const BarrierPacket &) { return Status::success(); }
Status check(const DispatchPacket &packet) {
  if (packet.kernel == 0)
    return invalid("kernel is null");
  if (packet.width == 0 || packet.height == 0)
    return invalid(fmt::format("the rectangle of cores is {} × {}",
                               packet.width, packet.height));
  TESSERA_RETURN_IF_ERROR(
      checkArea("kernel", packet.kernel, kernelRecordBytes));
  return checkArea("arguments", packet.arguments,
                   8 * uint64_t(packet.numArguments));
}
Status check(const CopyPacket &packet) {
  TESSERA_RETURN_IF_ERROR(checkSize(packet.size));
  TESSERA_RETURN_IF_ERROR(
      checkArea("destination", packet.destination, packet.size));
  return checkArea("source", packet.source, packet.size);
}
Status check(const FillPacket &packet) {
  TESSERA_RETURN_IF_ERROR(checkSize(packet.size));
  if (packet.size % 4 != 0)
    return invalid(fmt::format("size {} is not a multiple of 4", packet.size));
  return checkArea("destination", packet.destination, packet.size);
}
Status check(const TimestampPacket &packet) {
  return checkArea("destination", packet.destination, 8);
}
Status check(const IndirectPacket &packet) {
  if (packet.count == 0)
    return invalid("count is 0");
  return checkArea("address", packet.address,
                   uint64_t(packet.count) * packetBytes);
}

/// A packet of `type` with an empty body; the type may be any byte.
std::optional<Packet> makePacket(PacketType type) {
  Packet packet;
  switch (type) {
  case PacketType::Dispatch:
    packet.body = DispatchPacket();
    return packet;
  case PacketType::Copy:
    packet.body = CopyPacket();
    return packet;
  case PacketType::Fill:
    packet.body = FillPacket();
    return packet;
  case PacketType::BarrierAnd:
  case PacketType::BarrierOr: {
    BarrierPacket barrier;
    barrier.any = type == PacketType::BarrierOr;
    packet.body = barrier;
    return packet;
  }
  case PacketType::Signal:
    packet.body = SignalPacket();
    return packet;
  case PacketType::Timestamp:
    packet.body = TimestampPacket();
    return packet;
  case PacketType::Indirect:
    packet.body = IndirectPacket();
    return packet;
  case PacketType::Interrupt:
    packet.body = InterruptPacket();
    return packet;
  case PacketType::Nop:
    return packet;
  case PacketType::Return:
  case PacketType::Finished:
  case PacketType::Invalid:
    break;
  }
  return std::nullopt;
}

std::string_view typeName(PacketType type) {
  switch (type) {
  case PacketType::Dispatch:
    return "dispatch";
  case PacketType::Copy:
    return "copy";
  case PacketType::Fill:
    return "fill";
  case PacketType::BarrierAnd:
    return "barrier_and";
  case PacketType::BarrierOr:
    return "barrier_or";
  case PacketType::Signal:
    return "signal";
  case PacketType::Timestamp:
    return "timestamp";
  case PacketType::Indirect:
    return "indirect";
  case PacketType::Interrupt:
    return "interrupt";
  case PacketType::Nop:
    return "nop";
  case PacketType::Return:
    return "return";
  case PacketType::Finished:
    return "finished";
  case PacketType::Invalid:
    return "invalid";
  }
  return "unknown";
}

} // namespace

std::array<uint8_t, packetBytes> encode(const Packet &packet) {
  FieldWriter writer;
  std::visit(
      [&](const auto &body) {
        writer(0, typeOf(body));
        writer(1, packet.flags);
        writer(4, packet.id);
        visitFields(writer, body);
      },
      packet.body);
  return writer.bytes;
}

Result<Packet> decodePacket(std::span<const uint8_t> bytes) {
  if (bytes.size() < packetBytes)
    return invalid(fmt::format("packet: needs {} bytes, {} are left",
                               packetBytes, bytes.size()));
  auto type = PacketType(bytes[0]);
  std::optional<Packet> packet = makePacket(type);
  if (!packet)
    return invalid(fmt::format("packet: type {:#04x} ({}) cannot be executed",
                               bytes[0], typeName(type)));
  FieldReader reader(bytes.data());
  reader(0, type);
  reader(1, packet->flags);
  reader(4, packet->id);
  Status status = std::visit(
      [&](auto &body) -> Status {
        visitFields(reader, body);
        TESSERA_RETURN_IF_ERROR(reader.checkReserved());
        bool dispatch =
            std::is_same_v<std::decay_t<decltype(body)>, DispatchPacket>;
        uint8_t known = packetBarrier | (dispatch ? packetPrefetch : 0);
        if ((packet->flags & ~known) != 0)
          return invalid(
              fmt::format("flags {:#04x} has unknown bits", packet->flags));
        return check(body);
      },
      packet->body);
  if (!status.ok())
    return status.withContext(fmt::format("packet {}", typeName(type)));
  return *packet;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Null semaphores are left out.
static std::string printSemaphore(std::string_view what, std::string_view op,
                                  SemaphoreValue value) {
  if (value.semaphore == 0)
    return "";
  return fmt::format(" {}(sem {} {} {})", what, value.semaphore, op,
                     value.value);
}

static std::string printBody(const NopPacket &, const AddressName &) {
  return "";
}
static std::string printBody(const DispatchPacket &packet,
                             const AddressName &address) {
  std::string text = fmt::format(
      " kernel {} arguments {} count {} cores [{}, {}] + [{}, {}]",
      address(8, packet.kernel), address(16, packet.arguments),
      packet.numArguments, packet.x, packet.y, packet.width, packet.height);
  if (packet.budget != 0)
    text += fmt::format(" budget {}", packet.budget);
  return text + printSemaphore("wait", ">=", packet.wait) +
         printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const CopyPacket &packet,
                             const AddressName &address) {
  return fmt::format(" {} to {} size {}", address(16, packet.source),
                     address(8, packet.destination), packet.size) +
         printSemaphore("wait", ">=", packet.wait) +
         printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const FillPacket &packet,
                             const AddressName &address) {
  return fmt::format(" {} size {} pattern {:#010x}",
                     address(8, packet.destination), packet.size,
                     packet.pattern) +
         printSemaphore("wait", ">=", packet.wait) +
         printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const BarrierPacket &packet, const AddressName &) {
  std::string text;
  for (const SemaphoreValue &wait : packet.waits)
    text += printSemaphore("wait", ">=", wait);
  return text + printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const SignalPacket &packet, const AddressName &) {
  return printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const TimestampPacket &packet,
                             const AddressName &address) {
  return fmt::format(" to {}", address(8, packet.destination)) +
         printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const IndirectPacket &packet,
                             const AddressName &address) {
  return fmt::format(" {} count {}", address(8, packet.address), packet.count) +
         printSemaphore("wait", ">=", packet.wait) +
         printSemaphore("signal", "=", packet.completion);
}
static std::string printBody(const InterruptPacket &packet,
                             const AddressName &) {
  return fmt::format(" payload {}", packet.payload);
}

std::string print(const Packet &packet, const AddressName &address) {
  return std::visit(
      [&](const auto &body) {
        return fmt::format("{}{}{} id {}{}", typeName(typeOf(body)),
                           packet.flags & packetBarrier ? " barrier" : "",
                           packet.flags & packetPrefetch ? " prefetch" : "",
                           packet.id, printBody(body, address));
      },
      packet.body);
}

std::string print(const Packet &packet) {
  return print(packet, [](unsigned, uint64_t value) {
    return fmt::format("{:#x}", value);
  });
}

} // namespace tessera::isa
