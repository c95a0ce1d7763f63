//===- PerfettoTraceTest.cpp - Tests of the Perfetto writer ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/PerfettoTrace.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/sim/BackgroundTrace.h"
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::sim;
using Bytes = std::vector<uint8_t>;

namespace {
/// The fields of a protobuf message, in order.
struct Message {
  struct Field {
    uint32_t number = 0;
    uint64_t value = 0;
    Bytes bytes;
  };
  std::vector<Field> fields;

  explicit Message(std::span<const uint8_t> from) {
    auto varint = [&] {
      uint64_t value = 0;
      for (unsigned shift = 0; !from.empty(); shift += 7) {
        uint8_t byte = from.front();
        from = from.subspan(1);
        value |= uint64_t(byte & 0x7f) << shift;
        if (!(byte & 0x80))
          break;
      }
      return value;
    };
    while (!from.empty()) {
      uint64_t tag = varint();
      Field field;
      field.number = uint32_t(tag >> 3);
      if ((tag & 7) == 1) {
        for (unsigned i = 0; i != 8 && !from.empty(); ++i) {
          field.value |= uint64_t(from.front()) << (8 * i);
          from = from.subspan(1);
        }
        fields.push_back(std::move(field));
        continue;
      }
      field.value = varint();
      if ((tag & 7) == 2) {
        if (field.value > from.size()) {
          ADD_FAILURE() << "field " << field.number << " is cut off";
          return;
        }
        field.bytes.assign(from.begin(), from.begin() + long(field.value));
        from = from.subspan(field.value);
      } else if ((tag & 7) != 0) {
        ADD_FAILURE() << "wire type " << (tag & 7);
        return;
      }
      fields.push_back(std::move(field));
    }
  }
  const Field *find(uint32_t number) const {
    for (const Field &field : fields)
      if (field.number == number)
        return &field;
    return nullptr;
  }
  uint64_t number(uint32_t n) const { return find(n) ? find(n)->value : 0; }
  std::string text(uint32_t n) const {
    return find(n) ? std::string(find(n)->bytes.begin(), find(n)->bytes.end())
                   : "";
  }
};

/// Reads a trace back into lines "ns track: begin name {arguments}".
class Reader {
public:
  explicit Reader(const Bytes &trace) {
    for (const Message::Field &field : Message(trace).fields) {
      EXPECT_EQ(field.number, 1u);
      readPacket(Message(field.bytes));
    }
  }
  std::vector<std::string> lines;

private:
  void readPacket(const Message &packet) {
    EXPECT_EQ(packet.number(10), 1u);
    if (const auto *interned = packet.find(12))
      for (const Message::Field &entry : Message(interned->bytes).fields) {
        Message text(entry.bytes);
        EXPECT_TRUE(
            texts.try_emplace({entry.number, text.number(1)}, text.text(2))
                .second)
            << "numbers are given once";
      }
    if (const auto *descriptor = packet.find(60))
      readDescriptor(Message(descriptor->bytes));
    if (const auto *event = packet.find(11)) {
      now += packet.number(8);
      EXPECT_EQ(packet.number(13), 2u);
      readEvent(Message(event->bytes));
    }
  }
  void readDescriptor(const Message &descriptor) {
    std::string name = descriptor.text(2);
    if (const auto *process = descriptor.find(3))
      name = Message(process->bytes).text(6);
    if (const auto *parent = descriptor.find(5)) {
      ASSERT_TRUE(tracks.count(parent->value)) << "parents come first";
      name = tracks[parent->value] + "/" + name;
    }
    EXPECT_TRUE(tracks.try_emplace(descriptor.number(1), name).second);
  }
  void readEvent(const Message &event) {
    ASSERT_TRUE(tracks.count(event.number(11)));
    std::string line = fmt::format("{} {}#{}: ", now, tracks[event.number(11)],
                                   event.number(11));
    uint64_t type = event.number(9);
    if (type == 4) {
      line += fmt::format("= {}", event.number(30));
    } else {
      line += type == 1 ? "begin" : type == 2 ? "end" : "instant";
      if (event.find(10))
        line += " " + texts.at({2, event.number(10)});
    }
    for (const Message::Field &field : event.fields)
      if (field.number == 4) {
        Message annotation(field.bytes);
        line += " " + texts.at({3, annotation.number(1)}) + "=";
        line += annotation.find(17) ? texts.at({29, annotation.number(17)})
                                    : fmt::format("{}", annotation.number(3));
      } else if (field.number == 47) {
        line += fmt::format(" arrow {}", field.value);
      }
    lines.push_back(line);
  }
  std::map<uint64_t, std::string> tracks;
  std::map<std::pair<uint32_t, uint64_t>, std::string> texts;
  uint64_t now = 0;
};

TraceEvent at(uint64_t ns, TraceEvent::Kind kind, uint32_t core = 0,
              uint64_t value = 0) {
  TraceEvent event;
  event.kind = kind;
  event.core = core;
  event.value = value;
  event.timeFs = ns * 1'000'000;
  return event;
}

TraceEvent instruction(uint64_t ns, TraceEvent::Kind kind, uint32_t core,
                       uint32_t pc) {
  TraceEvent event = at(ns, kind, core);
  event.engine = Engine::Matrix;
  event.opcode = uint8_t(isa::Opcode::MMA);
  event.pc = pc;
  return event;
}
} // namespace

TEST(PerfettoTrace, ReadsBack) {
  using enum TraceEvent::Kind;
  Bytes trace;
  std::map<uint64_t, TracedDispatch> dispatches;
  dispatches[7] = {
      "conv", "conv1, relu1", {1, 2}, {{0, "prologue"}, {4, "n1"}}};
  PerfettoTraceWriter writer(dispatches, [&](std::span<const uint8_t> bytes) {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
  });
  TraceEvent submit = at(5, HostBegin);
  submit.id = uint32_t(HostStep::Submit);
  writer.event(submit);
  writer.event(at(6, HostEnd));
  writer.event(at(10, DispatchBegin, 1, 7));
  writer.event(instruction(20, InstructionBegin, 1, 3));
  writer.event(instruction(25, InstructionBegin, 1, 5)); // Overlaps.
  TraceEvent semaphore = at(26, Semaphore, 2, 3);
  semaphore.id = 4;
  writer.event(semaphore);
  writer.event(instruction(30, InstructionEnd, 1, 3));
  writer.event(instruction(30, InstructionBegin, 1, 5)); // In a free lane.
  writer.event(instruction(31, InstructionEnd, 1, 5));
  writer.event(instruction(32, InstructionEnd, 1, 5));
  writer.event(at(33, Mark, 1, 9));
  writer.event(at(40, DispatchEnd, 1, 7));
  writer.event(at(41, DispatchBegin, 1, 99)); // Unknown to the writer.
  writer.event(at(42, DispatchEnd, 1, 99));
  TraceEvent timeline = at(50, Timeline, 0, 1ull << 40);
  writer.event(timeline);
  writer.finish();
  EXPECT_THAT(
      Reader(trace).lines,
      testing::ElementsAre(
          "5 host/thread#3: begin submit arrow 1", "6 host/thread#3: end",
          "10 command processor/queue 0#4: begin conv packet=7 "
          "nodes=conv1, relu1 arrow 1 arrow 2 arrow 3",
          "10 core 1/kernel#6: begin conv arrow 2",
          "10 core 2/kernel#8: begin conv arrow 3",
          "20 core 1/matrix#9: begin mma pc=3 source=prologue",
          "25 core 1/matrix#10: begin mma pc=5 source=n1",
          "26 core 2/s4#11: = 3", "30 core 1/matrix#9: end",
          "30 core 1/matrix#9: begin mma pc=5 source=n1",
          "31 core 1/matrix#9: end", "32 core 1/matrix#10: end",
          "33 core 1/kernel#6: instant mark 9", "40 core 1/kernel#6: end",
          "40 core 2/kernel#8: end", "40 command processor/queue 0#4: end",
          "41 command processor/queue 0#4: begin dispatch 99 packet=99",
          "42 command processor/queue 0#4: end",
          "50 command processor/timeline 0#12: = 1099511627776"));
}

// Queues number their packets each by itself, and so do threads their steps.
TEST(PerfettoTrace, QueuesAndThreadsHaveTracksOfTheirOwn) {
  using enum TraceEvent::Kind;
  Bytes trace;
  PerfettoTraceWriter writer({}, [&](std::span<const uint8_t> bytes) {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
  });
  auto ofQueue = [&](uint64_t ns, TraceEvent::Kind kind, uint32_t queue) {
    TraceEvent event = at(ns, kind, 0, 7);
    event.id = queue;
    writer.event(event);
  };
  auto part = [&](uint64_t ns, uint32_t queue, DispatchPart what) {
    TraceEvent event = at(ns, DispatchStep, queue, 7);
    event.id = uint32_t(what);
    writer.event(event);
  };
  ofQueue(10, DispatchBegin, 0);
  part(10, 0, DispatchPart::Start);
  ofQueue(11, DispatchBegin, 1);
  part(11, 1, DispatchPart::Start);
  part(12, 0, DispatchPart::Run);
  ofQueue(13, DispatchEnd, 1);
  ofQueue(14, DispatchEnd, 0);
  for (uint32_t thread : {0, 1}) {
    TraceEvent wait = at(20, HostBegin, thread);
    wait.id = uint32_t(HostStep::Wait);
    writer.event(wait);
  }
  writer.event(at(21, HostEnd, 0));
  writer.finish();
  EXPECT_THAT(Reader(trace).lines,
              testing::ElementsAre(
                  "10 command processor/queue 0#2: begin dispatch 7 packet=7",
                  "10 command processor/parts of dispatches#3: begin start",
                  "11 command processor/queue 1#4: begin dispatch 7 packet=7",
                  "11 command processor/parts of dispatches#5: begin start",
                  "12 command processor/parts of dispatches#3: end",
                  "12 command processor/parts of dispatches#3: begin run",
                  "13 command processor/parts of dispatches#5: end",
                  "13 command processor/queue 1#4: end",
                  "14 command processor/parts of dispatches#3: end",
                  "14 command processor/queue 0#2: end",
                  "20 host/thread#7: begin wait",
                  "20 host/thread 2#8: begin wait", "21 host/thread#7: end"));
}

TEST(PerfettoTrace, MemoryIsBoundedAndEventsAreSmall) {
  using enum TraceEvent::Kind;
  size_t total = 0, largest = 0;
  std::map<uint64_t, TracedDispatch> dispatches;
  dispatches[0] = {"conv", "conv1", {0}, {{0, "conv1"}, {50, "relu1"}}};
  PerfettoTraceWriter writer(dispatches, [&](std::span<const uint8_t> bytes) {
    total += bytes.size();
    largest = std::max(largest, bytes.size());
  });
  writer.event(at(0, DispatchBegin));
  for (uint64_t i = 0; i < 100'000; ++i) {
    writer.event(instruction(100 * i, InstructionBegin, 0, uint32_t(i % 100)));
    writer.event(instruction(100 * i + 90, InstructionEnd, 0, i % 100));
  }
  writer.finish();
  EXPECT_LE(largest, 66'000u);
  EXPECT_LE(double(total) / double(writer.events()), 24.0);
}

/// Encoded on a thread of its own, a trace has the same bytes.
TEST(BackgroundTrace, SameBytesAsWithoutAThread) {
  using enum TraceEvent::Kind;
  auto record = [](TraceObserver &observer) {
    for (uint64_t i = 0; i < 100'000; ++i) {
      observer.event(instruction(2 * i, InstructionBegin, i % 3, i % 50));
      observer.event(instruction(2 * i + 1, InstructionEnd, i % 3, i % 50));
    }
  };
  Bytes direct, background;
  auto into = [](Bytes &trace) {
    return [&trace](std::span<const uint8_t> bytes) {
      trace.insert(trace.end(), bytes.begin(), bytes.end());
    };
  };
  PerfettoTraceWriter first({}, into(direct)), second({}, into(background));
  record(first);
  first.finish();
  {
    BackgroundTrace thread(second);
    record(thread);
    thread.finish();
    EXPECT_EQ(second.events(), 200'000u);
    second.finish();
    thread.finish(); // Once more changes nothing.
  }
  EXPECT_EQ(direct, background);
}

TEST(BackgroundTrace, EndsWithoutAnEvent) {
  Bytes trace;
  PerfettoTraceWriter writer({}, [&](std::span<const uint8_t> bytes) {
    trace.insert(trace.end(), bytes.begin(), bytes.end());
  });
  {
    BackgroundTrace thread(writer);
  }
  EXPECT_EQ(writer.events(), 0u);
}
