//===- Banks.cpp - Who uses which memory bank when --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Banks.h"

namespace tessera::sim {

static constexpr Cycle noCycle = CycleBanks::none;

/// A matrix engine's user: its number among all engines' streams.
static std::optional<unsigned> matrixStream(size_t user) {
  constexpr unsigned first = unsigned(BankUser::MatrixA);
  if (user >= numBankUsers)
    return numMatrixStreams + unsigned(user) - numBankUsers;
  if (user >= first && user < first + numMatrixStreams)
    return unsigned(user) - first;
  return std::nullopt;
}

/// Whether two users do not disturb each other.
static bool together(size_t a, size_t b) {
  std::optional<unsigned> streamA = matrixStream(a), streamB = matrixStream(b);
  if (streamA && streamB) {
    if (*streamA / numMatrixStreams != *streamB / numMatrixStreams)
      return false;
    // Of an engine's streams only rows and weights share a memory.
    auto kind = [](unsigned s) { return MatrixStream(s % numMatrixStreams); };
    MatrixStream x = kind(*streamA), y = kind(*streamB);
    return !(x == MatrixStream::Rows && y == MatrixStream::Weights) &&
           !(x == MatrixStream::Weights && y == MatrixStream::Rows);
  }
  auto isVector = [](size_t user) {
    return BankUser(user) == BankUser::Vector ||
           BankUser(user) == BankUser::VectorDrain;
  };
  return a == b || (isVector(a) && isVector(b));
}

/// Whether a user may need banks of a memory: a matrix engine's streams are in
/// one each.
static bool mayBeIn(const BankLayout &layout, size_t user,
                    const BankLayout::Memory &memory) {
  std::optional<unsigned> stream = matrixStream(user);
  if (!stream)
    return true;
  switch (MatrixStream(*stream % numMatrixStreams)) {
  case MatrixStream::Rows:
  case MatrixStream::Weights:
    return &memory == &layout.spm;
  case MatrixStream::Addends:
    return &memory == &layout.accRead;
  case MatrixStream::Sums:
    return &memory == &layout.accWrite;
  }
  return true;
}

Banks::Banks(const Architecture &arch)
    : layout(arch),
      tracks(numBankUsers +
                 numMatrixStreams * (std::max(1u, arch.matrix.count) - 1),
             Track(layout.setWords())),
      single(layout.setWords()), others(tracks.size()), nearby(tracks.size()),
      mine{BankAccess(layout), BankAccess(layout), BankAccess(layout)},
      theirs(layout), set(layout.setWords()) {
  assert(tracks.size() <= 64 && "a bit each");
  const BankLayout::Memory *memories[] = {&layout.spm, &layout.accRead,
                                          &layout.accWrite};
  for (size_t user = 0; user < tracks.size(); ++user)
    for (size_t other = 0; other < tracks.size(); ++other) {
      if (together(other, user))
        continue;
      others[user] |= bitOf(other);
      for (const BankLayout::Memory *memory : memories)
        if (mayBeIn(layout, user, *memory) && mayBeIn(layout, other, *memory))
          nearby[user] |= bitOf(other);
    }
  for (size_t user = 0; user < tracks.size(); ++user)
    for (const BankLayout::Memory *memory : memories)
      if (mayBeIn(layout, user, *memory))
        usersIn[memory->number] |= bitOf(user);
}

void Banks::forget(Cycle now) {
  firstForgotten = noCycle;
  for (size_t user = 0; user < tracks.size(); ++user) {
    Track &t = tracks[user];
    while (!t.pieces.empty() && t.pieces.front().end() <= now)
      t.pieces.pop_front();
    t.cycles.passTo(now);
    noteFilled(user);
    if (!t.pieces.empty())
      firstForgotten = std::min(firstForgotten, t.pieces.front().end());
    firstForgotten = std::min(firstForgotten, t.cycles.firstForgotten());
  }
  single.passTo(now);
  firstForgotten = std::min(firstForgotten, single.firstForgotten());
}

void Banks::clear() {
  for (Track &t : tracks)
    t.pieces.clear(), t.cycles.clear();
  single.clear();
  filled = 0;
}

template <typename A> void Banks::Piece::serialize(A &ar) {
  bool even = !pattern;
  fields(ar, even, space, written, first, count, start, pace);
  if (even) {
    fields(ar, runs);
  } else {
    AccessPattern copy;
    if constexpr (!A::loading)
      copy = *pattern;
    fields(ar, copy);
    if constexpr (A::loading)
      pattern = std::make_shared<AccessPattern>(copy);
  }
  if constexpr (A::loading)
    if (count == 0 || pace == 0)
      ar.fail();
}
template void Banks::Piece::serialize(Saver &);
template void Banks::Piece::serialize(Loader &);

Banks::Piece Banks::pieceOf(const AccessPattern &pattern) {
  Piece piece;
  piece.space = pattern.td.space;
  piece.written = pattern.written;
  if (std::optional<EvenRuns> runs = pattern.evenRuns())
    piece.runs = *runs;
  else
    piece.pattern = std::make_shared<AccessPattern>(pattern);
  return piece;
}

void Banks::remember(BankUser user, Piece piece, uint64_t first, uint64_t count,
                     Cycle start, Cycle pace) {
  piece.first = first, piece.count = count;
  piece.start = start, piece.pace = pace;
  firstForgotten = std::min(firstForgotten, piece.end());
  filled |= bitOf(size_t(user));
  tracks[size_t(user)].pieces.push_back(std::move(piece));
}

void Banks::addCycle(BankUser user, Cycle cycle, const BankSet &banks) {
  CycleBanks &cycles = tracks[size_t(user)].cycles;
  cycles.add(cycle, banks);
  firstForgotten = std::min(firstForgotten, cycles.firstForgotten());
  filled |= bitOf(size_t(user));
}

//===----------------------------------------------------------------------===//
// Who else needs a bank
//===----------------------------------------------------------------------===//

/// The first piece that ends after `at`.
template <typename Pieces>
static auto firstAfter(const Pieces &pieces, Cycle at) {
  if (pieces.empty() || pieces.front().end() > at) // time has come there
    return pieces.begin();
  return std::partition_point(
      pieces.begin(), pieces.end(),
      [at](const auto &piece) { return piece.end() <= at; });
}

Cycle Banks::othersBusy(BankUser user, Cycle from) const {
  Cycle busy = single.firstFrom(from);
  anyFilled(others[size_t(user)], [&](const Track &track) {
    auto piece = firstAfter(track.pieces, from);
    if (piece != track.pieces.end())
      busy = std::min(busy, std::max(from, piece->start));
    busy = std::min(busy, track.cycles.firstFrom(from));
    return false;
  });
  return busy;
}

Cycle Banks::takenUntil(const Piece &piece, Cycle at,
                        const BankSet &banks) const {
  uint64_t number = at - piece.start;
  if (piece.pace != 1) {
    if (number % piece.pace != 0)
      return at;
    number /= piece.pace;
  }
  uint64_t i = piece.first + number;
  if (piece.pattern) {
    piece.pattern->access(i, theirs);
    theirs.cycles();
    return overlap(banks, theirs.banks(0)) ? at + 1 : at;
  }
  EvenRuns::Bytes bytes = piece.runs.bytes(i);
  if (bytes.low >= bytes.high)
    return at;
  const BankLayout::Memory &memory = layout.of(piece.space, piece.written);
  bool taken =
      memory.anyPart(memory.wordOf(bytes.low), memory.wordOf(bytes.high - 1),
                     [&](size_t index, uint64_t bits) {
                       return (banks.word(index) & bits) != 0;
                     });
  if (!taken)
    return at;
  // A stream that stays in its banks is passed at once.
  if (piece.pace == 1 && piece.runs.sets(memory) == 1)
    return piece.start + std::min(piece.count, piece.runs.count - piece.first);
  return at + 1;
}

Cycle Banks::takenUntil(Users users, Cycle at, const BankSet &banks) const {
  if (overlap(banks, single.at(at)))
    return at + 1;
  Cycle until = at;
  anyFilled(users, [&](const Track &track) {
    if (overlap(banks, track.cycles.at(at))) {
      until = at + 1;
      return true;
    }
    auto piece = firstAfter(track.pieces, at);
    for (; piece != track.pieces.end() && piece->start <= at; ++piece)
      if (until = takenUntil(*piece, at, banks); until != at)
        return true;
    return false;
  });
  return until;
}

void Banks::addBanks(const Piece &piece, uint64_t first, uint64_t count) const {
  constexpr uint64_t most = 8;
  const BankLayout::Memory &memory = layout.of(piece.space, piece.written);
  uint64_t few = count;
  if (!piece.pattern)
    few = std::min(few, piece.runs.sets(memory));
  auto add = [this](size_t index, uint64_t bits) {
    set[index] |= bits;
    return false;
  };
  if (few > most) {
    memory.anyPart(0, memory.count - 1, add);
    return;
  }
  for (uint64_t i = first; i < first + few; ++i) {
    if (piece.pattern) {
      piece.pattern->access(i, theirs);
      theirs.cycles();
      unite(set, theirs.banks(0));
    } else if (EvenRuns::Bytes b = piece.runs.bytes(i); b.low < b.high) {
      memory.anyPart(memory.wordOf(b.low), memory.wordOf(b.high - 1), add);
    }
  }
}

bool Banks::beside(std::span<const Part> parts, std::span<const Piece> pieces,
                   uint64_t first, uint64_t count, Cycle start,
                   Cycle end) const {
  for (const Part &part : parts)
    end = std::max(end, end + part.delay);
  std::fill(set.begin(), set.end(), 0);
  for (const Piece &piece : pieces)
    addBanks(piece, first, count);
  std::vector<uint64_t> needed = set;
  std::fill(set.begin(), set.end(), 0);
  anyFilled(others[size_t(parts[0].user)], [&](const Track &track) {
    auto piece = firstAfter(track.pieces, start);
    for (; piece != track.pieces.end() && piece->start < end; ++piece)
      addBanks(*piece, piece->first, piece->count);
    track.cycles.addAll(start, end, set);
    return false;
  });
  single.addAll(start, end, set);
  return !overlap({0, needed}, {0, set});
}

/// Whether two runs of words, of at most all banks each, have a bank in common.
static bool meet(const BankLayout::Memory &memory, EvenRuns::Bytes a,
                 EvenRuns::Bytes b) {
  if (a.low >= a.high || b.low >= b.high)
    return false;
  uint64_t firstA = memory.wordOf(a.low), firstB = memory.wordOf(b.low);
  uint64_t wordsA = memory.wordOf(a.high - 1) - firstA,
           wordsB = memory.wordOf(b.high - 1) - firstB;
  uint32_t bankA = memory.bankOf(firstA), bankB = memory.bankOf(firstB);
  uint32_t ahead =
      bankB >= bankA ? bankB - bankA : bankB + memory.count - bankA;
  return ahead <= wordsA || memory.count - ahead <= wordsB;
}

uint64_t Banks::before(const Piece &other, const Piece &mine, uint64_t first,
                       uint64_t most, Cycle at, Cycle pace) const {
  const BankLayout::Memory &memory = layout.of(mine.space, mine.written);
  if (&memory != &layout.of(other.space, other.written))
    return most;
  uint64_t i = other.start > at ? ceilDiv(other.start - at, pace) : 0;
  if (other.pattern)
    return std::min(most, i);
  for (Cycle end = other.end(); i < most && at + i * pace < end; ++i) {
    uint64_t number = at + i * pace - other.start;
    if (other.pace != 1 && number % other.pace != 0)
      continue;
    if (meet(memory, mine.runs.bytes(first + i),
             other.runs.bytes(other.first + number / other.pace)))
      return i;
  }
  return most;
}

uint64_t Banks::unhindered(std::span<const Part> parts,
                           std::span<const Piece> pieces, uint64_t first,
                           uint64_t most, Cycle at, Cycle pace) const {
  for (size_t p = 0; p < parts.size(); ++p) {
    if (pieces[p].pattern)
      return 0;
    Cycle from = at + parts[p].delay;
    auto until = [&](Cycle busy) {
      if (busy != noCycle)
        most = std::min(most, ceilDiv(busy - from, pace));
    };
    until(single.firstFrom(from));
    anyFilled(nearby[size_t(parts[p].user)], [&](const Track &track) {
      until(track.cycles.firstFrom(from));
      auto piece = firstAfter(track.pieces, from);
      for (; piece != track.pieces.end() && piece->start < from + most * pace;
           ++piece)
        most = before(*piece, pieces[p], first, most, from, pace);
      return most == 0;
    });
  }
  return most;
}

//===----------------------------------------------------------------------===//
// Streams and single accesses
//===----------------------------------------------------------------------===//

Cycle Banks::place(const RowAccesses &rows, uint64_t count, Cycle start,
                   Cycle pace) {
  const std::array<Part, maxParts> parts = {
      Part{matrixUser(rows.engine, MatrixStream::Rows), &rows.rows, 0},
      Part{matrixUser(rows.engine, MatrixStream::Sums), &rows.sums,
           rows.writeDelay},
      Part{matrixUser(rows.engine, MatrixStream::Addends),
           rows.addends ? &*rows.addends : nullptr, rows.readDelay}};
  return place({parts.data(), rows.addends ? 3u : 2u}, count, start, pace);
}

Cycle Banks::place(std::span<const Part> parts, uint64_t count, Cycle start,
                   Cycle pace) {
  // All parts have the same times, each by its delay later.
  uint64_t first = 0, accesses = 0;
  Cycle begin = 0, latest = 0;
  bool simple = true;
  std::array<Piece, maxParts> pieces;
  for (size_t p = 0; p < parts.size(); ++p) {
    simple &= parts[p].pattern->isSimple(layout);
    latest = std::max(latest, parts[p].delay);
    pieces[p] = pieceOf(*parts[p].pattern);
  }
  auto flush = [&] {
    for (size_t p = 0; p < parts.size() && accesses > 0; ++p)
      remember(parts[p].user, pieces[p], first, accesses,
               begin + parts[p].delay, pace);
    accesses = 0;
  };
  auto extend = [&](uint64_t i, uint64_t more, Cycle at) {
    if (accesses > 0 && begin + accesses * pace != at)
      flush();
    if (accesses == 0)
      first = i, begin = at;
    accesses += more;
  };
  bool mayPass = simple;
  // As many as are looked at together; more if none of them was in the way.
  constexpr uint64_t leastAhead = 8;
  uint64_t ahead = leastAhead;
  Cycle at = start;
  for (uint64_t i = 0; i < count;) {
    uint64_t left = count - i;
    if (simple) {
      Cycle busy = othersBusy(parts[0].user, at);
      if (busy > at + latest) {
        uint64_t n = busy == noCycle
                         ? left
                         : std::min(left, (busy - latest - at - 1) / pace + 1);
        extend(i, n, at);
        at += n * pace;
        i += n;
        continue;
      }
    }
    if (mayPass) {
      // All that are left at once, if they lie in banks that nobody else needs.
      if (beside(parts, std::span(pieces).first(parts.size()), i, left, at,
                 at + left * pace)) {
        extend(i, left, at);
        at += left * pace;
        break;
      }
      mayPass = false;
    }
    if (simple) {
      uint64_t most = std::min(left, ahead);
      uint64_t n = unhindered(parts, std::span(pieces).first(parts.size()), i,
                              most, at, pace);
      ahead = n == most ? 2 * ahead : leastAhead;
      if (n != 0) {
        extend(i, n, at);
        at += n * pace;
        i += n;
        continue;
      }
    }
    std::array<unsigned, maxParts> cycles{};
    unsigned most = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      parts[p].pattern->access(i, mine[p]);
      cycles[p] = mine[p].cycles();
      most = std::max(most, cycles[p]);
    }
    // The last cycles of all parts belong together, but for `a`: a row can add
    // nothing before it is there.
    auto levelOf = [&](size_t p, unsigned n) {
      return p == 0 ? n : n - (most - cycles[p]);
    };
    Cycle next = at, rowBegin = at;
    for (unsigned n = 0; n < most; ++n, ++next) {
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t p = 0; p < parts.size(); ++p) {
          unsigned level = levelOf(p, n); // wraps round before its first
          if (level >= cycles[p])
            continue;
          Cycle mineAt = next + parts[p].delay,
                free = takenUntil(nearby[size_t(parts[p].user)], mineAt,
                                  mine[p].banks(level));
          next += free - mineAt;
          moved |= free != mineAt;
        }
      }
      if (n == 0)
        rowBegin = next;
      if (most == 1) {
        extend(i, 1, next);
        continue;
      }
      for (size_t p = 0; p < parts.size(); ++p)
        if (unsigned level = levelOf(p, n); level < cycles[p])
          addCycle(parts[p].user, next + parts[p].delay, mine[p].banks(level));
    }
    at = std::max(next, rowBegin + pace);
    ++i;
  }
  flush();
  return at;
}

AccessCycles Banks::place(const BankAccess &access, Cycle start) {
  Cycle at = start, first = start;
  Users users = usersIn[access.memoryNumber()];
  for (unsigned level = 0; level < access.numCycles(); ++level, ++at) {
    BankSet banks = access.banks(level);
    for (Cycle until = at; (until = takenUntil(users, at, banks)) != at;)
      at = until;
    if (level == 0)
      first = at;
    single.add(at, banks);
    firstForgotten = std::min(firstForgotten, single.firstForgotten());
  }
  return {first, at};
}

} // namespace tessera::sim
