//===- Arguments.cpp - Arguments of the C interface ----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include <fmt/format.h>

using namespace tessera::runtime;

namespace tessera::c {

Result<isa::PhysicalSpace> spaceOf(const tessera_rt_memory &memory) {
  auto number = numberOf(memory);
  if (number > TESSERA_RT_HOST)
    return invalid(fmt::format("memory {}; 0 is DRAM, 1 shared SRAM, 2 host "
                               "memory",
                               number));
  return static_cast<isa::PhysicalSpace>(number);
}

Result<Access> accessOf(uint32_t flags) {
  if (flags & ~uint32_t(7))
    return invalid(fmt::format("access {:#x}; bits 0 to 2 mean read, write, "
                               "execute",
                               flags));
  if (!flags)
    return Access();
  return Access{.read = (flags & TESSERA_RT_READ) != 0,
                .write = (flags & TESSERA_RT_WRITE) != 0,
                .execute = (flags & TESSERA_RT_EXECUTE) != 0};
}

Result<Deadline> deadlineOf(const tessera_rt_deadline *given,
                            const Device &device, Deadline otherwise) {
  if (!given)
    return otherwise;
  tessera_rt_deadline d;
  TESSERA_RETURN_IF_ERROR(readArguments(given, d, "deadline"));
  auto kind = numberOf(d.kind);
  switch (kind) {
  case TESSERA_RT_INFINITE:
    return Deadline::infinite();
  case TESSERA_RT_POLL:
    return Deadline::poll();
  case TESSERA_RT_AT_TIME:
    return Deadline::at(d.value);
  case TESSERA_RT_AFTER_CYCLES:
    if (!device)
      return empty("deadline");
    if (d.value > (uint64_t(1) << 62) / device.cycleTime())
      return invalid(fmt::format("deadline: {} cycles are beyond the device's "
                                 "clock",
                                 d.value));
    return device.afterCycles(d.value);
  case TESSERA_RT_AFTER_HOST_NS:
    if (d.value > uint64_t(1) << 62)
      return invalid(
          fmt::format("deadline: {} ns are beyond the host's clock", d.value));
    return Deadline::afterHost(std::chrono::nanoseconds(d.value));
  }
  return invalid(fmt::format("deadline: kind {}; must be 0 to 4", kind));
}

Result<SubmitOptions> submitOf(const tessera_rt_submit *given) {
  SubmitOptions options;
  if (!given)
    return options;
  tessera_rt_submit s;
  TESSERA_RETURN_IF_ERROR(readArguments(given, s, "submit"));
  auto take = [](const tessera_rt_point *points, size_t count,
                 std::vector<TimelinePoint> &to, const char *what) -> Status {
    if (count && !points)
      return invalid(
          fmt::format("submit: {} {} at a null pointer", count, what));
    if (count > 4096)
      return invalid(fmt::format("submit: {} {}; at most 4096", count, what));
    for (size_t i = 0; i < count; ++i)
      to.push_back({handleOf<Semaphore>(points[i].semaphore), points[i].value});
    return Status::success();
  };
  TESSERA_RETURN_IF_ERROR(take(s.waits, s.wait_count, options.wait, "waits"));
  TESSERA_RETURN_IF_ERROR(
      take(s.signals, s.signal_count, options.signal, "signals"));
  options.barrier = s.barrier != 0;
  options.whenFull = s.fail_when_full ? WhenFull::Fail : WhenFull::Wait;
  if (s.label)
    options.label = s.label;
  options.release = s.device_scope ? Scope::Device : Scope::System;
  if (s.use_count && !s.uses)
    return invalid(
        fmt::format("submit: {} uses at a null pointer", s.use_count));
  if (s.use_count > 4096)
    return invalid(fmt::format("submit: {} uses; at most 4096", s.use_count));
  for (size_t i = 0; i < s.use_count; ++i) {
    TESSERA_ASSIGN_OR_RETURN(Use use, useOf(s.uses[i].use, "submit"));
    options.uses.push_back({rangeOf(s.uses[i].range), use});
  }
  return options;
}

BufferRange rangeOf(const tessera_rt_range &range) {
  return {handleOf<Buffer>(range.buffer), range.offset, range.size};
}

Result<Use> useOf(uint32_t use, const char *what) {
  // The bits of reading and writing are the enumeration's values.
  static_assert(uint32_t(Use::Read) == TESSERA_RT_READ &&
                uint32_t(Use::Write) == TESSERA_RT_WRITE &&
                uint32_t(Use::ReadWrite) ==
                    (TESSERA_RT_READ | TESSERA_RT_WRITE));
  if (use > (TESSERA_RT_READ | TESSERA_RT_WRITE))
    return invalid(fmt::format("{}: use {:#x}; bits 0 and 1 mean read and "
                               "write",
                               what, use));
  return static_cast<Use>(use);
}

CoreRectangle coresOf(const tessera_rt_cores &cores) {
  if (!cores.x && !cores.y && !cores.width && !cores.height)
    return {};
  return {cores.x, cores.y, cores.width, cores.height};
}

Result<std::span<const uint8_t>> octetsOf(const void *data, uint64_t bytes) {
  TESSERA_RETURN_IF_ERROR(bytesOf(data, bytes).status());
  return std::span(static_cast<const uint8_t *>(data), size_t(bytes));
}

Result<std::span<const std::byte>> bytesOf(const void *data, uint64_t bytes) {
  if (!data && bytes)
    return invalid(fmt::format("data: {} bytes at a null pointer", bytes));
  return std::span(static_cast<const std::byte *>(data), size_t(bytes));
}
Result<std::span<std::byte>> bytesOf(void *data, uint64_t bytes) {
  if (!data && bytes)
    return invalid(fmt::format("data: {} bytes at a null pointer", bytes));
  return std::span(static_cast<std::byte *>(data), size_t(bytes));
}

} // namespace tessera::c
