//===- Device.cpp - The simulated accelerator -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/sim/Device.h"
#include "MemoryReport.h"
#include "TrafficSampler.h"
#include "check/AccessLog.h"
#include "check/Checker.h"
#include "core/CoreState.h"
#include "cp/CommandProcessor.h"
#include "tessera/Arch/IsaKeys.h"
#include "tessera/ISA/Mmio.h"
#include "tessera/ISA/Version.h"
#include "tessera/Support/Hash.h"
#include <fmt/format.h>

namespace tessera::sim {

namespace mmio = isa::mmio;

/// "TSRSNAP" and the format's version.
static constexpr uint64_t snapshotMagic = 0x0c51'414e'5352'5354;
static constexpr uint64_t deviceIdValue = 0x525354 | uint64_t(isaVersion)
                                                         << 32; // "TSR"

struct Device::Impl {
  Impl(const Architecture &arch, const DeviceOptions &options)
      : arch(arch), options(options), clock(arch.clockGhz),
        noc(this->arch, clock, events),
        memorySystem(this->arch, clock, events, noc),
        memory(this->arch, options.hostMemoryBytes),
        mmu(this->arch, clock, events, memorySystem, memory, noc.cpNode()),
        services{this->arch, this->options, clock, events,
                 noc,        memorySystem,  mmu,   memory},
        cp(services), sampler(memorySystem, noc, clock) {
    std::vector<Core *> pointers;
    for (uint32_t i = 0; i < this->arch.cores.count; ++i) {
      cores.push_back(std::make_unique<Core>(services, i, cp));
      pointers.push_back(cores.back().get());
    }
    cp.attach(std::move(pointers));
    if (options.explore)
      events.permute(options.seed);
    if (options.checks.any()) {
      checker.emplace(services, options.checks);
      services.checker = &*checker;
    }
  }

  void reset() {
    cp.reset();
    for (auto &core : cores)
      core->abort();
    mmu.invalidate();
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, events, noc, memorySystem, mmu, memory, cp);
    for (auto &core : cores)
      fields(ar, *core);
  }

  /// What a snapshot's device must have been made with.
  struct Option {
    const char *name;
    uint64_t value;
  };
  std::array<Option, 5> fixedOptions() const {
    return {{{"timing_only", options.timingOnly},
             {"profile", options.profile},
             {"explore", options.explore},
             {"seed", options.seed},
             {"host_memory_bytes", options.hostMemoryBytes}}};
  }
  void writeHeader(ByteWriter &out) const {
    out.write(snapshotMagic);
    out.writeString(machineKeys(arch));
    for (const Option &option : fixedOptions())
      out.write(option.value);
  }
  /// Whether a snapshot is of such a device, and if not, in what it differs.
  Status checkHeader(ByteReader &in) const {
    uint64_t magic = 0;
    in.read(magic);
    if (!in.ok() || magic != snapshotMagic)
      return Status(StatusCode::InvalidArgument,
                    "not a snapshot, or one of another version");
    std::string theirs = in.readString(), ours = machineKeys(arch);
    std::string difference;
    if (theirs != ours)
      difference = describeKeyDifference(theirs, ours);
    for (const Option &option : fixedOptions()) {
      uint64_t value = 0;
      in.read(value);
      if (value != option.value)
        difference += fmt::format("{}option {} is {} against {}",
                                  difference.empty() ? "" : "; ", option.name,
                                  value, option.value);
    }
    if (!in.ok())
      return Status(StatusCode::InvalidArgument, "the snapshot is malformed");
    if (!difference.empty())
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("the snapshot is of another device than this "
                                "one of architecture '{}': {}",
                                arch.name, difference));
    return Status::success();
  }

  const Architecture arch;
  const DeviceOptions options;
  Clock clock;
  EventQueue events;
  Noc noc;
  MemorySystem memorySystem;
  PhysicalMemory memory;
  Mmu mmu;
  Services services;
  CommandProcessor cp;
  std::vector<std::unique_ptr<Core>> cores;
  std::optional<Checker> checker;
  std::optional<AccessLog> accesses;
  TrafficSampler sampler;
};

Device::Device(const Architecture &arch, const DeviceOptions &options)
    : impl(std::make_unique<Impl>(arch, options)) {}
Device::~Device() = default;

const Architecture &Device::architecture() const { return impl->arch; }
const DeviceOptions &Device::options() const { return impl->options; }

//===----------------------------------------------------------------------===//
// Memory and registers
//===----------------------------------------------------------------------===//

std::span<std::byte> Device::hostMemory() { return impl->memory.host(); }

uint64_t Device::memorySize(isa::PhysicalSpace space) const {
  return impl->memory.size(space);
}

static Status outside(const PhysicalMemory &memory, isa::PhysicalSpace space,
                      uint64_t address, uint64_t bytes) {
  static constexpr const char *names[] = {"DRAM", "shared SRAM", "host memory"};
  return Status(StatusCode::BusError,
                fmt::format("{} bytes at {:#x} are beyond the {} bytes of {}",
                            bytes, address, memory.size(space),
                            names[size_t(space) % 3]));
}

Status Device::readMemory(isa::PhysicalSpace space, uint64_t address,
                          std::span<std::byte> data) {
  if (!impl->memory.contains(space, address, data.size()))
    return outside(impl->memory, space, address, data.size());
  impl->memory.read(space, address, data.data(), data.size());
  return Status::success();
}

Status Device::writeMemory(isa::PhysicalSpace space, uint64_t address,
                           std::span<const std::byte> data) {
  if (!impl->memory.contains(space, address, data.size()))
    return outside(impl->memory, space, address, data.size());
  impl->memory.write(space, address, data.data(), data.size());
  if (space == isa::PhysicalSpace::Dram)
    impl->mmu.dramWritten(address, data.size());
  return Status::success();
}

Status Device::mmioWrite(uint64_t offset, uint64_t value) {
  if (offset == mmio::reset) {
    if (value & 1)
      impl->reset();
    return Status::success();
  }
  return impl->cp.writeRegister(offset, value);
}

Result<uint64_t> Device::mmioRead(uint64_t offset) {
  if (offset == mmio::deviceId)
    return deviceIdValue;
  if (offset == mmio::deviceTime)
    return impl->events.now();
  return impl->cp.readRegister(offset);
}

Status Device::armSemaphore(uint32_t semaphore, uint64_t value) {
  return impl->cp.armSemaphore(semaphore, value);
}

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

Time Device::now() const { return impl->events.now(); }

StopReason Device::advance(Time deadline) {
  EventQueue &events = impl->events;
  auto stopped = [&] {
    if (TraceObserver *observer = impl->services.observer)
      impl->sampler.stop(events.now(), *observer);
  };
  while (impl->cp.interrupts.empty()) {
    if (events.empty()) {
      stopped();
      return StopReason::Quiescent;
    }
    Time next = events.findNext();
    if (next > deadline) {
      events.passTo(std::max(deadline, events.now()));
      return StopReason::Deadline;
    }
    if (TraceObserver *observer = impl->services.observer)
      impl->sampler.passTo(next, *observer);
    events.executeNext();
  }
  stopped();
  return StopReason::Interrupted;
}

void Device::idle(Time until) {
  EventQueue &events = impl->events;
  if (impl->cp.interrupts.empty())
    events.passTo(std::max(events.now(), std::min(until, events.nextTime())));
}

bool Device::step() {
  if (impl->events.empty())
    return false;
  impl->events.executeNext();
  return true;
}

std::vector<DeviceInterrupt> Device::takeInterrupts() {
  return std::exchange(impl->cp.interrupts, {});
}

Status Device::stall(StallableUnit unit, uint32_t queue, uint64_t cycles) {
  return impl->cp.stall(unit, queue, cycles);
}

//===----------------------------------------------------------------------===//
// Snapshots
//===----------------------------------------------------------------------===//

std::vector<std::byte> Device::save() {
  ByteWriter out;
  impl->writeHeader(out);
  Saver saver(out);
  impl->serialize(saver);
  out.write(hashBytes(std::as_const(out).bytes()));
  std::vector<uint8_t> bytes = out.take();
  std::vector<std::byte> result(bytes.size());
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

Status Device::restore(std::span<const std::byte> snapshot) {
  if (snapshot.size() < sizeof(uint64_t))
    return Status(StatusCode::InvalidArgument, "the snapshot is empty");
  std::span<const std::byte> body =
      snapshot.first(snapshot.size() - sizeof(uint64_t));
  if (hashBytes(body) !=
      loadLittleEndian<uint64_t>(snapshot.data() + body.size()))
    return Status(StatusCode::InvalidArgument,
                  "the snapshot's checksum is wrong");
  ByteReader in(body);
  TESSERA_RETURN_IF_ERROR(impl->checkHeader(in));
  Loader loader(in);
  impl->serialize(loader);
  if (impl->checker)
    impl->checker->forget();
  impl->sampler.restart(impl->events.now());
  if (loader.ok() && in.remaining() == 0)
    return Status::success();
  impl->reset();
  impl->memory.clear();
  return Status(StatusCode::InvalidArgument, "the snapshot is malformed");
}

//===----------------------------------------------------------------------===//
// Observation
//===----------------------------------------------------------------------===//

Statistics Device::statistics() {
  Statistics s;
  s.timeFs = impl->events.now();
  s.cycles = impl->services.now();
  s.events = impl->events.executed();
  for (auto &core : impl->cores) {
    s.cores.push_back(core->statistics());
    s.dramBytesRead += s.cores.back().dramBytesRead;
    s.dramBytesWritten += s.cores.back().dramBytesWritten;
  }
  const Traffic &cpTraffic = impl->memorySystem.traffic(impl->arch.cores.count);
  s.dramBytesRead += cpTraffic.dramRead;
  s.dramBytesWritten += cpTraffic.dramWritten;
  for (uint32_t i = 0; i != impl->arch.dram.channels; ++i) {
    const dram::ChannelCounters &c = impl->memorySystem.channel(i).counters();
    s.channelBytes.push_back((c.reads + c.writes) *
                             impl->memorySystem.atomSize());
  }
  dram::ChannelCounters dram = impl->memorySystem.dramCounters();
  s.busBytesRead = dram.reads * impl->memorySystem.atomSize();
  s.busBytesWritten = dram.writes * impl->memorySystem.atomSize();
  s.dramRowHits = dram.rowHits;
  s.dramColumnAccesses = dram.rowHits + dram.rowMisses + dram.rowConflicts;
  s.sharedBytesRead = impl->memorySystem.sharedBytesRead;
  s.sharedBytesWritten = impl->memorySystem.sharedBytesWritten;
  s.hostBytesRead = impl->memorySystem.hostBytesRead;
  s.hostBytesWritten = impl->memorySystem.hostBytesWritten;
  s.nocByteHops = impl->noc.byteHops();
  s.tlbHits = impl->mmu.hits;
  s.tlbMisses = impl->mmu.misses;
  s.pageWalks = impl->mmu.walks;
  s.packets = impl->cp.packetsDone;
  s.dispatches = impl->cp.dispatchRecords;
  s.commandBuffers = impl->cp.commandBufferRecords;
  Core::Profile profile;
  for (auto &core : impl->cores)
    core->addProfile(profile);
  for (auto &[kernel, instructions] : profile)
    s.kernels.push_back({kernel, std::move(instructions)});
  return s;
}

MemoryStatistics Device::memoryStatistics() const {
  return describeMemory(impl->memorySystem, impl->noc, impl->arch);
}

Status Device::checkConservation() {
  TESSERA_RETURN_IF_ERROR(checkMemory(impl->memorySystem, impl->noc));
  Cycle now = impl->services.now();
  for (auto &core : impl->cores)
    for (const EngineCycles &engine : core->statistics().engines)
      if (engine.total() != now)
        return Status(StatusCode::Internal,
                      fmt::format("an engine of core {} accounts for {} of {} "
                                  "cycles",
                                  core->index, engine.total(), now));
  return Status::success();
}

void Device::observeAccesses() {
  if (!impl->accesses)
    impl->services.accesses = &impl->accesses.emplace();
}

std::vector<KernelAccesses> Device::takeAccesses() {
  return impl->accesses ? impl->accesses->take()
                        : std::vector<KernelAccesses>();
}

void Device::setTraceObserver(TraceObserver *observer) {
  impl->services.observer = observer;
  impl->sampler.restart(impl->events.now());
}

std::vector<std::string> Device::explainWaits() const {
  std::vector<std::string> lines;
  impl->cp.explainWaits(lines);
  for (const auto &core : impl->cores)
    core->explainWaits(lines);
  return lines;
}

std::vector<std::string> Device::wayPoints() const {
  std::vector<std::string> lines;
  for (const auto &core : impl->cores)
    core->wayPoints(lines);
  for (std::string &line : explainWaits())
    lines.push_back(std::move(line));
  return lines;
}

std::vector<Finding> Device::findings() const {
  if (!impl->checker)
    return {};
  std::vector<Finding> result = impl->checker->findings();
  if (impl->checker->options.sync && impl->events.empty())
    for (const auto &core : impl->cores)
      if (core->running())
        for (Finding &f : Checker::deadlocks(*core, impl->services.now()))
          result.push_back(std::move(f));
  return result;
}

uint64_t Device::memoryHash() const {
  uint64_t hash = impl->memory.hash();
  for (const auto &core : impl->cores)
    hash = core->memoryHash(hash);
  return hash;
}

} // namespace tessera::sim
