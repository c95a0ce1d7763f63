//===- Compatible.cpp - Whether an object runs on a machine ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/Object/Object.h"
#include <iterator>

namespace tessera {

/// What isaHash covers, as text.
static std::vector<std::pair<std::string, std::string>>
isaProperties(const Architecture &arch) {
  std::string formats;
  for (auto [format, scale] : arch.matrix.macsScale)
    fmt::format_to(std::back_inserter(formats), "{}{}: {}",
                   formats.empty() ? "" : ", ", formatName(format), scale);
  return {
      {"matrix.formats", formats},
      {"matrix.rows", std::to_string(arch.matrix.rows)},
      {"matrix.cols", std::to_string(arch.matrix.cols)},
      {"matrix.count", std::to_string(arch.matrix.count)},
      {"cores.count", std::to_string(arch.cores.count)},
      {"cores.mesh",
       fmt::format("[{}, {}]", arch.cores.meshX, arch.cores.meshY)},
      {"spm.bytes", std::to_string(arch.spm.bytes)},
      {"acc.bytes", std::to_string(arch.acc.bytes)},
      {"imem.bytes", std::to_string(arch.imemBytes)},
      {"tdmem.bytes", std::to_string(arch.tdmemBytes)},
      {"shared.bytes", std::to_string(arch.shared.bytes)},
      {"dram.bytes", std::to_string(arch.dram.bytes)},
      {"semaphores", std::to_string(arch.semaphores)},
  };
}

/// How the machines differ, if the object's is a preset that still is as it was
/// when the object was made.
static std::string describeDifference(const Object &object,
                                      const Architecture &arch) {
  Result<Architecture> built = loadArchitecture(object.architectureName);
  if (!built.ok() || built->isaHash() != object.isaHash)
    return fmt::format("ISA hash {:016x} against {:016x}", object.isaHash,
                       arch.isaHash());
  std::string text;
  auto theirs = isaProperties(*built), mine = isaProperties(arch);
  for (size_t i = 0; i < mine.size(); ++i)
    if (mine[i] != theirs[i])
      fmt::format_to(std::back_inserter(text), "{}{} is {} against {}",
                     text.empty() ? "" : "; ", mine[i].first, theirs[i].second,
                     mine[i].second);
  return text;
}

Status checkCompatible(const Object &object, const Architecture &arch) {
  if (object.isaHash == arch.isaHash())
    return Status::success();
  return {StatusCode::FailedPrecondition,
          fmt::format("the object was compiled for architecture '{}' and "
                      "cannot run on '{}': {}; compile it again for '{}'",
                      object.architectureName, arch.name,
                      describeDifference(object, arch), arch.name)};
}

} // namespace tessera
