//===- RuntimeBench.cpp - What the runtime costs on the host -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the null device, which takes no host time for engines. Times are of one
// host thread, per packet, dispatch or submission; test/bench/runtime/tables.py
// turns them into the table of docs/performance.md.
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/NullDriver.h"
#include "tessera/runtime/CommandBuffer.h"
#include "tessera/runtime/Queue.h"
#include <benchmark/benchmark.h>
#include <malloc.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

/// A benchmark that cannot run says why and fails.
template <typename T> T need(benchmark::State &state, Result<T> result) {
  if (!result) {
    state.SkipWithError(result.status().message().c_str());
    return T();
  }
  return std::move(*result);
}
bool need(benchmark::State &state, const Status &status) {
  if (!status.ok())
    state.SkipWithError(status.message().c_str());
  return status.ok();
}

struct Setup {
  explicit Setup(benchmark::State &state) {
    Architecture arch = need(state, loadArchitecture("tiny"));
    device = need(state, Device::create(driver::makeNullDriver(arch)));
    space = need(state, AddressSpace::create(device));
    queue = need(state, Queue::create(space, {.packets = 1 << 14}));
    a = need(state, space.allocate(1 << 16));
    b = need(state, space.allocate(1 << 16));
    arguments = need(state, space.allocate(1 << 16));
    // A record of no code, and a handle of the kernel that it describes.
    code = need(state, space.allocate(1 << 16));
    isa::KernelRecord record;
    record.text = code.address() + 4096;
    record.textBytes = 8;
    auto image = isa::encode(record);
    need(state, code.write(0, std::as_bytes(std::span(image))));
    kernel = {"kernel", code.address(), 0, std::make_shared<int>(0)};
  }

  Device device;
  AddressSpace space;
  Queue queue;
  Buffer a, b, arguments, code;
  Kernel kernel;
};

constexpr uint32_t batch = 4096;

void perPacket(benchmark::State &state, uint64_t packets) {
  state.counters["ns"] = benchmark::Counter(
      double(packets) * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                  benchmark::Counter::kInvert);
}

/// Packets that exist already, as a loader records them.
void recordEncoded(benchmark::State &state) {
  Setup setup(state);
  auto packet = isa::encode(isa::Packet{
      0, 0,
      isa::CopyPacket{setup.a.address(), setup.b.address(), 256, {}, {}}});
  for (auto _ : state) {
    CommandBuffer commands = need(state, CommandBuffer::create(setup.space));
    for (uint32_t i = 0; i < batch; ++i)
      if (!need(state, commands.append(packet, {})))
        return;
    benchmark::DoNotOptimize(commands);
  }
  perPacket(state, batch);
}

/// Checked: handles, ranges, address spaces.
void recordDispatch(benchmark::State &state) {
  Setup setup(state);
  for (auto _ : state) {
    CommandBuffer commands = need(state, CommandBuffer::create(setup.space));
    for (uint32_t i = 0; i < batch; ++i)
      if (!need(state, commands.dispatch(setup.kernel,
                                         BufferRange(setup.arguments), {})))
        return;
    benchmark::DoNotOptimize(commands);
  }
  perPacket(state, batch);
}

void recordCopy(benchmark::State &state) {
  Setup setup(state);
  BufferRange to(setup.a), from(setup.b);
  for (auto _ : state) {
    CommandBuffer commands = need(state, CommandBuffer::create(setup.space));
    for (uint32_t i = 0; i < batch; ++i)
      if (!need(state, commands.copy(to, from, 256)))
        return;
    benchmark::DoNotOptimize(commands);
  }
  perPacket(state, batch);
}

/// Command buffers of one dispatch, one indirect packet each; the bindings
/// change every time. Several, since one cannot be bound anew while it runs,
/// and stopping the clock costs more than it does.
void replay(benchmark::State &state) {
  constexpr uint32_t buffers = 64;
  Setup setup(state);
  std::vector<CommandBuffer> all;
  for (uint32_t k = 0; k < buffers; ++k) {
    CommandBuffer commands = need(state, CommandBuffer::create(setup.space));
    if (!need(state, commands.dispatch(setup.kernel, Binding{0}, {})) ||
        !need(state, commands.finish()))
      return;
    all.push_back(commands);
  }
  std::array first{setup.a}, second{setup.b};
  bool odd = false;
  for (auto _ : state) {
    for (CommandBuffer &commands : all)
      if (!need(state, setup.queue.execute(commands, odd ? first : second)))
        return;
    odd = !odd;
    state.PauseTiming();
    if (!need(state, setup.queue.waitIdle()))
      return;
    state.ResumeTiming();
  }
  perPacket(state, buffers);
}

/// New bindings for `range` dispatches, execution and wait. The device returns
/// before the first of them: what the null device would do to the cache of the
/// core that it shares with the host is not the host's cost. The difference of
/// two ranges is what a dispatch costs.
void rebind(benchmark::State &state) {
  Setup setup(state);
  CommandBuffer commands = need(state, CommandBuffer::create(setup.space));
  std::array<uint8_t, isa::packetBytes> end{};
  end[0] = uint8_t(isa::PacketType::Return);
  if (!need(state, commands.append(end, {})))
    return;
  for (int64_t i = 0; i < state.range(0); ++i)
    if (!need(state, commands.dispatch(setup.kernel, Binding{0}, {})))
      return;
  if (!need(state, commands.finish()))
    return;
  std::array first{setup.a}, second{setup.b};
  bool odd = false;
  for (auto _ : state) {
    if (!need(state, setup.queue.execute(commands, odd ? first : second)) ||
        !need(state, setup.queue.waitIdle()))
      return;
    odd = !odd;
  }
}

/// With packets and doorbell; the device runs in between, off the clock. As
/// many as two rings of the usual size are in flight at most: more do not stay
/// in the cache, and then it is memory that is measured.
template <typename Submit>
void submitting(benchmark::State &state, Setup &setup, Submit submit) {
  constexpr uint32_t depth = 512;
  for (auto _ : state) {
    for (uint32_t i = 0; i < depth; ++i)
      if (!need(state, submit()))
        return;
    state.PauseTiming();
    if (!need(state, setup.queue.waitIdle()))
      return;
    state.ResumeTiming();
  }
  perPacket(state, depth);
}

void submitFill(benchmark::State &state) {
  Setup setup(state);
  BufferRange range(setup.a, 0, 64);
  SubmitOptions options;
  submitting(state, setup, [&] { return setup.queue.fill(range, 1, options); });
}

void submitSignalled(benchmark::State &state) {
  Setup setup(state);
  Semaphore s = need(state, Semaphore::create(setup.device));
  BufferRange range(setup.a, 0, 64);
  SubmitOptions options;
  options.signal = {{s, 0}};
  submitting(state, setup, [&] {
    ++options.signal[0].value;
    return setup.queue.fill(range, 1, options);
  });
}

void submitDispatch(benchmark::State &state) {
  Setup setup(state);
  SubmitOptions options;
  submitting(state, setup, [&] {
    return setup.queue.dispatch(setup.kernel, {}, {}, options);
  });
}

void start(benchmark::State &state) {
  for (auto _ : state) {
    Setup setup(state);
    benchmark::DoNotOptimize(setup);
  }
}

BENCHMARK(recordEncoded)->Name("record/encoded");
BENCHMARK(recordDispatch)->Name("record/dispatch");
BENCHMARK(recordCopy)->Name("record/copy");
BENCHMARK(replay)->Name("replay");
BENCHMARK(rebind)->Name("rebind")->Arg(64)->Arg(1024);
BENCHMARK(submitFill)->Name("submit/fill");
BENCHMARK(submitSignalled)->Name("submit/signalled");
BENCHMARK(submitDispatch)->Name("submit/dispatch");
BENCHMARK(start)->Name("start")->Unit(benchmark::kMillisecond);

} // namespace

int main(int argc, char **argv) {
  // Freed memory stays: what the host's kernel takes for fresh pages, which
  // differs tenfold between hosts, is not the runtime's.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
