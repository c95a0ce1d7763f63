//===- Fuzzers.cpp - Properties that hold for any bytes -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "SampleObject.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include "tessera/driver/NullDriver.h"
#include "tessera/driver/RecordDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/AddressSpace.h"
#include "tessera/runtime/Queue.h"
#include "tessera/sim/PerfettoTrace.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::fuzz {

static Architecture tiny() {
  Result<Architecture> arch = loadArchitecture("tiny");
  return arch ? *arch : Architecture();
}

static std::unique_ptr<driver::Driver> smallDevice(bool simulator) {
  if (!simulator)
    return driver::makeNullDriver(tiny(), {.hostMemoryBytes = 1 << 20});
  sim::DeviceOptions options;
  options.hostMemoryBytes = 1 << 20;
  return std::make_unique<driver::SimDriver>(tiny(), options);
}

//===----------------------------------------------------------------------===//
// Packets
//===----------------------------------------------------------------------===//

/// Every kind, with all its fields in use.
static std::vector<Bytes> packetSeeds() {
  std::vector<Packet> packets = {
      {0, 1, NopPacket{}},
      {packetBarrier, 2,
       CopyPacket{0x100010000, 0x100030000, 64, {1, 2}, {3, 4}}},
      {0, 3, FillPacket{0x100010000, 64, 0x01020304, {1, 2}, {3, 4}}},
      {0, 4,
       DispatchPacket{
           0x100010000, 0x100030000, 2, 0, 0, 1, 1, {1, 2}, {3, 4}, 100}},
      {packetPrefetch, 4,
       DispatchPacket{0x100010000, 0x100030000, 2, 0, 0, 1, 1, {}, {}, 0}},
      {0, 5, BarrierPacket{false, {{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}, {9, 1}}},
      {0, 6, BarrierPacket{true, {{{1, 2}, {3, 4}, {5, 6}, {7, 8}}}, {9, 1}}},
      {0, 7, SignalPacket{{3, 4}}},
      {0, 8, TimestampPacket{0x100010000, {3, 4}}},
      {0, 9, IndirectPacket{0x100010000, 3, {1, 2}, {3, 4}}},
      {0, 10, InterruptPacket{77}}};
  std::vector<Bytes> seeds;
  for (const Packet &packet : packets) {
    auto image = encode(packet);
    seeds.emplace_back(image.begin(), image.end());
  }
  return seeds;
}

/// A packet that decodes is printed, and encodes to the bytes it came from: the
/// first 64, those behind are another packet's.
static std::string checkPacket(const Bytes &input, bool &accepted) {
  Result<Packet> packet = decodePacket(input);
  if (!packet)
    return packet.status().message().empty() ? "an error without a message"
                                             : "";
  accepted = true;
  if (print(*packet).empty())
    return "prints as nothing";
  auto again = encode(*packet);
  if (!std::equal(again.begin(), again.end(), input.begin()))
    return "encodes to other bytes than it was decoded from";
  return "";
}

/// Any packet is run, or stops its queue with a record; another queue goes on.
static std::string runPackets(const Bytes &input, bool &accepted,
                              bool simulator) {
  using namespace runtime;
  Result<Device> device = Device::create(smallDevice(simulator));
  Result<AddressSpace> space = AddressSpace::create(*device);
  Result<Buffer> a = space->allocate(65536), b = space->allocate(65536);
  Result<Queue> bad = Queue::create(*space, {.packets = 16}),
                good = Queue::create(*space, {.packets = 16});
  if (!a || !b || !bad || !good)
    return "no device to run on";
  for (size_t at = 0; at + packetBytes <= input.size() && at < 8 * packetBytes;
       at += packetBytes) {
    std::span<const uint8_t> packet = std::span(input).subspan(at, packetBytes);
    if (!bad->submitRaw(packet, {.whenFull = WhenFull::Fail}).ok())
      break;
  }
  // Bounded: a copy of terabytes may fault late, a wait may never be met.
  Status ended = bad->waitIdle(device->afterCycles(20'000));
  accepted = ended.ok();
  if (!ended.ok() && ended.message().empty())
    return "an error without a message";
  Result<Semaphore> done = Semaphore::create(*device);
  if (!done)
    return done.status().message();
  // The copy engine may be busy for long with what the packet asked for.
  Status other = good->signal({.signal = {{*done, 1}}});
  if (other.ok())
    other = done->wait(1, device->afterCycles(200'000));
  if (!other.ok())
    return "the other queue was affected: " + other.message();
  return "";
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

static void repairObject(Bytes &file) {
  constexpr size_t checksumAt = 64 + 20;
  if (file.size() < checksumAt + 8)
    return;
  std::span<const uint8_t> bytes = file;
  storeLittleEndian(file.data() + checksumAt,
                    hashBytes(bytes.subspan(checksumAt + 8),
                              hashBytes(bytes.first(checksumAt))));
}

static std::string checkObject(const Bytes &input, bool &accepted) {
  Result<Object> object = readObject(input, "fuzzed");
  if (!object)
    return object.status().message().empty() ? "an error without a message"
                                             : "";
  accepted = true;
  return writeObject(*object) == input ? "" : "is written differently";
}

//===----------------------------------------------------------------------===//
// Recordings
//===----------------------------------------------------------------------===//

static std::vector<Bytes> recordingSeeds() {
  using namespace runtime;
  std::vector<Bytes> seeds;
  for (bool simulator : {false, true}) {
    auto recorder =
        std::make_unique<driver::RecordDriver>(smallDevice(simulator));
    driver::RecordDriver *record = recorder.get();
    Result<Device> device = Device::create(std::move(recorder));
    Result<AddressSpace> space = AddressSpace::create(*device);
    Result<Queue> queue = Queue::create(*space, {.packets = 8});
    Result<Buffer> a = space->allocate(64), b = space->allocate(64);
    if (!queue || !a || !b)
      return {};
    if (!queue->fill(*a, 5).ok() ||
        !queue->copy(*b, *a, {.barrier = true}).ok() || !queue->waitIdle().ok())
      return {};
    seeds.push_back(encodeRecording(record->recording()));
  }
  return seeds;
}

static void repairRecording(Bytes &file) {
  if (file.size() < 8)
    return;
  std::span<const uint8_t> body = std::span(file).first(file.size() - 8);
  storeLittleEndian(file.data() + body.size(), hashBytes(body));
}

/// What decodes encodes to the same bytes; its replay ends, with a report.
static std::string checkRecording(const Bytes &input, bool &accepted) {
  Result<driver::Recording> recording = driver::decodeRecording(input);
  if (!recording)
    return recording.status().message().empty() ? "an error without a message"
                                                : "";
  accepted = true;
  if (encodeRecording(*recording) != input)
    return "encodes to other bytes than it was decoded from";
  for (bool simulator : {false, true}) {
    Result<driver::ReplayReport> report =
        driver::replay(*recording, *smallDevice(simulator));
    if (!report && report.status().message().empty())
      return "an error without a message";
    if (report && report->divergence &&
        report->divergence->operation >= recording->operations.size())
      return "a divergence beyond the recording's end";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

/// Whether bytes are a protobuf message; each nested packet of a trace too.
static bool wellFormed(std::span<const uint8_t> message, bool trace) {
  auto varint = [&](uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (message.empty())
        return false;
      uint8_t byte = message.front();
      message = message.subspan(1);
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return true;
    }
    return false;
  };
  while (!message.empty()) {
    uint64_t tag = 0, value = 0;
    if (!varint(tag) || !varint(value))
      return false;
    if ((tag & 7) == 0)
      continue;
    if ((tag & 7) != 2 || value > message.size())
      return false;
    if (trace && !wellFormed(message.first(value), false))
      return false;
    message = message.subspan(value);
  }
  return true;
}

constexpr size_t traceEventBytes = 32;

static std::vector<Bytes> traceSeeds() {
  std::vector<Bytes> seeds;
  for (uint64_t seed : {1, 2}) {
    Random random(seed);
    ByteWriter out;
    uint64_t time = 0;
    for (int i = 0; i < 40; ++i) {
      out.write(uint8_t(random.below(7)));
      out.write(uint8_t(random.below(5)));
      out.write(uint8_t(random.below(40)));
      out.write(uint8_t(random.below(2)));
      out.write(uint32_t(random.below(64)));
      out.write(uint32_t(random.below(8)));
      out.write(uint32_t(0));
      out.write(random.below(100));
      out.write(time += random.below(5'000'000));
    }
    seeds.push_back(out.take());
  }
  return seeds;
}

/// Any events in order of time give a well-formed trace.
static std::string checkTrace(const Bytes &input, bool &accepted) {
  Bytes file;
  sim::PerfettoTraceWriter writer({}, [&](std::span<const uint8_t> bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  });
  uint64_t time = 0;
  ByteReader in{std::span<const uint8_t>(input)};
  while (in.remaining() >= traceEventBytes) {
    sim::TraceEvent event;
    event.kind = sim::TraceEvent::Kind(in.read<uint8_t>() % 7);
    event.engine = sim::Engine(in.read<uint8_t>() % sim::maxEngines);
    event.opcode = in.read<uint8_t>();
    event.core = in.read<uint8_t>() % 16;
    event.pc = in.read<uint32_t>();
    event.id = in.read<uint32_t>();
    (void)in.read<uint32_t>();
    event.value = in.read<uint64_t>();
    time = std::max(time, in.read<uint64_t>());
    event.timeFs = time;
    writer.event(event);
  }
  writer.finish();
  accepted = true;
  return wellFormed(file, true) ? "" : "the trace is no protobuf message";
}

const std::vector<Fuzzer> &fuzzers() {
  static const std::vector<Fuzzer> all = {
      {"packet", checkPacket, nullptr, packetSeeds, 40'000},
      {"packet",
       [](const Bytes &input, bool &accepted) {
         std::string failure = runPackets(input, accepted, false);
         accepted = true;
         return failure;
       },
       nullptr, packetSeeds, 2'000},
      {"packet",
       [](const Bytes &input, bool &accepted) {
         std::string failure = runPackets(input, accepted, true);
         accepted = true;
         return failure;
       },
       nullptr, packetSeeds, 600},
      {"object", checkObject, repairObject,
       [] { return std::vector<Bytes>{writeObject(test::sampleObject())}; },
       20'000},
      {"recording", checkRecording, repairRecording, recordingSeeds, 1'500},
      {"trace", checkTrace, nullptr, traceSeeds, 5'000},
  };
  return all;
}

} // namespace tessera::fuzz
