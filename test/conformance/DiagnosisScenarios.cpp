//===- DiagnosisScenarios.cpp - Hangs and races explained -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "TestKernels.h"
#include <set>
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using ::testing::HasSubstr;

namespace {

class DiagnosisConformance : public Conformance {
protected:
  static const QueueDump &find(const HangDump &dump, std::string_view label) {
    for (const QueueDump &queue : dump.queues)
      if (queue.label == label)
        return queue;
    ADD_FAILURE() << "no queue " << label;
    static const QueueDump none;
    return none;
  }
};

// Every field, in a deadlock, in a wait for the host and in a full ring.
TEST_P(DiagnosisConformance, hang_dump) {
  Queue q0 = queue("Q0"), q1 = queue("Q1"), small = queue("small", 4);
  Semaphore s = semaphore("S"), t = semaphore("T"), go = semaphore("go", true);
  Buffer a = buffer(64);
  ASSERT_OK(q0.fill(a, 1, {.label = "before"}));
  ASSERT_OK(q0.waitIdle());
  ASSERT_OK(
      q0.fill(a, 1, {.wait = {{t, 1}}, .signal = {{s, 1}}, .label = "left"}));
  ASSERT_OK(
      q1.fill(a, 2, {.wait = {{s, 1}}, .signal = {{t, 1}}, .label = "right"}));
  ASSERT_OK(
      small.fill(a, 3, {.wait = {{go, 5}}, .barrier = true, .label = "held"}));
  ASSERT_OK(small.fill(a, 4, {.label = "free"}));
  EXPECT_EQ(s.wait(1).code(), StatusCode::Deadlock);
  HangDump dump;
  std::thread waiting([&] { EXPECT_OK(go.wait(3)); });
  // The thread's wait is in the dump once it waits.
  do {
    std::this_thread::yield();
    dump = device.hangDump();
  } while (dump.hostWaits.empty());

  EXPECT_EQ(dump.device, "device");
  EXPECT_EQ(dump.time, device.now());
  EXPECT_OK(dump.lost);
  ASSERT_EQ(dump.queues.size(), 3u);
  const QueueDump &left = find(dump, "Q0");
  EXPECT_EQ(left.published - left.retired, left.read - left.done)
      << "an idle device has read all";
  EXPECT_GE(left.done, 1u);
  ASSERT_EQ(left.operations.size(), 1u);
  EXPECT_EQ(left.operations[0].label, "left");
  ASSERT_EQ(left.operations[0].waits.size(), 1u);
  EXPECT_EQ(left.operations[0].waits[0].semaphore, "T");
  EXPECT_EQ(left.operations[0].waits[0].target, 1u);
  EXPECT_EQ(left.operations[0].waits[0].value, 0u);
  EXPECT_THAT(left.operations[0].waits[0].producer,
              HasSubstr("'right' (queue 'Q1'"));
  const QueueDump &right = find(dump, "Q1");
  ASSERT_EQ(right.operations.size(), 1u);
  EXPECT_THAT(right.operations[0].waits.at(0).producer,
              HasSubstr("'left' (queue 'Q0'"));
  const QueueDump &held = find(dump, "small");
  ASSERT_GE(held.operations.size(), 1u);
  EXPECT_EQ(held.operations[0].label, "held");
  EXPECT_TRUE(held.operations[0].barrier);
  EXPECT_EQ(held.operations[0].waits.at(0).producer, "the host");
  ASSERT_EQ(dump.hostWaits.size(), 1u);
  EXPECT_EQ(dump.hostWaits[0].semaphore, "go");
  EXPECT_EQ(dump.hostWaits[0].target, 3u);
  // The flight recorder has the way that led here.
  ASSERT_EQ(left.events.size(), 3u);
  EXPECT_EQ(left.events[0].kind, FlightEvent::Kind::Submitted);
  EXPECT_EQ(left.events[0].label, "before");
  EXPECT_EQ(left.events[1].kind, FlightEvent::Kind::Completed);
  EXPECT_EQ(left.events[2].label, "left");
  for (const char *part : {"queue 'Q0'", "'left'", "semaphore 'T' >= 1",
                           "a host thread waits for semaphore 'go' >= 3"})
    EXPECT_THAT(dump.print(), HasSubstr(part));
  ASSERT_OK(go.signal(5));
  waiting.join();
}

// One report each, none once the edge is added, none for disjoint bytes.
TEST_P(DiagnosisConformance, host_races) {
  device.detectRaces();
  Buffer a = buffer(64, "A"), b = buffer(64, "B");
  Queue q = queue("Q"), other = queue("other");
  Semaphore s = semaphore("S"), go = semaphore("go", true);
  std::vector<std::byte> word(4);
  auto reports = [&] { return device.races().size(); };

  // A host write during a copy's life.
  ASSERT_OK(q.copy(b, a, {.signal = {{s, 1}}, .label = "copy"}));
  ASSERT_OK(a.write(8, word));
  ASSERT_OK(q.waitIdle());
  ASSERT_EQ(reports(), 1u);
  RaceReport report = device.races().front();
  EXPECT_EQ(report.buffer, "A");
  EXPECT_EQ(report.low, 8u);
  EXPECT_EQ(report.high, 12u);
  EXPECT_THAT(report.print(), HasSubstr("'copy' (queue 'Q', operation 0)"));
  EXPECT_THAT(report.print(), HasSubstr("the host's write of buffer 'A'"));
  EXPECT_THAT(report.missing,
              HasSubstr("let the host wait for semaphore 'S' >= 1"));
  EXPECT_THAT(report.missing, HasSubstr("or submit 'copy'"));
  // With the edge: the write comes before the submission, or is waited for.
  ASSERT_OK(a.write(8, word));
  ASSERT_OK(q.copy(b, a, {.signal = {{s, 2}}}));
  ASSERT_OK(s.wait(2));
  ASSERT_OK(a.write(8, word));
  ASSERT_OK(q.copy(b, a, {.wait = {{go, 1}}, .signal = {{s, 3}}}));
  ASSERT_OK(a.write(8, word));
  ASSERT_OK(go.signal(1));
  ASSERT_OK(s.wait(3));
  EXPECT_EQ(reports(), 1u);

  // A read before the wait, and after it.
  ASSERT_OK(q.fill(a, 7, {.signal = {{s, 4}}, .label = "fill"}));
  ASSERT_OK(a.read(0, word));
  ASSERT_OK(s.wait(4));
  ASSERT_EQ(reports(), 2u);
  EXPECT_THAT(device.races().back().print(), HasSubstr("'fill'"));
  ASSERT_OK(a.read(0, word));
  EXPECT_EQ(reports(), 2u);

  // Whoever has seen the value knows as much as who has waited for it.
  Semaphore t = semaphore("T");
  ASSERT_OK(other.fill(b, 7, {.signal = {{t, 1}}}));
  ASSERT_OK(q.fill(a, 7, {.wait = {{t, 1}}, .signal = {{s, 5}}}));
  while (*s.value() < 5)
    EXPECT_FALSE(t.wait(2, device.afterCycles(1000)).ok());
  ASSERT_OK(a.read(0, word));
  ASSERT_OK(b.read(0, word));
  EXPECT_EQ(reports(), 2u);

  // Disjoint bytes.
  ASSERT_OK(q.fill({a, 0, 32}, 1));
  ASSERT_OK(a.write(32, word));
  ASSERT_OK(other.fill({a, 36, 28}, 2));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(reports(), 2u);

  // Two queues, without and with a semaphore, and by a barrier.
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 6}}, .label = "writer"}));
  ASSERT_OK(other.copy(b, a, {.label = "reader"}));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  ASSERT_EQ(reports(), 3u);
  EXPECT_THAT(device.races().back().missing,
              HasSubstr("wait for semaphore 'S' >= 6"));
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 7}}, .label = "writer 2"}));
  ASSERT_OK(other.copy(b, a, {.wait = {{s, 7}}, .label = "reader 2"}));
  ASSERT_OK(other.fill(b, 9, {.barrier = true}));
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(reports(), 3u);
}

// What kernels touch is what was declared: of an operation, of a command
// buffer's bindings, of its own memory.
TEST_P(DiagnosisConformance, kernel_races) {
  Result<TestKernel> kernel = TestKernel::create(space, TestKernel::spin(10));
  ASSERT_OK(kernel.status());
  device.detectRaces();
  Buffer in = buffer(256, "in"), out = buffer(256, "out"),
         scratch = buffer(256, "scratch");
  Queue q = queue("Q"), other = queue("other");
  Semaphore s = semaphore("S");
  std::vector<std::byte> word(4);
  auto reports = [&] { return device.races().size(); };

  // A dispatch writes what a copy of another queue reads.
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {},
                       {.signal = {{s, 1}},
                        .label = "kernel",
                        .uses = {{in, Use::Read}, {out, Use::Write}}}));
  ASSERT_OK(other.copy({scratch, 0, 64}, {out, 32, 64}, {.label = "early"}));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  ASSERT_EQ(reports(), 1u);
  RaceReport report = device.races().front();
  EXPECT_EQ(report.buffer, "out");
  EXPECT_EQ(report.low, 32u);
  EXPECT_EQ(report.high, 96u);
  EXPECT_THAT(report.print(), HasSubstr("'kernel' (queue 'Q'"));
  EXPECT_THAT(report.missing, HasSubstr("wait for semaphore 'S' >= 1"));
  // With the edge; and two readers are no race.
  ASSERT_OK(q.dispatch(
      kernel->kernel(), {}, {},
      {.signal = {{s, 2}}, .uses = {{in, Use::Read}, {out, Use::Write}}}));
  ASSERT_OK(other.copy({scratch, 0, 64}, {out, 32, 64}, {.wait = {{s, 2}}}));
  ASSERT_OK(other.copy({scratch, 64, 64}, {in, 0, 64}));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(reports(), 1u);

  // A command buffer with a binding that its kernels read, one that they write,
  // and memory of its own.
  Result<CommandBuffer> made = CommandBuffer::create(space, "commands");
  ASSERT_OK(made.status());
  ASSERT_OK(made->dispatch(kernel->kernel(), BufferRange(in), {}));
  ASSERT_OK(made->require({{"x", 128, Use::Read}, {"y", 128, Use::Write}}));
  ASSERT_OK(made->uses({scratch, 128, 64}, Use::ReadWrite));
  ASSERT_OK(made->finish());
  std::array bindings{in, out};
  ASSERT_OK(q.execute(*made, bindings, {.signal = {{s, 3}}}));
  ASSERT_OK(in.write(124, word)); // The last word that is needed,
  ASSERT_OK(in.write(128, word)); // and the first that is not.
  ASSERT_OK(out.read(128, word));
  ASSERT_OK(q.waitIdle());
  ASSERT_EQ(reports(), 2u);
  report = device.races().back();
  EXPECT_EQ(report.buffer, "in");
  EXPECT_EQ(report.low, 124u);
  EXPECT_EQ(report.high, 128u);
  EXPECT_THAT(report.print(), HasSubstr("'commands' (queue 'Q'"));
  // Two executions at once share the memory of their own; in order they may.
  ASSERT_OK(q.execute(*made, bindings, {.signal = {{s, 4}}}));
  ASSERT_OK(other.execute(*made, bindings));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_GT(reports(), 2u);
  std::set<std::string> buffers;
  for (const RaceReport &each : device.races())
    buffers.insert(each.buffer);
  EXPECT_TRUE(buffers.contains("scratch"));
  size_t before = reports();
  ASSERT_OK(q.execute(*made, bindings, {.signal = {{s, 5}}}));
  ASSERT_OK(other.execute(*made, bindings, {.wait = {{s, 5}}}));
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(reports(), before);

  // Declarations are checked like operands.
  Queue third = queue("third");
  EXPECT_ERROR(third.dispatch(kernel->kernel(), {}, {},
                              {.uses = {{Buffer(), Use::Read}}}),
               FailedPrecondition, "uses an empty buffer handle");
  EXPECT_ERROR(third.dispatch(kernel->kernel(), {}, {},
                              {.uses = {{{out, 200, 64}, Use::Read}}}),
               InvalidArgument, "'out': bytes 200 to 264");
  EXPECT_EQ(third.submitted(), 0u);
}

// A host call has seen what it waited for, and who waits for it sees what it
// did.
TEST_P(DiagnosisConformance, host_call_edges) {
  device.detectRaces();
  Buffer a = buffer(64, "A"), b = buffer(64, "B");
  Queue q = queue("Q");
  Semaphore s = semaphore("S");
  std::vector<std::byte> word(4);
  ASSERT_OK(q.fill(a, 1, {.signal = {{s, 1}}}));
  ASSERT_OK(q.hostCall(
      [&] {
        EXPECT_OK(a.read(0, word));
        return a.write(0, word);
      },
      {.wait = {{s, 1}}, .signal = {{s, 2}}}));
  ASSERT_OK(q.copy(b, a, {.wait = {{s, 2}}, .signal = {{s, 3}}}));
  ASSERT_OK(s.wait(3));
  EXPECT_EQ(device.races().size(), 0u);
  // Without the wait it has seen nothing.
  ASSERT_OK(q.fill(a, 2, {.signal = {{s, 4}}}));
  ASSERT_OK(q.hostCall([&] { return a.read(0, word); }));
  ASSERT_OK(q.waitIdle());
  EXPECT_EQ(device.races().size(), 1u);
}

TESSERA_CONFORMANCE(DiagnosisConformance);

class ObservedKernelConformance : public Conformance {};

// What kernels really touch is looked at, too, and compared with what is
// declared.
TEST_P(ObservedKernelConformance, observed_kernels) {
  Buffer in = buffer(256, "in"), out = buffer(256, "out"),
         copy = buffer(256, "copy");
  std::vector<uint32_t> words(64, 7);
  ASSERT_OK(in.write(0, std::as_bytes(std::span(words))));
  // Reads words 4 to 19 of one buffer, writes words 8 to 23 of the other.
  Result<TestKernel> kernel =
      TestKernel::move(space, out.address() + 32, in.address() + 16, 16);
  ASSERT_OK(kernel.status());
  ASSERT_OK(device.observeKernels());
  Queue q = queue("Q"), other = queue("other");
  Semaphore s = semaphore("S");

  // Nothing declared: a race all the same, exact to the byte.
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {},
                       {.signal = {{s, 1}}, .label = "kernel"}));
  ASSERT_OK(other.copy({copy, 0, 64}, {out, 64, 64}, {.label = "early"}));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(contents(out)[8], 7u);
  ASSERT_EQ(device.races().size(), 1u);
  RaceReport race = device.races().front();
  EXPECT_EQ(race.buffer, "out");
  EXPECT_EQ(race.low, 64u);
  EXPECT_EQ(race.high, 96u);
  EXPECT_THAT(race.print(), HasSubstr("'kernel' (queue 'Q', operation 0)"));
  EXPECT_TRUE(device.undeclaredAccesses().empty());
  // Bytes that it leaves alone; and with the edge.
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {}, {.signal = {{s, 2}}}));
  ASSERT_OK(other.copy({copy, 0, 64}, {out, 96, 64}));
  ASSERT_OK(other.copy({copy, 64, 64}, {out, 32, 64}, {.wait = {{s, 2}}}));
  ASSERT_OK(q.waitIdle());
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(device.races().size(), 1u);

  // A declaration that holds, and one that does not: the kernel reads 8 bytes
  // before what is declared, and writes what is declared to be read.
  ASSERT_OK(q.dispatch(
      kernel->kernel(), {}, {},
      {.barrier = true,
       .uses = {{{in, 16, 64}, Use::Read}, {{out, 0, 256}, Use::Write}}}));
  ASSERT_OK(q.waitIdle());
  EXPECT_TRUE(device.undeclaredAccesses().empty());
  for (int repeated = 0; repeated < 2; ++repeated)
    ASSERT_OK(q.dispatch(
        kernel->kernel(), {}, {},
        {.barrier = true,
         .label = "liar",
         .uses = {{{in, 24, 64}, Use::Read}, {{out, 32, 64}, Use::Read}}}));
  ASSERT_OK(q.waitIdle());
  std::vector<UndeclaredAccess> undeclared = device.undeclaredAccesses();
  ASSERT_EQ(undeclared.size(), 2u);
  EXPECT_EQ(undeclared[0].buffer, "in");
  EXPECT_FALSE(undeclared[0].writes);
  EXPECT_EQ(undeclared[0].low, 16u);
  EXPECT_EQ(undeclared[0].high, 24u);
  EXPECT_EQ(undeclared[0].occurrences, 2u);
  EXPECT_EQ(undeclared[1].buffer, "out");
  EXPECT_TRUE(undeclared[1].writes);
  EXPECT_EQ(undeclared[1].low, 32u);
  EXPECT_EQ(undeclared[1].high, 96u);
  EXPECT_THAT(undeclared[1].print(), HasSubstr("'liar' (queue 'Q', operation"));
  EXPECT_THAT(undeclared[1].print(),
              HasSubstr("writes bytes 32 to 96 of buffer 'out', which is not "
                        "declared (2 times)"));

  // In a command buffer the command is named.
  Result<CommandBuffer> made = CommandBuffer::create(space, "commands");
  ASSERT_OK(made.status());
  ASSERT_OK(made->dispatch(kernel->kernel(), BufferRange(), {}));
  made->nameCommand(0, "layer 7");
  ASSERT_OK(made->uses({in, 0, 256}, Use::Read));
  ASSERT_OK(made->finish());
  ASSERT_OK(q.execute(*made, {}, {.barrier = true}));
  ASSERT_OK(q.waitIdle());
  undeclared = device.undeclaredAccesses();
  ASSERT_EQ(undeclared.size(), 3u);
  EXPECT_EQ(undeclared[2].kernel, "command 0 'layer 7'");
  // A consumer that completes first brings its producer's accesses: the report
  // does not depend on which queue is looked at first.
  size_t before = device.races().size();
  ASSERT_OK(q.dispatch(kernel->kernel(), {}, {},
                       {.signal = {{s, 3}}, .barrier = true}));
  ASSERT_OK(other.fill({out, 32, 64}, 1, {.wait = {{s, 3}}}));
  ASSERT_OK(other.waitIdle());
  EXPECT_EQ(device.races().size(), before);
}

INSTANTIATE_TEST_SUITE_P(Drivers, ObservedKernelConformance,
                         ::testing::Values("simulator", "exploring", "eager",
                                           "unreliable", "recorded"),
                         [](const auto &info) { return info.param; });

class SilentDeviceConformance : public Conformance {};

// A device that does not tell what kernels touch says so.
TEST_P(SilentDeviceConformance, observed_kernels_unsupported) {
  EXPECT_ERROR(device.observeKernels(), Unsupported,
               "device 'device': observation of kernels");
  EXPECT_TRUE(device.undeclaredAccesses().empty());
}

INSTANTIATE_TEST_SUITE_P(Drivers, SilentDeviceConformance,
                         ::testing::Values("null"));

class HungKernelConformance : public Conformance {};

// Where an endless kernel is, is told by the device's way-points.
TEST_P(HungKernelConformance, hang_dump_of_a_kernel) {
  Result<TestKernel> kernel = TestKernel::create(space, TestKernel::endless());
  ASSERT_OK(kernel.status());
  Queue q = queue("Q");
  ASSERT_OK(q.submitRaw(kernel->packet(), {.label = "endless"}));
  EXPECT_EQ(q.waitIdle(device.afterCycles(20'000)).code(),
            StatusCode::DeadlineExceeded);
  HangDump dump = device.hangDump();
  ASSERT_EQ(dump.queues.size(), 1u);
  EXPECT_EQ(dump.queues[0].status, "running");
  EXPECT_THAT(dump.queues[0].head, HasSubstr("packet 0: dispatch"));
  EXPECT_TRUE(dump.queues[0].slot);
  std::string points;
  for (const std::string &line : dump.wayPoints)
    points += line + "\n";
  EXPECT_THAT(points, HasSubstr("core 0: kernel"));
  EXPECT_THAT(points, HasSubstr("sequencer at pc"));
  EXPECT_THAT(points, HasSubstr("has not finished"));
  ASSERT_OK(q.reset());
}

INSTANTIATE_TEST_SUITE_P(Drivers, HungKernelConformance,
                         ::testing::Values("simulator"));

} // namespace
