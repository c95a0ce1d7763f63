//===- Semaphore.cpp - Timeline semaphores ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Semaphore.h"
#include "DeadlockProof.h"
#include "Submission.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/Support/Mutant.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::runtime {

static uint64_t registerOf(uint32_t index) {
  return isa::mmio::semaphoreBase + 8 * uint64_t(index);
}

SemaphoreState::~SemaphoreState() {
  Hardware::Lock lock = hardware->lock();
  hardware->semaphoreSlots.release(index);
  std::erase(hardware->semaphores, this);
  hardware->toggleObject(Hardware::Object::Semaphore, serial, index, 0);
}

Status SemaphoreState::checkAlive() const {
  if (generation == hardware->generation)
    return Status::success();
  return Status(
      StatusCode::DeviceLost,
      fmt::format("semaphore '{}' was made before the device's reset", label));
}

Result<uint64_t> SemaphoreState::value() const {
  TESSERA_RETURN_IF_ERROR(checkAlive());
  return hardware->driver->mmioRead(registerOf(index));
}

Result<bool> SemaphoreState::reached(uint64_t target) const {
  TESSERA_RETURN_IF_ERROR(checkAlive());
  if (seen < target) {
    TESSERA_ASSIGN_OR_RETURN(seen, value());
  }
  return seen >= target;
}

bool SemaphoreState::promised(uint64_t value) const {
  auto at = std::ranges::lower_bound(producers, value, {}, &Producer::value);
  return at != producers.end() && at->value == value;
}

Status SemaphoreState::checkOvertakes(uint64_t current, uint64_t value,
                                      const Submission *self) const {
  auto overtaken =
      std::ranges::upper_bound(producers, current, {}, &Producer::value);
  if (overtaken != producers.end() && overtaken->work == self)
    ++overtaken;
  if (overtaken == producers.end() || overtaken->value > value)
    return Status::success();
  return Status(
      StatusCode::InvalidArgument,
      fmt::format("semaphore '{}': signal {} would overtake {}, which '{}' "
                  "signals",
                  label, value, overtaken->value, overtaken->work->label));
}

void SemaphoreState::addProducer(uint64_t value, const Submission &work) {
  // In order, as a rule.
  if (producers.empty() || producers.back().value <= value) {
    producers.push_back({value, &work});
    return;
  }
  producers.insert(
      std::ranges::upper_bound(producers, value, {}, &Producer::value),
      {value, &work});
}

void SemaphoreState::removeProducer(uint64_t value) {
  if (!producers.empty() && producers.front().value == value) {
    producers.pop_front();
    return;
  }
  auto at = std::ranges::lower_bound(producers, value, {}, &Producer::value);
  if (at != producers.end() && at->value == value)
    producers.erase(at);
}

void SemaphoreState::fail(const Status &status) {
  if (!failure.ok() || TESSERA_MUTANT("failure-not-passed-on"))
    return;
  failure = status;
  ++hardware->failuresSeen;
}

Result<std::shared_ptr<SemaphoreState>>
makeSemaphore(const std::shared_ptr<Hardware> &hardware, std::string label) {
  Hardware::Lock lock = hardware->lock();
  std::optional<uint32_t> index = hardware->semaphoreSlots.allocate();
  if (!index)
    return Status(
        StatusCode::ResourceExhausted,
        fmt::format("semaphore '{}': all {} semaphores of {} are in use", label,
                    isa::mmio::numSemaphores - 1, hardware->label));
  auto state = std::make_shared<SemaphoreState>();
  state->hardware = hardware;
  state->index = *index;
  state->serial = ++hardware->semaphoresMade;
  hardware->semaphores.push_back(state.get());
  hardware->toggleObject(Hardware::Object::Semaphore, state->serial, *index, 0);
  state->label = std::move(label);
  state->generation = hardware->generation;
  // The index may have had an earlier life. The write takes its time to arrive.
  TESSERA_ASSIGN_OR_RETURN(uint64_t old, state->value());
  if (old) {
    TESSERA_RETURN_IF_ERROR(hardware->driver->mmioWrite(registerOf(*index), 0));
    while (old) {
      driver::Time soon = hardware->driver->now() + 256 * hardware->cycleTime;
      driver::Progress progress = hardware->step(soon);
      TESSERA_ASSIGN_OR_RETURN(old, state->value());
      if (old && progress == driver::Progress::Quiescent)
        return Status(StatusCode::DeviceLost,
                      fmt::format("semaphore '{}': index {} stays at {}",
                                  state->label, *index, old));
    }
  }
  state->forget();
  return state;
}

Status waitForSemaphore(SemaphoreState &semaphore, uint64_t value,
                        Deadline deadline) {
  Hardware &hardware = *semaphore.hardware;
  TESSERA_RETURN_IF_ERROR(hardware.update());
  ListedWait listed(hardware, {&semaphore, value, {}});
  TESSERA_RETURN_IF_ERROR(hardware.service(Hardware::HostCalls::Run).status());
  while (true) {
    TESSERA_ASSIGN_OR_RETURN(bool reached, semaphore.reached(value));
    if (reached) {
      if (hardware.races)
        hardware.races->hostSees(racePoint(semaphore, value));
      return Status::success();
    }
    if (!semaphore.failure.ok())
      return semaphore.failure.withContext(
          fmt::format("wait for semaphore '{}' >= {}", semaphore.label, value));
    auto late = [&]() -> Status {
      TESSERA_ASSIGN_OR_RETURN(uint64_t now, semaphore.value());
      return Status(StatusCode::DeadlineExceeded,
                    fmt::format("semaphore '{}' is {}, not yet {}, at {} fs",
                                semaphore.label, now, value,
                                hardware.driver->now()));
    };
    if (hardware.reached(deadline))
      return late();
    TESSERA_RETURN_IF_ERROR(hardware.mayWait("semaphore " + semaphore.label));
    TESSERA_RETURN_IF_ERROR(
        hardware.driver->armSemaphore(semaphore.index, value));
    TESSERA_ASSIGN_OR_RETURN(driver::Progress progress, hardware.run(deadline));
    if (progress != driver::Progress::Quiescent)
      continue;
    TESSERA_ASSIGN_OR_RETURN(reached, semaphore.reached(value));
    if (reached || !semaphore.failure.ok())
      continue;
    Verdict verdict = judge(semaphore, value);
    if (TESSERA_MUTANT("deadlock-not-proved"))
      return late();
    if (verdict.kind != Verdict::Kind::HostMaySignal)
      return verdict.status;
    if (!deadline.isInfinite() && !deadline.isHost())
      return late();
    TESSERA_RETURN_IF_ERROR(hardware.waitForHost(deadline));
    TESSERA_RETURN_IF_ERROR(hardware.update());
  }
}

Status signalFromHost(SemaphoreState &semaphore, uint64_t value) {
  TESSERA_ASSIGN_OR_RETURN(uint64_t current, semaphore.value());
  current = std::max(current, semaphore.hostSignalled);
  if (value <= current)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("semaphore '{}': signal {} does not raise its value {}",
                    semaphore.label, value, current));
  TESSERA_RETURN_IF_ERROR(semaphore.checkOvertakes(current, value));
  Hardware &hardware = *semaphore.hardware;
  TESSERA_RETURN_IF_ERROR(
      hardware.driver->mmioWrite(registerOf(semaphore.index), value));
  semaphore.hostSignalled = value;
  if (hardware.races)
    hardware.races->hostSignals(racePoint(semaphore, value));
  TESSERA_RETURN_IF_ERROR(hardware.service().status());
  hardware.wakeHost();
  return Status::success();
}

static Status emptyHandle() {
  return Status(StatusCode::FailedPrecondition, "semaphore: empty handle");
}

Result<Semaphore> Semaphore::create(const Device &device,
                                    SemaphoreOptions options) {
  if (!device)
    return Status(StatusCode::FailedPrecondition,
                  options.label + ": the device is an empty handle");
  Semaphore semaphore;
  TESSERA_ASSIGN_OR_RETURN(
      semaphore.state,
      makeSemaphore(device.state->hardware, std::move(options.label)));
  semaphore.state->hostMaySignal = options.hostMaySignal;
  semaphore.device = device.state;
  return semaphore;
}

Result<uint64_t> Semaphore::value() const {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  TESSERA_RETURN_IF_ERROR(
      state->hardware->spend(state->hardware->costs.accessNs));
  TESSERA_ASSIGN_OR_RETURN(uint64_t value, state->value());
  // Who has seen it knows as much as who has waited for it.
  if (state->hardware->races)
    state->hardware->races->hostSees(racePoint(*state, value));
  return value;
}

Status Semaphore::signal(uint64_t value) {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  if (!state->hostMaySignal)
    return Status(
        StatusCode::FailedPrecondition,
        fmt::format("semaphore '{}': signal {} from the host, but it was "
                    "not created with hostMaySignal",
                    state->label, value));
  if (!state->hardware->closed.ok())
    return Status(StatusCode::FailedPrecondition,
                  fmt::format("semaphore '{}': signal {}: {}", state->label,
                              value, state->hardware->closed.message()));
  TESSERA_RETURN_IF_ERROR(
      state->hardware->spend(state->hardware->costs.accessNs));
  return signalFromHost(*state, value);
}

Status Semaphore::wait(uint64_t value, Deadline deadline) const {
  if (!state)
    return emptyHandle();
  Hardware::Lock lock = state->hardware->lock();
  return state->hardware->waitAndWake(
      [&] { return waitForSemaphore(*state, value, deadline); });
}

uint32_t Semaphore::index() const { return state ? state->index : 0; }
const std::string &Semaphore::label() const {
  static const std::string none;
  return state ? state->label : none;
}

} // namespace tessera::runtime
