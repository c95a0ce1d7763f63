//===- DeviceDecoder.cpp - Decoding on the simulated device ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceDecoder.h"
#include "DecoderInputs.h"
#include "TensorFiles.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <array>
#include <fmt/format.h>

namespace tessera::tool {

using namespace tessera::runtime;

namespace {
struct Loaded {
  DeviceDecoder::Program program;
  Executable executable;
  /// Of every input and output; those of states change with each call.
  std::vector<Buffer> bindings;

  Buffer &input(size_t index) { return bindings[index]; }
  Buffer &output(size_t index) {
    return bindings[program.object.inputs.size() + index];
  }
};
} // namespace

struct DeviceDecoder::Session {
  sim::Device *simulator = nullptr;
  Device device;
  AddressSpace space;
  Queue queue;
  std::vector<Loaded> programs;
  std::vector<std::array<Buffer, 2>> states;
  unsigned current = 0; ///< Which of the two holds the state.
  uint64_t position = 0;
};

static Result<Buffer> allocate(AddressSpace &space,
                               const TensorSignature &tensor) {
  BufferOptions options;
  options.label = tensor.name;
  return space.allocate(std::max<uint64_t>(tensor.bytes, 1), options);
}

static Result<Loaded> load(AddressSpace &space,
                           DeviceDecoder::Program program) {
  Loaded loaded;
  const Object &object = program.object;
  const DecoderSignature &signature = program.signature;
  TESSERA_ASSIGN_OR_RETURN(loaded.executable,
                           Executable::load(space, object,
                                            fmt::format("program for {} tokens",
                                                        signature.perCall)));
  std::vector<bool> isState(object.inputs.size() + object.outputs.size());
  for (const DecoderSignature::State &state : signature.states)
    isState[state.input] = isState[object.inputs.size() + state.output] = true;
  loaded.bindings.resize(isState.size());
  for (size_t i = 0; i < isState.size(); ++i)
    if (!isState[i]) {
      bool in = i < object.inputs.size();
      TESSERA_ASSIGN_OR_RETURN(
          loaded.bindings[i],
          allocate(space, in ? object.inputs[i]
                             : object.outputs[i - object.inputs.size()]));
    }
  loaded.program = std::move(program);
  return loaded;
}

Result<DeviceDecoder> DeviceDecoder::create(std::vector<Program> programs,
                                            const Architecture &arch) {
  auto session = std::make_unique<Session>();
  auto driver = std::make_unique<driver::SimDriver>(arch, sim::DeviceOptions());
  session->simulator = &driver->device();
  TESSERA_ASSIGN_OR_RETURN(session->device,
                           Device::create(std::move(driver), arch.name));
  TESSERA_ASSIGN_OR_RETURN(session->space,
                           AddressSpace::create(session->device));
  TESSERA_ASSIGN_OR_RETURN(session->queue,
                           Queue::create(session->space, {.inOrder = true}));
  for (Program &program : programs) {
    TESSERA_ASSIGN_OR_RETURN(Loaded loaded,
                             load(session->space, std::move(program)));
    session->programs.push_back(std::move(loaded));
  }
  const Program &first = session->programs.front().program;
  for (const DecoderSignature::State &state : first.signature.states) {
    const TensorSignature &tensor = first.object.inputs[state.input];
    auto &pair = session->states.emplace_back();
    for (Buffer &buffer : pair) {
      TESSERA_ASSIGN_OR_RETURN(buffer, allocate(session->space, tensor));
    }
    std::vector<std::byte> zeros(tensor.bytes);
    TESSERA_RETURN_IF_ERROR(pair[0].write(0, zeros));
  }
  for (const Loaded &loaded : session->programs) {
    const DecoderSignature &other = loaded.program.signature;
    bool same = other.states.size() == session->states.size();
    for (size_t i = 0; same && i < other.states.size(); ++i)
      same = other.states[i].bytes == first.signature.states[i].bytes;
    if (!same)
      return Status(StatusCode::InvalidArgument,
                    "the states' shapes depend on the tokens of a call; "
                    "accepted are states that all calls can share");
  }
  return DeviceDecoder(std::move(session));
}

Result<DeviceDecoder::Answer>
DeviceDecoder::feed(size_t index, std::span<const int64_t> tokens) {
  Session &s = *session;
  Loaded &loaded = s.programs[index];
  const Object &object = loaded.program.object;
  const DecoderSignature &signature = loaded.program.signature;
  if (tokens.size() != signature.perCall)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{} tokens; the program takes {}", tokens.size(),
                              signature.perCall));
  for (size_t i = 0; i < signature.states.size(); ++i) {
    loaded.input(signature.states[i].input) = s.states[i][s.current];
    loaded.output(signature.states[i].output) = s.states[i][1 - s.current];
  }

  Answer answer;
  sim::Statistics before = s.simulator->statistics();
  driver::Time start = s.device.now();
  TESSERA_RETURN_IF_ERROR(s.queue.update(
      loaded.input(signature.tokens),
      numberBytes(object.inputs[signature.tokens].type, tokens)));
  if (signature.positions) {
    TESSERA_RETURN_IF_ERROR(
        s.queue.update(loaded.input(*signature.positions),
                       numberBytes(object.inputs[*signature.positions].type,
                                   positionsFrom(s.position, tokens.size()))));
  }
  TESSERA_RETURN_IF_ERROR(
      s.queue.execute(loaded.executable.commands(), loaded.bindings));
  const TensorSignature &logits = object.outputs[signature.logits];
  uint64_t rowBytes = logits.bytes / signature.rows;
  answer.scores = {logits.name, logits.type, {signature.vocabulary}, {}};
  answer.scores.bytes.resize(rowBytes);
  TESSERA_RETURN_IF_ERROR(
      s.queue.readBack(BufferRange(loaded.output(signature.logits),
                                   logits.bytes - rowBytes, rowBytes),
                       answer.scores.bytes));
  sim::Statistics after = s.simulator->statistics();
  answer.call.tokens = tokens.size();
  answer.call.cycles = (s.device.now() - start) / s.device.cycleTime();
  answer.call.dramBytesRead = after.dramBytesRead - before.dramBytesRead;
  answer.call.dramBytesWritten =
      after.dramBytesWritten - before.dramBytesWritten;
  s.current = 1 - s.current;
  s.position += tokens.size();
  return answer;
}

DeviceDecoder::DeviceDecoder(std::unique_ptr<Session> session)
    : session(std::move(session)) {}
DeviceDecoder::DeviceDecoder(DeviceDecoder &&) noexcept = default;
DeviceDecoder::~DeviceDecoder() = default;

} // namespace tessera::tool
