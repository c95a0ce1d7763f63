//===- SimDriver.cpp - The simulator behind the driver interface ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/SimDriver.h"
#include "tessera/sim/PerfettoFile.h"

namespace tessera::driver {

SimDriver::SimDriver(const Architecture &arch,
                     const sim::DeviceOptions &options)
    : simulated(std::make_unique<sim::Device>(arch, options)) {}
SimDriver::~SimDriver() = default;

// Immutable for the device's life: no lock.
const Architecture &SimDriver::architecture() const {
  return simulated->architecture();
}
std::span<std::byte> SimDriver::hostMemory() { return simulated->hostMemory(); }
uint64_t SimDriver::memorySize(isa::PhysicalSpace space) const {
  return simulated->memorySize(space);
}

Status SimDriver::readMemory(isa::PhysicalSpace space, uint64_t address,
                             std::span<std::byte> data) {
  std::lock_guard lock(mutex);
  return simulated->readMemory(space, address, data);
}

Status SimDriver::writeMemory(isa::PhysicalSpace space, uint64_t address,
                              std::span<const std::byte> data) {
  std::lock_guard lock(mutex);
  return simulated->writeMemory(space, address, data);
}

Status SimDriver::mmioWrite(uint64_t offset, uint64_t value) {
  std::lock_guard lock(mutex);
  return simulated->mmioWrite(offset, value);
}

Result<uint64_t> SimDriver::mmioRead(uint64_t offset) {
  std::lock_guard lock(mutex);
  return simulated->mmioRead(offset);
}

Time SimDriver::now() const {
  std::lock_guard lock(mutex);
  return simulated->now();
}

Progress SimDriver::advance(Time deadline) {
  std::lock_guard lock(mutex);
  switch (simulated->advance(deadline)) {
  case sim::StopReason::Interrupted:
    return Progress::Interrupted;
  case sim::StopReason::Deadline:
    return Progress::Deadline;
  case sim::StopReason::Quiescent:
    break;
  }
  return Progress::Quiescent;
}

void SimDriver::idle(Time until) {
  std::lock_guard lock(mutex);
  simulated->idle(until);
}

static Interrupt::Kind kindOf(sim::DeviceInterrupt::Kind kind) {
  switch (kind) {
  case sim::DeviceInterrupt::Kind::Packet:
    return Interrupt::Kind::Packet;
  case sim::DeviceInterrupt::Kind::Fault:
    return Interrupt::Kind::Fault;
  case sim::DeviceInterrupt::Kind::QueueDone:
    return Interrupt::Kind::QueueDone;
  case sim::DeviceInterrupt::Kind::SemaphoreSignal:
    break;
  }
  return Interrupt::Kind::SemaphoreSignal;
}

std::vector<Interrupt> SimDriver::takeInterrupts() {
  std::lock_guard lock(mutex);
  std::vector<Interrupt> result;
  for (const sim::DeviceInterrupt &i : simulated->takeInterrupts())
    result.push_back({kindOf(i.kind), i.queue, i.payload, i.time});
  return result;
}

Status SimDriver::armSemaphore(uint32_t semaphore, uint64_t value) {
  std::lock_guard lock(mutex);
  return simulated->armSemaphore(semaphore, value);
}

static sim::StallableUnit unitOf(Unit unit) {
  switch (unit) {
  case Unit::CopyEngine:
    return sim::StallableUnit::CopyEngine;
  case Unit::QueueFrontEnd:
    return sim::StallableUnit::QueueFrontEnd;
  case Unit::Cores:
    break;
  }
  return sim::StallableUnit::Cores;
}

Status SimDriver::stall(Unit unit, uint32_t queue, uint64_t cycles) {
  std::lock_guard lock(mutex);
  return simulated->stall(unitOf(unit), queue, cycles);
}

Status SimDriver::observeAccesses() {
  std::lock_guard lock(mutex);
  simulated->observeAccesses();
  return Status::success();
}

std::vector<DispatchAccesses> SimDriver::takeAccesses() {
  std::lock_guard lock(mutex);
  std::vector<DispatchAccesses> result;
  for (sim::KernelAccesses &each : simulated->takeAccesses()) {
    DispatchAccesses &to = result.emplace_back();
    to.queue = each.place.queue;
    to.packet = each.place.packet;
    if (each.place.command != sim::DispatchPlace::noCommand)
      to.command = each.place.command;
    to.read = std::move(each.read);
    to.written = std::move(each.written);
  }
  return result;
}

std::vector<std::string> SimDriver::wayPoints() {
  std::lock_guard lock(mutex);
  return simulated->wayPoints();
}

Result<std::vector<std::byte>> SimDriver::save() {
  std::lock_guard lock(mutex);
  return simulated->save();
}

Status SimDriver::beginTrace(const std::string &path) {
  std::lock_guard lock(mutex);
  if (trace)
    return Status(StatusCode::FailedPrecondition,
                  path + ": the device has a trace already");
  if (!path.ends_with(".pftrace"))
    return Status(StatusCode::InvalidArgument,
                  path + ": the name of a trace ends in .pftrace");
  TESSERA_ASSIGN_OR_RETURN(FileReplacement file, FileReplacement::begin(path));
  trace = std::make_unique<sim::PerfettoFile>(
      std::move(file), std::map<uint64_t, sim::TracedDispatch>());
  simulated->setTraceObserver(trace.get());
  return Status::success();
}

Status SimDriver::endTrace(bool keep) {
  std::lock_guard lock(mutex);
  if (!trace)
    return Driver::endTrace(keep);
  simulated->setTraceObserver(nullptr);
  std::unique_ptr<sim::PerfettoFile> ended = std::move(trace);
  return keep ? ended->finish() : Status::success();
}

void SimDriver::traceHost(uint32_t thread, HostActivity activity, bool begins) {
  std::lock_guard lock(mutex);
  if (!trace)
    return;
  sim::TraceEvent event;
  event.kind = begins ? sim::TraceEvent::Kind::HostBegin
                      : sim::TraceEvent::Kind::HostEnd;
  event.core = thread;
  event.id = uint32_t(activity == HostActivity::Submit ? sim::HostStep::Submit
                                                       : sim::HostStep::Wait);
  event.timeFs = simulated->now();
  trace->event(event);
}

Status SimDriver::restore(std::span<const std::byte> snapshot) {
  std::lock_guard lock(mutex);
  if (trace)
    return Status(StatusCode::FailedPrecondition,
                  "a trace is being written, whose time cannot go back");
  return simulated->restore(snapshot);
}

} // namespace tessera::driver
