//===- VisibilityScenarios.cpp - What is seen when -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConformanceFixture.h"
#include "tessera/runtime/CommandBuffer.h"

using namespace tessera;
using namespace tessera::runtime;

namespace {

class VisibilityConformance : public Conformance {};

TEST_P(VisibilityConformance, update_captures_source) {
  Queue q = queue();
  Semaphore go = semaphore("go", true), s = semaphore("S");
  Buffer a = buffer(4096);
  dope(a);
  std::vector<uint32_t> source(1024, 1);
  // Captured at the call, though it runs long after.
  ASSERT_OK(q.update(a, std::as_bytes(std::span(source)),
                     {.wait = {{go, 1}}, .signal = {{s, 1}}}));
  source.assign(1024, 2);
  ASSERT_OK(go.signal(1));
  ASSERT_OK(s.wait(1));
  EXPECT_TRUE(allAre(contents(a), 1));
}

// The device writes host memory; the host reads it directly.
TEST_P(VisibilityConformance, completion_visibility) {
  Queue q = queue();
  Semaphore s = semaphore("S");
  BufferOptions options;
  options.space = isa::PhysicalSpace::Host;
  Result<Buffer> host = space.allocate(1 << 20, options);
  ASSERT_OK(host.status());
  Buffer source = buffer(1 << 20);
  for (uint64_t round = 1; round <= 4; ++round) {
    dope(*host);
    std::vector<uint32_t> words(source.size() / 4);
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = uint32_t(i * round);
    ASSERT_OK(source.write(0, std::as_bytes(std::span(words))));
    ASSERT_OK(q.copy(*host, source, {.signal = {{s, round}}}));
    ASSERT_OK(s.wait(round));
    ASSERT_EQ(contents(*host), words);
  }
}

// A release to the device's agents alone tells the host nothing: what it reads
// then is flagged, however right it came out.
TEST_P(VisibilityConformance, completion_visibility_device_scope) {
  device.detectRaces();
  Queue q = queue("Q"), other = queue("other");
  Semaphore s = semaphore("S"), t = semaphore("T");
  BufferOptions options;
  options.space = isa::PhysicalSpace::Host;
  options.label = "host";
  Result<Buffer> host = space.allocate(1 << 20, options);
  ASSERT_OK(host.status());
  Buffer source = buffer(1 << 20), b = buffer(1 << 20);
  std::vector<uint32_t> words(source.size() / 4, 3);
  ASSERT_OK(source.write(0, std::as_bytes(std::span(words))));

  ASSERT_OK(q.copy(
      *host, source,
      {.signal = {{s, 1}}, .label = "device only", .release = Scope::Device}));
  ASSERT_OK(s.wait(1));
  ASSERT_EQ(contents(*host), words);
  ASSERT_EQ(device.races().size(), 1u);
  RaceReport report = device.races().front();
  EXPECT_THAT(report.first, ::testing::HasSubstr("'device only' (queue 'Q'"));
  EXPECT_THAT(report.second, ::testing::HasSubstr("the host's read"));
  EXPECT_EQ(report.low, 0u);
  EXPECT_EQ(report.high, 1u << 20);
  EXPECT_THAT(report.missing, ::testing::HasSubstr("at device scope"));

  // What it submits then is ordered by its wait all the same; another queue may
  // rely on it; and who releases to the host releases what it
  // has acquired.
  ASSERT_OK(
      q.copy(*host, source, {.signal = {{s, 2}}, .release = Scope::Device}));
  ASSERT_OK(other.copy(b, *host, {.wait = {{s, 2}}, .signal = {{t, 1}}}));
  ASSERT_OK(t.wait(1));
  ASSERT_EQ(contents(*host), words);
  ASSERT_EQ(contents(b), words);
  // So does a wait for the whole queue.
  ASSERT_OK(q.copy(*host, b, {.signal = {{s, 3}}, .release = Scope::Device}));
  ASSERT_OK(q.waitIdle());
  ASSERT_EQ(contents(*host), words);
  EXPECT_EQ(device.races().size(), 1u);

  // At system scope nothing is missing.
  ASSERT_OK(q.copy(*host, source, {.signal = {{s, 4}}}));
  ASSERT_OK(s.wait(4));
  ASSERT_EQ(contents(*host), words);
  EXPECT_EQ(device.races().size(), 1u);
}

// Patched packets in device memory, written just before the packet that runs
// them is published.
TEST_P(VisibilityConformance, kernarg_visibility) {
  Queue q = queue();
  Result<CommandBuffer> made = CommandBuffer::create(space, "commands");
  ASSERT_OK(made.status());
  CommandBuffer commands = *made;
  ASSERT_OK(commands.copy(Binding{1}, Binding{0}, 256));
  ASSERT_OK(commands.finish());
  Semaphore s = semaphore("S");
  std::vector<Buffer> buffers;
  for (uint32_t i = 0; i < 8; ++i) {
    buffers.push_back(buffer(256));
    std::vector<uint32_t> words(64, i);
    ASSERT_OK(buffers[i].write(0, std::as_bytes(std::span(words))));
  }
  for (uint32_t i = 0; i < 64; ++i) {
    Buffer to = buffer(256);
    dope(to);
    ASSERT_OK(q.execute(commands, std::array{buffers[i % 8], to},
                        {.signal = {{s, i + 1}}}));
    ASSERT_OK(s.wait(i + 1));
    ASSERT_TRUE(allAre(contents(to), i % 8)) << i;
  }
}

TESSERA_CONFORMANCE(VisibilityConformance);

} // namespace
