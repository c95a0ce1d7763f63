//===- TesseraRtMemory.cpp - Spaces, buffers and pools of the C interface -===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::c;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_space_create(tessera_rt_device *device,
                                          const char *label,
                                          tessera_rt_space **space,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(space, "space"));
    TESSERA_ASSIGN_OR_RETURN(
        AddressSpace made, AddressSpace::create(handleOf<Device>(device),
                                                text(label, "address space")));
    *space = new tessera_rt_space{std::move(made), handleOf<Device>(device)};
    return Status::success();
  });
}
void tessera_rt_space_release(tessera_rt_space *space) { delete space; }
const char *tessera_rt_space_label(const tessera_rt_space *space) {
  return labelOf(space);
}
uint64_t tessera_rt_space_root(const tessera_rt_space *space) {
  return space ? space->object.root() : 0;
}

tessera_rt_status tessera_rt_space_reserve(tessera_rt_space *space,
                                           uint64_t bytes, uint64_t *address,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(address, "address"));
    TESSERA_ASSIGN_OR_RETURN(*address,
                             handleOf<AddressSpace>(space).reserve(bytes));
    return Status::success();
  });
}

tessera_rt_status
tessera_rt_space_map(tessera_rt_space *space, uint64_t address,
                     tessera_rt_memory memory, uint64_t physical,
                     uint64_t bytes, uint32_t access, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(isa::PhysicalSpace to, spaceOf(memory));
    TESSERA_ASSIGN_OR_RETURN(Access may, accessOf(access));
    return handleOf<AddressSpace>(space).map(address, to, physical, bytes, may);
  });
}

tessera_rt_status tessera_rt_space_unmap(tessera_rt_space *space,
                                         uint64_t address, uint64_t bytes,
                                         tessera_rt_error *error) {
  return guarded(error, [&] {
    return handleOf<AddressSpace>(space).unmap(address, bytes);
  });
}

tessera_rt_status tessera_rt_space_protect(tessera_rt_space *space,
                                           uint64_t address, uint64_t bytes,
                                           uint32_t access,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(Access may, accessOf(access));
    return handleOf<AddressSpace>(space).protect(address, bytes, may);
  });
}

tessera_rt_status
tessera_rt_space_read_statistics(const tessera_rt_space *space,
                                 tessera_rt_space_statistics *statistics,
                                 tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!space)
      return empty("space");
    AddressSpaceStatistics s = space->object.statistics();
    tessera_rt_space_statistics result{};
    result.buffers = s.buffers;
    result.small_pages = s.smallPages;
    result.large_pages = s.largePages;
    result.table_bytes = s.tableBytes;
    result.reserved_bytes = s.reservedBytes;
    return writeResult(result, statistics, "space statistics");
  });
}

tessera_rt_status tessera_rt_memory_read_statistics(
    const tessera_rt_device *device, tessera_rt_memory memory,
    tessera_rt_memory_statistics *statistics, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!device)
      return empty("device");
    TESSERA_ASSIGN_OR_RETURN(isa::PhysicalSpace of, spaceOf(memory));
    MemoryStatistics s = device->object.memoryStatistics(of);
    tessera_rt_memory_statistics result{};
    result.total = s.total;
    result.used = s.used;
    result.peak_used = s.peakUsed;
    result.largest_free = s.largestFree;
    result.allocations = s.allocations;
    result.failures = s.failures;
    return writeResult(result, statistics, "memory statistics");
  });
}

tessera_rt_status
tessera_rt_buffer_create(tessera_rt_space *space,
                         const tessera_rt_buffer_options *options,
                         tessera_rt_buffer **buffer, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(buffer, "buffer"));
    tessera_rt_buffer_options o;
    TESSERA_RETURN_IF_ERROR(readArguments(options, o, "buffer options"));
    BufferOptions made;
    made.label = text(o.label, "buffer");
    TESSERA_ASSIGN_OR_RETURN(made.space, spaceOf(o.memory));
    TESSERA_ASSIGN_OR_RETURN(made.access, accessOf(o.access));
    TESSERA_ASSIGN_OR_RETURN(
        Buffer result, handleOf<AddressSpace>(space).allocate(o.bytes, made));
    *buffer = new tessera_rt_buffer{std::move(result)};
    return Status::success();
  });
}
void tessera_rt_buffer_release(tessera_rt_buffer *buffer) { delete buffer; }
uint64_t tessera_rt_buffer_address(const tessera_rt_buffer *buffer) {
  return buffer ? buffer->object.address() : 0;
}
uint64_t tessera_rt_buffer_size(const tessera_rt_buffer *buffer) {
  return buffer ? buffer->object.size() : 0;
}
tessera_rt_memory tessera_rt_buffer_memory(const tessera_rt_buffer *buffer) {
  return buffer ? static_cast<tessera_rt_memory>(buffer->object.space())
                : TESSERA_RT_DRAM;
}
const char *tessera_rt_buffer_label(const tessera_rt_buffer *buffer) {
  return labelOf(buffer);
}

tessera_rt_status tessera_rt_buffer_write(tessera_rt_buffer *buffer,
                                          uint64_t offset, const void *data,
                                          uint64_t bytes,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(auto from, bytesOf(data, bytes));
    return handleOf<Buffer>(buffer).write(offset, from);
  });
}

tessera_rt_status tessera_rt_buffer_read(const tessera_rt_buffer *buffer,
                                         uint64_t offset, void *data,
                                         uint64_t bytes,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(auto to, bytesOf(data, bytes));
    return handleOf<Buffer>(buffer).read(offset, to);
  });
}

tessera_rt_status tessera_rt_buffer_unmap(tessera_rt_space *space,
                                          tessera_rt_buffer *buffer,
                                          tessera_rt_when_in_use when,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    auto how = numberOf(when);
    if (how > TESSERA_RT_FORCE)
      return invalid(fmt::format("unmap: when in use {}; must be 0 to 2", how));
    return handleOf<AddressSpace>(space).unmap(handleOf<Buffer>(buffer),
                                               static_cast<WhenInUse>(how));
  });
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_pool_create(tessera_rt_space *space,
                                         const tessera_rt_pool_options *options,
                                         tessera_rt_pool **pool,
                                         tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(pool, "pool"));
    tessera_rt_pool_options o{};
    if (options)
      TESSERA_RETURN_IF_ERROR(readArguments(options, o, "pool options"));
    PoolOptions made;
    made.label = text(o.label, "pool");
    TESSERA_ASSIGN_OR_RETURN(made.space, spaceOf(o.memory));
    TESSERA_ASSIGN_OR_RETURN(made.access, accessOf(o.access));
    if (o.budget_bytes)
      made.budgetBytes = o.budget_bytes;
    if (o.chunk_bytes)
      made.chunkBytes = o.chunk_bytes;
    TESSERA_ASSIGN_OR_RETURN(
        MemoryPool result,
        MemoryPool::create(handleOf<AddressSpace>(space), made));
    *pool = new tessera_rt_pool{std::move(result),
                                space ? space->device : Device()};
    return Status::success();
  });
}
void tessera_rt_pool_release(tessera_rt_pool *pool) { delete pool; }

tessera_rt_status tessera_rt_pool_allocate(
    tessera_rt_pool *pool, tessera_rt_queue *queue, uint64_t bytes,
    const tessera_rt_submit *submit, const tessera_rt_deadline *deadline,
    tessera_rt_buffer **buffer, tessera_rt_pool_outcome *outcome,
    tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(buffer, "buffer"));
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(
        Deadline until,
        deadlineOf(deadline, pool ? pool->device : Device(), Deadline::poll()));
    TESSERA_ASSIGN_OR_RETURN(
        PoolAllocation made,
        handleOf<MemoryPool>(pool).allocate(handleOf<Queue>(queue), bytes,
                                            options, until));
    *buffer = new tessera_rt_buffer{std::move(made.buffer)};
    if (outcome)
      *outcome = static_cast<tessera_rt_pool_outcome>(made.outcome);
    return Status::success();
  });
}

tessera_rt_status tessera_rt_pool_deallocate(tessera_rt_pool *pool,
                                             tessera_rt_queue *queue,
                                             tessera_rt_buffer *buffer,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    Buffer memory = handleOf<Buffer>(buffer);
    return handleOf<MemoryPool>(pool).deallocate(handleOf<Queue>(queue), memory,
                                                 options);
  });
}

tessera_rt_status tessera_rt_pool_trim(tessera_rt_pool *pool, uint64_t *bytes,
                                       tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(uint64_t trimmed,
                             handleOf<MemoryPool>(pool).trim());
    if (bytes)
      *bytes = trimmed;
    return Status::success();
  });
}

const char *tessera_rt_pool_outcome_name(tessera_rt_pool_outcome outcome) {
  auto number = numberOf(outcome);
  if (number > TESSERA_RT_FRAGMENTED)
    return "Unknown";
  // The names are literals, so that they end.
  return poolOutcomeName(static_cast<PoolOutcome>(number)).data();
}

tessera_rt_status tessera_rt_pool_query(tessera_rt_pool *pool,
                                        tessera_rt_queue *queue, uint64_t bytes,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_pool_outcome *outcome,
                                        tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(outcome, "outcome"));
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(PoolOutcome found,
                             handleOf<MemoryPool>(pool).query(
                                 handleOf<Queue>(queue), bytes, options));
    *outcome = static_cast<tessera_rt_pool_outcome>(found);
    return Status::success();
  });
}

const char *tessera_rt_pool_label(const tessera_rt_pool *pool) {
  return labelOf(pool);
}

tessera_rt_status
tessera_rt_pool_read_statistics(const tessera_rt_pool *pool,
                                tessera_rt_pool_statistics *statistics,
                                tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!pool)
      return empty("pool");
    PoolStatistics s = pool->object.statistics();
    tessera_rt_pool_statistics result{};
    result.held_bytes = s.heldBytes;
    result.live_bytes = s.liveBytes;
    result.dying_bytes = s.dyingBytes;
    result.peak_live_bytes = s.peakLiveBytes;
    result.largest_free = s.largestFree;
    result.reused = s.reused;
    result.fresh = s.fresh;
    result.needed_wait = s.neededWait;
    result.exhausted = s.exhausted;
    result.over_budget = s.overBudget;
    result.fragmented = s.fragmented;
    result.retries = s.retries;
    return writeResult(result, statistics, "pool statistics");
  });
}
