//===- MemorySystem.cpp - What a physical access costs ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "memory/MemorySystem.h"
#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::sim {

using isa::PhysicalSpace;

/// Architectures made by hand may leave the mapping out.
static DramMapping mappingOf(const Architecture &arch) {
  DramConfig dram = arch.dram;
  if (dram.mapping.empty())
    dram.mapping = DramMapping::defaultFor(dram, arch.dma.burstBytes);
  Result<DramMapping> mapping = DramMapping::create(dram);
  assert(mapping && "the architecture was not validated");
  return *mapping;
}

MemorySystem::MemorySystem(const Architecture &arch, const Clock &clock,
                           EventQueue &events, Noc &noc, bool everyClock)
    : arch(arch), clock(clock), events(events), noc(noc),
      self(events.add(*this)), everyClock(everyClock),
      dramClock(1.0 / arch.dram.tckNs),
      atomBytes(std::max<uint64_t>(1, arch.dram.atomBytes())),
      burstBytes(std::max(1u, arch.dma.burstBytes)),
      atomShift(unsigned(std::countr_zero(atomBytes))),
      mapping(mappingOf(arch)), channelBytes(mapping.channelBytes()),
      ports(arch.dram.channels, Port(arch.dram)),
      atomMap(arch.dram, mapping, ports.front().channel), llc(arch),
      llcNext(arch.dram.channels), slices(arch), link(arch.host),
      held(noc.state().topology().endpoints()),
      perAccount(arch.cores.count + 1) {}

//===----------------------------------------------------------------------===//
// Requests and answers
//===----------------------------------------------------------------------===//

/// Bytes from the request's address on that may travel in one message.
uint64_t MemorySystem::pieceBytes(const MemoryRequest &r) const {
  uint64_t bytes =
      std::min<uint64_t>(r.bytes, burstBytes - r.address % burstBytes);
  if (r.space == PhysicalSpace::Dram)
    bytes = std::min(bytes, channelBytes - r.address % channelBytes);
  return bytes;
}

void MemorySystem::request(const MemoryRequest &r) {
  assert(r.bytes != 0 && "an empty request");
  if (pieceBytes(r) == r.bytes)
    return send(r, noWhole);
  if (freeWholes.empty()) {
    freeWholes.push_back(uint32_t(wholes.size()));
    wholes.emplace_back();
  }
  uint32_t whole = freeWholes.back();
  freeWholes.pop_back();
  wholes[whole] = {r.reply, 0};
  assert(r.cores.empty() && "a multicast is one burst");
  for (MemoryRequest piece = r, rest = r; rest.bytes != 0;) {
    piece.address = rest.address;
    piece.bytes = uint32_t(pieceBytes(rest));
    ++wholes[whole].left;
    send(piece, whole);
    rest.address += piece.bytes;
    rest.bytes -= piece.bytes;
  }
}

void MemorySystem::account(const MemoryRequest &r) {
  switch (r.space) {
  case PhysicalSpace::Dram: {
    if (llc.present())
      break; // lookUp and moveLine count
    uint64_t bytes = atomsOf(r) * atomBytes;
    Traffic &traffic = perAccount[r.account];
    (r.write ? traffic.dramWritten : traffic.dramRead) += bytes;
    if (r.walk)
      byPurpose.walks += bytes;
    else if (r.account == arch.cores.count)
      byPurpose.commands += bytes;
    else
      byPurpose.useful += r.bytes, byPurpose.overFetch += bytes - r.bytes;
    break;
  }
  case PhysicalSpace::Shared:
    (r.write ? sharedBytesWritten : sharedBytesRead) += r.bytes;
    break;
  case PhysicalSpace::Host:
    (r.write ? hostBytesWritten : hostBytesRead) += r.bytes;
    break;
  }
}

uint32_t MemorySystem::newPiece() {
  if (freePieces.empty()) {
    freePieces.push_back(uint32_t(pieces.size()));
    pieces.emplace_back();
  }
  uint32_t index = freePieces.back();
  freePieces.pop_back();
  pieces[index] = Piece();
  return index;
}

void MemorySystem::send(const MemoryRequest &r, uint32_t whole) {
  account(r);
  uint32_t index = newPiece();
  Piece &piece = pieces[index];
  piece.request = r;
  piece.whole = whole;
  uint32_t node = noc.hostNode();
  switch (r.space) {
  case PhysicalSpace::Dram:
    piece.target = mapping.channelOf(r.address);
    piece.atoms = atomsOf(r);
    atomsUnderWay += piece.atoms;
    node = noc.memoryNode(piece.target);
    break;
  case PhysicalSpace::Shared:
    piece.target = slices.sliceOf(r.address);
    node = noc.sharedNode(piece.target);
    break;
  case PhysicalSpace::Host:
    break;
  }
  noc.send(r.node, node, Noc::Class::Request, r.write ? r.bytes : 0,
           {self, Arrive, 0, index});
}

void MemorySystem::answer(uint32_t index, uint32_t endpoint, Time time) {
  const Piece &piece = pieces[index];
  const MemoryRequest &r = piece.request;
  Reply reply = r.reply;
  if (piece.whole != noWhole)
    reply = {self, PieceDone, 0, piece.whole};
  uint32_t bytes = r.write ? 0 : r.bytes;
  if (r.cores.empty())
    noc.send(endpoint, r.node, Noc::Class::Response, bytes, reply,
             Phase::Complete, time);
  else
    noc.multicast(endpoint, r.cores, Noc::Class::Response, bytes, reply,
                  Phase::Complete, time);
  freePieces.push_back(index);
}

void MemorySystem::pieceDone(uint64_t index) {
  if (index >= wholes.size() || wholes[index].left == 0)
    return;
  Whole &whole = wholes[index];
  if (--whole.left != 0)
    return;
  Event event;
  event.time = events.now();
  event.phase = Phase::Complete;
  event.component = whole.reply.component;
  event.code = whole.reply.code;
  event.epoch = whole.reply.epoch;
  event.payload = whole.reply.payload;
  events.post(event);
  freeWholes.push_back(uint32_t(index));
}

void MemorySystem::arrive(uint32_t index) {
  if (index >= pieces.size())
    return;
  const Piece &piece = pieces[index];
  const MemoryRequest &r = piece.request;
  switch (r.space) {
  case PhysicalSpace::Dram:
    return arriveAtChannel(index);
  case PhysicalSpace::Shared: {
    SharedSlices::Service service =
        slices.access(r.address, r.bytes, clock.ceil(events.now()));
    uint32_t node = noc.sharedNode(piece.target);
    answer(index, node, clock.at(service.ready));
    return release(node, clock.at(service.start));
  }
  case PhysicalSpace::Host: {
    HostLink::Service service = link.access(r.write, r.bytes, events.now());
    answer(index, noc.hostNode(), service.ready);
    return release(noc.hostNode(), service.start);
  }
  }
}

//===----------------------------------------------------------------------===//
// Room
//===----------------------------------------------------------------------===//

void MemorySystem::watch(uint32_t endpoint) {
  noc.whenAdvanced(endpoint, Noc::Class::Response,
                   {self, Advanced, 0, endpoint});
}

void MemorySystem::release(uint32_t endpoint, Time time) {
  if (!answersFull(endpoint))
    return noc.release(endpoint, time);
  if (held[endpoint]++ == 0)
    watch(endpoint);
}

void MemorySystem::advanced(uint32_t endpoint) {
  if (endpoint >= held.size())
    return;
  for (; held[endpoint] != 0 && !answersFull(endpoint); --held[endpoint])
    noc.release(endpoint, events.now());
  if (held[endpoint] != 0)
    watch(endpoint);
}

//===----------------------------------------------------------------------===//
// DRAM
//===----------------------------------------------------------------------===//

// A channel is gone through late, many clocks at once, when nobody can tell: a
// read's data comes a fixed time after its command, so a channel may lag by
// that much; a request that has not found room needs as many places as it has
// atoms left, and these come free one or two a clock.

/// The next clock in which a piece may be taken or a command issued.
Cycle MemorySystem::nextClock(const Port &port) const {
  if (port.waits() && roomForFirst(port) != 0)
    return port.open;
  return std::max(port.channel.nextStep(), port.open);
}

void MemorySystem::schedule(uint32_t channel) {
  Port &port = ports[channel];
  bool waits = port.waits();
  if (port.channel.idle() && !waits)
    return;
  Cycle next = nextClock(port);
  Cycle at = next + port.channel.timings().readLatency;
  if (waits) {
    const Piece &piece = pieces[port.waiting[port.first]];
    uint64_t atoms = atomsOf(piece.request) - piece.offered;
    uint32_t room = roomForFirst(port);
    at = std::min(
        at,
        next + (atoms > room ? port.channel.clocksToFree(atoms - room) : 0));
  }
  if (everyClock)
    at = waits ? std::max(port.open, dramClock.ceil(events.now())) : next;
  if (port.scheduled <= at)
    return;
  port.scheduled = at;
  Event event;
  event.time = dramClock.at(at);
  // After all arrivals of the clock.
  event.phase = Phase::Start;
  event.component = self;
  event.code = Step;
  event.payload = channel;
  events.post(event);
}

void MemorySystem::arriveAtChannel(uint32_t index) {
  uint32_t channel = pieces[index].target;
  atomsUnderWay -= atomsOf(pieces[index].request);
  Port &port = ports[channel];
  Cycle now = dramClock.floor(events.now());
  completions.clear();
  if (!everyClock) {
    goThrough(channel, now - 1);
    port.channel.advance(now, completions);
  }
  finishAtoms();
  completions.clear();
  bool first = !port.waits();
  if (llc.present())
    lookUp(index, now);
  else
    port.waiting.push_back(index);
  if (!everyClock && first && !(port.waits() && offerAlone(channel, now)))
    offer(channel, now);
  finishAtoms();
  schedule(channel);
}

/// In order: who finds no room holds back those behind.
void MemorySystem::offer(uint32_t channel, Cycle now) {
  Port &port = ports[channel];
  dram::Access &run = port.offered;
  while (port.waits()) {
    uint32_t index = port.waiting[port.first];
    Piece &piece = pieces[index];
    const uint32_t atoms = atomsOf(piece.request);
    if (run.atoms == 0) {
      run = atomMap.run((piece.request.address >> atomShift) + piece.offered,
                        atoms - piece.offered);
      run.write = piece.request.write;
      run.token = index;
    }
    uint32_t taken = port.channel.offer(run, now, completions);
    if (run.write && taken != 0)
      completions.push_back({index, now, taken});
    piece.offered += taken;
    run.column += taken;
    run.atoms -= taken;
    if (run.atoms != 0) {
      if (port.first >= 64) { // keeps the list as short as what waits
        port.waiting.erase(port.waiting.begin(),
                           port.waiting.begin() + long(port.first));
        port.first = 0;
      }
      return;
    }
    if (piece.offered != atoms)
      continue;
    ++port.first;
    if (piece.releases)
      release(noc.memoryNode(channel), events.now());
  }
  port.waiting.clear();
  port.first = 0;
}

/// The piece that waits, if it is the only one and the channel takes it whole.
bool MemorySystem::offerAlone(uint32_t channel, Cycle now) {
  Port &port = ports[channel];
  if (port.waiting.size() != 1 || !port.channel.idle())
    return false;
  uint32_t index = port.waiting.front();
  Piece &piece = pieces[index];
  const uint32_t atoms = atomsOf(piece.request);
  std::array<dram::Access, dram::Channel::mostAlone> runs;
  size_t count = 0;
  for (uint32_t taken = 0; taken != atoms; taken += runs[count++].atoms) {
    if (count == runs.size())
      return false;
    runs[count] = atomMap.run((piece.request.address >> atomShift) + taken,
                              atoms - taken);
    runs[count].write = piece.request.write;
    runs[count].token = index;
  }
  if (!port.channel.offerAlone(std::span(runs).first(count), now))
    return false;
  if (piece.request.write)
    completions.push_back({index, now, atoms});
  piece.offered = atoms;
  port.waiting.clear();
  if (piece.releases)
    release(noc.memoryNode(channel), events.now());
  return true;
}

void MemorySystem::goThrough(uint32_t channel, Cycle last) {
  Port &port = ports[channel];
  while (port.waits() || !port.channel.idle()) {
    if (!port.waits() && !everyClock) {
      port.open = port.channel.goThrough(port.open, last, completions);
      return;
    }
    Cycle now = nextClock(port);
    if (everyClock)
      now = last;
    if (now > last || now < port.open)
      return;
    if (port.channel.nextStep() < now)
      port.channel.advance(now, completions);
    if (port.waits() && roomForFirst(port) != 0)
      offer(channel, now);
    if (port.channel.nextStep() <= now)
      port.channel.step(now, completions);
    port.open = now + 1;
  }
}

void MemorySystem::step(uint32_t channel) {
  Port &port = ports[channel];
  Cycle now = dramClock.floor(events.now());
  if (port.scheduled != now)
    return; // An earlier step took its place.
  port.scheduled = ~Cycle(0);
  completions.clear();
  goThrough(channel, now);
  finishAtoms();
  schedule(channel);
}

void MemorySystem::finishAtoms() {
  for (const dram::Completion &completion : completions)
    atomsDone(completion.token, completion.clock, completion.atoms);
}

void MemorySystem::atomsDone(uint64_t index, Cycle at, uint32_t atoms) {
  if (index >= pieces.size() || pieces[index].atoms < atoms)
    return;
  Piece &piece = pieces[index];
  piece.done = std::max(piece.done, at);
  piece.atoms -= atoms;
  if (piece.atoms != 0)
    return;
  if (piece.kind == Piece::Kind::Message) {
    Time ready = dramClock.at(piece.done);
    if (llc.present())
      ready = std::max(ready, piece.notBefore) + clock.at(arch.shared.latency);
    return answer(uint32_t(index), noc.memoryNode(piece.target), ready);
  }
  Piece over = piece;
  freePieces.push_back(uint32_t(index));
  if (over.kind == Piece::Kind::Fill)
    lineFilled(over.request.address / Llc::lineBytes, over.target, over.done);
}

//===----------------------------------------------------------------------===//
// Memory-side cache
//===----------------------------------------------------------------------===//

/// A line from or to DRAM, for the piece `index`.
void MemorySystem::moveLine(uint32_t index, Piece::Kind kind, uint64_t line) {
  uint32_t moved = newPiece();
  Piece &piece = pieces[moved];
  piece.kind = kind;
  piece.releases = false;
  piece.target = pieces[index].target;
  MemoryRequest &r = piece.request;
  r.write = kind == Piece::Kind::WriteBack;
  r.address = line * Llc::lineBytes;
  r.bytes = Llc::lineBytes;
  r.node = pieces[index].request.node;
  r.account = pieces[index].request.account;
  piece.atoms = atomsOf(r);
  uint64_t bytes = piece.atoms * atomBytes;
  Traffic &traffic = perAccount[r.account];
  (r.write ? traffic.dramWritten : traffic.dramRead) += bytes;
  byPurpose.cache += bytes;
  ports[piece.target].waiting.push_back(moved);
}

/// A line a core cycle. The message is answered when all its lines are there;
/// its room is given back when the channel has taken what it has caused.
void MemorySystem::lookUp(uint32_t index, Cycle now) {
  const MemoryRequest r = pieces[index].request;
  uint32_t channel = pieces[index].target;
  Port &port = ports[channel];
  size_t before = port.waiting.size();
  uint64_t first = r.address / Llc::lineBytes;
  uint64_t last = (r.address + r.bytes - 1) / Llc::lineBytes;
  Cycle start = std::max(clock.ceil(events.now()), llcNext[channel]);
  llcNext[channel] = start + (last - first + 1);
  pieces[index].notBefore = clock.at(start + (last - first));
  pieces[index].atoms = 1; // until all are looked up
  for (uint64_t line = first; line <= last; ++line) {
    bool whole = r.write && r.address <= line * Llc::lineBytes &&
                 r.address + r.bytes >= (line + 1) * Llc::lineBytes;
    Llc::Outcome outcome = llc.access(channel, line, r.write, whole);
    if (outcome.writesBack)
      moveLine(index, Piece::Kind::WriteBack, outcome.victim);
    if (!outcome.cached && r.write) {
      // Past the cache, it is written where it belongs.
      moveLine(index, Piece::Kind::WriteBack, line);
      continue;
    }
    if (outcome.fetches)
      moveLine(index, Piece::Kind::Fill, line);
    if (outcome.ready == Llc::unknown) {
      lineWaits.push_back({line, index});
      ++pieces[index].atoms;
    } else {
      pieces[index].done = std::max(pieces[index].done, outcome.ready);
    }
  }
  if (port.waiting.size() == before)
    release(noc.memoryNode(channel), events.now());
  else
    pieces[port.waiting.back()].releases = true;
  completions.push_back({index, now});
}

void MemorySystem::lineFilled(uint64_t line, uint32_t channel, Cycle at) {
  llc.filled(channel, line, at);
  std::vector<uint32_t> woken;
  std::erase_if(lineWaits, [&](const LineWait &wait) {
    if (wait.line != line)
      return false;
    woken.push_back(wait.piece);
    return true;
  });
  for (uint32_t piece : woken)
    atomsDone(piece, at, 1);
}

void MemorySystem::handle(const Event &event) {
  switch (Code(event.code)) {
  case Arrive:
    return arrive(uint32_t(event.payload));
  case Step:
    if (event.payload < ports.size())
      step(uint32_t(event.payload));
    return;
  case PieceDone:
    return pieceDone(event.payload);
  case Advanced:
    return advanced(uint32_t(event.payload));
  }
}

//===----------------------------------------------------------------------===//
// Counters
//===----------------------------------------------------------------------===//

dram::ChannelCounters MemorySystem::dramCounters() const {
  dram::ChannelCounters sum;
  for (const Port &port : ports)
    sum += port.channel.counters();
  return sum;
}

uint64_t MemorySystem::waitingAtoms() const {
  uint64_t atoms = 0;
  for (const Port &port : ports) {
    atoms += port.channel.waiting();
    for (uint64_t i = port.first; i != port.waiting.size(); ++i) {
      const Piece &piece = pieces[port.waiting[i]];
      atoms += atomsOf(piece.request) - piece.offered;
    }
  }
  return atoms;
}

uint64_t MemorySystem::bytesOfAccounts() const {
  uint64_t bytes = 0;
  for (const Traffic &traffic : perAccount)
    bytes += traffic.dramRead + traffic.dramWritten;
  return bytes;
}

bool MemorySystem::consistent() const {
  for (const Port &port : ports)
    for (uint32_t piece : port.waiting)
      if (piece >= pieces.size())
        return false;
  for (const Piece &piece : pieces) {
    const MemoryRequest &r = piece.request;
    if (piece.kind > Piece::Kind::WriteBack || r.account >= perAccount.size() ||
        r.node >= held.size() || !events.knows(r.reply.component))
      return false;
    if (r.bytes == 0) // never used
      continue;
    switch (r.space) {
    case PhysicalSpace::Dram:
      if (piece.target >= ports.size() || r.address >= arch.dram.bytes ||
          r.bytes > arch.dram.bytes - r.address)
        return false;
      break;
    case PhysicalSpace::Shared:
      if (piece.target >= slices.counters().size())
        return false;
      break;
    case PhysicalSpace::Host:
      break;
    default:
      return false;
    }
    if (!r.cores.empty() && !noc.state().topology().hasCores(r.cores))
      return false;
  }
  auto below = [](const std::vector<uint32_t> &list, size_t size) {
    return std::ranges::all_of(list, [&](uint32_t i) { return i < size; });
  };
  for (const LineWait &wait : lineWaits)
    if (wait.piece >= pieces.size())
      return false;
  return llcNext.size() == ports.size() &&
         perAccount.size() == arch.cores.count + 1 &&
         held.size() == noc.state().topology().endpoints() &&
         std::ranges::all_of(
             wholes,
             [&](const Whole &w) { return events.knows(w.reply.component); }) &&
         below(freePieces, pieces.size()) && below(freeWholes, wholes.size());
}

} // namespace tessera::sim
