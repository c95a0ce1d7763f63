//===- CommandBufferTest.cpp - Recording and replay -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"

using namespace tessera;
using namespace tessera::runtime;
using ::testing::Each;

namespace {

class CommandBufferTest : public RuntimeTest {
protected:
  CommandBuffer make(std::string label = "commands") {
    Result<CommandBuffer> made = CommandBuffer::create(space, std::move(label));
    EXPECT_OK(made.status());
    return made ? *made : CommandBuffer();
  }
};

TEST_P(CommandBufferTest, ReplaysWithOtherBindings) {
  Queue q = queue();
  Buffer middle = buffer(64);
  CommandBuffer commands = make();
  EXPECT_OK(commands.fill(Binding{0, 32}, 32, 9));
  EXPECT_OK(commands.copy(BufferRange(middle), Binding{0}, 64, true));
  EXPECT_OK(commands.copy(Binding{1}, BufferRange(middle), 64, true));
  EXPECT_OK(commands.finish());
  EXPECT_EQ(commands.numCommands(), 3u);
  EXPECT_EQ(commands.numBindings(), 2u);

  Semaphore s = semaphore();
  for (uint64_t round = 1; round <= 3; ++round) {
    Buffer in = buffer(64), out = buffer(64);
    std::vector<uint32_t> data(16, round);
    EXPECT_OK(in.write(0, std::as_bytes(std::span(data))));
    EXPECT_OK(
        q.execute(commands, std::array{in, out}, {.signal = {{s, round}}}));
    EXPECT_OK(s.wait(round));
    std::vector<uint32_t> words = contents(out);
    EXPECT_THAT(std::span(words).first(8), Each(uint32_t(round)));
    EXPECT_THAT(std::span(words).last(8), Each(9u));
  }
}

TEST_P(CommandBufferTest, BindingsStayWhileInFlight) {
  Queue q = queue();
  CommandBuffer commands = make("clear");
  EXPECT_OK(commands.fill(Binding{0}, 64, 1));
  EXPECT_OK(commands.finish());
  Buffer a = buffer(64), b = buffer(64);
  Semaphore go = semaphore("go", true);
  EXPECT_OK(q.execute(commands, std::array{a}, {.wait = {{go, 1}}}));
  EXPECT_OK(q.execute(commands, std::array{a}, {.wait = {{go, 1}}}));
  EXPECT_ERROR(q.execute(commands, std::array{b}), FailedPrecondition,
               "'clear': other bindings");
  EXPECT_OK(go.signal(1));
  EXPECT_OK(q.waitIdle());
  EXPECT_OK(q.execute(commands, std::array{b}));
  EXPECT_OK(q.waitIdle());
  EXPECT_THAT(contents(b), Each(1u));
}

TEST_P(CommandBufferTest, MisuseIsNamed) {
  Queue q = queue();
  Buffer a = buffer(64, "A");
  CommandBuffer commands = make("C");
  EXPECT_ERROR(commands.finish(), FailedPrecondition, "'C'");
  EXPECT_ERROR(commands.copy(BufferRange(a), Binding{0}, 65), InvalidArgument,
               "buffer 'A'");
  EXPECT_ERROR(commands.fill(Binding{0}, 3, 0), InvalidArgument,
               "multiple of 4");
  EXPECT_ERROR(q.execute(commands, {}), FailedPrecondition, "not finished");
  EXPECT_OK(commands.fill(Binding{1, 32}, 64, 0));
  EXPECT_OK(commands.require({{"x", 16}, {"y", 96}}));
  EXPECT_OK(commands.finish());
  EXPECT_ERROR(commands.fill(a, 4, 0), FailedPrecondition, "after finish()");
  EXPECT_ERROR(q.execute(commands, std::array{a}), InvalidArgument,
               "1 buffers bound, it has 2");
  EXPECT_ERROR(q.execute(commands, std::array{a, a}), InvalidArgument,
               "binding 'y'");
  EXPECT_ERROR(q.execute(commands, std::array{Buffer(), a}), FailedPrecondition,
               "binding 'x'");
  EXPECT_OK(q.execute(commands, std::array{a, buffer(96)}));
  EXPECT_OK(q.waitIdle());
}

// The record of a fault inside names the command.
// Without arguments no buffer is needed; a binding is one all the same.
TEST_P(CommandBufferTest, KernelsWithoutArguments) {
  Buffer code = buffer(64), a = buffer(64);
  Kernel kernel{"k", code.address(), 0, {}};
  CommandBuffer plain = make("plain"), bound = make("bound");
  EXPECT_OK(plain.dispatch(kernel, BufferRange(), {}));
  EXPECT_OK(plain.finish());
  EXPECT_EQ(plain.numBindings(), 0u);
  EXPECT_OK(bound.dispatch(kernel, Binding{1}, {}));
  EXPECT_OK(bound.finish());
  EXPECT_EQ(bound.numBindings(), 2u);
  kernel.numArguments = 1;
  CommandBuffer needs = make("needs");
  EXPECT_ERROR(needs.dispatch(kernel, BufferRange(), {}), FailedPrecondition,
               "'needs': operand is an empty buffer handle");
}

TEST_P(CommandBufferTest, FaultNamesTheCommand) {
  Queue q = queue();
  Buffer a = buffer(64);
  BufferOptions options;
  options.access.write = false;
  Result<Buffer> readOnly = space.allocate(64, options);
  ASSERT_OK(readOnly.status());
  CommandBuffer commands = make();
  EXPECT_OK(commands.fill(a, 64, 0));
  EXPECT_OK(commands.fill(*readOnly, 64, 0, true));
  commands.nameCommand(1, "second");
  EXPECT_OK(commands.finish());
  Semaphore s = semaphore();
  EXPECT_OK(q.execute(commands, {}, {.signal = {{s, 1}}}));
  EXPECT_ERROR(s.wait(1), PageFault, "command 1 'second'");
}

TESSERA_ON_ALL_DRIVERS(CommandBufferTest);

} // namespace
