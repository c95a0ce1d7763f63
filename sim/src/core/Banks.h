//===- Banks.h - Who uses which memory bank when ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule is in docs/timing.md, Memory banks: what is known first goes first.
// The accesses of a matrix or vector instruction are known when it starts, a
// burst's when it asks for the banks. They go around those that are known
// already, and their cycles are fixed then; nothing that comes later moves
// them. What is known is kept as regular pieces (an access every so many
// cycles), or as the banks of a cycle for bursts, and looked at access by
// access only where another engine's are at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_BANKS_H
#define TESSERA_SIM_CORE_BANKS_H

#include "core/Tensor.h"
#include "kernel/Clock.h"
#include "kernel/Serialize.h"
#include "tessera/Arch/Architecture.h"
#include <array>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace tessera::sim {

struct AccessPattern;

/// The banks of a core's memories, numbered in one row.
class BankLayout {
public:
  explicit BankLayout(const Architecture &arch);

  /// Of one memory.
  struct Memory {
    uint32_t first, count;
    uint32_t width; ///< Bytes of a word.
    /// Of powers of two, which most are: divisions are slow.
    std::optional<uint32_t> shift, mask;
    Memory(uint32_t first, uint32_t count, uint32_t width);
    uint64_t wordOf(uint64_t byte) const {
      return shift ? byte >> *shift : byte / width;
    }
    uint32_t bankOf(uint64_t word) const {
      return uint32_t(mask ? word & *mask : word % count);
    }
    /// Adds all of its banks to a set.
    void addAll(std::vector<uint64_t> &banks) const;
  };
  const Memory spm;
  /// A bank of the accumulators does one read and one write a cycle: two banks.
  const Memory accRead, accWrite;
  const Memory &of(isa::Space space, bool written) const {
    return space != isa::Space::Acc ? spm : written ? accWrite : accRead;
  }
  const Memory &of(const AccessPattern &pattern) const;
  /// 64-bit words of a set of banks.
  size_t setWords() const {
    return (accWrite.first + accWrite.count + 63) / 64;
  }
};

/// The words of one access, by bank: in its n-th cycle an access needs the
/// banks in which it has more than n words.
class BankAccess {
public:
  explicit BankAccess(const BankLayout &layout);

  /// To begin a new one, in one memory.
  void clear(isa::Space space = isa::Space::Spm, bool written = false) {
    memory = &layout.of(space, written);
    ranges.clear();
    ascending = true;
    levels = 0;
  }
  /// Adds bytes [low, high).
  void add(uint64_t low, uint64_t high);
  /// To be called after the last add(): the cycles that the access takes.
  unsigned cycles();
  /// The banks that it needs in its n-th cycle; none beyond the last.
  bool overlaps(unsigned n, const BankAccess &other, unsigned m) const;
  /// The same as a set of bits; empty if it needs none.
  std::vector<uint64_t> banksOf(unsigned n) const;
  /// Adds these to a set.
  void addBanks(unsigned n, std::vector<uint64_t> &banks) const {
    for (size_t i = 0; i < maskWords; ++i)
      banks[i] |= masks[n * maskWords + i];
  }
  unsigned numCycles() const { return levels; }
  bool isIn(const BankLayout::Memory &other) const { return memory == &other; }
  bool overlaps(unsigned n, const std::vector<uint64_t> &banksOfOther) const;
  /// Adds all banks that it needs to a set.
  void addBanks(std::vector<uint64_t> &banksOfMany) const {
    for (size_t i = 0; i < levels * maskWords; ++i)
      banksOfMany[i % maskWords] |= masks[i];
  }

private:
  struct Range {
    uint64_t first = 0, last = 0; ///< Words, inclusive.
  };
  void mark(const Range &range);
  void markIn(size_t maskWord, uint64_t bits);

  const BankLayout &layout;
  const BankLayout::Memory *memory;
  const size_t maskWords;
  std::vector<Range> ranges;
  bool ascending = true;       ///< The ranges, and they do not touch.
  std::vector<uint64_t> masks; ///< maskWords for each cycle.
  unsigned levels = 0;
};

/// A sequence of accesses to a tensor. Its dimensions are `outer` first, then
/// inner ones, both flattened row major; access i touches the outer indices
/// from outerFirst + i · outerStep, outerCount of them, and of each the inner
/// elements from innerFirst + i · innerStep, innerCount of them; what is beyond
/// the ends is left out.
struct AccessPattern {
  isa::Descriptor td;
  bool written = false; ///< Else read.
  uint8_t outer = 0;
  uint64_t outerFirst = 0, outerStep = 0, outerCount = 1, outerEnd = 1;
  uint64_t innerFirst = 0, innerStep = 0, innerCount = 1, innerEnd = 1;
  Runs innerRuns; ///< The inner dimensions alone.

  /// Sets outerEnd, innerEnd and innerRuns to the tensor's, from td and outer.
  void setEnds();
  void access(uint64_t i, BankAccess &result) const;
  /// How many of the accesses leave nothing out of the outer dimensions; those
  /// before the others.
  uint64_t wholeAccesses() const;
  /// True if every access is one run of bytes that takes one cycle.
  bool isSimple(const BankLayout &layout) const;
  /// Else it is of no memory, and only takes a port.
  bool isLocal() const {
    return td.space == isa::Space::Spm || td.space == isa::Space::Acc;
  }

  template <typename A> void serialize(A &ar) {
    fields(ar, td, written, outer, outerFirst, outerStep, outerCount, outerEnd,
           innerFirst, innerStep, innerCount, innerEnd);
    if constexpr (A::loading) {
      if (outer > isa::maxRank || td.rank > isa::maxRank || outer > td.rank)
        ar.fail();
      else
        setRuns();
    }
  }

private:
  void setRuns();
};

/// Who makes regular accesses. Those of a user's own engine do not disturb it,
/// but for a matrix engine's weights and rows. A further matrix engine has its
/// four users behind these.
enum class BankUser : uint8_t {
  Fill,
  MatrixA,
  MatrixB,
  MatrixAccRead,
  MatrixAccWrite,
  Vector,
  VectorDrain ///< A transpose drains a tile while it fills the next one.
};
inline constexpr unsigned numBankUsers = 7;
/// What a matrix engine does at once, in the order of its users.
enum class MatrixStream : uint8_t { Rows, Weights, Addends, Sums };
inline constexpr unsigned numMatrixStreams = 4;
constexpr BankUser matrixUser(unsigned engine, MatrixStream stream) {
  unsigned first = engine == 0 ? unsigned(BankUser::MatrixA)
                               : numBankUsers + numMatrixStreams * (engine - 1);
  return BankUser(first + unsigned(stream));
}

/// What a matrix engine makes for a block's rows: a row of `a` is read; the
/// sums that it adds to are read `readDelay` later, and written `writeDelay`
/// after the row was.
struct RowAccesses {
  unsigned engine = 0;
  AccessPattern rows;
  std::optional<AccessPattern> addends;
  AccessPattern sums;
  Cycle readDelay = 0, writeDelay = 0;
};

/// What a vector instruction that walks its operands side by side makes: access
/// i of each operand is that of the i-th group of lanes. What follows no
/// pattern and is in no memory takes a port for a cycle.
struct LaneAccesses {
  std::vector<AccessPattern> reads, writes;
  /// One more operand to read that follows no pattern: adds the bytes of a
  /// group.
  std::function<void(uint64_t group, BankAccess &access)> gathered;
  unsigned readPorts = 1, writePorts = 1;
  uint64_t groups = 0;
  Cycle work = 1; ///< Cycles that a group takes at least.
  BankUser user = BankUser::Vector;

  /// An operand of so many elements a group.
  static AccessPattern operand(const isa::Descriptor &td, uint64_t lanes,
                               bool written);
};

/// What a transpose makes: src [..., rows, columns] goes to dst [..., columns,
/// rows] in tiles, by rows of src into one of two buffers, and by rows of dst
/// out of it.
struct TileAccesses {
  isa::Descriptor src, dst;
  uint64_t side = 1; ///< Rows and columns of a tile at most.
  unsigned readPorts = 1, writePorts = 1;
};

/// The cycles of one access: its first, and the one after its last.
struct AccessCycles {
  Cycle first = 0, end = 0;
};

/// What a topk makes: values in blocks, and the results, side by side. Each has
/// groups of its own, one after the other.
struct SortAccesses {
  LaneAccesses values, results;
};

class Banks {
public:
  explicit Banks(const Architecture &arch);

  const BankLayout layout;

  /// Forgets what lies before `now`.
  void passTo(Cycle now);
  void clear();

  /// Makes `count` accesses from `start` on, one every `pace` cycles or later;
  /// returns the end of the last one's `pace` cycles.
  Cycle place(BankUser user, const AccessPattern &pattern, uint64_t count,
              Cycle start, Cycle pace) {
    const Part part{user, &pattern, 0};
    return place({&part, 1}, count, start, pace);
  }
  /// The same of rows; in each cycle all of a row's banks or none.
  Cycle place(const RowAccesses &rows, uint64_t count, Cycle start, Cycle pace);
  /// Makes the accesses of all groups, one group after the other; returns the
  /// end of the last one.
  Cycle place(const LaneAccesses &lanes, Cycle start);
  /// Fills and drains all tiles; returns the end of the last drain.
  Cycle place(const TileAccesses &tiles, Cycle start);
  /// Reads all values and writes all results; returns the end of the later.
  Cycle place(const SortAccesses &sort, Cycle start);
  /// Makes an access of its own, in the first cycles from `start` on in which
  /// nobody needs its banks.
  AccessCycles place(const BankAccess &access, Cycle start);
  /// The first cycle from `from` on in which another engine than that of
  /// `user`, or the matrix engine's other stream, has something; `never` if
  /// there is none.
  Cycle othersBusy(BankUser user, Cycle from) const;

  template <typename A> void serialize(A &ar) {
    size_t users = tracks.size();
    fields(ar, tracks, single);
    if constexpr (A::loading) {
      if (tracks.size() != users)
        ar.fail();
      tracks.resize(users);
      for (const Track &track : tracks)
        for (const Piece &piece : track)
          if (!piece.banks.empty() && piece.banks.size() != layout.setWords())
            ar.fail();
      for (const CycleBanks &cycle : single)
        if (cycle.banks.size() != layout.setWords())
          ar.fail();
    }
  }

private:
  /// Accesses `first`, … of a pattern, at `start`, start + pace, …; or one
  /// cycle of one access, its `level`-th.
  struct Piece {
    AccessPattern pattern;
    std::vector<uint64_t> banks; ///< If it follows no pattern: all it needs.
    uint64_t first = 0, count = 0;
    Cycle start = 0, pace = 1;
    unsigned level = 0;
    Cycle end() const { return start + (count - 1) * pace + 1; }
    template <typename A> void serialize(A &ar) {
      fields(ar, pattern, banks, first, count, start, pace, level);
      if constexpr (A::loading)
        if (count == 0 || pace == 0)
          ar.fail();
    }
  };
  /// In the order of their starts, and of their ends.
  using Track = std::deque<Piece>;
  /// One of several patterns whose accesses belong together, so many cycles
  /// later than the first one's.
  struct Part {
    BankUser user;
    const AccessPattern *pattern;
    Cycle delay;
  };
  static constexpr size_t maxParts = 3;
  Cycle place(std::span<const Part> parts, uint64_t count, Cycle start,
              Cycle pace);

  /// What accesses of their own need in a cycle.
  struct CycleBanks {
    Cycle at = 0;
    std::vector<uint64_t> banks;
    template <typename A> void serialize(A &ar) { fields(ar, at, banks); }
  };

  bool taken(BankUser user, Cycle at, const BankAccess &access,
             unsigned level) const {
    return takenUntil(user, at, access, level) != at;
  }
  /// `at` if nobody but `user` needs any of these banks in it, else a later
  /// cycle before which one of them is needed all the time. No user: an access
  /// of its own.
  Cycle takenUntil(std::optional<BankUser> user, Cycle at,
                   const BankAccess &access, unsigned level) const;
  /// How many of so many accesses need different banks, if these are few; they
  /// are the first ones, and the rest repeats them.
  std::optional<uint64_t> distinct(const AccessPattern &pattern,
                                   uint64_t count) const;
  /// Adds the banks of so many accesses of a pattern, or all of its memory's if
  /// that would mean to look at many of them.
  void addBanks(const AccessPattern &pattern, uint64_t first, uint64_t count,
                std::vector<uint64_t> &banks) const;
  /// Whether these accesses need no bank that another user needs until `end`.
  bool beside(std::span<const Part> parts, uint64_t first, uint64_t count,
              Cycle start, Cycle end) const;
  /// Beyond so many pieces of a user, what it does disturbs nobody.
  static constexpr size_t maxPieces = size_t(1) << 16;
  void remember(BankUser user, Piece piece) {
    Track &track = tracks[size_t(user)];
    if (track.size() < maxPieces)
      track.push_back(std::move(piece));
  }

  /// One group, cycle by cycle; returns the end of its last access.
  Cycle placeGroup(const LaneAccesses &lanes, uint64_t group, Cycle start);
  /// Many groups of simple accesses while nobody else is busy.
  void placeGroups(const LaneAccesses &lanes, uint64_t first, uint64_t count,
                   Cycle start, Cycle pace);

  std::vector<Track> tracks;                            ///< By BankUser.
  std::deque<CycleBanks> single;                        ///< In order.
  std::vector<std::vector<uint64_t>> spareBanks;        ///< Storage of theirs.
  std::array<BankAccess, maxParts> mine;                ///< Scratch space.
  mutable BankAccess theirs;                            ///< Scratch space.
  mutable std::vector<uint64_t> mineOfAll, theirsOfAll; ///< Scratch space.
  std::vector<BankAccess> operands;                     ///< Scratch space.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_BANKS_H
