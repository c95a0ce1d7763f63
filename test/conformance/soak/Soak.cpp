//===- Soak.cpp - Random work against a sequential oracle -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Soak.h"
#include "tessera/Support/Random.h"
#include "tessera/driver/FaultDriver.h"
#include "tessera/driver/NullDriver.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/AddressSpace.h"
#include "tessera/runtime/Queue.h"
#include <algorithm>
#include <fmt/format.h>

using namespace tessera::runtime;

namespace tessera::soak {

std::string Counts::print() const {
  return fmt::format("{} operations ({} refused; {} executions of command "
                     "buffers, {} host calls), {} faults, {} losses of the "
                     "device, {} comparisons of {} bytes, {} cycles",
                     submitted, refused, executions, hostCalls, faults, losses,
                     checks, bytesCompared, cycles);
}

namespace {

constexpr uint64_t maxWords = 700;

class Soak {
public:
  explicit Soak(const Options &options)
      : options(options), random(options.seed) {}
  Result<Counts> run();

private:
  struct Place {
    Buffer buffer;
    Semaphore timeline;
    uint64_t value = 0;
    std::vector<uint32_t> oracle;
  };

  Status start();
  Status makeObjects();
  Status operation();
  Status makePrograms();
  Status execute(Queue &queue, Place &a, Place &b);
  Status hostCall(Queue &queue, Place &a);
  Status compare();
  Status lose();
  /// The options of an operation on these places, and what it promises.
  SubmitOptions ordered(std::initializer_list<Place *> places,
                        std::string label);

  Options options;
  Random random;
  driver::FaultDriver *faults = nullptr;
  Device device;
  AddressSpace space;
  std::vector<Queue> queues;
  std::vector<Place> places;
  /// Each copies its number of words from binding 0 to binding 1.
  std::vector<std::pair<uint64_t, CommandBuffer>> programs;
  /// The first thing that a host call found wrong.
  Status seenByHostCall;
  std::array<uint64_t, 3> atStart{};
  Counts counts;
};

} // namespace

static std::array<uint64_t, 3> inUse(const Device &device) {
  return {device.bytesInUse(isa::PhysicalSpace::Dram),
          device.bytesInUse(isa::PhysicalSpace::Shared),
          device.bytesInUse(isa::PhysicalSpace::Host)};
}

Status Soak::start() {
  TESSERA_ASSIGN_OR_RETURN(Architecture arch, loadArchitecture("tiny"));
  arch.cp.queues = options.queues;
  std::unique_ptr<driver::Driver> below;
  if (options.simulator) {
    sim::DeviceOptions device;
    device.hostMemoryBytes = 64 << 20;
    device.explore = options.explore;
    device.seed = options.seed;
    below = std::make_unique<driver::SimDriver>(arch, device);
  } else {
    below = driver::makeNullDriver(arch);
  }
  driver::FaultPlan plan;
  plan.seed = options.seed;
  if (options.faults) {
    using driver::FaultKind;
    for (FaultKind kind :
         {FaultKind::DropDoorbell, FaultKind::DuplicateDoorbell,
          FaultKind::DelayDoorbell, FaultKind::TearFetch,
          FaultKind::DropInterrupt, FaultKind::DuplicateInterrupt,
          FaultKind::DelayInterrupt, FaultKind::StallCopies,
          FaultKind::StallQueue, FaultKind::StallCores})
      plan[kind] = 20;
    plan[FaultKind::CorrectedFlip] = 2;
    plan[FaultKind::FailAllocation] = 5;
  }
  auto decorated =
      std::make_unique<driver::FaultDriver>(std::move(below), plan);
  faults = decorated.get();
  TESSERA_ASSIGN_OR_RETURN(device, Device::create(std::move(decorated)));
  atStart = inUse(device);
  return makeObjects();
}

/// Tries again where an injected fault refused the memory.
template <typename T, typename Make> static Result<T> insist(Make make) {
  while (true) {
    Result<T> made = make();
    if (made || made.status().code() != StatusCode::OutOfMemory)
      return made;
  }
}

Status Soak::makeObjects() {
  TESSERA_ASSIGN_OR_RETURN(space, insist<AddressSpace>([&] {
                             return AddressSpace::create(device);
                           }));
  for (unsigned i = 0; i < options.queues; ++i) {
    TESSERA_ASSIGN_OR_RETURN(Queue queue, insist<Queue>([&] {
                               return Queue::create(
                                   space, {.packets = 32u << random.below(3),
                                           .label = fmt::format("Q{}", i)});
                             }));
    queues.push_back(std::move(queue));
  }
  if (places.empty()) {
    places.resize(options.buffers);
    for (Place &place : places)
      place.oracle.resize(1 + random.below(maxWords));
  }
  constexpr isa::PhysicalSpace spaces[] = {isa::PhysicalSpace::Dram,
                                           isa::PhysicalSpace::Dram,
                                           isa::PhysicalSpace::Host};
  for (size_t i = 0; i < places.size(); ++i) {
    Place &place = places[i];
    BufferOptions buffer;
    buffer.space = spaces[i % 3];
    buffer.label = fmt::format("B{}", i);
    TESSERA_ASSIGN_OR_RETURN(place.buffer, insist<Buffer>([&] {
                               return space.allocate(place.oracle.size() * 4,
                                                     buffer);
                             }));
    TESSERA_RETURN_IF_ERROR(
        place.buffer.write(0, std::as_bytes(std::span(place.oracle))));
    TESSERA_ASSIGN_OR_RETURN(
        place.timeline,
        Semaphore::create(device, {false, fmt::format("T{}", i)}));
    place.value = 0;
  }
  return makePrograms();
}

Status Soak::makePrograms() {
  for (uint64_t words : {1, 5, 64}) {
    TESSERA_ASSIGN_OR_RETURN(
        CommandBuffer commands,
        CommandBuffer::create(space, fmt::format("copy of {}", words)));
    // The second half must come after the first.
    uint64_t half = words / 2 * 4;
    if (half)
      TESSERA_RETURN_IF_ERROR(commands.copy(Binding{1}, Binding{0}, half));
    TESSERA_RETURN_IF_ERROR(commands.copy(Binding{1, half}, Binding{0, half},
                                          words * 4 - half, true));
    Status finished;
    do
      finished = commands.finish();
    while (finished.code() == StatusCode::OutOfMemory);
    TESSERA_RETURN_IF_ERROR(finished);
    programs.emplace_back(words, std::move(commands));
  }
  return Status::success();
}

SubmitOptions Soak::ordered(std::initializer_list<Place *> which,
                            std::string label) {
  SubmitOptions submit;
  submit.label = std::move(label);
  for (Place *place : which) {
    submit.wait.push_back({place->timeline, place->value});
    submit.signal.push_back({place->timeline, place->value + 1});
  }
  return submit;
}

/// By a command buffer, bound anew; one that still runs with other bindings is
/// refused.
Status Soak::execute(Queue &queue, Place &a, Place &b) {
  auto &[words, commands] = programs[random.below(programs.size())];
  if (a.oracle.size() < words || b.oracle.size() < words) {
    ++counts.refused;
    return Status::success();
  }
  Status status = queue.execute(
      commands, std::array{a.buffer, b.buffer},
      ordered({&a, &b},
              fmt::format("execution {}", counts.submitted + counts.refused)));
  if (status.code() == StatusCode::OutOfMemory ||
      (status.code() == StatusCode::FailedPrecondition &&
       status.message().find("executions are in flight") !=
           std::string::npos)) {
    ++counts.refused;
    return Status::success();
  }
  TESSERA_RETURN_IF_ERROR(status);
  ++a.value, ++b.value;
  std::copy_n(a.oracle.begin(), words, b.oracle.begin());
  ++counts.submitted;
  ++counts.executions;
  return Status::success();
}

/// In its turn on the place's timeline the host finds what the oracle says.
Status Soak::hostCall(Queue &queue, Place &a) {
  uint64_t number = counts.submitted + counts.refused;
  auto look = [this, number, buffer = a.buffer, expected = a.oracle] {
    std::vector<uint32_t> words(expected.size());
    TESSERA_RETURN_IF_ERROR(
        buffer.read(0, std::as_writable_bytes(std::span(words))));
    ++counts.hostCalls;
    if (words != expected && seenByHostCall.ok())
      seenByHostCall = Status(
          StatusCode::Internal,
          fmt::format("host call {}: buffer '{}' is not what the oracle has",
                      number, buffer.label()));
    return Status::success();
  };
  TESSERA_RETURN_IF_ERROR(
      queue.hostCall(look, ordered({&a}, fmt::format("host call {}", number))));
  ++a.value;
  ++counts.submitted;
  return Status::success();
}

Status Soak::operation() {
  Place &a = places[random.below(places.size())];
  Place &b = places[random.below(places.size())];
  Queue &queue = queues[random.below(queues.size())];
  uint64_t number = counts.submitted + counts.refused;
  auto accept = [&](const Status &status, std::initializer_list<Place *> which,
                    auto apply) {
    if (status.code() == StatusCode::OutOfMemory) {
      ++counts.refused; // Nothing has changed.
      return Status::success();
    }
    TESSERA_RETURN_IF_ERROR(status);
    for (Place *place : which)
      ++place->value;
    apply();
    ++counts.submitted;
    return Status::success();
  };
  uint64_t words = a.oracle.size(), offset = random.below(words),
           count = 1 + random.below(words - offset);
  uint64_t choice = random.below(24);
  if (choice < 7) {
    auto pattern = uint32_t(random.next());
    return accept(
        queue.fill({a.buffer, offset * 4, count * 4}, pattern,
                   ordered({&a}, fmt::format("fill {}", number))),
        {&a}, [&] { std::fill_n(a.oracle.begin() + offset, count, pattern); });
  }
  if (choice < 14 && &a != &b) {
    count = std::min<uint64_t>(count, b.oracle.size());
    uint64_t to = random.below(b.oracle.size() - count + 1);
    return accept(queue.copy({b.buffer, to * 4, count * 4},
                             {a.buffer, offset * 4, count * 4},
                             ordered({&a, &b}, fmt::format("copy {}", number))),
                  {&a, &b}, [&] {
                    std::copy_n(a.oracle.begin() + offset, count,
                                b.oracle.begin() + to);
                  });
  }
  if (choice < 17) {
    std::vector<uint32_t> data(count);
    for (uint32_t &word : data)
      word = uint32_t(random.next());
    return accept(queue.update({a.buffer, offset * 4, count * 4},
                               std::as_bytes(std::span(data)),
                               ordered({&a}, fmt::format("update {}", number))),
                  {&a}, [&] {
                    std::copy(data.begin(), data.end(),
                              a.oracle.begin() + offset);
                  });
  }
  if (choice >= 22)
    return hostCall(queue, a);
  if (choice >= 20 && &a != &b)
    return execute(queue, a, b);
  if (choice < 19)
    return accept(queue.barrier({.label = fmt::format("barrier {}", number)}),
                  {}, [] {});
  return accept(queue.signal(ordered({&a}, fmt::format("signal {}", number))),
                {&a}, [] {});
}

Status Soak::compare() {
  for (Queue &queue : queues)
    TESSERA_RETURN_IF_ERROR(queue.waitIdle());
  TESSERA_RETURN_IF_ERROR(seenByHostCall);
  ++counts.checks;
  for (size_t i = 0; i < places.size(); ++i) {
    Place &place = places[i];
    TESSERA_ASSIGN_OR_RETURN(uint64_t value, place.timeline.value());
    if (value != place.value)
      return Status(StatusCode::Internal,
                    fmt::format("timeline T{} is at {}, {} operations were "
                                "accepted: one was lost or ran twice",
                                i, value, place.value));
    std::vector<uint32_t> words(place.oracle.size());
    TESSERA_RETURN_IF_ERROR(
        place.buffer.read(0, std::as_writable_bytes(std::span(words))));
    counts.bytesCompared += words.size() * 4;
    auto wrong =
        std::mismatch(words.begin(), words.end(), place.oracle.begin()).first;
    if (wrong != words.end())
      return Status(StatusCode::Internal,
                    fmt::format("buffer B{}, word {}: {:#x}, the oracle has "
                                "{:#x}; after {} operations",
                                i, wrong - words.begin(), *wrong,
                                place.oracle[wrong - words.begin()],
                                counts.submitted));
  }
  return Status::success();
}

/// The device goes while work is under way, and comes back empty-handed: what
/// was in flight is undefined, so the contents are put back from the oracle.
Status Soak::lose() {
  ++counts.losses;
  faults->loseDevice("the soak pulled the plug");
  for (Queue &queue : queues)
    if (Status status = queue.waitIdle();
        status.code() != StatusCode::DeviceLost)
      return Status(StatusCode::Internal,
                    "a lost device did not end a wait: " + status.message());
  queues.clear();
  programs.clear();
  for (Place &place : places) {
    place.buffer = Buffer();
    place.timeline = Semaphore();
  }
  space = AddressSpace();
  TESSERA_RETURN_IF_ERROR(device.reset());
  if (inUse(device) != atStart)
    return Status(StatusCode::Internal,
                  "memory is still in use after a loss and a reset");
  return makeObjects();
}

Result<Counts> Soak::run() {
  TESSERA_RETURN_IF_ERROR(start());
  for (uint64_t i = 1; i <= options.operations; ++i) {
    TESSERA_RETURN_IF_ERROR(operation());
    if (i % options.checkEvery == 0)
      TESSERA_RETURN_IF_ERROR(compare());
    if (options.lossEvery && i % options.lossEvery == 0)
      TESSERA_RETURN_IF_ERROR(lose());
  }
  TESSERA_RETURN_IF_ERROR(compare());
  counts.faults = faults->log().size();
  counts.cycles = device.now() / device.cycleTime();
  faults->calm();
  queues.clear();
  programs.clear();
  places.clear();
  space = AddressSpace();
  if (inUse(device) != atStart)
    return Status(StatusCode::Internal,
                  fmt::format("leaked: {} bytes of DRAM and {} of host memory "
                              "are still in use",
                              inUse(device)[0] - atStart[0],
                              inUse(device)[2] - atStart[2]));
  return counts;
}

Result<Counts> run(const Options &options) { return Soak(options).run(); }

} // namespace tessera::soak
