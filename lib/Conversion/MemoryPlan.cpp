//===- MemoryPlan.cpp - Place buffers in a memory -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/MemoryPlan.h"
#include "FirstFit.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <numeric>

using namespace tessera;

/// Beyond every memory; keeps sums of sizes and alignments from overflowing.
static constexpr uint64_t maxBytes = uint64_t(1) << 48;

static uint64_t alignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

uint64_t MemoryPlanProblem::Buffer::slotStride() const {
  return alignUp(bytes, alignment);
}

uint64_t MemoryPlanProblem::Buffer::totalBytes() const {
  return slotStride() * (slots - 1) + bytes;
}

Status MemoryPlanProblem::check() const {
  if (capacity > maxBytes)
    return {StatusCode::InvalidArgument,
            fmt::format("{} of {} bytes is beyond 2^48", memory, capacity)};
  for (const Buffer &buffer : buffers) {
    auto invalid = [&](std::string what) {
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("buffer '{}' in {}: {}", buffer.name, memory, what));
    };
    if (buffer.bytes == 0 || buffer.bytes > maxBytes)
      return invalid(fmt::format("size {} is not 1 to 2^48", buffer.bytes));
    if (!std::has_single_bit(buffer.alignment) || buffer.alignment > maxBytes)
      return invalid(
          fmt::format("alignment {} is not a power of two", buffer.alignment));
    if (buffer.slots == 0 ||
        buffer.slots > maxBytes / std::max(buffer.bytes, buffer.alignment))
      return invalid(fmt::format("{} slots", buffer.slots));
    if (buffer.begin > buffer.end)
      return invalid(
          fmt::format("lifetime {} to {} is empty", buffer.begin, buffer.end));
  }
  return Status::success();
}

Status MemoryPlanSolution::verify(const MemoryPlanProblem &problem) const {
  auto wrong = [&](std::string what) {
    return Status(StatusCode::Internal,
                  fmt::format("plan of {}: {}", problem.memory, what));
  };
  if (offsets.size() != problem.buffers.size())
    return wrong(fmt::format("{} offsets for {} buffers", offsets.size(),
                             problem.buffers.size()));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const auto &a = problem.buffers[i];
    if (offsets[i] % a.alignment != 0)
      return wrong(fmt::format("buffer '{}' is misaligned", a.name));
    uint64_t end = offsets[i] + a.totalBytes();
    if (end > problem.capacity || end > peakBytes)
      return wrong(fmt::format("buffer '{}' is out of bounds", a.name));
    for (size_t j = 0; j < i; ++j) {
      const auto &b = problem.buffers[j];
      if (a.overlapsInTime(b) && offsets[i] < offsets[j] + b.totalBytes() &&
          offsets[j] < end)
        return wrong(
            fmt::format("buffers '{}' and '{}' overlap", b.name, a.name));
    }
  }
  return Status::success();
}

uint64_t FirstFit::findOffset(size_t index) const {
  const auto &buffer = buffers[index];
  uint64_t offset = 0;
  for (size_t other : placed) {
    const auto &occupied = buffers[other];
    if (!buffer.overlapsInTime(occupied))
      continue;
    if (offset + buffer.totalBytes() <= offsets[other])
      break;
    offset = std::max(offset, alignUp(offsets[other] + occupied.totalBytes(),
                                      buffer.alignment));
  }
  return offset;
}

void FirstFit::place(size_t index, uint64_t offset) {
  offsets[index] = offset;
  placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                 [&](uint64_t value, size_t other) {
                                   return value < offsets[other];
                                 }),
                index);
}

Result<MemoryPlanSolution>
tessera::planMemory(const MemoryPlanProblem &problem) {
  TESSERA_RETURN_IF_ERROR(problem.check());
  size_t count = problem.buffers.size();
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    uint64_t bytesA = problem.buffers[a].totalBytes();
    uint64_t bytesB = problem.buffers[b].totalBytes();
    return bytesA != bytesB ? bytesA > bytesB : a < b;
  });

  MemoryPlanSolution solution;
  solution.offsets.assign(count, 0);
  FirstFit places(problem.buffers);
  for (size_t index : order) {
    uint64_t offset = places.findOffset(index);
    places.place(index, offset);
    solution.offsets[index] = offset;
    solution.peakBytes = std::max(solution.peakBytes,
                                  offset + problem.buffers[index].totalBytes());
  }
  if (solution.peakBytes > problem.capacity)
    return Status(StatusCode::ResourceExhausted,
                  fmt::format("{} needs {} bytes, {} are available",
                              problem.memory, solution.peakBytes,
                              problem.capacity));
  return solution;
}

uint64_t tessera::deviceAlignment(uint64_t bytes) {
  return std::clamp<uint64_t>(std::bit_floor(bytes / 16), 64, 16384);
}
