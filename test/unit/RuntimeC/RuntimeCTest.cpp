//===- RuntimeCTest.cpp - The C interface --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Status.h"
#include "tessera_rt.h"
#include <array>
#include <cstdio>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using ::testing::HasSubstr;

namespace {

struct RuntimeC : ::testing::Test {
  void SetUp() override {
    tessera_rt_device_options options{};
    options.struct_size = sizeof(options);
    options.back_end = TESSERA_RT_NULL;
    ASSERT_EQ(tessera_rt_device_create(&options, &device, &error),
              TESSERA_RT_OK)
        << error.message;
    ASSERT_EQ(tessera_rt_space_create(device, nullptr, &space, &error),
              TESSERA_RT_OK);
    ASSERT_EQ(tessera_rt_queue_create(space, nullptr, &queue, &error),
              TESSERA_RT_OK);
  }
  void TearDown() override {
    tessera_rt_queue_release(queue);
    tessera_rt_space_release(space);
    tessera_rt_device_release(device);
  }
  tessera_rt_buffer *buffer(uint64_t bytes) {
    tessera_rt_buffer_options options{};
    options.struct_size = sizeof(options);
    options.bytes = bytes;
    tessera_rt_buffer *made = nullptr;
    EXPECT_EQ(tessera_rt_buffer_create(space, &options, &made, &error),
              TESSERA_RT_OK)
        << error.message;
    return made;
  }
  void expectRefused(tessera_rt_status status, tessera_rt_status expected,
                     const char *text) {
    EXPECT_EQ(status, expected) << error.message;
    EXPECT_EQ(error.code, expected);
    EXPECT_THAT(error.message, HasSubstr(text));
  }

  tessera_rt_device *device = nullptr;
  tessera_rt_space *space = nullptr;
  tessera_rt_queue *queue = nullptr;
  tessera_rt_error error{};
};

TEST_F(RuntimeC, CodesAreThoseOfTheLibrary) {
  for (int code = 0; code <= TESSERA_RT_INTERNAL; ++code)
    EXPECT_EQ(tessera_rt_status_name(tessera_rt_status(code)),
              tessera::statusCodeName(tessera::StatusCode(code)));
  EXPECT_STREQ(tessera_rt_status_name(TESSERA_RT_DEADLOCK), "Deadlock");
  EXPECT_STREQ(tessera_rt_status_name(TESSERA_RT_INTERNAL), "Internal");
  EXPECT_STREQ(tessera_rt_status_name(tessera_rt_status(15)), "Unknown");
}

TEST_F(RuntimeC, CommandsRunWithBindings) {
  tessera_rt_buffer *a = buffer(64), *b = buffer(64);
  std::array<uint32_t, 16> words{};
  words.fill(7);
  ASSERT_EQ(tessera_rt_buffer_write(a, 0, words.data(), 64, &error),
            TESSERA_RT_OK);
  tessera_rt_commands *commands = nullptr;
  ASSERT_EQ(tessera_rt_commands_create(space, "copy", &commands, &error),
            TESSERA_RT_OK);
  tessera_rt_operand from{{nullptr, 0, 0}, 0}, to{{nullptr, 0, 0}, 1};
  ASSERT_EQ(tessera_rt_commands_copy(commands, to, from, 64, 0, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_commands_finish(commands, &error), TESSERA_RT_OK);
  tessera_rt_buffer *bindings[] = {a, b};
  ASSERT_EQ(
      tessera_rt_queue_execute(queue, commands, bindings, 2, nullptr, &error),
      TESSERA_RT_OK);
  tessera_rt_commands_release(commands);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  words.fill(0);
  ASSERT_EQ(tessera_rt_buffer_read(b, 0, words.data(), 64, &error),
            TESSERA_RT_OK);
  EXPECT_THAT(words, ::testing::Each(7u));
  EXPECT_EQ(tessera_rt_queue_completed(queue), 1u);
  tessera_rt_buffer_release(a);
  tessera_rt_buffer_release(b);
}

TEST_F(RuntimeC, ReportsAndReset) {
  ASSERT_EQ(tessera_rt_device_detect_races(device, &error), TESSERA_RT_OK);
  tessera_rt_buffer *a = buffer(64);
  tessera_rt_semaphore *s = nullptr;
  ASSERT_EQ(tessera_rt_semaphore_create(device, nullptr, &s, &error),
            TESSERA_RT_OK);
  char text[4096];
  size_t needed = 0;
  ASSERT_EQ(tessera_rt_device_report(device, TESSERA_RT_RACES, text,
                                     sizeof(text), &needed, &error),
            TESSERA_RT_OK);
  EXPECT_STREQ(text, "");
  EXPECT_EQ(needed, 1u);
  // Released to the device only, then read by the host.
  tessera_rt_point signal{s, 1};
  tessera_rt_submit submit{};
  submit.struct_size = sizeof(submit);
  submit.signals = &signal;
  submit.signal_count = 1;
  submit.label = "device only";
  submit.device_scope = 1;
  ASSERT_EQ(tessera_rt_queue_fill(queue, {a, 0, 64}, 7, &submit, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_semaphore_wait(s, 1, nullptr, &error), TESSERA_RT_OK);
  uint32_t word = 0;
  ASSERT_EQ(tessera_rt_buffer_read(a, 0, &word, 4, &error), TESSERA_RT_OK);
  EXPECT_EQ(word, 7u);
  ASSERT_EQ(tessera_rt_device_report(device, TESSERA_RT_RACES, text,
                                     sizeof(text), &needed, &error),
            TESSERA_RT_OK);
  EXPECT_THAT(text, HasSubstr("'device only'"));
  EXPECT_THAT(text, HasSubstr("at device scope"));
  EXPECT_EQ(needed, std::strlen(text) + 1);
  // Cut, and only measured.
  ASSERT_EQ(tessera_rt_device_report(device, TESSERA_RT_RACES, text, 5, nullptr,
                                     &error),
            TESSERA_RT_OK);
  EXPECT_EQ(std::strlen(text), 4u);
  ASSERT_EQ(tessera_rt_device_report(device, TESSERA_RT_HANG_DUMP, nullptr, 0,
                                     &needed, &error),
            TESSERA_RT_OK);
  EXPECT_GT(needed, 1u);
  expectRefused(tessera_rt_device_report(device, tessera_rt_report(9), text, 5,
                                         nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "report 9");
  expectRefused(tessera_rt_device_report(device, TESSERA_RT_FAULTS, nullptr, 5,
                                         nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "null pointer");
  expectRefused(tessera_rt_device_report(nullptr, TESSERA_RT_FAULTS, text, 5,
                                         nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "device");
  expectRefused(tessera_rt_device_detect_races(nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "device");
  // What was made before a reset can only be dropped.
  ASSERT_EQ(tessera_rt_device_reset(device, &error), TESSERA_RT_OK);
  expectRefused(tessera_rt_queue_fill(queue, {a, 0, 64}, 7, nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "reset");
  tessera_rt_semaphore_release(s);
  tessera_rt_buffer_release(a);
}

TEST_F(RuntimeC, StructsOfOtherVersions) {
  tessera_rt_queue_options options{};
  tessera_rt_queue *made = nullptr;
  expectRefused(tessera_rt_queue_create(space, &options, &made, &error),
                TESSERA_RT_INVALID_ARGUMENT, "struct_size 0 is not set");
  EXPECT_EQ(made, nullptr);
  // An older caller: without priority, which may then hold anything.
  options.struct_size = offsetof(tessera_rt_queue_options, priority);
  options.priority = 99;
  EXPECT_EQ(tessera_rt_queue_create(space, &options, &made, &error),
            TESSERA_RT_OK)
      << error.message;
  tessera_rt_queue_release(made);
  // A newer one, with what we do not know unset, then set.
  struct {
    tessera_rt_queue_options known;
    uint64_t more;
  } newer{};
  newer.known.struct_size = sizeof(newer);
  EXPECT_EQ(tessera_rt_queue_create(space, &newer.known, &made, &error),
            TESSERA_RT_OK)
      << error.message;
  tessera_rt_queue_release(made);
  newer.more = 1;
  expectRefused(tessera_rt_queue_create(space, &newer.known, &made, &error),
                TESSERA_RT_UNSUPPORTED, "does not know");
}

TEST_F(RuntimeC, MisuseIsNamed) {
  tessera_rt_buffer *a = buffer(64);
  tessera_rt_range whole{a, 0, UINT64_MAX}, none{nullptr, 0, 4};
  expectRefused(tessera_rt_queue_fill(nullptr, whole, 0, nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "empty handle");
  expectRefused(tessera_rt_queue_fill(queue, none, 0, nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "empty buffer handle");
  expectRefused(tessera_rt_buffer_write(a, 0, nullptr, 4, &error),
                TESSERA_RT_INVALID_ARGUMENT, "null pointer");
  expectRefused(tessera_rt_buffer_create(space, nullptr, &a, &error),
                TESSERA_RT_INVALID_ARGUMENT, "null pointer");
  expectRefused(tessera_rt_space_create(device, nullptr, nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "nowhere to put");
  tessera_rt_submit submit{};
  submit.struct_size = sizeof(submit);
  submit.wait_count = 2;
  expectRefused(tessera_rt_queue_fill(queue, whole, 0, &submit, &error),
                TESSERA_RT_INVALID_ARGUMENT, "2 waits at a null pointer");
  tessera_rt_deadline deadline{sizeof(deadline), tessera_rt_deadline_kind(9),
                               0};
  expectRefused(tessera_rt_queue_wait_idle(queue, &deadline, &error),
                TESSERA_RT_INVALID_ARGUMENT, "kind 9");
  tessera_rt_device_options options{};
  options.struct_size = sizeof(options);
  options.architecture = "nothing";
  tessera_rt_device *made = nullptr;
  expectRefused(tessera_rt_device_create(&options, &made, &error),
                TESSERA_RT_INVALID_ARGUMENT, "nothing");
  tessera_rt_executable *executable = nullptr;
  expectRefused(tessera_rt_executable_load(space, "no object", 9, "model",
                                           &executable, &error),
                TESSERA_RT_INVALID_ARGUMENT, "model");
  // Without an error to write to.
  EXPECT_EQ(tessera_rt_queue_wait_idle(nullptr, nullptr, nullptr),
            TESSERA_RT_FAILED_PRECONDITION);
  EXPECT_EQ(tessera_rt_queue_submitted(queue), 0u);
  tessera_rt_buffer_release(a);
}

TEST(RuntimeCExample, Runs) {
  FILE *pipe = popen("'" TESSERA_C_EXAMPLE "' 2>&1", "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 4096> chunk;
  while (size_t count = fread(chunk.data(), 1, chunk.size(), pipe))
    text.append(chunk.data(), count);
  EXPECT_EQ(pclose(pipe), 0) << text;
  EXPECT_THAT(text, HasSubstr("copied after"));
  EXPECT_THAT(text, HasSubstr("buffer 'source': bytes 16380 to 16388"));
}

} // namespace
