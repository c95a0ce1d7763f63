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
// them. What is known is kept as regular pieces (accesses of one cycle, one
// every so many), or else as the banks of each cycle, and looked at access by
// access only where another engine's are at the same time.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_BANKS_H
#define TESSERA_SIM_CORE_BANKS_H

#include "core/CycleBanks.h"
#include <array>
#include <functional>
#include <memory>

namespace tessera::sim {

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
  void passTo(Cycle now) {
    if (now >= firstForgotten)
      forget(now);
  }
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
    for (Track &track : tracks) {
      fields(ar, track);
      if constexpr (A::loading)
        for (const Piece &piece : track.pieces)
          if (piece.runs.length > layout.of(piece.space, piece.written).bits())
            ar.fail();
    }
    fields(ar, single);
    if constexpr (A::loading) {
      firstForgotten = 0;
      for (size_t u = 0; u < tracks.size(); ++u)
        noteFilled(u);
    }
  }

private:
  /// Accesses `first`, … of a pattern, of a cycle each, at `start`,
  /// start + pace, …
  struct Piece {
    EvenRuns runs;
    /// If they are no such runs.
    std::shared_ptr<const AccessPattern> pattern;
    isa::Space space{};
    bool written = false;
    uint64_t first = 0, count = 0;
    Cycle start = 0, pace = 1;
    Cycle end() const { return start + (count - 1) * pace + 1; }
    template <typename A> void serialize(A &ar);
  };
  /// A set of users, a bit each.
  using Users = uint64_t;
  static constexpr Users bitOf(size_t user) { return Users(1) << user; }
  /// Calls visit(track) for those of `users` who need anything, in order, until
  /// it is true; whether it was.
  template <typename Visit> bool anyFilled(Users users, Visit visit) const {
    for (users &= filled; users != 0; users &= users - 1)
      if (visit(tracks[size_t(std::countr_zero(users))]))
        return true;
    return false;
  }
  void noteFilled(size_t user) {
    const Track &track = tracks[user];
    Users bit = bitOf(user);
    bool empty = track.pieces.empty() && track.cycles.empty();
    filled = empty ? filled & ~bit : filled | bit;
  }
  void forget(Cycle now);
  /// In a cycle a user needs banks that it knows of access by access.
  void addCycle(BankUser user, Cycle cycle, const BankSet &banks);

  /// What one user needs.
  struct Track {
    explicit Track(size_t setWords) : cycles(setWords) {}
    std::deque<Piece> pieces; ///< In the order of their starts, and of ends.
    CycleBanks cycles;        ///< And what is in no piece.
    template <typename A> void serialize(A &ar) { fields(ar, pieces, cycles); }
  };
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

  /// `at` if no access of its own and none of these users needs any of these
  /// banks in it, else a later cycle before which one of them is needed all the
  /// time.
  Cycle takenUntil(Users users, Cycle at, const BankSet &banks) const;
  Cycle takenUntil(const Piece &piece, Cycle at, const BankSet &banks) const;
  /// Adds the banks of so many accesses of a piece, or all of its memory's if
  /// that would mean to look at many of them.
  void addBanks(const Piece &piece, uint64_t first, uint64_t count) const;
  /// How many of these accesses, `most` at most, need no bank that another user
  /// needs then, with `at` the first one's cycle. It may be more where that
  /// would take a closer look than at runs.
  uint64_t unhindered(std::span<const Part> parts,
                      std::span<const Piece> pieces, uint64_t first,
                      uint64_t most, Cycle at, Cycle pace) const;
  /// Of those of one piece, how many come before one that needs a bank of
  /// `other` in the same cycle.
  uint64_t before(const Piece &other, const Piece &mine, uint64_t first,
                  uint64_t most, Cycle at, Cycle pace) const;
  /// Whether these accesses need no bank that another user needs until `end`.
  bool beside(std::span<const Part> parts, std::span<const Piece> pieces,
              uint64_t first, uint64_t count, Cycle start, Cycle end) const;
  /// All accesses of a pattern, without times.
  static Piece pieceOf(const AccessPattern &pattern);
  void remember(BankUser user, Piece piece, uint64_t first, uint64_t count,
                Cycle start, Cycle pace);

  /// One group, cycle by cycle; returns the end of its last access.
  Cycle placeGroup(const LaneAccesses &lanes, uint64_t group, Cycle start);
  /// Many groups of simple accesses while nobody else is busy.
  void placeGroups(const LaneAccesses &lanes, uint64_t first, uint64_t count,
                   Cycle start, Cycle pace);

  std::vector<Track> tracks; ///< By BankUser.
  CycleBanks single;         ///< Accesses of their own.
  Users filled = 0;          ///< Whose track is not empty.
  Cycle firstForgotten = 0;  ///< Before then there is nothing to forget.
  /// By user: those that it and who are not `together`; and of these, those who
  /// may be in the same memory.
  std::vector<Users> others, nearby;
  std::array<Users, 3> usersIn{}; ///< Of spm, accRead, accWrite.

  // Scratch space.
  std::array<BankAccess, maxParts> mine;
  mutable BankAccess theirs;
  mutable std::vector<uint64_t> set;
  /// Of a group of lanes: its operands, and their cycles in the order in which
  /// they go on.
  struct Share {
    size_t operand;
    unsigned level;
  };
  std::vector<BankAccess> operands;
  std::array<std::vector<Share>, 2> shares; ///< Reads, writes.
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_BANKS_H
