//===- Banks.cpp - Who uses which memory bank when --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/Banks.h"
#include <algorithm>
#include <bit>
#include <numeric>

namespace tessera::sim {

//===----------------------------------------------------------------------===//
// One access
//===----------------------------------------------------------------------===//

BankLayout::Memory::Memory(uint32_t first, uint32_t count, uint32_t width)
    : first(first), count(std::max(1u, count)), width(std::max(1u, width)) {
  if (std::has_single_bit(this->width))
    shift = uint32_t(std::countr_zero(this->width));
  if (std::has_single_bit(this->count))
    mask = this->count - 1;
}

void BankLayout::Memory::addAll(std::vector<uint64_t> &banks) const {
  for (uint32_t bank = first; bank < first + count; ++bank)
    banks[bank / 64] |= uint64_t(1) << bank % 64;
}

const BankLayout::Memory &BankLayout::of(const AccessPattern &pattern) const {
  return of(pattern.td.space, pattern.written);
}

BankLayout::BankLayout(const Architecture &arch)
    : spm(0, arch.spm.banks, arch.spm.bankWidth),
      accRead(spm.count, arch.acc.banks, arch.matrix.cols * 4),
      accWrite(accRead.first + accRead.count, arch.acc.banks,
               arch.matrix.cols * 4) {}

BankAccess::BankAccess(const BankLayout &layout)
    : layout(layout), memory(&layout.spm), maskWords(layout.setWords()) {}

void BankAccess::add(uint64_t low, uint64_t high) {
  if (low >= high)
    return;
  Range range{memory->wordOf(low), memory->wordOf(high - 1)};
  if (!ranges.empty()) {
    // Most come in order; a word that several runs share is read once.
    Range &back = ranges.back();
    if (range.first >= back.first && range.first <= back.last + 1) {
      back.last = std::max(back.last, range.last);
      return;
    }
    ascending &= range.first > back.last;
  }
  ranges.push_back(range);
}

unsigned BankAccess::cycles() {
  masks.clear();
  levels = 0;
  if (!ascending) {
    std::sort(ranges.begin(), ranges.end(),
              [](const Range &a, const Range &b) { return a.first < b.first; });
    size_t merged = 0;
    for (size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first <= ranges[merged].last)
        ranges[merged].last = std::max(ranges[merged].last, ranges[i].last);
      else
        ranges[++merged] = ranges[i];
    ranges.resize(merged + 1);
    ascending = true;
  }
  for (const Range &range : ranges)
    mark(range);
  return levels;
}

/// Every word goes into the first cycle in which its bank is free: a bank is
/// needed in as many of the first cycles as it has words.
void BankAccess::mark(const Range &range) {
  for (uint64_t word = range.first; word <= range.last;) {
    uint32_t bank = memory->bankOf(word), place = memory->first + bank;
    uint32_t bit = place % 64;
    uint64_t count = std::min<uint64_t>(
        std::min(64 - bit, memory->count - bank), range.last - word + 1);
    uint64_t bits = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1)
                    << bit;
    markIn(place / 64, bits);
    word += count;
  }
}

void BankAccess::markIn(size_t maskWord, uint64_t bits) {
  for (unsigned level = 0; bits != 0; ++level) {
    if (level == levels) {
      masks.resize(masks.size() + maskWords);
      ++levels;
    }
    uint64_t &mask = masks[level * maskWords + maskWord];
    uint64_t again = mask & bits;
    mask |= bits;
    bits = again;
  }
}

bool BankAccess::overlaps(unsigned n, const BankAccess &other,
                          unsigned m) const {
  if (n >= levels || m >= other.levels)
    return false;
  const uint64_t *mine = masks.data() + n * maskWords;
  const uint64_t *theirs = other.masks.data() + m * maskWords;
  uint64_t both = 0;
  for (size_t i = 0; i < maskWords; ++i)
    both |= mine[i] & theirs[i];
  return both != 0;
}

std::vector<uint64_t> BankAccess::banksOf(unsigned n) const {
  if (n >= levels)
    return {};
  auto first = masks.begin() + long(n * maskWords);
  return {first, first + long(maskWords)};
}

bool BankAccess::overlaps(unsigned n,
                          const std::vector<uint64_t> &banksOfOther) const {
  for (size_t i = 0; n < levels && i < maskWords; ++i)
    if (masks[n * maskWords + i] & banksOfOther[i])
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

void AccessPattern::setEnds() {
  outerEnd = innerEnd = 1;
  for (unsigned d = 0; d < td.rank; ++d)
    (d < outer ? outerEnd : innerEnd) *= td.extents[d];
  setRuns();
}

void AccessPattern::setRuns() {
  isa::Descriptor inner = td;
  for (unsigned d = 0; d < outer; ++d)
    inner.extents[d] = 1;
  innerRuns = Runs(inner);
}

static int64_t outerOffset(const isa::Descriptor &td, unsigned outer,
                           uint64_t index) {
  if (outer == 0)
    return 0;
  uint64_t offset = 0;
  for (unsigned d = outer - 1; d != 0; --d) {
    offset += uint64_t(td.strides[d]) * (index % td.extents[d]);
    index /= td.extents[d];
  }
  return int64_t(offset + uint64_t(td.strides[0]) * index);
}

void AccessPattern::access(uint64_t i, BankAccess &result) const {
  result.clear(td.space, written);
  const Runs &runs = innerRuns;
  uint64_t bits = bitWidth(td.format);
  uint64_t from = innerFirst + i * innerStep,
           to = std::min(from + innerCount, innerEnd);
  uint64_t row = outerFirst + i * outerStep,
           lastRow = std::min(row + outerCount, outerEnd);
  if (from >= to)
    return;
  const uint64_t firstRun = from / runs.runElements,
                 firstWithin = from - firstRun * runs.runElements;
  // An element that repeats is the same word again.
  const uint64_t repeats =
      runs.runElements == 1 && runs.dims > 0 && runs.strides[runs.dims - 1] == 0
          ? runs.extents[runs.dims - 1]
          : 0;
  for (; row < lastRow; ++row) {
    int64_t base = outerOffset(td, outer, row);
    uint64_t run = firstRun, within = firstWithin;
    for (uint64_t at = from; at < to; within = 0) {
      uint64_t take = std::min(runs.runElements - within, to - at);
      int64_t offset =
          runs.dims == 1 ? runs.strides[0] * int64_t(run) : runs.offset(run);
      int64_t element = base + offset + int64_t(within);
      uint64_t low = td.base * 8 + uint64_t(element) * bits;
      result.add(low / 8, (low + take * bits + 7) / 8);
      at += take;
      ++run;
      if (repeats != 0) {
        at = std::min(to, (at + repeats - 1) / repeats * repeats);
        run = at;
      }
    }
  }
}

uint64_t AccessPattern::wholeAccesses() const {
  if (outerFirst + outerCount > outerEnd)
    return 0;
  uint64_t left = outerEnd - outerFirst - outerCount;
  return outerStep == 0 ? ~uint64_t(0) : left / outerStep + 1;
}

bool AccessPattern::isSimple(const BankLayout &layout) const {
  if (!isLocal())
    return true;
  const Runs &runs = innerRuns;
  // Every access lies within one run if the runs are of whole accesses.
  bool oneRun = runs.count == 1 ||
                (runs.runElements % innerCount == 0 &&
                 innerFirst % innerCount == 0 && innerStep % innerCount == 0);
  const BankLayout::Memory &memory = layout.of(*this);
  uint64_t most = uint64_t(memory.count - 1) * memory.width + 1;
  return oneRun && outerCount == 1 &&
         innerCount * bitWidth(td.format) <= most * 8;
}

//===----------------------------------------------------------------------===//
// The schedule
//===----------------------------------------------------------------------===//

static constexpr Cycle noCycle = ~Cycle(0);

Banks::Banks(const Architecture &arch)
    : layout(arch),
      tracks(numBankUsers +
             numMatrixStreams * (std::max(1u, arch.matrix.count) - 1)),
      mine{BankAccess(layout), BankAccess(layout), BankAccess(layout)},
      theirs(layout) {}

void Banks::passTo(Cycle now) {
  for (Track &t : tracks)
    while (!t.empty() && t.front().end() <= now)
      t.pop_front();
  for (; !single.empty() && single.front().at < now; single.pop_front())
    spareBanks.push_back(std::move(single.front().banks));
}

void Banks::clear() {
  for (Track &t : tracks)
    t.clear();
  single.clear();
}

/// The first piece that ends after `at`: mostly the front, as what is over is
/// forgotten.
template <typename Track> static auto firstAfter(const Track &track, Cycle at) {
  if (track.empty() || track.front().end() > at)
    return track.begin();
  return std::partition_point(
      track.begin(), track.end(),
      [at](const auto &piece) { return piece.end() <= at; });
}

/// The first single one at or after `at`.
template <typename Singles> static auto singleFrom(Singles &singles, Cycle at) {
  if (singles.empty() || singles.back().at < at)
    return singles.end();
  return std::partition_point(
      singles.begin(), singles.end(),
      [at](const auto &single) { return single.at < at; });
}

static bool isVector(BankUser user) {
  return user == BankUser::Vector || user == BankUser::VectorDrain;
}
/// A matrix engine's user: its number among all engines' streams.
static std::optional<unsigned> matrixStream(unsigned user) {
  constexpr unsigned first = unsigned(BankUser::MatrixA);
  if (user >= numBankUsers)
    return numMatrixStreams + user - numBankUsers;
  if (user >= first && user < first + numMatrixStreams)
    return user - first;
  return std::nullopt;
}

/// Whether two users do not disturb each other.
static bool together(unsigned a, std::optional<BankUser> b) {
  if (!b)
    return false;
  BankUser other = BankUser(a);
  std::optional<unsigned> streamA = matrixStream(a),
                          streamB = matrixStream(unsigned(*b));
  if (streamA && streamB) {
    if (*streamA / numMatrixStreams != *streamB / numMatrixStreams)
      return false;
    // Of an engine's streams only rows and weights share a memory.
    auto kind = [](unsigned s) { return MatrixStream(s % numMatrixStreams); };
    MatrixStream x = kind(*streamA), y = kind(*streamB);
    return !(x == MatrixStream::Rows && y == MatrixStream::Weights) &&
           !(x == MatrixStream::Weights && y == MatrixStream::Rows);
  }
  return other == *b || (isVector(other) && isVector(*b));
}

Cycle Banks::othersBusy(BankUser user, Cycle from) const {
  Cycle busy = noCycle;
  for (unsigned u = 0; u < tracks.size(); ++u) {
    if (together(u, user))
      continue;
    auto piece = firstAfter(tracks[u], from);
    if (piece != tracks[u].end())
      busy = std::min(busy, std::max(from, piece->start));
  }
  auto cycle = singleFrom(single, from);
  return cycle == single.end() ? busy : std::min(busy, cycle->at);
}

Cycle Banks::takenUntil(std::optional<BankUser> user, Cycle at,
                        const BankAccess &access, unsigned level) const {
  for (unsigned u = 0; u < tracks.size(); ++u) {
    if (together(u, user))
      continue;
    auto piece = firstAfter(tracks[u], at);
    for (; piece != tracks[u].end() && piece->start <= at; ++piece) {
      if ((at - piece->start) % piece->pace != 0)
        continue;
      if (!piece->banks.empty()) {
        if (access.overlaps(level, piece->banks))
          return at + 1;
        continue;
      }
      if (!access.isIn(layout.of(piece->pattern)))
        continue;
      uint64_t number = (at - piece->start) / piece->pace;
      piece->pattern.access(piece->first + number, theirs);
      theirs.cycles();
      if (!access.overlaps(level, theirs, piece->level))
        continue;
      // A stream that stays in its banks is passed at once.
      uint64_t whole = piece->pattern.wholeAccesses();
      if (piece->pace == 1 && piece->count - number > 1 &&
          piece->first + number < whole &&
          distinct(piece->pattern, piece->count) == 1)
        return std::min(piece->end(), piece->start + (whole - piece->first));
      return at + 1;
    }
  }
  auto cycle = singleFrom(single, at);
  bool needed = cycle != single.end() && cycle->at == at &&
                access.overlaps(level, cycle->banks);
  return needed ? at + 1 : at;
}

std::optional<uint64_t> Banks::distinct(const AccessPattern &pattern,
                                        uint64_t count) const {
  // Rows a fixed distance apart come back to the same banks.
  constexpr uint64_t most = 8;
  const isa::Descriptor &td = pattern.td;
  unsigned dim = 0, dims = 0;
  for (unsigned d = 0; d < pattern.outer; ++d)
    if (td.extents[d] > 1)
      dim = d, ++dims;
  std::optional<uint64_t> few;
  if (count <= most)
    few = count;
  if (pattern.innerStep != 0 || dims != 1)
    return few;
  const BankLayout::Memory &memory = layout.of(pattern);
  uint64_t turn = uint64_t(memory.count) * memory.width * 8;
  // Modulo 2⁶⁴, which a turn of a power of two divides.
  uint64_t apart = uint64_t(td.strides[dim]) * pattern.outerStep *
                   uint64_t(bitWidth(td.format));
  if (turn & (turn - 1))
    return few;
  uint64_t distinct = std::min(count, turn / std::gcd(turn, apart % turn));
  return distinct <= most ? std::optional(distinct) : few;
}

void Banks::addBanks(const AccessPattern &pattern, uint64_t first,
                     uint64_t count, std::vector<uint64_t> &banks) const {
  std::optional<uint64_t> few = distinct(pattern, count);
  if (!few)
    return layout.of(pattern).addAll(banks);
  for (uint64_t i = 0; i < *few; ++i) {
    pattern.access(first + i, theirs);
    theirs.cycles();
    theirs.addBanks(banks);
  }
}

bool Banks::beside(std::span<const Part> parts, uint64_t first, uint64_t count,
                   Cycle start, Cycle end) const {
  mineOfAll.assign(layout.setWords(), 0);
  Cycle latest = 0;
  for (const Part &part : parts) {
    addBanks(*part.pattern, first, count, mineOfAll);
    latest = std::max(latest, part.delay);
  }
  end += latest;
  theirsOfAll.assign(layout.setWords(), 0);
  for (unsigned u = 0; u < tracks.size(); ++u) {
    if (together(u, parts[0].user))
      continue;
    auto piece = firstAfter(tracks[u], start);
    for (; piece != tracks[u].end() && piece->start < end; ++piece) {
      for (size_t i = 0; i < piece->banks.size(); ++i)
        theirsOfAll[i] |= piece->banks[i];
      if (piece->banks.empty())
        addBanks(piece->pattern, piece->first, piece->count, theirsOfAll);
    }
  }
  for (auto cycle = singleFrom(single, start);
       cycle != single.end() && cycle->at < end; ++cycle)
    for (size_t i = 0; i < cycle->banks.size(); ++i)
      theirsOfAll[i] |= cycle->banks[i];
  for (size_t i = 0; i < mineOfAll.size(); ++i)
    if (mineOfAll[i] & theirsOfAll[i])
      return false;
  return true;
}

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
  for (const Part &part : parts) {
    simple &= part.pattern->isSimple(layout);
    latest = std::max(latest, part.delay);
  }
  auto flush = [&] {
    for (const Part &part : parts)
      if (accesses > 0)
        remember(
            part.user,
            {*part.pattern, {}, first, accesses, begin + part.delay, pace, 0});
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
      if (beside(parts, i, left, at, at + left * pace)) {
        extend(i, left, at);
        at += left * pace;
        break;
      }
      mayPass = false;
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
                free = takenUntil(parts[p].user, mineAt, mine[p], level);
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
      flush();
      for (size_t p = 0; p < parts.size(); ++p)
        if (unsigned level = levelOf(p, n); level < cycles[p])
          remember(
              parts[p].user,
              {*parts[p].pattern, {}, i, 1, next + parts[p].delay, 1, level});
    }
    at = std::max(next, rowBegin + pace);
    ++i;
  }
  flush();
  return at;
}

AccessCycles Banks::place(const BankAccess &access, Cycle start) {
  Cycle at = start, first = start;
  for (unsigned level = 0; level < access.numCycles(); ++level, ++at) {
    for (Cycle until = at;
         (until = takenUntil(std::nullopt, at, access, level)) != at;)
      at = until;
    if (level == 0)
      first = at;
    auto next = singleFrom(single, at);
    if (next == single.end() || next->at != at) {
      std::vector<uint64_t> banks;
      if (!spareBanks.empty()) {
        banks = std::move(spareBanks.back());
        spareBanks.pop_back();
      }
      banks.assign(layout.setWords(), 0);
      next = single.insert(next, {at, std::move(banks)});
    }
    access.addBanks(level, next->banks);
  }
  return {first, at};
}

AccessPattern LaneAccesses::operand(const isa::Descriptor &td, uint64_t lanes,
                                    bool written) {
  AccessPattern pattern;
  pattern.td = td;
  pattern.written = written;
  pattern.setEnds();
  pattern.innerCount = pattern.innerStep = lanes;
  return pattern;
}

static Cycle portCycles(size_t operands, unsigned ports) {
  return (operands + ports - 1) / std::max(1u, ports);
}

Cycle Banks::place(const LaneAccesses &lanes, Cycle start) {
  bool simple = !lanes.gathered;
  for (const auto *side : {&lanes.reads, &lanes.writes})
    for (const AccessPattern &pattern : *side)
      simple &= pattern.isSimple(layout);
  Cycle ports = std::max(portCycles(lanes.reads.size(), lanes.readPorts),
                         portCycles(lanes.writes.size(), lanes.writePorts));
  Cycle pace = std::max(lanes.work, ports), at = start;
  for (uint64_t group = 0; group < lanes.groups;) {
    if (simple) {
      // As many groups as make their accesses before somebody else is busy.
      Cycle busy = othersBusy(lanes.user, at);
      uint64_t count = busy == noCycle      ? lanes.groups - group
                       : busy >= at + ports ? (busy - at - ports) / pace + 1
                                            : 0;
      count = std::min(count, lanes.groups - group);
      if (count > 0) {
        placeGroups(lanes, group, count, at, pace);
        at += count * pace;
        group += count;
        continue;
      }
    }
    at = std::max(at + lanes.work, placeGroup(lanes, group, at));
    ++group;
  }
  return at;
}

/// Rows of the last dimension from `row` on, of each `elements` from `first`
/// on.
static AccessPattern tileRows(const isa::Descriptor &td, bool written,
                              uint64_t row, uint64_t first, uint64_t elements) {
  AccessPattern rows;
  rows.td = td;
  rows.written = written;
  rows.outer = uint8_t(td.rank - 1);
  rows.setEnds();
  rows.outerFirst = row;
  rows.outerStep = 1;
  rows.innerFirst = first;
  rows.innerCount = elements;
  rows.innerStep = 0;
  return rows;
}

Cycle Banks::place(const TileAccesses &tiles, Cycle start) {
  const isa::Descriptor &src = tiles.src;
  uint64_t rows = src.extents[src.rank - 2],
           columns = src.extents[src.rank - 1];
  uint64_t matrices = src.numElements() / (rows * columns);
  LaneAccesses fill, drain;
  fill.readPorts = drain.readPorts = tiles.readPorts;
  fill.writePorts = drain.writePorts = tiles.writePorts;
  drain.user = BankUser::VectorDrain;
  Cycle filled = start, drained = start, drainedBefore = start;
  for (uint64_t m = 0; m < matrices; ++m)
    for (uint64_t row = 0; row < rows; row += tiles.side)
      for (uint64_t column = 0; column < columns; column += tiles.side) {
        uint64_t height = std::min(tiles.side, rows - row),
                 width = std::min(tiles.side, columns - column);
        fill.reads = {tileRows(src, false, m * rows + row, column, width)};
        fill.groups = height;
        drain.writes = {
            tileRows(tiles.dst, true, m * columns + column, row, height)};
        drain.groups = width;
        // One buffer of two must be free.
        filled = place(fill, std::max(filled, drainedBefore));
        drainedBefore = drained;
        drained = place(drain, std::max(filled, drained));
      }
  return drained;
}

Cycle Banks::place(const SortAccesses &sort, Cycle start) {
  return std::max(place(sort.values, start), place(sort.results, start));
}

Cycle Banks::placeGroup(const LaneAccesses &lanes, uint64_t group,
                        Cycle start) {
  /// One cycle of one operand.
  struct Share {
    const AccessPattern *pattern; ///< Or null: gathered.
    size_t operand;
    unsigned level;
  };
  std::vector<Share> shares[2];
  const unsigned ports[2] = {std::max(1u, lanes.readPorts),
                             std::max(1u, lanes.writePorts)};
  size_t used = 0;
  auto add = [&](unsigned side, const AccessPattern *p) {
    if (used == operands.size())
      operands.emplace_back(layout);
    BankAccess &access = operands[used];
    access.clear();
    if (!p)
      lanes.gathered(group, access);
    else if (p->isLocal())
      p->access(group, access);
    unsigned cycles = std::max(1u, access.cycles());
    for (unsigned level = 0; level < cycles; ++level)
      shares[side].push_back({p, used, level});
    ++used;
  };
  for (const AccessPattern &p : lanes.reads)
    add(0, &p);
  if (lanes.gathered)
    add(0, nullptr);
  for (const AccessPattern &p : lanes.writes)
    add(1, &p);
  size_t done[2] = {0, 0};
  Cycle at = start;
  while (done[0] < shares[0].size() || done[1] < shares[1].size()) {
    auto each = [&](auto f) {
      for (unsigned side = 0; side < 2; ++side)
        for (size_t i = done[side];
             i < std::min(done[side] + ports[side], shares[side].size()); ++i)
          f(shares[side][i]);
    };
    auto isTaken = [&] {
      bool any = false;
      each([&](const Share &s) {
        any = any || taken(lanes.user, at, operands[s.operand], s.level);
      });
      return any;
    };
    while (isTaken())
      ++at;
    each([&](const Share &s) {
      Piece piece;
      piece.first = group, piece.count = 1, piece.start = at;
      piece.level = s.level;
      if (s.pattern)
        piece.pattern = *s.pattern;
      else
        piece.banks = operands[s.operand].banksOf(s.level);
      if (s.pattern ? s.pattern->isLocal() : !piece.banks.empty())
        remember(lanes.user, std::move(piece));
    });
    for (unsigned side = 0; side < 2; ++side)
      done[side] = std::min(done[side] + ports[side], shares[side].size());
    ++at;
  }
  return at;
}

void Banks::placeGroups(const LaneAccesses &lanes, uint64_t first,
                        uint64_t count, Cycle start, Cycle pace) {
  std::vector<Piece> pieces;
  auto add = [&](const std::vector<AccessPattern> &patterns, unsigned ports) {
    for (size_t i = 0; i < patterns.size(); ++i)
      if (patterns[i].isLocal())
        pieces.push_back({patterns[i],
                          {},
                          first,
                          count,
                          start + i / std::max(1u, ports),
                          pace,
                          0});
  };
  add(lanes.reads, lanes.readPorts);
  add(lanes.writes, lanes.writePorts);
  std::stable_sort(
      pieces.begin(), pieces.end(),
      [](const Piece &a, const Piece &b) { return a.start < b.start; });
  for (Piece &piece : pieces)
    remember(lanes.user, std::move(piece));
}

} // namespace tessera::sim
