//===- ChannelFixture.cpp - A DRAM channel under test -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChannelFixture.h"
#include <fmt/format.h>

namespace tessera::sim::dram::test {

DramConfig ddr4() {
  DramConfig d;
  d.widthBits = 64, d.rowBytes = 8192, d.bytes = uint64_t(8) << 30;
  d.tckNs = 0.625, d.burstLength = 8, d.transfersPerClock = 2;
  d.tCL = 22, d.tCWL = 16, d.tRCDRD = 22, d.tRCDWR = 22;
  d.tRP = 22, d.tRAS = 52, d.tRC = 74, d.tWR = 24, d.tRTP = 12;
  d.tCCDS = 4, d.tCCDL = 8, d.tRRDS = 4, d.tRRDL = 8;
  d.tWTRS = 4, d.tWTRL = 12, d.tRTW = 12, d.tFAW = 34;
  d.tREFI = 12480, d.tRFC = 576, d.tRFCPB = 200;
  d.refresh = RefreshMode::None;
  return d;
}

DramConfig hbm2() {
  DramConfig d;
  d.pseudoChannels = 2, d.rowBytes = 1024;
  d.tckNs = 5.0 / 6, d.burstLength = 4, d.transfersPerClock = 2;
  d.tCL = 17, d.tCWL = 6, d.tRCDRD = 17, d.tRCDWR = 14;
  d.tRP = 17, d.tRAS = 40, d.tRC = 57, d.tWR = 19, d.tRTP = 6;
  d.tCCDS = 2, d.tCCDL = 4, d.tRRDS = 5, d.tRRDL = 5;
  d.tWTRS = 8, d.tWTRL = 10, d.tRTW = 15, d.tFAW = 19;
  d.tREFI = 4682, d.tRFC = 421, d.tRFCPB = 240;
  d.refresh = RefreshMode::None;
  return d;
}

DramConfig lpddr5() {
  DramConfig d;
  d.widthBits = 16, d.rowBytes = 2048;
  d.tckNs = 1.25, d.burstLength = 16, d.transfersPerClock = 8;
  d.tCL = 17, d.tCWL = 9, d.tRCDRD = 15, d.tRCDWR = 15;
  d.tRP = 15, d.tRAS = 34, d.tRC = 49, d.tWR = 28, d.tRTP = 4;
  d.tCCDS = 2, d.tCCDL = 4, d.tRRDS = 4, d.tRRDL = 4;
  d.tWTRS = 5, d.tWTRL = 10, d.tRTW = 12, d.tFAW = 16;
  d.tREFI = 3124, d.tRFC = 168, d.tRFCPB = 96;
  d.refresh = RefreshMode::None;
  return d;
}

bool Bench::offer(Cycle now, bool write, const At &at, uint64_t token) {
  channel.advance(now, done);
  DramCoordinates c;
  c.pseudoChannel = at.pseudo, c.rank = at.rank, c.bankGroup = at.group;
  c.bank = at.bank;
  return channel.offer({write, channel.bankOf(c), at.row, at.column, token},
                       now, done);
}

void Bench::finish() {
  while (!channel.idle())
    channel.step(channel.nextStep(), done);
}

std::vector<Cycle> Bench::clocksOf(CommandKind kind) const {
  std::vector<Cycle> clocks;
  for (const Command &c : commands)
    if (c.kind == kind)
      clocks.push_back(c.clock);
  return clocks;
}

std::optional<Cycle> Bench::completionOf(uint64_t token) const {
  for (const Completion &c : done)
    if (c.token == token)
      return c.clock;
  return std::nullopt;
}

namespace {

/// Least distances, written from the config alone.
class Rules {
public:
  explicit Rules(const DramConfig &d) : d(d) {
    burst = d.burstLength / d.transfersPerClock;
    dual = d.pseudoChannels > 1;
  }

  /// Both commands in the order of the log; 0: no rule.
  Cycle distance(const Command &a, const Command &b) const {
    using K = CommandKind;
    uint32_t perRank = d.bankGroups * d.banksPerGroup;
    bool sameRank = a.bank / perRank == b.bank / perRank;
    bool samePseudo =
        a.bank / (perRank * d.ranks) == b.bank / (perRank * d.ranks);
    bool sameGroup = a.bank / d.banksPerGroup == b.bank / d.banksPerGroup;
    auto all = [](K k) { return k == K::PrechargeAll || k == K::Refresh; };
    bool sameBank = all(a.kind) || all(b.kind) ? sameRank : a.bank == b.bank;
    bool columnA = isColumn(a.kind), columnB = isColumn(b.kind);
    Cycle least = bus(a.kind, b.kind);
    auto need = [&](bool applies, Cycle clocks) {
      if (applies)
        least = std::max(least, clocks);
    };
    K ka = a.kind, kb = b.kind;
    bool preB = kb == K::Precharge || kb == K::PrechargeAll;
    bool preA = ka == K::Precharge || ka == K::PrechargeAll;
    bool wakes = kb == K::Activate || kb == K::Refresh || kb == K::RefreshBank;
    if (sameBank) {
      need(ka == K::Activate && kb == K::Read, d.tRCDRD);
      need(ka == K::Activate && kb == K::Write, d.tRCDWR);
      need(ka == K::Activate && preB, d.tRAS);
      need(ka == K::Activate && wakes, d.tRC);
      need(preA && wakes, d.tRP);
      need(ka == K::Read && preB, d.tRTP);
      need(ka == K::Write && preB, d.tCWL + burst + d.tWR);
      need(ka == K::Refresh && wakes, d.tRFC);
      need(ka == K::RefreshBank && wakes, d.tRFCPB);
    }
    need(sameRank && ka == K::Activate && kb == K::Activate,
         sameGroup ? d.tRRDL : d.tRRDS);
    if (columnA && columnB && samePseudo) {
      if (ka == kb)
        need(true, sameGroup ? d.tCCDL : sameRank ? d.tCCDS : burst + 1);
      else if (ka == K::Read)
        need(true, d.tRTW);
      else
        need(sameRank, d.tCWL + burst + (sameGroup ? d.tWTRL : d.tWTRS));
    }
    return least;
  }
  /// Of a command's last slot.
  Cycle effect(const Command &c) const {
    return c.clock + (dual && c.kind == CommandKind::Activate);
  }

private:
  static bool isColumn(CommandKind k) {
    return k == CommandKind::Read || k == CommandKind::Write;
  }
  /// Slots between the last slots of two commands of one bus.
  Cycle bus(CommandKind a, CommandKind b) const {
    if (dual && isColumn(a) != isColumn(b))
      return 0;
    return dual && b == CommandKind::Activate ? 2 : 1;
  }

  const DramConfig &d;
  uint32_t burst;
  bool dual;
};

} // namespace

std::optional<std::string> violatedRule(const DramConfig &dram,
                                        const std::vector<Command> &commands) {
  Rules rules(dram);
  Cycle horizon = std::max({dram.tRFC, dram.tRFCPB, dram.tRC + dram.tFAW});
  uint32_t perRank = dram.bankGroups * dram.banksPerGroup;
  for (size_t j = 0; j < commands.size(); ++j) {
    Cycle end = rules.effect(commands[j]);
    unsigned activates = 0;
    for (size_t i = j; i-- != 0;) {
      Cycle begin = rules.effect(commands[i]);
      if (end > begin + horizon + 2)
        break;
      bool bothActivate =
          commands[i].kind == CommandKind::Activate &&
          commands[j].kind == CommandKind::Activate &&
          commands[i].bank / perRank == commands[j].bank / perRank;
      Cycle least = rules.distance(commands[i], commands[j]);
      if (bothActivate && ++activates == 4)
        least = std::max<Cycle>(least, dram.tFAW);
      if (end < begin + least)
        return fmt::format("command {} of kind {} for bank {} in clock {}, "
                           "then {} of kind {} for bank {} in clock {}: less "
                           "than {} clocks",
                           i, int(commands[i].kind), commands[i].bank,
                           commands[i].clock, j, int(commands[j].kind),
                           commands[j].bank, commands[j].clock, least);
    }
  }
  return std::nullopt;
}

} // namespace tessera::sim::dram::test
