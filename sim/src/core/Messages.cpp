//===- Messages.cpp - What cores tell one another ---------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "check/Checker.h"
#include "core/Sequencer.h"
#include "noc/Noc.h"
#include <algorithm>

namespace tessera::sim {

/// Bytes of a message between cores.
static constexpr uint32_t messageBytes = 8;

void Core::send(Core &to, Message message) {
  message.id = to.nextMessage++;
  to.inbox.push_back(message);
  if (services.checker)
    services.checker->sent(*this, to.index, message.id);
  Noc &noc = services.noc;
  noc.send(noc.coreNode(index), noc.coreNode(to.index), Noc::Class::Request,
           messageBytes, to.sequencer->reply(Unit::MessageArrived, message.id),
           Phase::Signal);
}

void Core::signalCore(const RemoteSignal &remote, Engine by, uint32_t pc) {
  if (remote.count == 0 || !isRunning)
    return;
  Core *to = listener.peer(index, remote.core);
  if (!to || !to->isRunning)
    return fault(FaultCause::CoreNotRunning, pc, remote.core);
  Message message;
  message.sem = uint8_t(remote.sem);
  message.count = remote.count;
  if (services.checker)
    services.checker->sendsFrom(*this, by);
  send(*to, message);
}

void Core::arriveAtBarrier() {
  Core *first = listener.peer(index, 0);
  assert(first && "a running core belongs to a dispatch");
  if (!first->isRunning) // it has halted, so the barrier is never over
    return;
  Message message;
  message.kind = Message::Kind::BarrierArrived;
  if (services.checker)
    services.checker->sendsFrom(*this, Engine::Sequencer);
  send(*first, message);
}

/// One message to all cores of the dispatch, which wait for it by its number:
/// this core's own numbers are small.
void Core::releaseBarrier() {
  Message over;
  over.kind = Message::Kind::BarrierOver;
  over.id = uint64_t(1) << 63 | uint64_t(index) << 48 | nextMessage++;
  for (uint32_t i = 0; i < task.numCores; ++i)
    if (Core *to = listener.peer(index, i)) {
      to->inbox.push_back(over);
      if (services.checker)
        services.checker->sent(*this, to->index, over.id);
    }
  Noc &noc = services.noc;
  noc.multicast(
      noc.coreNode(index), task.cores, Noc::Class::Request, messageBytes,
      {Noc::receivers, Unit::BroadcastArrived, 0, over.id}, Phase::Signal);
}

void Core::receive(uint64_t id) {
  auto it = std::find_if(inbox.begin(), inbox.end(),
                         [&](const Message &m) { return m.id == id; });
  if (it == inbox.end())
    return;
  Message message = *it;
  inbox.erase(it);
  if (services.checker)
    services.checker->received(*this, message);
  switch (message.kind) {
  case Message::Kind::Signal:
    addFromOtherCore(message.sem, message.count, isa::Opcode::SIGNALCORE);
    if (!isRunning)
      return;
    break;
  case Message::Kind::BarrierArrived:
    if (++arrivedAtBarrier < task.numCores)
      break;
    arrivedAtBarrier = 0;
    if (services.checker)
      services.checker->barrierComplete(*this);
    releaseBarrier();
    break;
  case Message::Kind::BarrierOver:
    sequencer->barrierOver();
    break;
  }
  checkDone();
}

void Core::addFromOtherCore(uint8_t sem, uint32_t count, isa::Opcode by) {
  Semaphore &s = semaphores[sem];
  if (s.value + count > maxSemaphoreValue)
    return fault(FaultCause::SemaphoreOverflow, sequencer->pc(), sem);
  s.value += count;
  s.byOtherCore = true;
  trace(TraceEvent::Kind::Semaphore, Engine::Sequencer, by, sequencer->pc(),
        sem, s.value);
  if (s.waiter)
    unit(*s.waiter).wake(services.now());
}

} // namespace tessera::sim
