//===- RuntimeCTest.cpp - The C interface --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/IsaKeys.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Object/Object.h"
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
  virtual tessera_rt_back_end backEnd() const { return TESSERA_RT_NULL; }
  void SetUp() override {
    tessera_rt_device_options options{};
    options.struct_size = sizeof(options);
    options.back_end = backEnd();
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
  // What was never set is not read from.
  options.struct_size = size_t(1) << 60;
  expectRefused(tessera_rt_queue_create(space, &options, &made, &error),
                TESSERA_RT_INVALID_ARGUMENT, "struct_size 1152921504606846976");
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

/// With cores.
struct RuntimeCDevice : RuntimeC {
  tessera_rt_back_end backEnd() const override { return TESSERA_RT_SIMULATOR; }
};

std::vector<uint8_t> spin(uint64_t cycles) {
  using namespace tessera::isa;
  Instruction loop, li, halt;
  loop.opcode = Opcode::LOOP;
  loop.fields[loop::count] = int64_t(cycles - 2);
  loop.fields[loop::length] = 1;
  li.opcode = Opcode::LI;
  halt.opcode = Opcode::HALT;
  std::vector<uint8_t> text;
  for (const Instruction &each : {loop, li, halt})
    EXPECT_TRUE(encode(each, text).ok());
  return text;
}

TEST_F(RuntimeCDevice, KernelsAreDispatched) {
  // Text in an executable buffer, a record in front of it.
  std::vector<uint8_t> text = spin(500);
  tessera_rt_buffer_options options{};
  options.struct_size = sizeof(options);
  options.bytes = 4096 + text.size();
  options.access = TESSERA_RT_READ | TESSERA_RT_EXECUTE;
  options.label = "code";
  tessera_rt_buffer *code = nullptr;
  ASSERT_EQ(tessera_rt_buffer_create(space, &options, &code, &error),
            TESSERA_RT_OK)
      << error.message;
  tessera::isa::KernelRecord record;
  record.text = tessera_rt_buffer_address(code) + 4096;
  record.textBytes = uint32_t(text.size());
  auto image = tessera::isa::encode(record);
  ASSERT_EQ(
      tessera_rt_buffer_write(code, 0, image.data(), image.size(), &error),
      TESSERA_RT_OK);
  ASSERT_EQ(
      tessera_rt_buffer_write(code, 4096, text.data(), text.size(), &error),
      TESSERA_RT_OK);
  tessera_rt_kernel_options made{};
  made.struct_size = sizeof(made);
  made.name = "spin";
  made.record = tessera_rt_buffer_address(code);
  tessera_rt_kernel *kernel = nullptr;
  ASSERT_EQ(tessera_rt_kernel_create(&made, &kernel, &error), TESSERA_RT_OK);
  EXPECT_STREQ(tessera_rt_kernel_name(kernel), "spin");
  EXPECT_EQ(tessera_rt_kernel_arguments(kernel), 0u);

  auto now = [&] {
    uint64_t time = 0, cycle = 1;
    EXPECT_EQ(tessera_rt_device_time(device, &time, &cycle, &error),
              TESSERA_RT_OK);
    return time / cycle;
  };
  uint64_t start = now();
  ASSERT_EQ(tessera_rt_queue_dispatch(queue, kernel, {}, {}, nullptr, &error),
            TESSERA_RT_OK)
      << error.message;
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK)
      << error.message;
  EXPECT_GE(now() - start, 500u);
  // Recorded.
  tessera_rt_commands *commands = nullptr;
  ASSERT_EQ(tessera_rt_commands_create(space, "twice", &commands, &error),
            TESSERA_RT_OK);
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(tessera_rt_commands_dispatch(commands, kernel, {}, {}, 1, &error),
              TESSERA_RT_OK)
        << error.message;
  ASSERT_EQ(tessera_rt_commands_name(commands, 1, "second", &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_commands_finish(commands, &error), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_commands_count(commands), 2u);
  EXPECT_EQ(tessera_rt_commands_bindings(commands), 0u);
  EXPECT_STREQ(tessera_rt_commands_label(commands), "twice");
  start = now();
  ASSERT_EQ(
      tessera_rt_queue_execute(queue, commands, nullptr, 0, nullptr, &error),
      TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  EXPECT_GE(now() - start, 1000u);
  ASSERT_EQ(tessera_rt_device_check_work(device, &error), TESSERA_RT_OK)
      << error.message;
  expectRefused(tessera_rt_queue_dispatch(queue, kernel, {}, {40, 0, 1, 1},
                                          nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "1 x 1 cores at (40, 0)");

  expectRefused(
      tessera_rt_queue_dispatch(queue, nullptr, {}, {}, nullptr, &error),
      TESSERA_RT_FAILED_PRECONDITION, "empty kernel");
  made.record = 0;
  tessera_rt_kernel *none = nullptr;
  expectRefused(tessera_rt_kernel_create(&made, &none, &error),
                TESSERA_RT_INVALID_ARGUMENT, "'spin': a null record");
  EXPECT_EQ(none, nullptr);
  tessera_rt_commands_release(commands);
  tessera_rt_kernel_release(kernel);
  tessera_rt_buffer_release(code);
}

TEST_F(RuntimeC, ExecutablesTellWhatTheyAre) {
  tessera::Object object;
  object.architectureName = "tiny";
  tessera::Result<tessera::Architecture> arch =
      tessera::loadArchitecture("tiny");
  ASSERT_TRUE(arch.ok());
  object.isaKeys = isaKeys(*arch);
  object.timingHash = arch->timingHash();
  object.inputs = {{"x", "f32", {2, 3}, 24}};
  object.outputs = {{"y", "i8", {}, 1}};
  tessera::KernelCode code;
  code.name = "k";
  code.text = spin(10);
  code.numArguments = 2;
  object.kernels = {code};
  auto nop = tessera::isa::encode(
      tessera::isa::Packet{0, 0, tessera::isa::NopPacket{}});
  object.commands.assign(nop.begin(), nop.end());
  std::vector<uint8_t> file = tessera::writeObject(object);
  tessera_rt_executable *executable = nullptr;
  ASSERT_EQ(tessera_rt_executable_load(space, file.data(), file.size(), "model",
                                       &executable, &error),
            TESSERA_RT_OK)
      << error.message;
  EXPECT_STREQ(tessera_rt_executable_label(executable), "model");
  ASSERT_EQ(tessera_rt_executable_inputs(executable), 1u);
  ASSERT_EQ(tessera_rt_executable_outputs(executable), 1u);
  EXPECT_STREQ(tessera_rt_executable_tensor_name(executable, 0), "x");
  EXPECT_STREQ(tessera_rt_executable_tensor_type(executable, 1), "i8");
  EXPECT_EQ(tessera_rt_executable_tensor_bytes(executable, 0), 24u);
  uint64_t shape[2] = {0, 9};
  EXPECT_EQ(tessera_rt_executable_tensor_shape(executable, 0, shape, 1), 2u);
  EXPECT_EQ(shape[0], 2u);
  EXPECT_EQ(shape[1], 9u);
  EXPECT_EQ(tessera_rt_executable_tensor_shape(executable, 0, shape, 2), 2u);
  EXPECT_EQ(shape[1], 3u);
  EXPECT_EQ(tessera_rt_executable_tensor_shape(executable, 1, nullptr, 0), 0u);
  EXPECT_EQ(tessera_rt_executable_tensor_name(executable, 2), nullptr);
  EXPECT_EQ(tessera_rt_executable_tensor_type(nullptr, 0), nullptr);

  tessera_rt_kernel *kernel = nullptr;
  expectRefused(
      tessera_rt_executable_kernel(executable, "other", &kernel, &error),
      TESSERA_RT_INVALID_ARGUMENT, "no kernel 'other'; it has: k");
  ASSERT_EQ(tessera_rt_executable_kernel(executable, "k", &kernel, &error),
            TESSERA_RT_OK);
  tessera_rt_executable_release(executable); // The kernel keeps its code.
  EXPECT_EQ(tessera_rt_kernel_arguments(kernel), 2u);
  tessera_rt_buffer *arguments = buffer(16);
  ASSERT_EQ(tessera_rt_queue_dispatch(queue, kernel, {arguments, 0, 16},
                                      {0, 0, 1, 1}, nullptr, &error),
            TESSERA_RT_OK)
      << error.message;
  expectRefused(tessera_rt_queue_dispatch(queue, kernel, {arguments, 0, 8}, {},
                                          nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "kernel 'k' takes 2 of 8 bytes");
  EXPECT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK)
      << error.message;
  tessera_rt_kernel_release(kernel);
  tessera_rt_buffer_release(arguments);
}

TEST_F(RuntimeC, ReservationsArePublishedOnce) {
  tessera_rt_buffer *a = buffer(64);
  tessera_rt_reservation *slots = nullptr;
  ASSERT_EQ(tessera_rt_queue_reserve(queue, 2, nullptr, &slots, &error),
            TESSERA_RT_OK)
      << error.message;
  EXPECT_EQ(tessera_rt_reservation_count(slots), 2u);
  auto fill = [&](uint64_t offset, uint32_t pattern) {
    return tessera::isa::encode(tessera::isa::Packet{
        0, 0,
        tessera::isa::FillPacket{
            tessera_rt_buffer_address(a) + offset, 32, pattern, {}, {}}});
  };
  auto first = fill(0, 1), second = fill(32, 2);
  ASSERT_EQ(tessera_rt_reservation_write(slots, 1, second.data(), 64, &error),
            TESSERA_RT_OK);
  expectRefused(tessera_rt_reservation_publish(slots, &error),
                TESSERA_RT_FAILED_PRECONDITION, "slot 0 of 2");
  expectRefused(
      tessera_rt_reservation_write(slots, 0, first.data(), 63, &error),
      TESSERA_RT_INVALID_ARGUMENT, "63 bytes");
  expectRefused(
      tessera_rt_reservation_write(slots, 2, first.data(), 64, &error),
      TESSERA_RT_INVALID_ARGUMENT, "slot 2 of 2");
  expectRefused(tessera_rt_reservation_write(slots, 0, nullptr, 64, &error),
                TESSERA_RT_INVALID_ARGUMENT, "null pointer");
  ASSERT_EQ(tessera_rt_reservation_write(slots, 0, first.data(), 64, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_reservation_publish(slots, &error), TESSERA_RT_OK);
  expectRefused(tessera_rt_reservation_publish(slots, &error),
                TESSERA_RT_FAILED_PRECONDITION, "published already");
  tessera_rt_reservation_release(slots);
  ASSERT_EQ(
      tessera_rt_queue_submit_raw(queue, second.data(), 64, nullptr, &error),
      TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  std::array<uint32_t, 16> words{};
  ASSERT_EQ(tessera_rt_buffer_read(a, 0, words.data(), 64, &error),
            TESSERA_RT_OK);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[15], 2u);
  // Released unpublished: nothing happens, and the queue goes on.
  ASSERT_EQ(tessera_rt_queue_reserve(queue, 3, nullptr, &slots, &error),
            TESSERA_RT_OK);
  tessera_rt_reservation_release(slots);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_queue_completed(queue), 6u);
  expectRefused(tessera_rt_queue_reserve(queue, 0, nullptr, &slots, &error),
                TESSERA_RT_INVALID_ARGUMENT, "0 slots");
  expectRefused(
      tessera_rt_queue_submit_raw(queue, second.data(), 60, nullptr, &error),
      TESSERA_RT_INVALID_ARGUMENT, "60 bytes");
  expectRefused(tessera_rt_reservation_publish(nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "reservation");
  tessera_rt_buffer_release(a);
}

TEST_F(RuntimeC, PacketsTakeBindings) {
  tessera_rt_buffer *a = buffer(64), *b = buffer(64);
  tessera_rt_commands *commands = nullptr;
  ASSERT_EQ(tessera_rt_commands_create(space, "appended", &commands, &error),
            TESSERA_RT_OK);
  auto copy = tessera::isa::encode(
      tessera::isa::Packet{0, 0, tessera::isa::CopyPacket{0, 0, 32, {}, {}}});
  // Destination and source of a copy are its second and third 8 bytes.
  tessera_rt_patch patches[] = {{nullptr, 8, 1, 32}, {nullptr, 16, 0, 0}};
  ASSERT_EQ(tessera_rt_commands_append(commands, copy.data(), copy.size(),
                                       patches, 2, &error),
            TESSERA_RT_OK)
      << error.message;
  tessera_rt_requirement needs[] = {{"from", 32, TESSERA_RT_READ},
                                    {"to", 64, TESSERA_RT_WRITE}};
  ASSERT_EQ(tessera_rt_commands_require(commands, needs, 2, &error),
            TESSERA_RT_OK);
  tessera_rt_use use{{a, 0, 64}, TESSERA_RT_READ};
  ASSERT_EQ(tessera_rt_commands_uses(commands, &use, &error), TESSERA_RT_OK);
  // What cannot be.
  expectRefused(
      tessera_rt_commands_append(commands, copy.data(), 63, nullptr, 0, &error),
      TESSERA_RT_INVALID_ARGUMENT, "63 bytes");
  expectRefused(
      tessera_rt_commands_append(commands, copy.data(), 64, nullptr, 1, &error),
      TESSERA_RT_INVALID_ARGUMENT, "1 patches at a null pointer");
  for (uint32_t index : {65536u, UINT32_MAX}) {
    tessera_rt_patch wild{nullptr, 8, index, 0};
    expectRefused(
        tessera_rt_commands_append(commands, copy.data(), 64, &wild, 1, &error),
        TESSERA_RT_INVALID_ARGUMENT, "numbers go from 0 to 65535");
    tessera_rt_operand operand{{nullptr, 0, 0}, index};
    expectRefused(tessera_rt_commands_fill(commands, operand, 4, 0, 0, &error),
                  TESSERA_RT_INVALID_ARGUMENT, "numbers go from 0 to 65535");
  }
  tessera_rt_operand beyond{{nullptr, UINT64_MAX - 3, 0}, 0};
  expectRefused(tessera_rt_commands_fill(commands, beyond, 4, 0, 0, &error),
                TESSERA_RT_INVALID_ARGUMENT, "beyond 2^64");
  use.use = 4;
  expectRefused(tessera_rt_commands_uses(commands, &use, &error),
                TESSERA_RT_INVALID_ARGUMENT, "use 0x4");
  ASSERT_EQ(tessera_rt_commands_finish(commands, &error), TESSERA_RT_OK);
  EXPECT_EQ(tessera_rt_commands_bindings(commands), 2u);

  std::array<uint32_t, 16> words{};
  words.fill(5);
  ASSERT_EQ(tessera_rt_buffer_write(a, 0, words.data(), 64, &error),
            TESSERA_RT_OK);
  tessera_rt_buffer *bindings[] = {a, b};
  ASSERT_EQ(
      tessera_rt_queue_execute(queue, commands, bindings, 2, nullptr, &error),
      TESSERA_RT_OK)
      << error.message;
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_buffer_read(b, 0, words.data(), 64, &error),
            TESSERA_RT_OK);
  EXPECT_EQ(words[7], 0u);
  EXPECT_EQ(words[8], 5u);
  tessera_rt_buffer *small = buffer(16);
  bindings[0] = small;
  expectRefused(
      tessera_rt_queue_execute(queue, commands, bindings, 2, nullptr, &error),
      TESSERA_RT_INVALID_ARGUMENT, "'from': buffer 'buffer' has 16 bytes");
  tessera_rt_commands_release(commands);
  tessera_rt_buffer_release(small);
  tessera_rt_buffer_release(a);
  tessera_rt_buffer_release(b);
}

// What kernels touch is declared, as in C++.
TEST_F(RuntimeC, DeclaredUsesRace) {
  ASSERT_EQ(tessera_rt_device_detect_races(device, &error), TESSERA_RT_OK);
  tessera_rt_buffer *a = buffer(64);
  tessera_rt_use use{{a, 0, UINT64_MAX}, TESSERA_RT_WRITE};
  tessera_rt_submit submit{};
  submit.struct_size = sizeof(submit);
  submit.uses = &use;
  submit.use_count = 1;
  submit.label = "kernel";
  auto nop = tessera::isa::encode(
      tessera::isa::Packet{0, 0, tessera::isa::NopPacket{}});
  ASSERT_EQ(tessera_rt_queue_submit_raw(queue, nop.data(), 64, &submit, &error),
            TESSERA_RT_OK)
      << error.message;
  uint32_t word = 0;
  ASSERT_EQ(tessera_rt_buffer_read(a, 0, &word, 4, &error), TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  char text[4096];
  ASSERT_EQ(tessera_rt_device_report(device, TESSERA_RT_RACES, text,
                                     sizeof(text), nullptr, &error),
            TESSERA_RT_OK);
  EXPECT_THAT(text, HasSubstr("'kernel'"));
  use.use = 9;
  expectRefused(
      tessera_rt_queue_submit_raw(queue, nop.data(), 64, &submit, &error),
      TESSERA_RT_INVALID_ARGUMENT, "submit: use 0x9");
  submit.uses = nullptr;
  expectRefused(
      tessera_rt_queue_submit_raw(queue, nop.data(), 64, &submit, &error),
      TESSERA_RT_INVALID_ARGUMENT, "1 uses at a null pointer");
  tessera_rt_buffer_release(a);
}

TEST_F(RuntimeCDevice, LayoutsOfOnesOwn) {
  uint64_t address = 0;
  ASSERT_EQ(tessera_rt_space_reserve(space, 2 * 65536, &address, &error),
            TESSERA_RT_OK)
      << error.message;
  // In the middle of the device's memory: what is given comes from its ends.
  tessera_rt_memory_statistics memory{};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(tessera_rt_memory_read_statistics(device, TESSERA_RT_DRAM, &memory,
                                              &error),
            TESSERA_RT_OK);
  EXPECT_GT(memory.total, memory.used);
  EXPECT_GE(memory.peak_used, memory.used);
  uint64_t physical = memory.total / 2;
  ASSERT_EQ(tessera_rt_space_map(space, address, TESSERA_RT_DRAM, physical,
                                 2 * 65536, 0, &error),
            TESSERA_RT_OK)
      << error.message;
  expectRefused(tessera_rt_space_map(space, address, TESSERA_RT_DRAM, physical,
                                     65536, 0, &error),
                TESSERA_RT_FAILED_PRECONDITION, "mapped");
  expectRefused(tessera_rt_space_map(space, address, tessera_rt_memory(7),
                                     physical, 65536, 0, &error),
                TESSERA_RT_INVALID_ARGUMENT, "memory 7");
  tessera_rt_space_statistics statistics{};
  // An older caller, of whom nothing beyond small_pages is written.
  statistics.struct_size = offsetof(tessera_rt_space_statistics, large_pages);
  statistics.large_pages = 99;
  ASSERT_EQ(tessera_rt_space_read_statistics(space, &statistics, &error),
            TESSERA_RT_OK);
  EXPECT_GE(statistics.small_pages, 2u);
  EXPECT_EQ(statistics.large_pages, 99u);
  statistics.struct_size = 0;
  expectRefused(tessera_rt_space_read_statistics(space, &statistics, &error),
                TESSERA_RT_INVALID_ARGUMENT, "struct_size 0 is not set");
  // A packet that writes there: allowed, then not.
  auto fill = tessera::isa::encode(tessera::isa::Packet{
      0, 0, tessera::isa::FillPacket{address, 64, 3, {}, {}}});
  ASSERT_EQ(
      tessera_rt_queue_submit_raw(queue, fill.data(), 64, nullptr, &error),
      TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK)
      << error.message;
  ASSERT_EQ(
      tessera_rt_space_protect(space, address, 65536, TESSERA_RT_READ, &error),
      TESSERA_RT_OK);
  ASSERT_EQ(
      tessera_rt_queue_submit_raw(queue, fill.data(), 64, nullptr, &error),
      TESSERA_RT_OK);
  expectRefused(tessera_rt_queue_wait_idle(queue, nullptr, &error),
                TESSERA_RT_PAGE_FAULT, "0x");
  ASSERT_EQ(tessera_rt_space_unmap(space, address, 2 * 65536, &error),
            TESSERA_RT_OK);
  expectRefused(tessera_rt_space_unmap(space, address, 2 * 65536, &error),
                TESSERA_RT_FAILED_PRECONDITION, "not mapped");
  EXPECT_NE(tessera_rt_space_root(space), 0u);
}

TEST_F(RuntimeCDevice, SnapshotsGoBack) {
  tessera_rt_buffer *a = buffer(64);
  uint32_t word = 1;
  ASSERT_EQ(tessera_rt_buffer_write(a, 0, &word, 4, &error), TESSERA_RT_OK);
  tessera_rt_snapshot *snapshot = nullptr;
  ASSERT_EQ(tessera_rt_device_snapshot(device, &snapshot, &error),
            TESSERA_RT_OK)
      << error.message;
  EXPECT_GT(tessera_rt_snapshot_size(snapshot), 0u);
  EXPECT_NE(tessera_rt_snapshot_data(snapshot), nullptr);
  ASSERT_EQ(tessera_rt_queue_fill(queue, {a, 0, 64}, 9, nullptr, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(queue, nullptr, &error), TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_device_restore(device, snapshot, &error), TESSERA_RT_OK)
      << error.message;
  ASSERT_EQ(tessera_rt_buffer_read(a, 0, &word, 4, &error), TESSERA_RT_OK);
  EXPECT_EQ(word, 1u);
  expectRefused(tessera_rt_device_restore(device, nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "snapshot");
  tessera_rt_snapshot_release(snapshot);
  EXPECT_EQ(tessera_rt_snapshot_size(nullptr), 0u);
  tessera_rt_buffer_release(a);
}

TEST_F(RuntimeC, PoolsTell) {
  tessera_rt_pool_options options{};
  options.struct_size = sizeof(options);
  options.budget_bytes = 2 << 20;
  options.label = "small";
  tessera_rt_pool *pool = nullptr;
  ASSERT_EQ(tessera_rt_pool_create(space, &options, &pool, &error),
            TESSERA_RT_OK);
  EXPECT_STREQ(tessera_rt_pool_label(pool), "small");
  tessera_rt_submit submit{};
  submit.struct_size = sizeof(submit);
  submit.barrier = 1;
  tessera_rt_pool_outcome outcome = TESSERA_RT_REUSED;
  ASSERT_EQ(tessera_rt_pool_query(pool, queue, 4096, &submit, &outcome, &error),
            TESSERA_RT_OK)
      << error.message;
  EXPECT_EQ(outcome, TESSERA_RT_FRESH);
  ASSERT_EQ(
      tessera_rt_pool_query(pool, queue, 4 << 20, &submit, &outcome, &error),
      TESSERA_RT_OK);
  EXPECT_EQ(outcome, TESSERA_RT_OVER_BUDGET);
  EXPECT_STREQ(tessera_rt_pool_outcome_name(outcome), "over budget");
  EXPECT_STREQ(tessera_rt_pool_outcome_name(tessera_rt_pool_outcome(6)),
               "Unknown");
  tessera_rt_pool_statistics statistics{};
  statistics.struct_size = sizeof(statistics);
  ASSERT_EQ(tessera_rt_pool_read_statistics(pool, &statistics, &error),
            TESSERA_RT_OK);
  EXPECT_EQ(statistics.held_bytes, 0u); // Queries change nothing.
  tessera_rt_buffer *memory = nullptr;
  ASSERT_EQ(tessera_rt_pool_allocate(pool, queue, 4096, &submit, nullptr,
                                     &memory, &outcome, &error),
            TESSERA_RT_OK)
      << error.message;
  EXPECT_EQ(tessera_rt_buffer_memory(memory), TESSERA_RT_DRAM);
  ASSERT_EQ(tessera_rt_pool_read_statistics(pool, &statistics, &error),
            TESSERA_RT_OK);
  EXPECT_EQ(statistics.live_bytes, 4096u);
  EXPECT_EQ(statistics.fresh, 1u);
  tessera_rt_buffer_release(memory);
  tessera_rt_pool_release(pool);
}

TEST_F(RuntimeC, LabelsAndCounts) {
  tessera_rt_queue_options options{};
  options.struct_size = sizeof(options);
  options.priority = 3;
  options.label = "Q";
  options.first_index = UINT64_MAX - 1; // Wraps around at once.
  options.first_id = UINT32_MAX;
  tessera_rt_queue *made = nullptr;
  ASSERT_EQ(tessera_rt_queue_create(space, &options, &made, &error),
            TESSERA_RT_OK);
  EXPECT_STREQ(tessera_rt_queue_label(made), "Q");
  EXPECT_EQ(tessera_rt_queue_priority(made), 3u);
  tessera_rt_buffer *a = buffer(64);
  for (uint32_t i = 0; i < 4; ++i)
    ASSERT_EQ(tessera_rt_queue_fill(made, {a, 0, 64}, i, nullptr, &error),
              TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_queue_wait_idle(made, nullptr, &error), TESSERA_RT_OK)
      << error.message;
  EXPECT_EQ(tessera_rt_queue_completed(made), 4u);
  tessera_rt_device_statistics statistics{};
  statistics.struct_size = sizeof(statistics);
  ASSERT_EQ(tessera_rt_device_read_statistics(device, &statistics, &error),
            TESSERA_RT_OK);
  EXPECT_EQ(statistics.operations_completed, 4u);
  EXPECT_EQ(statistics.operations_parked, 0u);
  tessera_rt_semaphore_options named{};
  named.struct_size = sizeof(named);
  named.label = "S";
  tessera_rt_semaphore *s = nullptr;
  ASSERT_EQ(tessera_rt_semaphore_create(device, &named, &s, &error),
            TESSERA_RT_OK);
  EXPECT_STREQ(tessera_rt_semaphore_label(s), "S");
  EXPECT_NE(tessera_rt_semaphore_index(s), 0u);
  EXPECT_STREQ(tessera_rt_device_label(device), "device");
  EXPECT_STREQ(tessera_rt_space_label(space), "address space");
  EXPECT_STREQ(tessera_rt_buffer_label(a), "buffer");
  EXPECT_STREQ(tessera_rt_buffer_label(nullptr), "");
  EXPECT_EQ(tessera_rt_queue_priority(nullptr), 0u);
  tessera_rt_semaphore_release(s);
  tessera_rt_buffer_release(a);
  tessera_rt_queue_release(made);
}

struct Ping {
  tessera_rt_semaphore *mine, *others;
  std::vector<int> *order;
  int name;
};
void pingPong(void *context) {
  Ping &ping = *static_cast<Ping *>(context);
  for (uint64_t round = 1; round <= 3; ++round) {
    if (ping.name == 1)
      EXPECT_EQ(tessera_rt_semaphore_wait(ping.others, round, nullptr, nullptr),
                TESSERA_RT_OK);
    ping.order->push_back(ping.name);
    EXPECT_EQ(tessera_rt_semaphore_signal(ping.mine, round, nullptr),
              TESSERA_RT_OK);
    if (ping.name == 0)
      EXPECT_EQ(tessera_rt_semaphore_wait(ping.others, round, nullptr, nullptr),
                TESSERA_RT_OK);
  }
}
TEST_F(RuntimeC, VirtualThreadsTakeTurns) {
  tessera_rt_semaphore_options options{};
  options.struct_size = sizeof(options);
  options.host_may_signal = 1;
  tessera_rt_semaphore *s = nullptr, *t = nullptr;
  ASSERT_EQ(tessera_rt_semaphore_create(device, &options, &s, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_semaphore_create(device, &options, &t, &error),
            TESSERA_RT_OK);
  std::vector<int> order;
  Ping first{s, t, &order, 0}, second{t, s, &order, 1};
  tessera_rt_virtual_thread threads[] = {{pingPong, &first},
                                         {pingPong, &second}};
  uint64_t turns = 0;
  ASSERT_EQ(
      tessera_rt_run_virtual_threads(device, 7, threads, 2, &turns, &error),
      TESSERA_RT_OK)
      << error.message;
  EXPECT_GT(turns, 0u);
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 0, 1, 0, 1));
  threads[1].body = nullptr;
  expectRefused(
      tessera_rt_run_virtual_threads(device, 7, threads, 2, nullptr, &error),
      TESSERA_RT_INVALID_ARGUMENT, "thread 1 is an empty function");
  expectRefused(
      tessera_rt_run_virtual_threads(device, 7, nullptr, 2, nullptr, &error),
      TESSERA_RT_INVALID_ARGUMENT, "null pointer");
  expectRefused(
      tessera_rt_run_virtual_threads(nullptr, 7, threads, 2, nullptr, &error),
      TESSERA_RT_FAILED_PRECONDITION, "device");
  tessera_rt_semaphore_release(s);
  tessera_rt_semaphore_release(t);
}

// Numbers that no enumeration has are refused, not read.
TEST_F(RuntimeC, TracesOfDevicesThatTell) {
  tessera_rt_trace *trace = nullptr;
  expectRefused(tessera_rt_trace_begin(device, nullptr, &trace, &error),
                TESSERA_RT_INVALID_ARGUMENT, "a null path");
  expectRefused(tessera_rt_trace_begin(nullptr, "x.pftrace", &trace, &error),
                TESSERA_RT_FAILED_PRECONDITION, "'x.pftrace'");
  expectRefused(tessera_rt_trace_begin(device, "x.pftrace", nullptr, &error),
                TESSERA_RT_INVALID_ARGUMENT, "nowhere to put");
  expectRefused(tessera_rt_trace_finish(nullptr, &error),
                TESSERA_RT_FAILED_PRECONDITION, "empty handle");
  std::string path = ::testing::TempDir() + "/c.pftrace";
  tessera_rt_device_options options{};
  options.struct_size = sizeof(options);
  tessera_rt_device *simulator = nullptr;
  ASSERT_EQ(tessera_rt_device_create(&options, &simulator, &error),
            TESSERA_RT_OK);
  ASSERT_EQ(tessera_rt_trace_begin(simulator, path.c_str(), &trace, &error),
            TESSERA_RT_OK)
      << error.message;
  ASSERT_EQ(tessera_rt_trace_finish(trace, &error), TESSERA_RT_OK)
      << error.message;
  expectRefused(tessera_rt_trace_finish(trace, &error),
                TESSERA_RT_FAILED_PRECONDITION, "finished already");
  tessera_rt_trace_release(trace);
  tessera_rt_device_release(simulator);
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST_F(RuntimeC, WildEnumerations) {
  tessera_rt_device_options device_options{};
  device_options.struct_size = sizeof(device_options);
  device_options.back_end = tessera_rt_back_end(5);
  tessera_rt_device *made = nullptr;
  expectRefused(tessera_rt_device_create(&device_options, &made, &error),
                TESSERA_RT_INVALID_ARGUMENT, "back end 5");
  tessera_rt_buffer_options options{};
  options.struct_size = sizeof(options);
  options.bytes = 4;
  options.memory = tessera_rt_memory(4000);
  tessera_rt_buffer *a = nullptr;
  expectRefused(tessera_rt_buffer_create(space, &options, &a, &error),
                TESSERA_RT_INVALID_ARGUMENT, "memory 4000");
  a = buffer(4);
  expectRefused(
      tessera_rt_buffer_unmap(space, a, tessera_rt_when_in_use(3), &error),
      TESSERA_RT_INVALID_ARGUMENT, "when in use 3");
  // A host function may return anything.
  ASSERT_EQ(tessera_rt_queue_host_call(
                queue, [](void *) { return tessera_rt_status(77); }, nullptr,
                nullptr, &error),
            TESSERA_RT_OK);
  expectRefused(tessera_rt_queue_wait_idle(queue, nullptr, &error),
                TESSERA_RT_INTERNAL, "the function returned 77");
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
