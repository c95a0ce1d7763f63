//===- Hardware.cpp - What all objects of a device share --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Hardware.h"
#include "HostScheduler.h"
#include "QueueState.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <cmath>
#include <fmt/format.h>

namespace tessera::runtime {

std::string_view spaceName(isa::PhysicalSpace space) {
  switch (space) {
  case isa::PhysicalSpace::Dram:
    return "DRAM";
  case isa::PhysicalSpace::Shared:
    return "shared SRAM";
  case isa::PhysicalSpace::Host:
    return "host memory";
  }
  return "unknown space";
}

std::optional<uint32_t> SlotAllocator::allocate() {
  for (size_t tried = first; tried < used.size(); ++tried) {
    uint32_t slot = next;
    next = next + 1 == used.size() ? first : next + 1;
    if (!used[slot]) {
      used[slot] = true;
      return slot;
    }
  }
  return std::nullopt;
}

Hardware::Hardware(std::unique_ptr<driver::Driver> d, std::string label)
    : driver(std::move(d)), label(std::move(label)),
      semaphoreSlots(1, isa::mmio::numSemaphores), // Index 0 is null.
      slots(driver->architecture().cp.queues) {
  cycleTime = std::llround(1e6 / driver->architecture().clockGhz);
  for (unsigned i = 0; i < numPhysicalSpaces; ++i)
    physical[i] = RangeAllocator(
        0, driver->memorySize(static_cast<isa::PhysicalSpace>(i)));
}

Hardware::~Hardware() = default;

Hardware::Lock Hardware::lock() {
  // Another virtual thread may come first here.
  if (scheduler && !mutex.heldByThisThread())
    scheduler->point();
  return Lock(mutex);
}

Result<uint64_t> Hardware::allocatePhysical(isa::PhysicalSpace space,
                                            uint64_t bytes, uint64_t alignment,
                                            std::string_view what,
                                            MemoryOf of) {
  RangeAllocator &allocator = physical[static_cast<unsigned>(space)];
  if (std::optional<uint64_t> address = allocator.allocate(bytes, alignment)) {
    Status claimed = driver->claim(space, *address, bytes);
    if (claimed.ok()) {
      if (of == MemoryOf::Program)
        toggleObject(Object::Memory, uint64_t(space), *address, bytes);
      return *address;
    }
    allocator.release(*address, bytes);
    return claimed.withContext(fmt::format("{} '{}'", label, what));
  }
  return Status(
      StatusCode::OutOfMemory,
      fmt::format("{} '{}': {} bytes of {} asked for, {} free, largest "
                  "free range {}",
                  label, what, bytes, spaceName(space), allocator.available(),
                  allocator.largestFree()));
}

void Hardware::toggleObject(Object kind, uint64_t a, uint64_t b, uint64_t c) {
  uint64_t hash = uint64_t(kind) + 1;
  for (uint64_t part : {a, b, c}) {
    // A step of splitmix64.
    hash = (hash ^ part) + 0x9e3779b97f4a7c15;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
    hash ^= hash >> 31;
  }
  objects ^= hash;
}

void Hardware::releasePhysical(isa::PhysicalSpace space, uint64_t address,
                               uint64_t bytes, MemoryOf of) {
  if (of == MemoryOf::Program)
    toggleObject(Object::Memory, uint64_t(space), address, bytes);
  driver->release(space, address, bytes);
  physical[static_cast<unsigned>(space)].release(address, bytes);
}

Status Hardware::claimPage(isa::PhysicalSpace space, uint64_t address) {
  auto index = static_cast<unsigned>(space);
  if (auto known = claimedPages[index].find(address);
      known != claimedPages[index].end()) {
    ++known->second;
    return Status::success();
  }
  if (!physical[index].allocateAt(address, isa::smallPageBytes))
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("physical address {:#x} of {} is in use", address,
                              spaceName(space)));
  if (Status claimed = driver->claim(space, address, isa::smallPageBytes);
      !claimed.ok()) {
    physical[index].release(address, isa::smallPageBytes);
    return claimed;
  }
  toggleObject(Object::Memory, uint64_t(space), address, isa::smallPageBytes);
  claimedPages[index][address] = 1;
  return Status::success();
}

void Hardware::releasePage(isa::PhysicalSpace space, uint64_t address) {
  auto &pages = claimedPages[static_cast<unsigned>(space)];
  auto page = pages.find(address);
  if (--page->second)
    return;
  pages.erase(page);
  releasePhysical(space, address, isa::smallPageBytes);
}

Status Hardware::update() {
  for (QueueState *queue : slots)
    if (queue)
      TESSERA_RETURN_IF_ERROR(queue->update());
  TESSERA_RETURN_IF_ERROR(retractHopeless());
  return unmapUnused();
}

Status Hardware::comeToRest() {
  TESSERA_RETURN_IF_ERROR(update());
  for (const QueueState *queue : queues)
    if (!queue->inFlight.empty())
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("'{}' of queue '{}' is in flight",
                                queue->inFlight.front().label, queue->label));
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i])
      TESSERA_RETURN_IF_ERROR(slots[i]->detach());
  return Status::success();
}

Status Hardware::retractHopeless() {
  if (failuresKnown == failuresSeen)
    return Status::success();
  failuresKnown = failuresSeen;
  for (size_t i = 0; i < slots.size(); ++i)
    if (slots[i])
      TESSERA_RETURN_IF_ERROR(slots[i]->retract());
  return Status::success();
}

std::string Hardware::userOf(const BufferState *memory) const {
  for (const QueueState *queue : queues)
    for (const Submission &work : queue->inFlight) {
      bool uses = work.commands && work.commands->touches(memory);
      for (const std::shared_ptr<const void> &kept : work.keepAlive)
        uses |= kept.get() == memory;
      if (uses)
        return fmt::format("'{}' of queue '{}'", work.label, queue->label);
    }
  return {};
}

Status Hardware::unmapUnused() {
  for (size_t i = 0; i < unmapLater.size();) {
    if (!userOf(unmapLater[i].get()).empty()) {
      ++i;
      continue;
    }
    std::shared_ptr<BufferState> memory = std::move(unmapLater[i]);
    unmapLater.erase(unmapLater.begin() + i);
    TESSERA_RETURN_IF_ERROR(memory->takeAway());
  }
  return Status::success();
}

/// The drain after the device has stopped with interrupts: the queues that they
/// name, or all where that is not enough.
Status Hardware::drain() {
  bool all = notifications.takeMissed();
  std::vector<bool> named(slots.size(), false);
  while (std::optional<driver::Interrupt> interrupt = notifications.pop()) {
    // A semaphore says nothing of where its signal came from.
    all |= interrupt->kind == driver::Interrupt::Kind::SemaphoreSignal ||
           interrupt->queue >= slots.size();
    if (!all)
      named[interrupt->queue] = true;
  }
  for (size_t slot = 0; slot < slots.size(); ++slot)
    if (slots[slot] && (all || named[slot]))
      TESSERA_RETURN_IF_ERROR(slots[slot]->update());
  TESSERA_RETURN_IF_ERROR(retractHopeless());
  return unmapUnused();
}

driver::Progress Hardware::step(driver::Time until) {
  driver::Progress progress = driver->advance(until);
  for (const driver::Interrupt &interrupt : driver->takeInterrupts())
    notifications.push(interrupt);
  return progress;
}

bool Hardware::reached(Deadline deadline) const {
  if (deadline.isHost())
    return Deadline::HostClock::now() >= deadline.host();
  return driver->now() >= deadline.time() + TESSERA_MUTANT("deadline-late");
}

Result<driver::Progress> Hardware::run(Deadline deadline) {
  return scheduler && scheduler->isMember()
             ? runVirtual(deadline)
             : runDevice(deadline, HostCalls::Run);
}

Result<driver::Progress> Hardware::runVirtual(Deadline deadline) {
  // Time passes when no thread can go on.
  unsigned depth = mutex.releaseAll();
  bool othersWent = scheduler->block(deadline.time());
  mutex.acquire(depth);
  if (othersWent)
    return driver::Progress::Interrupted;
  TESSERA_ASSIGN_OR_RETURN(
      driver::Progress progress,
      runDevice(Deadline::at(
                    std::min(deadline.time(), scheduler->earliestDeadline())),
                HostCalls::Run));
  // While another thread works, the clock of an idle device goes on.
  driver::Time work = scheduler->earliestWork();
  if (progress == driver::Progress::Quiescent && work != driver::timeInfinite &&
      idleUntil(std::min({deadline.time(), scheduler->earliestDeadline()})))
    progress = driver::Progress::Interrupted;
  if (progress != driver::Progress::Quiescent)
    scheduler->wakeAll();
  return progress;
}

Status Hardware::alive() const {
  return driver->mmioRead(isa::mmio::deviceId).status();
}

/// How far the device goes before the host's clock, and other threads, are
/// looked at again.
static constexpr uint64_t hostStepCycles = 20'000;

driver::Progress Hardware::stepShared(Deadline deadline) {
  while (true) {
    driver::Time now = driver->now(), slice = hostStepCycles * cycleTime;
    bool last = !deadline.isHost() &&
                (deadline.time() <= now || deadline.time() - now <= slice);
    driver::Progress progress = step(last ? deadline.time() : now + slice);
    if (last || progress != driver::Progress::Deadline)
      return progress;
    bool shared = mutex.wanted();
    if (shared)
      mutex.acquire(mutex.handOver());
    if (shared || deadline.isHost())
      return progress; // The caller looks again.
  }
}

Result<driver::Progress> Hardware::runDevice(Deadline deadline,
                                             HostCalls calls) {
  // Virtual threads have an order of their own.
  driver::Progress progress =
      scheduler ? step(deadline.time()) : stepShared(deadline);
  // Before the drain: what it notes has happened by now.
  seenTime = driver->now();
  if (progress == driver::Progress::Interrupted)
    TESSERA_RETURN_IF_ERROR(drain());
  else
    TESSERA_RETURN_IF_ERROR(update());
  if (progress == driver::Progress::Quiescent)
    TESSERA_RETURN_IF_ERROR(alive());
  TESSERA_ASSIGN_OR_RETURN(bool changed, service(calls));
  if (progress == driver::Progress::Quiescent && !changed) {
    TESSERA_ASSIGN_OR_RETURN(changed, ringAgain());
  }
  if (progress == driver::Progress::Quiescent && changed)
    return driver::Progress::Interrupted;
  return progress;
}

//===----------------------------------------------------------------------===//
// What the host costs
//===----------------------------------------------------------------------===//

Hardware::HostCall *Hardware::hostCallOfThisThread() {
  for (HostCall &call : hostCalls)
    if (call.thread == std::this_thread::get_id())
      return &call;
  return nullptr;
}

bool Hardware::idleUntil(driver::Time time) {
  driver::Time before = driver->now();
  driver->idle(time);
  return driver->now() > before;
}

Status Hardware::spend(uint64_t nanoseconds) {
  if (!nanoseconds || TESSERA_MUTANT("host-costs-nothing"))
    return Status::success();
  driver::Time cost = nanoseconds * 1'000'000;
  if (HostCall *call = hostCallOfThisThread()) {
    call->owed += cost;
    return Status::success();
  }
  hostTime += cost;
  bool isVirtual = scheduler && scheduler->isMember();
  driver::Time until = driver->now() + cost;
  while (driver->now() < until) {
    driver::Time next = until;
    if (isVirtual) {
      // Other threads work at the same time; time passes when none can go on.
      unsigned depth = mutex.releaseAll();
      bool othersWent = scheduler->work(until);
      mutex.acquire(depth);
      if (othersWent)
        continue;
      next = std::min(next, scheduler->earliestDeadline());
    }
    TESSERA_ASSIGN_OR_RETURN(driver::Progress progress,
                             runDevice(Deadline::at(next), HostCalls::Leave));
    bool stuck = progress == driver::Progress::Quiescent && !idleUntil(next);
    if (isVirtual)
      scheduler->wakeAll();
    if (stuck)
      break; // A device whose clock cannot be moved.
  }
  return Status::success();
}

void Hardware::spendInside(driver::Time cost) {
  hostTime += cost;
  driver::Time until = driver->now() + cost;
  while (driver->now() < until)
    if (step(until) == driver::Progress::Quiescent && !idleUntil(until))
      break;
}

Result<bool> Hardware::ringAgain() {
  bool again = false;
  for (QueueState *queue : slots)
    if (queue) {
      TESSERA_ASSIGN_OR_RETURN(bool rung, queue->ringAgain());
      again |= rung;
    }
  return again;
}

Result<bool> Hardware::service(HostCalls calls) {
  bool any = false;
  bool mayCall = calls == HostCalls::Run && !hostCallOfThisThread();
  while (pendingOperations) {
    bool changed = false;
    if (TESSERA_MUTANT("order-by-address"))
      std::ranges::sort(queues);
    for (size_t i = 0; i < queues.size(); ++i) {
      QueueState &queue = *queues[i];
      if (!queue.pending)
        continue;
      changed |= queue.cancelHopeless();
      TESSERA_ASSIGN_OR_RETURN(bool published, queue.publishPending());
      changed |= published;
      if (!mayCall)
        continue;
      TESSERA_ASSIGN_OR_RETURN(bool called, queue.runHostCall());
      changed |= called;
      if (called)
        break; // Queues may have come and gone.
    }
    any |= changed;
    if (!changed)
      break;
  }
  if (pendingOperations)
    for (QueueState *queue : queues)
      TESSERA_RETURN_IF_ERROR(queue->armHostCalls());
  return any;
}

Status Hardware::waitForHost(Deadline deadline) {
  if (scheduler && scheduler->isMember()) {
    unsigned depth = mutex.releaseAll();
    bool othersWent = scheduler->blockForHost();
    mutex.acquire(depth);
    if (othersWent)
      return Status::success();
    return Status(StatusCode::Deadlock,
                  "deadlock: every virtual thread waits for another");
  }
  struct Release {
    Hardware &hardware;
    unsigned depth = 0;
    void unlock() { depth = hardware.mutex.releaseAll(); }
    void lock() { hardware.mutex.acquire(depth); }
  } release{*this};
  // A device that gets lost wakes nobody up: the callers look again now and
  // then, which also covers a signal that comes just as the time is over.
  constexpr auto lookAgain = std::chrono::milliseconds(20);
  auto until = Deadline::HostClock::now() + lookAgain;
  if (deadline.isHost())
    until = std::min(until, deadline.host());
  ++hostWaiters;
  hostSignalled.wait_until(release, until);
  --hostWaiters;
  return alive();
}

Status Hardware::mayWait(std::string_view who) const {
  if (!closed.ok())
    return closed;
  for (const HostCall &call : hostCalls)
    if (call.thread == std::this_thread::get_id())
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("'{}': a wait inside the host call '{}', which "
                                "must come back first",
                                who, call.name));
  return Status::success();
}

} // namespace tessera::runtime
