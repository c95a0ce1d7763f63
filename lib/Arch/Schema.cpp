//===- Schema.cpp - The table of keys -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schema.h"
#include <cstdint>

using namespace tessera;
using namespace tessera::schema;

// Accessors, so that one entry gives the loader and the printer the member.
#define MEMBER(type, path)                                                     \
  [](Architecture &arch) -> type & { return arch.path; }
#define CHOICE(Enum, path)                                                     \
  [](const Architecture &arch) { return unsigned(arch.path); },                \
      [](Architecture &arch, unsigned value) { arch.path = Enum(value); }

static IntegerType u32(uint64_t min, uint64_t max,
                       uint32_t &(*member)(Architecture &)) {
  return {min, max, member};
}
static IntegerType u32PowerOfTwo(uint64_t min, uint64_t max,
                                 uint32_t &(*member)(Architecture &)) {
  return {min, max, member, true};
}
static IntegerType u64(uint64_t min, uint64_t max,
                       uint64_t &(*member)(Architecture &)) {
  return {min, max, member};
}
static IntegerType u64PowerOfTwo(uint64_t min, uint64_t max,
                                 uint64_t &(*member)(Architecture &)) {
  return {min, max, member, true};
}

static constexpr uint64_t kib = 1024, mib = kib * 1024, gib = mib * 1024;
static constexpr uint64_t maxCycles = 1000000;

static std::vector<Key> makeKeys() {
  using enum Presence;
  constexpr bool isa = true, speed = false;
  std::vector<Key> table = {
      {"name", TextType{"a name", MEMBER(std::string, name)}, "", Required,
       speed, "Name in reports and objects; part of no hash."},
      {"clock_ghz", RealType{0.01, 100, MEMBER(double, clockGhz)}, "GHz",
       Optional, speed, "Clock of cores, command processor and shared SRAM."},

      {"cores.count", u32(1, 1024, MEMBER(uint32_t, cores.count)), "", Required,
       isa, "Cores."},
      {"cores.mesh", MeshType{}, "", Derived, isa,
       "Columns and rows of the mesh of cores; their product is `count`.",
       "[count, 1]"},

      {"matrix.rows", u32(1, 1024, MEMBER(uint32_t, matrix.rows)), "", Required,
       isa, "Rows of processing elements of one engine, along K."},
      {"matrix.cols", u32(1, 1024, MEMBER(uint32_t, matrix.cols)), "", Required,
       isa, "Columns of processing elements, along N."},
      {"matrix.count", u32(1, 8, MEMBER(uint32_t, matrix.count)), "", Optional,
       isa, "Matrix engines of a core, each with its queue."},
      {"matrix.dataflow",
       ChoiceType{{"weight_stationary"}, CHOICE(Dataflow, matrix.dataflow)}, "",
       Optional, speed, "What stays in the array while operands stream."},
      {"matrix.formats", FormatsType{}, "", Required, isa,
       "Formats that the engines multiply, each with `macs_scale`: "
       "multiply-accumulates per element and cycle. Its product with `rows` is "
       "a whole number if it is at least 1, else its inverse is one."},
      {"matrix.fill_latency",
       u32(1, 1024, MEMBER(uint32_t, matrix.fillLatency)), "cycles", Optional,
       speed,
       "From the bottom element's output register through the accumulator's "
       "write."},

      {"vector.lanes", u32(1, 65536, MEMBER(uint32_t, vector.lanes)), "",
       Required, speed, "Lanes of 32 bit."},
      {"vector.alu_slots", u32(1, 16, MEMBER(uint32_t, vector.aluSlots)), "",
       Optional, speed, "Arithmetic operations per lane and cycle."},
      {"vector.sfu_lanes", u32(1, 65536, MEMBER(uint32_t, vector.sfuLanes)), "",
       Optional, speed,
       "Special functions (exponential, root …) per cycle, over all lanes."},
      {"vector.latency", u32(1, 1024, MEMBER(uint32_t, vector.latency)),
       "cycles", Optional, speed, "Until results are visible."},
      {"vector.read_ports", u32(1, 8, MEMBER(uint32_t, vector.readPorts)), "",
       Optional, speed, "Operands of all lanes read per cycle."},
      {"vector.write_ports", u32(1, 8, MEMBER(uint32_t, vector.writePorts)), "",
       Optional, speed, "Results of all lanes written per cycle."},

      {"spm.bytes", u64(kib, gib, MEMBER(uint64_t, spm.bytes)), "bytes",
       Required, isa, "Scratchpad of a core."},
      {"spm.banks", u32(1, 4096, MEMBER(uint32_t, spm.banks)), "", Required,
       speed, "Banks; consecutive words lie in consecutive banks."},
      {"spm.bank_width", u32PowerOfTwo(4, 256, MEMBER(uint32_t, spm.bankWidth)),
       "bytes", Required, speed, "A bank's word, moved in one cycle."},

      {"acc.bytes", u64(kib, gib, MEMBER(uint64_t, acc.bytes)), "bytes",
       Required, isa, "Accumulators of a core."},
      {"acc.banks", u32(1, 64, MEMBER(uint32_t, acc.banks)), "", Optional,
       speed, "Banks of rows of `matrix.cols` 4-byte values."},

      {"imem.bytes", u64(kib, 16 * mib, MEMBER(uint64_t, imemBytes)), "bytes",
       Optional, isa, "Instruction memory of a core."},
      {"tdmem.bytes", u64(kib, 16 * mib, MEMBER(uint64_t, tdmemBytes)), "bytes",
       Optional, isa, "Descriptor memory of a core, 128 bytes each."},
      {"queues.depth", u32(1, 1024, MEMBER(uint32_t, queueDepth)), "", Optional,
       speed, "Instructions that each engine's queue holds."},
      {"semaphores", u32(1, 32, MEMBER(uint32_t, semaphores)), "", Optional,
       isa, "Counting semaphores of a core."},

      {"dma.load_bursts", u32(1, 64, MEMBER(uint32_t, dma.loadBursts)), "",
       Optional, speed, "Load bursts started per cycle."},
      {"dma.store_bursts", u32(1, 64, MEMBER(uint32_t, dma.storeBursts)), "",
       Optional, speed, "Store bursts started per cycle."},
      {"dma.burst_bytes",
       u32PowerOfTwo(16, 4096, MEMBER(uint32_t, dma.burstBytes)), "bytes",
       Optional, speed, "Longest burst."},
      {"dma.outstanding", u32(1, 65536, MEMBER(uint32_t, dma.outstanding)), "",
       Optional, speed, "Bursts in flight, loads and stores each."},

      {"noc.topology",
       ChoiceType{{"mesh", "ring", "crossbar"},
                  CHOICE(NocTopology, noc.topology)},
       "", Optional, speed, "How the cores' nodes are linked."},
      {"noc.link_bytes", u32(1, 4096, MEMBER(uint32_t, noc.linkBytes)), "bytes",
       Optional, speed, "Moved by a link per network cycle and direction."},
      {"noc.hop_cycles", u32(1, 1024, MEMBER(uint32_t, noc.hopCycles)),
       "network cycles", Optional, speed, "Latency of one hop."},
      {"noc.clock_ghz", RealType{0.01, 100, MEMBER(double, noc.clockGhz)},
       "GHz", Optional, speed, "Clock of the network."},
      {"noc.vcs", u32(2, 64, MEMBER(uint32_t, noc.vcs)), "", Optional, speed,
       "Virtual channels; requests and responses never share one."},
      {"noc.buffers", u32(2, 65536, MEMBER(uint32_t, noc.buffers)), "messages",
       Derived, speed,
       "Places of a virtual channel's buffer at every input of a router, of an "
       "endpoint's queue, and of a memory's for requests.",
       "2 × `hop_cycles` + 2"},
      {"noc.memory_ports",
       NodesType{MEMBER(std::vector<uint32_t>, noc.memoryPorts)}, "", Optional,
       speed,
       "Nodes (row × columns + column) where DRAM channels attach: channel i "
       "at "
       "entry i modulo the list's length."},
      {"noc.shared_ports",
       NodesType{MEMBER(std::vector<uint32_t>, noc.sharedPorts)}, "", Optional,
       speed, "The same for the slices of the shared SRAM."},
      {"noc.cp_port", u32(0, 1023, MEMBER(uint32_t, noc.cpPort)), "", Optional,
       speed, "Node of the command processor."},
      {"noc.host_port", u32(0, 1023, MEMBER(uint32_t, noc.hostPort)), "",
       Optional, speed, "Node of the host link."},

      {"shared.bytes", u64(0, 64 * gib, MEMBER(uint64_t, shared.bytes)),
       "bytes", Optional, isa,
       "Shared SRAM, a multiple of 64 KiB; 0: there is none."},
      {"shared.slices", u32(1, 1024, MEMBER(uint32_t, shared.slices)), "",
       Optional, speed, "Slices on the network."},
      {"shared.banks", u32(1, 1024, MEMBER(uint32_t, shared.banks)), "",
       Optional, speed, "Banks of a slice."},
      {"shared.bank_width",
       u32PowerOfTwo(1, 4096, MEMBER(uint32_t, shared.bankWidth)), "bytes",
       Optional, speed, "Moved by a bank per cycle."},
      {"shared.latency", u32(1, 10000, MEMBER(uint32_t, shared.latency)),
       "cycles", Optional, speed, "Of an access to one word within a slice."},

      {"llc.bytes", u64(0, 64 * gib, MEMBER(uint64_t, llc.bytes)), "bytes",
       Optional, speed,
       "Cache in front of the DRAM channels; 0: there is none."},
      {"llc.ways", u32(1, 64, MEMBER(uint32_t, llc.ways)), "", Optional, speed,
       "Associativity; lines have 64 bytes."},

      {"dram.preset",
       TextType{"the name of a timing set", MEMBER(std::string, dram.preset)},
       "", Derived, speed,
       "Timing set that gives every key of this section but `channels` its "
       "default; part of no hash.",
       "none"},
      {"dram.channels", u32PowerOfTwo(1, 1024, MEMBER(uint32_t, dram.channels)),
       "", Optional, speed, "Channels of the whole device."},
      {"dram.pseudo_channels",
       u32PowerOfTwo(1, 8, MEMBER(uint32_t, dram.pseudoChannels)), "", Dram,
       speed, "Pseudo-channels of a channel; they share its command bus."},
      {"dram.ranks", u32PowerOfTwo(1, 8, MEMBER(uint32_t, dram.ranks)), "",
       Dram, speed, "Ranks of a channel."},
      {"dram.bank_groups",
       u32PowerOfTwo(1, 16, MEMBER(uint32_t, dram.bankGroups)), "", Dram, speed,
       "Bank groups of a rank."},
      {"dram.banks_per_group",
       u32PowerOfTwo(1, 64, MEMBER(uint32_t, dram.banksPerGroup)), "", Dram,
       speed, "Banks of a bank group."},
      {"dram.width_bits",
       u32PowerOfTwo(8, 1024, MEMBER(uint32_t, dram.widthBits)), "bits", Dram,
       speed, "Data bus of a pseudo-channel."},
      {"dram.row_bytes",
       u64PowerOfTwo(64, 64 * kib, MEMBER(uint64_t, dram.rowBytes)), "bytes",
       Dram, speed, "Row of one bank, over the width of a pseudo-channel."},
      {"dram.bytes",
       u64PowerOfTwo(2 * mib, 1024 * gib, MEMBER(uint64_t, dram.bytes)),
       "bytes", Derived, speed, "Capacity of the whole device.",
       "channels × the timing set's channel"},
      {"dram.tck_ns", RealType{0.05, 100, MEMBER(double, dram.tckNs)}, "ns",
       Dram, speed, "Command clock period; the timings below count it."},
      {"dram.burst_length",
       u32PowerOfTwo(1, 64, MEMBER(uint32_t, dram.burstLength)), "transfers",
       Dram, speed, "Transfers of a column command."},
      {"dram.transfers_per_clock",
       u32PowerOfTwo(1, 16, MEMBER(uint32_t, dram.transfersPerClock)), "", Dram,
       speed, "Transfers per command clock."},
  };

  struct Timing {
    std::string_view path;
    uint32_t &(*member)(Architecture &);
    std::string_view doc;
  };
  const Timing timings[] = {
      {"dram.tCL", MEMBER(uint32_t, dram.tCL), "Read command to its data."},
      {"dram.tCWL", MEMBER(uint32_t, dram.tCWL), "Write command to its data."},
      {"dram.tRCDRD", MEMBER(uint32_t, dram.tRCDRD), "Activate to read."},
      {"dram.tRCDWR", MEMBER(uint32_t, dram.tRCDWR), "Activate to write."},
      {"dram.tRP", MEMBER(uint32_t, dram.tRP), "Precharge to activate."},
      {"dram.tRAS", MEMBER(uint32_t, dram.tRAS), "Activate to precharge."},
      {"dram.tRC", MEMBER(uint32_t, dram.tRC),
       "Activate to activate of one bank."},
      {"dram.tWR", MEMBER(uint32_t, dram.tWR),
       "End of write data to precharge."},
      {"dram.tRTP", MEMBER(uint32_t, dram.tRTP), "Read to precharge."},
      {"dram.tCCD_S", MEMBER(uint32_t, dram.tCCDS),
       "Column command to the next, other bank group."},
      {"dram.tCCD_L", MEMBER(uint32_t, dram.tCCDL),
       "Column command to the next, same bank group."},
      {"dram.tRRD_S", MEMBER(uint32_t, dram.tRRDS),
       "Activate to the next, other bank group."},
      {"dram.tRRD_L", MEMBER(uint32_t, dram.tRRDL),
       "Activate to the next, same bank group."},
      {"dram.tWTR_S", MEMBER(uint32_t, dram.tWTRS),
       "End of write data to read, other bank group."},
      {"dram.tWTR_L", MEMBER(uint32_t, dram.tWTRL),
       "End of write data to read, same bank group."},
      {"dram.tRTW", MEMBER(uint32_t, dram.tRTW), "Read to write command."},
      {"dram.tFAW", MEMBER(uint32_t, dram.tFAW),
       "Window of at most four activates."},
      {"dram.tREFI", MEMBER(uint32_t, dram.tREFI),
       "Between refreshes of one bank."},
      {"dram.tRFC", MEMBER(uint32_t, dram.tRFC),
       "Refresh of all banks to activate."},
      {"dram.tRFCpb", MEMBER(uint32_t, dram.tRFCPB),
       "Refresh of one bank to activate; 0: the type has none."},
  };
  for (const Timing &timing : timings)
    table.push_back({timing.path, u32(0, 100000, timing.member), "DRAM clocks",
                     Dram, speed, timing.doc});

  std::vector<Key> rest = {
      {"dram.refresh",
       ChoiceType{{"none", "all_bank", "per_bank"},
                  CHOICE(RefreshMode, dram.refresh)},
       "", Optional, speed, "Which banks refresh together."},
      {"dram.page_policy",
       ChoiceType{{"open", "closed"}, CHOICE(PagePolicy, dram.pagePolicy)}, "",
       Optional, speed,
       "Whether a row stays open after an access that nothing waits to "
       "follow."},
      {"dram.read_queue", u32(1, 4096, MEMBER(uint32_t, dram.readQueue)), "",
       Optional, speed, "Entries of a channel's read queue."},
      {"dram.write_queue", u32(1, 4096, MEMBER(uint32_t, dram.writeQueue)), "",
       Optional, speed, "Entries of a channel's write queue."},
      {"dram.drain_high", RealType{0, 1, MEMBER(double, dram.drainHigh)}, "",
       Optional, speed, "Part of the write queue above which writes drain."},
      {"dram.drain_low", RealType{0, 1, MEMBER(double, dram.drainLow)}, "",
       Optional, speed, "Part below which a drain ends if reads wait."},
      {"dram.channel_hash",
       ChoiceType{{"none", "xor"}, CHOICE(ChannelHash, dram.channelHash)}, "",
       Optional, speed,
       "Whether the channel is that of the mapping, or that xor each group of "
       "as many address bits above it: then rows of a matrix that are a power "
       "of two apart begin on different channels."},
      {"dram.mapping",
       TextType{"fields of address bits, e.g. \"R16 B2 C7 G2\"",
                MEMBER(std::string, dram.mapping)},
       "", Derived, speed,
       "Address bits from most to least significant, above those of one column "
       "command's bytes: X channel, P pseudo-channel, K rank, G bank group, B "
       "bank, R row, C column; a field may come in parts.",
       "row, rank, bank, column, bank group, pseudo-channel, channel; below "
       "these "
       "what a burst (`dma.burst_bytes`) covers: column, bank group and "
       "pseudo-channel bits, column bits of 64 bytes"},

      {"tlb.l1", u32(1, 4096, MEMBER(uint32_t, tlb.l1Entries)), "", Optional,
       speed, "Entries of each requester's first level."},
      {"tlb.l2", u32(1, 65536, MEMBER(uint32_t, tlb.l2Entries)), "", Optional,
       speed, "Entries of a core's second level."},
      {"tlb.l2_latency", u32(0, maxCycles, MEMBER(uint32_t, tlb.l2Latency)),
       "cycles", Optional, speed, "Of a hit in the second level."},
      {"tlb.walk", u32(1, 64, MEMBER(uint32_t, tlb.walkers)), "", Optional,
       speed, "Page walks at a time."},

      {"cp.queues", u32(1, 64, MEMBER(uint32_t, cp.queues)), "", Optional,
       speed, "Hardware queue slots."},
      {"cp.fetch", u32(0, maxCycles, MEMBER(uint32_t, cp.fetch)), "cycles",
       Optional, speed, "Fetch of a packet, beside the memory's time."},
      {"cp.decode", u32(0, maxCycles, MEMBER(uint32_t, cp.decode)), "cycles",
       Optional, speed, "Decoding and checking of a packet."},
      {"cp.dispatch", u32(0, maxCycles, MEMBER(uint32_t, cp.dispatch)),
       "cycles", Optional, speed, "Start of a kernel on its cores."},
      {"cp.signal", u32(0, maxCycles, MEMBER(uint32_t, cp.signal)), "cycles",
       Optional, speed, "Signal of a timeline semaphore."},
      {"cp.ageing", u32(1, maxCycles, MEMBER(uint32_t, cp.ageing)), "cycles",
       Optional, speed,
       "Waiting for an engine or cores that raises a packet's priority by "
       "one."},

      {"host.gbps", RealType{0.001, 100000, MEMBER(double, host.gbps)},
       "10⁹ bytes per second", Optional, speed, "Host link, each direction."},
      {"host.latency_ns", u32(0, maxCycles, MEMBER(uint32_t, host.latencyNs)),
       "ns", Optional, speed, "Host link, one way."},
  };
  table.insert(table.end(), rest.begin(), rest.end());
  return table;
}

std::span<const Key> schema::keys() {
  static const std::vector<Key> table = makeKeys();
  return table;
}

const Key *schema::findKey(std::string_view path) {
  for (const Key &key : keys())
    if (key.path == path)
      return &key;
  return nullptr;
}

std::span<const std::string_view> schema::reservedKeys() {
  static constexpr std::string_view names[] = {"links", "energy", "area"};
  return names;
}

uint64_t IntegerType::get(Architecture &arch) const {
  return std::visit([&](auto access) { return uint64_t(access(arch)); },
                    member);
}

void IntegerType::set(Architecture &arch, uint64_t value) const {
  if (auto *access = std::get_if<0>(&member))
    (*access)(arch) = uint32_t(value);
  else
    std::get<1>(member)(arch) = value;
}
