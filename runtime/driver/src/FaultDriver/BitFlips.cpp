//===- BitFlips.cpp - Flipped bits in device memory -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ECC corrects one flipped bit of a word and detects two. The corrected one is
// only counted. Of the uncorrected, data are lost: a bit of the page changes
// and the page is poisoned, so that whoever needs it faults instead of using
// it. A page table that cannot be trusted is the end of the device.
//
//===----------------------------------------------------------------------===//

#include "MappedPages.h"
#include "tessera/driver/FaultDriver.h"
#include <fmt/format.h>

using namespace tessera::isa;

namespace tessera::driver {

/// Pages looked at for a victim.
static constexpr size_t victimPages = 4096;

void FaultDriver::flip(FaultKind kind) {
  std::vector<uint64_t> roots;
  for (const auto &[queue, registers] : queues)
    if (registers.context)
      roots.push_back(*registers.context);
  if (roots.empty())
    return;
  uint64_t root = roots[random.below(roots.size())];
  std::vector<MappedPage> pages = mappedPages(*below, root, victimPages);
  std::erase_if(pages,
                [](const MappedPage &page) { return page.entry.poison; });
  if (pages.empty())
    return;
  MappedPage &page = pages[random.below(pages.size())];
  uint64_t at = random.below(page.bytes);
  auto bit = unsigned(random.below(8));
  std::string what =
      fmt::format("page {:#x}, byte {:#x}, bit {}", page.address, at, bit);
  switch (kind) {
  case FaultKind::UncorrectedFlip: {
    std::byte value{};
    if (!below
             ->readMemory(page.entry.space, page.entry.address + at,
                          std::span(&value, 1))
             .ok())
      return;
    value ^= std::byte(1u << bit);
    page.entry.poison = true;
    uint64_t image = page.entry.encode();
    if (!below
             ->writeMemory(page.entry.space, page.entry.address + at,
                           std::span(&value, 1))
             .ok() ||
        !below
             ->writeMemory(PhysicalSpace::Dram, page.entryAddress,
                           std::as_bytes(std::span(&image, 1)))
             .ok())
      return;
    break;
  }
  case FaultKind::TableFlip:
    note(kind, fmt::format("page table entry at {:#x}", page.entryAddress));
    return lose(
        fmt::format("uncorrected error in the page table entry at {:#x}",
                    page.entryAddress));
  default:
    break;
  }
  note(kind, std::move(what));
}

} // namespace tessera::driver
