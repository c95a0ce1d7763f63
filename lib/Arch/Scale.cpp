//===- Scale.cpp - Architectures with a faster or slower part -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/Scale.h"
#include "Schema.h"
#include "tessera/Arch/DramMapping.h"
#include <cmath>
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::schema;

namespace {
enum class Change : uint8_t {
  Multiply,
  Divide, ///< A time: a whole one is rounded up.
};
struct Member {
  std::string_view group, path;
  Change change;
};
} // namespace

static constexpr ScaleGroup groups[] = {
    {"matrix", "macs_scale of all formats: multiply-accumulates of a cycle"},
    {"vector", "vector.lanes and vector.sfu_lanes"},
    {"dram", "the memory's clock: dram.tck_ns is divided, so bandwidth grows "
             "and latencies shrink"},
    {"noc", "noc.clock_ghz"},
    {"spm", "spm.banks"},
    {"dma", "dma.load_bursts, dma.store_bursts and dma.outstanding"},
    {"cp", "cp.fetch, cp.decode, cp.dispatch and cp.signal are divided, and "
           "rounded up to whole cycles"},
};

static constexpr Member members[] = {
    {"matrix", "matrix.formats", Change::Multiply},
    {"vector", "vector.lanes", Change::Multiply},
    {"vector", "vector.sfu_lanes", Change::Multiply},
    {"dram", "dram.tck_ns", Change::Divide},
    {"noc", "noc.clock_ghz", Change::Multiply},
    {"spm", "spm.banks", Change::Multiply},
    {"dma", "dma.load_bursts", Change::Multiply},
    {"dma", "dma.store_bursts", Change::Multiply},
    {"dma", "dma.outstanding", Change::Multiply},
    {"cp", "cp.fetch", Change::Divide},
    {"cp", "cp.decode", Change::Divide},
    {"cp", "cp.dispatch", Change::Divide},
    {"cp", "cp.signal", Change::Divide},
};

std::span<const ScaleGroup> tessera::scaleGroups() { return groups; }

/// What is wrong with the new value, or "".
static std::string change(Architecture &arch, const Key &key, double factor,
                          Change how) {
  auto outside = [&](double value) {
    return fmt::format("{} would be {}; accepted: {}", key.path, value,
                       acceptedText(key));
  };
  if (auto *type = std::get_if<IntegerType>(&key.type)) {
    double old = double(type->get(arch));
    double value =
        how == Change::Divide ? std::ceil(old / factor) : old * factor;
    if (value != std::floor(value) || value < double(type->min) ||
        value > double(type->max) ||
        (type->powerOfTwo && (uint64_t(value) & (uint64_t(value) - 1))))
      return outside(value);
    type->set(arch, uint64_t(value));
    return "";
  }
  if (auto *type = std::get_if<RealType>(&key.type)) {
    double &member = type->member(arch);
    double value = how == Change::Divide ? member / factor : member * factor;
    if (!(value >= type->min && value <= type->max))
      return outside(value);
    member = value;
    return "";
  }
  for (auto &[format, scale] : arch.matrix.macsScale) {
    scale *= factor;
    if (!(scale >= minMacsScale && scale <= maxMacsScale))
      return fmt::format("macs_scale of {} would be {}; accepted: a number "
                         "from {} to {}",
                         formatName(format), scale, minMacsScale, maxMacsScale);
  }
  return "";
}

Result<Architecture> tessera::scaleArchitecture(const Architecture &arch,
                                                std::string_view key,
                                                double factor) {
  auto wrong = [&](std::string_view what) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}={}: {}", key, factor, what));
  };
  if (!(factor > 0) || !std::isfinite(factor))
    return wrong("a factor is a number above 0");
  Architecture result = arch;
  bool isGroup = false;
  for (const Member &member : members) {
    if (member.group != key)
      continue;
    isGroup = true;
    std::string error =
        change(result, *findKey(member.path), factor, member.change);
    if (!error.empty())
      return wrong(error);
  }
  if (!isGroup) {
    const Key *found = findKey(key);
    if (!found) {
      std::string names;
      for (const ScaleGroup &group : groups)
        names += fmt::format("{}, ", group.name);
      return wrong(fmt::format("there is no such key; accepted: {}or a number "
                               "of the architecture file, e.g. vector.lanes",
                               names));
    }
    if (!std::holds_alternative<IntegerType>(found->type) &&
        !std::holds_alternative<RealType>(found->type))
      return wrong("is no number; keys of whole numbers and of reals are "
                   "accepted");
    std::string error = change(result, *found, factor, Change::Multiply);
    if (!error.empty())
      return wrong(error);
    if (factor != 1 && result == arch)
      return wrong("is 0, which no factor changes");
  }
  // Addresses are spread over the new counts as they were over the old ones.
  if (key.starts_with("dram.") &&
      arch.dram.mapping ==
          DramMapping::defaultFor(arch.dram, arch.dma.burstBytes))
    result.dram.mapping =
        DramMapping::defaultFor(result.dram, result.dma.burstBytes);
  // The timings no longer are those of the set that they came from.
  if (key == "dram" || key.starts_with("dram."))
    result.dram.preset.clear();
  if (std::optional<Conflict> conflict = findConflict(result))
    return wrong(fmt::format("{}: {}; accepted: {}", conflict->path,
                             conflict->what, conflict->accepted));
  return result;
}
