//===- MemoryPool.cpp - Stream-ordered allocation ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PoolState.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>
#include <unordered_set>

using namespace tessera::isa;

namespace tessera::runtime {

std::string_view poolOutcomeName(PoolOutcome outcome) {
  switch (outcome) {
  case PoolOutcome::Reused:
    return "reused";
  case PoolOutcome::Fresh:
    return "fresh";
  case PoolOutcome::NeedsWait:
    return "needs wait";
  case PoolOutcome::Exhausted:
    return "exhausted";
  case PoolOutcome::OverBudget:
    return "over budget";
  case PoolOutcome::Fragmented:
    return "fragmented";
  }
  return "unknown outcome";
}

PoolBlock::~PoolBlock() {
  if (!bytes)
    return;
  Hardware::Lock lock = pool->hardware().lock();
  if (counted)
    pool->counts.liveBytes -= bytes;
  if (before && !pool->isOver(*before)) {
    // Whoever had it before may still be at it.
    pool->dying.push_back({chunk, offset, bytes, std::move(*before)});
    pool->counts.dyingBytes += bytes;
    return;
  }
  pool->free(chunk, offset, bytes);
}

void PoolState::free(uint32_t chunk, uint64_t offset, uint64_t bytes) {
  chunks[chunk].ranges.release(offset, bytes);
  // As with a buffer of its own, the next owner starts afresh.
  if (RaceDetector *races = hardware().races.get()) {
    uint64_t at = chunks[chunk].memory->physical + offset;
    races->forget(options.space, at, at + bytes);
  }
}

uint64_t PoolState::trim(Chunk &chunk) {
  if (!chunk.memory || chunk.ranges.used() != 0)
    return 0;
  uint64_t bytes = chunk.memory->mappedBytes;
  chunk.memory.reset();
  chunk.ranges = RangeAllocator();
  return bytes;
}

uint64_t PoolState::heldBytes() const {
  uint64_t sum = 0;
  for (const Chunk &chunk : chunks)
    sum += chunk.memory ? chunk.memory->mappedBytes : 0;
  return sum;
}

uint64_t PoolState::freeBytes() const {
  uint64_t sum = 0;
  for (const Chunk &chunk : chunks)
    sum += chunk.memory ? chunk.ranges.available() : 0;
  return sum;
}

bool PoolState::isOver(const Death &death) const {
  const SemaphoreState &semaphore = *death.point.semaphore;
  if (semaphore.promised(death.point.value))
    return false;
  Result<bool> reached = semaphore.reached(death.point.value);
  if (!reached || *reached)
    return true; // What the device did before a reset it does no more.
  // The deallocation failed, which says nothing of others who use the memory.
  std::shared_ptr<BufferState> memory = death.memory.lock();
  return !memory || hardware().userOf(memory.get()).empty();
}

void PoolState::collect() {
  for (size_t i = 0; i < dying.size();) {
    if (!isOver(dying[i].death)) {
      ++i;
      continue;
    }
    free(dying[i].chunk, dying[i].offset, dying[i].bytes);
    counts.dyingBytes -= dying[i].bytes;
    dying.erase(dying.begin() + i);
  }
}

//===----------------------------------------------------------------------===//
// Where to take memory from
//===----------------------------------------------------------------------===//

namespace {
/// Whether an operation in flight can complete only after one of the points,
/// which nothing in flight signals. Chains of waits are long: no recursion.
class Dependence {
public:
  Dependence(const Hardware &hardware, const Points &points) : points(points) {
    for (const QueueState *queue : hardware.queues)
      for (size_t i = 0; i < queue->inFlight.size(); ++i)
        places[&queue->inFlight[i]] = {queue, i};
  }

  bool of(const Submission &work) {
    std::vector<const Submission *> left{&work};
    while (!left.empty()) {
      const Submission *next = left.back();
      left.pop_back();
      if (seen.insert(next).second && look(*next, left)) {
        seen.clear(); // Not all of these were looked at to the end.
        return true;
      }
    }
    return false;
  }

private:
  /// True if it waits for a point itself; else adds what it comes after.
  bool look(const Submission &work, std::vector<const Submission *> &left) {
    for (const Point &wait : work.waits) {
      if (Result<bool> met = wait.semaphore->reached(wait.value); !met || *met)
        continue;
      for (const Point &point : points)
        if (point.semaphore == wait.semaphore && point.value >= wait.value &&
            !wait.semaphore->hostMaySignal)
          return true;
      for (const auto &producer : wait.semaphore->producers)
        if (producer.value >= wait.value)
          left.push_back(producer.work);
    }
    // What a barrier orders before it.
    auto place = places.find(&work);
    if (place == places.end())
      return false;
    auto [queue, position] = place->second;
    bool ordered = work.barrier;
    for (size_t i = position; i-- > 0;) {
      const Submission &earlier = queue->inFlight[i];
      if (!earlier.inFlight())
        continue;
      if (ordered || earlier.barrier)
        left.push_back(&earlier);
      ordered |= earlier.barrier;
      if (earlier.barrier)
        break; // That one comes after all before it.
    }
    return false;
  }

  const Points &points;
  std::unordered_map<const Submission *, std::pair<const QueueState *, size_t>>
      places;
  std::unordered_set<const Submission *> seen;
};
} // namespace

PoolState::Choice PoolState::choose(const QueueState &queue, uint64_t bytes,
                                    const Operation &operation) const {
  for (size_t i = 0; i < chunks.size(); ++i)
    if (chunks[i].memory && chunks[i].ranges.largestFree() >= bytes)
      return {PoolOutcome::Reused, false, i};

  // The smallest block that does, of those that die before we start.
  bool barrier = operation.barrier || queue.inOrder || queue.barrierPending;
  Frontier before = queue.orderBefore(
      {operation.waits.data(), operation.waits.size()}, barrier);
  auto smallest = [&](auto &&accept) -> std::optional<size_t> {
    std::optional<size_t> best;
    for (size_t i = 0; i < dying.size(); ++i)
      if (dying[i].bytes >= bytes && accept(dying[i]) &&
          (!best || dying[i].bytes < dying[*best].bytes))
        best = i;
    return best;
  };
  if (auto block = smallest([&](const Dying &d) {
        return TESSERA_MUTANT("death-frontier-ignored") ||
               before.covers(d.death.point.semaphore->serial,
                             d.death.point.value);
      }))
    return {PoolOutcome::Reused, true, *block};

  const RangeAllocator &device =
      hardware().physical[static_cast<unsigned>(options.space)];
  uint64_t growth = std::max(options.chunkBytes, bytes);
  growth = (growth + smallPageBytes - 1) / smallPageBytes * smallPageBytes;
  uint64_t held = heldBytes();
  bool withinBudget =
      growth <= options.budgetBytes && held <= options.budgetBytes - growth;
  if (withinBudget && device.largestFree() >= growth + largePageBytes)
    return {PoolOutcome::Fresh, false, 0};
  // No whole chunk any more, perhaps just what is needed.
  uint64_t exact =
      (bytes + smallPageBytes - 1) / smallPageBytes * smallPageBytes;
  bool exactInBudget =
      exact <= options.budgetBytes && held <= options.budgetBytes - exact;
  if (exactInBudget && device.largestFree() >= exact + largePageBytes)
    return {PoolOutcome::Fresh, false, 1};

  bool behindUs = false;
  std::optional<Dependence> dependence;
  if (auto block = smallest([&](const Dying &d) {
        if (!d.death.point.semaphore->promised(d.death.point.value))
          return false; // It failed; only the end of its users helps.
        for (const auto &producer : d.death.point.semaphore->producers)
          if (producer.value == d.death.point.value) {
            if (!dependence)
              dependence.emplace(hardware(), operation.signals);
            if (dependence->of(*producer.work)) {
              behindUs = true;
              return false;
            }
          }
        return true;
      }))
    return {PoolOutcome::NeedsWait, true, *block};

  Choice none;
  none.deadlock = behindUs;
  if (freeBytes() >= bytes)
    none.outcome = PoolOutcome::Fragmented;
  else if (!exactInBudget)
    none.outcome = PoolOutcome::OverBudget;
  else
    none.outcome = device.available() >= exact ? PoolOutcome::Fragmented
                                               : PoolOutcome::Exhausted;
  return none;
}

Status PoolState::refusal(const Choice &choice, uint64_t bytes) const {
  StatusCode code = choice.outcome == PoolOutcome::OverBudget
                        ? StatusCode::ResourceExhausted
                        : StatusCode::OutOfMemory;
  std::string text = fmt::format(
      "{}: pool '{}': {} bytes asked for; {} held, {} live, {} dying, {} free, "
      "budget {}",
      poolOutcomeName(choice.outcome), options.label, bytes, heldBytes(),
      counts.liveBytes, counts.dyingBytes, freeBytes(),
      options.budgetBytes == ~uint64_t(0)
          ? "none"
          : fmt::to_string(options.budgetBytes));
  if (choice.deadlock)
    return Status(StatusCode::Deadlock,
                  text +
                      "; the memory that would do is deallocated behind this "
                      "allocation itself");
  return Status(code, text);
}

Result<std::shared_ptr<PoolBlock>>
PoolState::take(const Choice &choice, uint64_t bytes, Operation &operation) {
  ++hardware().lastingChanges;
  auto block = std::make_shared<PoolBlock>();
  block->pool = shared_from_this();
  if (choice.fromDying) {
    Dying &from = dying[choice.index];
    block->chunk = from.chunk;
    block->offset = from.offset;
    block->before = from.death;
    if (choice.outcome == PoolOutcome::NeedsWait)
      operation.waits.push_back(from.death.point);
    // The rest goes on dying.
    from.offset += bytes;
    from.bytes -= bytes;
    counts.dyingBytes -= bytes;
    if (!from.bytes)
      dying.erase(dying.begin() + choice.index);
  } else {
    size_t index = choice.index;
    if (choice.outcome == PoolOutcome::Fresh) {
      uint64_t size =
          choice.index == 0 ? std::max(options.chunkBytes, bytes) : bytes;
      BufferOptions chunk;
      chunk.space = options.space;
      chunk.access = options.access;
      chunk.label = options.label + " chunk";
      TESSERA_ASSIGN_OR_RETURN(auto memory, allocateBuffer(space, size, chunk));
      auto hole = std::ranges::find_if(
          chunks, [](const Chunk &c) { return !c.memory; });
      if (hole == chunks.end())
        hole = chunks.emplace(chunks.end());
      hole->ranges = RangeAllocator(0, memory->mappedBytes);
      hole->memory = std::move(memory);
      index = hole - chunks.begin();
    }
    std::optional<uint64_t> offset =
        chunks[index].ranges.allocate(bytes, granularity);
    if (!offset)
      return Status(StatusCode::Internal,
                    fmt::format("pool '{}': {} bytes of chunk {} are gone",
                                options.label, bytes, index));
    block->chunk = uint32_t(index);
    block->offset = *offset;
  }
  block->bytes = bytes;
  return block;
}

//===----------------------------------------------------------------------===//
// The handle
//===----------------------------------------------------------------------===//

/// Of one block and one chunk: sizes up to it can be added without overflow.
static constexpr uint64_t maxBlockBytes = uint64_t(1) << 46;

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "pool: empty handle");
}

Result<MemoryPool> MemoryPool::create(const AddressSpace &space,
                                      PoolOptions options) {
  auto refuse = [&](StatusCode code, const std::string &what) {
    return Status(code, fmt::format("pool '{}': {}", options.label, what));
  };
  if (!space)
    return refuse(StatusCode::FailedPrecondition,
                  "the address space is an empty handle");
  if (options.budgetBytes == 0)
    return refuse(StatusCode::InvalidArgument, "a budget of 0 bytes");
  if (options.chunkBytes == 0 || options.chunkBytes % smallPageBytes ||
      options.chunkBytes > maxBlockBytes)
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("chunks of {} bytes; must be a multiple of {}, "
                              "and at most 2^46",
                              options.chunkBytes, smallPageBytes));
  MemoryPool pool;
  pool.state = std::make_shared<PoolState>();
  pool.state->space = space.state;
  pool.state->options = std::move(options);
  Hardware::Lock lock = pool.state->hardware().lock();
  pool.state->hardware().tracksOrder = true;
  return pool;
}

/// The checks that allocate() and query() share; the block's bytes.
static Result<uint64_t> checkRequest(const PoolState &pool,
                                     const QueueState &queue, uint64_t bytes,
                                     const Operation &operation) {
  auto refuse = [&](const std::string &what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("pool '{}': '{}' on queue '{}': {}",
                              pool.options.label, operation.label, queue.label,
                              what));
  };
  if (queue.space != pool.space)
    return refuse(fmt::format("the queue is of address space '{}', the pool of "
                              "'{}'",
                              queue.space->label, pool.space->label));
  if (bytes == 0 || bytes > maxBlockBytes)
    return refuse(
        fmt::format("{} bytes asked for; 1 to 2^46 can be had", bytes));
  if (operation.signals.empty() && !operation.barrier && !queue.inOrder)
    return refuse("nothing would order work after the allocation: give a "
                  "signal or the barrier option, or use an in-order queue");
  return (bytes + PoolState::granularity - 1) / PoolState::granularity *
         PoolState::granularity;
}

Result<PoolOutcome> MemoryPool::query(const Queue &queue, uint64_t bytes,
                                      const SubmitOptions &options) const {
  if (!state)
    return emptyHandle();
  if (!queue)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("pool '{}': the queue is an empty handle",
                              state->options.label));
  Hardware::Lock lock = state->hardware().lock();
  Operation operation = Queue::start("allocate", options);
  QueueState &on = *queue.handle->state;
  TESSERA_ASSIGN_OR_RETURN(uint64_t size,
                           checkRequest(*state, on, bytes, operation));
  TESSERA_RETURN_IF_ERROR(state->hardware().update());
  state->collect();
  return state->choose(on, size, operation).outcome;
}

Result<PoolAllocation> MemoryPool::allocate(const Queue &queue, uint64_t bytes,
                                            const SubmitOptions &options,
                                            Deadline deadline) {
  if (!state)
    return emptyHandle();
  if (!queue)
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("pool '{}': the queue is an empty handle",
                              state->options.label));
  PoolState &pool = *state;
  Hardware &hardware = pool.hardware();
  Hardware::Lock lock = hardware.lock();
  Operation operation = Queue::start("allocate", options);
  QueueState &on = *queue.handle->state;
  TESSERA_ASSIGN_OR_RETURN(uint64_t size,
                           checkRequest(pool, on, bytes, operation));
  PoolState::Choice choice;
  bool retried = false;
  std::optional<ListedWait> listed;
  while (true) {
    TESSERA_RETURN_IF_ERROR(hardware.update());
    pool.collect();
    choice = pool.choose(on, size, operation);
    if (choice.outcome <= PoolOutcome::NeedsWait)
      break;
    Status refused = pool.refusal(choice, bytes);
    if (choice.deadlock)
      return refused;
    bool late = hardware.reached(deadline);
    if (late && retried)
      return Status(StatusCode::DeadlineExceeded, refused.message());
    if (late) {
      (choice.outcome == PoolOutcome::Exhausted    ? pool.counts.exhausted
       : choice.outcome == PoolOutcome::OverBudget ? pool.counts.overBudget
                                                   : pool.counts.fragmented)++;
      return refused;
    }
    TESSERA_RETURN_IF_ERROR(hardware.mayWait("pool " + pool.options.label));
    ++pool.counts.retries;
    if (!std::exchange(retried, true))
      listed.emplace(
          hardware,
          Hardware::HostWait{.what = fmt::format("{} bytes of pool '{}'", bytes,
                                                 pool.options.label)});
    // Memory comes by the end of work, or by what another thread deallocates.
    for (const PoolState::Dying &block : pool.dying)
      TESSERA_RETURN_IF_ERROR(hardware.driver->armSemaphore(
          block.death.point.semaphore->index, block.death.point.value));
    TESSERA_ASSIGN_OR_RETURN(driver::Progress progress, hardware.run(deadline));
    if (progress != driver::Progress::Quiescent)
      continue;
    if (!deadline.isInfinite() && !deadline.isHost())
      return Status(StatusCode::DeadlineExceeded, refused.message());
    TESSERA_RETURN_IF_ERROR(hardware.waitForHost(deadline));
  }

  TESSERA_ASSIGN_OR_RETURN(auto block, pool.take(choice, size, operation));
  operation.makeSignal();
  auto buffer = std::make_shared<BufferState>();
  buffer->space = pool.space;
  buffer->label = operation.label;
  buffer->physicalSpace = pool.options.space;
  const BufferState &chunk = *pool.chunks[block->chunk].memory;
  buffer->address = chunk.address + block->offset;
  buffer->physical = chunk.physical + block->offset;
  buffer->size = bytes;
  buffer->access = pool.options.access;
  buffer->block = block;
  if (Status submitted = on.submit(operation); !submitted.ok()) {
    // The block goes back to where it was, with its death.
    uint32_t chunkIndex = block->chunk;
    buffer.reset();
    block.reset();
    if (choice.outcome == PoolOutcome::Fresh)
      pool.trim(pool.chunks[chunkIndex]);
    return submitted.withContext("pool '" + pool.options.label + "'");
  }
  block->counted = true;
  pool.counts.liveBytes += size;
  pool.counts.peakLiveBytes =
      std::max(pool.counts.peakLiveBytes, pool.counts.liveBytes);
  (choice.outcome == PoolOutcome::Reused  ? pool.counts.reused
   : choice.outcome == PoolOutcome::Fresh ? pool.counts.fresh
                                          : pool.counts.neededWait)++;
  PoolAllocation result;
  result.outcome = choice.outcome;
  result.buffer.state = std::move(buffer);
  return result;
}

Result<Point> QueueState::nextDeallocation() {
  // A deallocation that failed ends its timeline, not the queue's use of pools.
  if (!deallocations || !deallocations->failure.ok()) {
    TESSERA_ASSIGN_OR_RETURN(deallocations,
                             makeSemaphore(hardware, label + " deallocations"));
    deallocations->isDeallocations = true;
    deallocated = 0;
  }
  return Point{deallocations, deallocated + 1};
}

Status MemoryPool::deallocate(const Queue &queue, Buffer &buffer,
                              const SubmitOptions &options) {
  if (!state)
    return emptyHandle();
  PoolState &pool = *state;
  auto refuse = [&](StatusCode code, const std::string &what) {
    return Status(code, fmt::format("pool '{}': deallocate: {}",
                                    pool.options.label, what));
  };
  if (!queue)
    return refuse(StatusCode::FailedPrecondition,
                  "the queue is an empty handle");
  if (!buffer)
    return refuse(StatusCode::FailedPrecondition,
                  "the buffer is an empty handle");
  Hardware::Lock lock = pool.hardware().lock();
  QueueState &on = *queue.handle->state;
  BufferState &memory = *buffer.state;
  if (on.space != pool.space)
    return refuse(
        StatusCode::InvalidArgument,
        fmt::format("queue '{}' is of address space '{}', the pool of "
                    "'{}'",
                    on.label, on.space->label, pool.space->label));
  if (Status usable = memory.checkUsable(); !usable.ok())
    return refuse(usable.code(), usable.message());
  if (!memory.block || memory.block->pool.get() != &pool)
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("buffer '{}' is not of this pool", memory.label));

  Operation operation = Queue::start("deallocate", options);
  // One after the other, so that the timeline grows; another one may come first
  // while this one waits for room.
  operation.refresh = [&, waits = operation.waits,
                       signals = operation.signals](Operation &o) -> Status {
    TESSERA_ASSIGN_OR_RETURN(Point next, on.nextDeallocation());
    o.waits = waits;
    o.signals = signals;
    if (next.value > 1)
      o.waits.push_back({next.semaphore, next.value - 1});
    o.signals.push_back(next);
    o.waitsInPacket = false;
    o.makeSignal();
    return Status::success();
  };
  operation.accepted = [&] {
    ++pool.hardware().lastingChanges;
    PoolBlock &block = *memory.block;
    pool.dying.push_back(
        {block.chunk,
         block.offset,
         block.bytes,
         {{on.deallocations, ++on.deallocated}, buffer.state}});
    pool.counts.dyingBytes += block.bytes;
    pool.counts.liveBytes -= std::exchange(block.bytes, 0);
    memory.markGone("was deallocated");
  };
  // Whoever has not finished by then uses memory that is no longer his.
  operation.uses.push_back({buffer.state, 0, memory.size, Use::Write});
  TESSERA_RETURN_IF_ERROR(on.submit(operation));
  // Threads that wait for memory look again.
  pool.hardware().wakeHost();
  return Status::success();
}

Result<uint64_t> MemoryPool::trim() {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware().lock();
  TESSERA_RETURN_IF_ERROR(state->hardware().update());
  state->collect();
  uint64_t bytes = 0;
  for (PoolState::Chunk &chunk : state->chunks)
    bytes += state->trim(chunk);
  return bytes;
}

PoolStatistics MemoryPool::statistics() const {
  if (!state)
    return {};
  Hardware::Lock lock = state->hardware().lock();
  PoolStatistics result = state->counts;
  result.heldBytes = state->heldBytes();
  for (const PoolState::Chunk &chunk : state->chunks)
    if (chunk.memory)
      result.largestFree =
          std::max(result.largestFree, chunk.ranges.largestFree());
  return result;
}

const std::string &MemoryPool::label() const {
  static const std::string none;
  return state ? state->options.label : none;
}

} // namespace tessera::runtime
