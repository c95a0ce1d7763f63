//===- Channel.h - One DRAM channel and its controller ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// First-ready, first-come first-served scheduling over a read and a write
// queue, exact to the DRAM clock. docs/timing.md, "DRAM", gives the rules.
//
// Time is pulled: whoever drives the channel calls advance() up to a clock,
// then offers requests in that clock, then lets it step() in it; nextStep()
// says when something can happen next, so no clock without an event costs
// anything. Nothing is allocated after construction but the caller's list of
// completions and the log of commands, if asked for.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_MEMORY_DRAM_CHANNEL_H
#define TESSERA_SIM_MEMORY_DRAM_CHANNEL_H

#include "memory/dram/RequestQueue.h"
#include "memory/dram/Timings.h"
#include "tessera/Arch/DramMapping.h"
#include <algorithm>
#include <span>

namespace tessera::sim::dram {

/// A read's data is complete at the end of `clock` - 1, that is at `clock`; of
/// several atoms together: the last one's.
struct Completion {
  uint64_t token = 0;
  Cycle clock = 0;
  uint32_t atoms = 1;
};

enum class CommandKind : uint8_t {
  Activate,
  Precharge,
  PrechargeAll,
  Read,
  Write,
  Refresh,
  RefreshBank
};

/// A command on the bus, for tests and traces.
struct Command {
  CommandKind kind;
  uint32_t bank; ///< The rank's first bank for a command to all banks.
  Cycle clock;   ///< Of the first slot.
  bool operator==(const Command &) const = default;
};

struct ChannelCounters {
  uint64_t reads = 0, writes = 0; ///< Column commands.
  uint64_t readsFromWriteQueue = 0;
  /// Requests by what they found: their row open, the bank closed, another
  /// row open.
  uint64_t rowHits = 0, rowMisses = 0, rowConflicts = 0;
  uint64_t activates = 0, precharges = 0;
  uint64_t turnarounds = 0; ///< Changes of a data bus's direction.
  uint64_t refreshes = 0;
  uint64_t refreshClocks = 0; ///< Of ranks, or of banks refreshed one by one.
  uint64_t dataClocks = 0;    ///< Clocks with data, over all data buses.
  /// Entries waiting for their column command, summed over clocks; and the
  /// waits of the entries that have had it.
  uint64_t occupancyClocks = 0, waitClocks = 0;

  ChannelCounters &operator+=(const ChannelCounters &other);
  template <typename A> void serialize(A &ar) {
    fields(ar, reads, writes, readsFromWriteQueue, rowHits, rowMisses,
           rowConflicts, activates, precharges, turnarounds, refreshes,
           refreshClocks, dataClocks, occupancyClocks, waitClocks);
  }
};

struct BankCounters {
  uint64_t accesses = 0, activates = 0;
  template <typename A> void serialize(A &ar) {
    fields(ar, accesses, activates);
  }
};

class Channel {
public:
  explicit Channel(const DramConfig &dram);

  /// The channel's number of a bank.
  uint32_t bankOf(const DramCoordinates &at) const {
    return ((at.pseudoChannel * ranksPerPseudo + at.rank) * groupsPerRank +
            at.bankGroup) *
               banksPerGroup +
           at.bank;
  }

  /// Takes all steps before `now`.
  void advance(Cycle now, std::vector<Completion> &done);
  /// Offers atoms, one after the other, in clock `now`, up to which the channel
  /// has advanced; how many it takes until its queue is full. Accepted writes
  /// are in good hands; completions of reads, which say together of how many
  /// atoms they are, come with a later step, or here if a waiting write has
  /// their data. Commands and their clocks are those of atoms offered singly.
  uint32_t offer(const Access &access, Cycle now,
                 std::vector<Completion> &done);
  /// Takes all of a burst, the runs in the order in which they would be
  /// offered, if it meets nothing: the channel is empty, the rows are open, its
  /// columns can go from `now` on and no refresh comes between them. They are
  /// issued in one go, unless somebody comes before the last of them. False:
  /// offer it.
  bool offerAlone(std::span<const Access> runs, Cycle now);
  static constexpr size_t mostAlone = 8; ///< Runs.
  /// Takes the steps up to and including clock `last` while anything waits;
  /// those before `open` have been taken. The first clock not gone through.
  Cycle goThrough(Cycle open, Cycle last, std::vector<Completion> &done);
  /// Issues what can be issued in clock `now`, which is at least nextStep().
  void step(Cycle now, std::vector<Completion> &done);
  /// The next clock in which step() can do something.
  Cycle nextStep() const { return next; }
  /// The next step looks at everything, whatever is known of it: for tests of
  /// what is known.
  void forgetBounds() {
    columnBound = rowBound = activeBound = 0;
    turns = true;
  }
  /// Clocks in which as many commands can be issued at least as it takes to
  /// make that many places free, at least one. A place comes free with an
  /// activate or a column command, of which one bus takes one a clock; two take
  /// a column command a clock and an activate every other.
  Cycle clocksToFree(uint64_t places) const {
    return t.rowBus ? 2 * (places - 1) / 3 + 1 : places;
  }
  /// Nothing waits: until the next offer only refreshes happen, which advance()
  /// makes up for.
  bool idle() const { return queue.empty() && alone.count == 0; }
  /// Atoms that wait for their column command.
  uint32_t waiting() const { return queue.waiting() + alone.atoms; }

  const ChannelCounters &counters() const { return count; }
  const BankCounters &bankCounters(uint32_t bank) const {
    return bankCounts[bank];
  }
  size_t bankCount() const { return banks.size(); }
  const RequestQueue &requests() const { return queue; }
  const Timings &timings() const { return t; }
  /// Appends every command to `commands` from now on; null ends it.
  void logTo(std::vector<Command> *commands) { log = commands; }

  template <typename A> void serialize(A &ar) {
    fields(ar, alone, queue, banks, bankCounts, groupActivate, groupColumn,
           ranks, lastDirection, refreshQueue, dueBanks, dueCount, rowsOpening,
           nextRefresh, next, rowBusFree, columnBusFree, countedTo, writeMode,
           count);
    if constexpr (A::loading) {
      forgetBounds();
      if (consistent()) {
        alone.plan(t, groupShift, rankShift);
      } else {
        alone = {};
        ar.fail();
      }
    }
  }

private:
  /// Earliest clocks of commands, by level of the hierarchy; a command must
  /// satisfy all three. Activates are counted by their last slot.
  struct alignas(32) Bank {
    Cycle activate = 0, precharge = 0;
    std::array<Cycle, 2> column{}; ///< Read, write.
    template <typename A> void serialize(A &ar) {
      fields(ar, activate, precharge, column);
    }
  };
  struct alignas(64) Rank {
    Cycle activate = 0;
    std::array<Cycle, 2> column{};
    std::array<Cycle, 4> window{}; ///< End of the last activates' tFAW.
    uint32_t oldest = 0;           ///< In `window`.
    uint32_t refreshPointer = 0;   ///< Next bank to refresh.
    template <typename A> void serialize(A &ar) {
      fields(ar, activate, column, window, oldest, refreshPointer);
    }
  };

  static constexpr Cycle never = ~Cycle(0);

  Rank &rankOf(uint32_t bank) { return ranks[bank >> rankShift]; }
  const Rank &rankOf(uint32_t bank) const { return ranks[bank >> rankShift]; }
  uint32_t groupOf(uint32_t bank) const { return bank >> groupShift; }

  // When a command may start (its first slot).
  Cycle columnTime(uint32_t bank, bool write) const;
  /// Of a bank whose row is open, the precharge; else the activate.
  Cycle rowTime(uint32_t bank) const;

  /// The oldest entry found so far that can start now.
  struct Candidate {
    uint64_t order = RequestQueue::never;
    EntryIndex entry = noEntry;
  };
  uint64_t nextGroup(uint64_t &bits, uint32_t &group, uint32_t first) const;
  EntryIndex readyActive(Cycle now);
  Candidate readyColumn(Cycle now);
  Candidate readyColumnByBank(Cycle now);
  Candidate readyColumnByGroup(Cycle now);
  Candidate readyRow(Cycle now, Candidate best);
  Candidate oldestRow(Cycle now, Candidate best, uint32_t &ready);
  bool protectsRow(uint32_t bank) const;
  /// Whether writes are to be served next.
  bool nextMode() const {
    uint32_t reads = queue.size(false), writes = queue.size(true);
    if (!writeMode)
      return writes > drainHigh || reads == 0;
    return !(reads != 0 && (writes < drainLow || writes == 0));
  }
  void chooseMode() {
    if (nextMode() == writeMode)
      return;
    writeMode = !writeMode;
    columnBound = rowBound = 0;
  }

  bool refreshing() const { return !refreshQueue.empty() || dueCount != 0; }
  void stepRefreshing(Cycle now, std::vector<Completion> &done);
  void stepColumn(Cycle now, std::vector<Completion> &done);
  void findNext(Cycle now);
  bool issueOnSharedBus(Cycle now, std::vector<Completion> &done);
  bool issueColumn(Cycle now, std::vector<Completion> &done);
  bool issueRow(Cycle now, std::vector<Completion> &done);
  void issueHit(EntryIndex entry, bool opened, Cycle now,
                std::vector<Completion> &done);
  void issueFor(EntryIndex entry, Cycle now, std::vector<Completion> &done);

  void column(EntryIndex entry, bool opened, Cycle now,
              std::vector<Completion> &done);
  void activate(uint32_t bank, uint32_t row, Cycle now);
  void precharge(uint32_t bank, Cycle now);
  void closeRow(uint32_t bank, Cycle precharged);
  void record(CommandKind kind, uint32_t bank, Cycle now) {
    if (log)
      log->push_back({kind, bank, now});
  }
  static void raise(Cycle &earliest, Cycle time) {
    earliest = std::max(earliest, time);
  }
  /// What a column command does to the bank and its neighbours.
  void columnIssued(uint32_t bank, bool write, Cycle now);
  void countOccupancy(Cycle now) {
    count.occupancyClocks += queue.waiting() * (now - countedTo);
    countedTo = now;
  }
  void wakeAt(Cycle time) { wake = std::min(wake, time); }

  // Bursts that come alone.
  /// A burst that has come alone goes the way of all others.
  void joinQueue() {
    if (alone.count != 0)
      queueAlone();
  }
  void queueAlone();
  /// Issues the burst that has come alone; the first clock not gone through.
  Cycle issueAlone(std::vector<Completion> &done);

  // Refresh.
  void startRefreshes(Cycle now);
  bool issueRefresh(Cycle now);
  bool issueRefreshAll(Cycle now);
  bool issueRefreshBank(Cycle now);
  /// Skips refreshes of an idle channel whose effect later ones repeat.
  void skipRefreshes(Cycle now);
  Cycle refreshPeriod() const;

  bool consistent() const;

  const Timings t;
  const uint32_t ranksPerPseudo, groupsPerRank, banksPerGroup, banksPerRank;
  const uint32_t banksPerWord; ///< Looked at together; all of one rank.
  const uint32_t groupShift, rankShift; ///< From a bank's number.
  const bool refreshPerBank, closedPage;
  /// Of the write queue's entries: more than the first, fewer than the second.
  const uint32_t drainHigh, drainLow;

  RequestQueue queue;
  std::vector<Bank> banks;
  std::vector<BankCounters> bankCounts;
  std::vector<Cycle> groupActivate;
  std::array<std::vector<Cycle>, 2> groupColumn; ///< Reads, writes.
  std::vector<Rank> ranks;
  std::vector<uint8_t> lastDirection; ///< By pseudo-channel; 2: none yet.
  std::vector<uint32_t> refreshQueue; ///< Ranks that wait for their refresh.
  std::vector<uint8_t> dueBanks;      ///< Banks that wait for theirs.
  uint32_t dueCount = 0;
  /// By direction: until then a bank may have opened its row for the other
  /// direction only.
  std::array<Cycle, 2> rowsOpening{};
  Cycle nextRefresh = never, next = never;
  Cycle rowBusFree = 0, columnBusFree = 0;
  Cycle countedTo = 0; ///< Clock up to which occupancy is counted.
  bool writeMode = false;
  ChannelCounters count;
  Cycle wake = never; ///< Within a step: of refreshes.
  /// Before these clocks no column of an open row, no row's command (both of
  /// the queue that is served) and no column for which a row was opened can go.
  /// Every command only makes others later, but for what it says below, which
  /// lowers the bounds. They are no state: with 0 everything is looked at.
  Cycle columnBound = 0, rowBound = 0, activeBound = 0;
  bool turns = true; ///< nextMode() is another one, or may be.
  std::vector<Command> *log = nullptr;

  /// A burst that has come alone and of which nothing has been issued.
  struct Alone {
    static constexpr uint32_t mostAtoms = 16;
    std::array<Access, mostAlone> runs;
    uint32_t count = 0, atoms = 0;
    Cycle arrival = 0;
    /// What will be issued, in clocks after its arrival: a column of a run.
    struct Command {
      uint32_t clock, run;
      bool isLast; ///< Of its run.
    };
    std::array<Command, mostAtoms> commands{};

    /// Of what burst they are: each run's bank, as it differs from the first
    /// one's, and atoms.
    struct Shape {
      uint32_t bank = 0, atoms = 0;
    };
    std::array<Shape, mostAlone> planned;
    uint32_t plannedCount = 0;

    bool isPlanned() const;
    void plan(const Timings &t, uint32_t groupShift, uint32_t rankShift);
    Cycle last() const { return arrival + commands[atoms - 1].clock; }
    bool consistent(const RequestQueue &queue) const;
    template <typename A> void serialize(A &ar) {
      fields(ar, runs, count, atoms, arrival);
    }
  };
  Alone alone;
};

[[gnu::always_inline]] inline void
Channel::columnIssued(uint32_t bank, bool write, Cycle now) {
  record(write ? CommandKind::Write : CommandKind::Read, bank, now);
  Rank &rank = rankOf(bank);
  const uint32_t group = groupOf(bank);
  ++bankCounts[bank].accesses;
  raise(banks[bank].precharge,
        now + (write ? t.writeToPrecharge : t.readToPrecharge));
  raise(groupColumn[write][group], now + t.columnGroup);
  raise(rank.column[write], now + t.columnRank);
  if (write) {
    raise(groupColumn[false][group], now + t.writeToReadGroup);
    raise(rank.column[false], now + t.writeToReadRank);
  } else {
    raise(rank.column[true], now + t.readToWrite);
  }
  uint32_t pseudo = bank >> rankShift;
  if (ranksPerPseudo != 1) {
    pseudo /= ranksPerPseudo;
    for (uint32_t i = 0; i != ranksPerPseudo; ++i) {
      Rank &other = ranks[pseudo * ranksPerPseudo + i];
      if (&other == &rank)
        continue;
      raise(other.column[write], now + t.columnOtherRank);
      raise(other.column[!write],
            now + (write ? t.writeToReadOtherRank : t.readToWrite));
    }
  }

  if (lastDirection[pseudo] != write) {
    count.turnarounds += lastDirection[pseudo] != 2;
    lastDirection[pseudo] = write;
  }
  ++(write ? count.writes : count.reads);
  count.dataClocks += t.burst;
}

} // namespace tessera::sim::dram

#endif // TESSERA_SIM_MEMORY_DRAM_CHANNEL_H
