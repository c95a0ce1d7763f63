//===- ProgramText.cpp - What happened, by instruction --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramText.h"
#include "tessera/ISA/Instruction.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::tool {

static std::string locationAt(const KernelCode &kernel, uint32_t pc) {
  std::string location;
  for (const LocationEntry &entry : kernel.locations)
    if (entry.firstInstruction <= pc)
      location = entry.location;
  return location;
}

std::string placeText(const Object &object, const KernelAddresses &kernels,
                      uint64_t kernel, uint32_t pc) {
  auto it = kernels.find(kernel);
  if (it == kernels.end() || it->second >= object.kernels.size())
    return fmt::format("kernel at {:#x}", kernel);
  const KernelCode &code = object.kernels[it->second];
  std::string location = locationAt(code, pc);
  return fmt::format("kernel {}{}{}", code.name, location.empty() ? "" : ", ",
                     location);
}

std::string faultPlaceText(const Object &object, uint64_t command,
                           uint64_t pc) {
  constexpr uint64_t packetBytes = 64;
  for (const Relocation &relocation : object.relocations) {
    if (relocation.section != Relocation::Section::Commands ||
        relocation.offset / packetBytes != command ||
        relocation.target.kind != SymbolKind::Kernel ||
        relocation.target.index >= object.kernels.size())
      continue;
    const KernelCode &code = object.kernels[relocation.target.index];
    std::string location = locationAt(code, uint32_t(pc));
    std::string text = fmt::format("kernel {}{}{}", code.name,
                                   location.empty() ? "" : ", ", location);
    Result<std::vector<isa::Instruction>> program =
        isa::decodeProgram(code.text);
    if (program && pc < program->size())
      text += ": " + isa::print((*program)[pc]);
    return text;
  }
  return {};
}

Result<sim::CheckOptions> parseChecks(std::string_view text) {
  sim::CheckOptions checks;
  while (true) {
    size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    if (name == "race")
      checks.race = true;
    else if (name == "memory")
      checks.memory = true;
    else if (name == "sync")
      checks.sync = true;
    else
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("'{}' is unknown; modes are race, memory, sync", name));
    if (comma == std::string_view::npos)
      return checks;
    text.remove_prefix(comma + 1);
  }
}

/// "busy 12, wait_load 30": what is not 0, busy first.
static std::string causesText(const sim::EngineCycles &cycles) {
  std::string text;
  for (unsigned c = 0; c < sim::numStallCauses; ++c)
    if (uint64_t n = cycles.byCause[c])
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                          sim::stallCauseName(sim::StallCause(c)), n);
  return text;
}

Result<std::string>
annotatedDisassembly(const Object &object, const KernelAddresses &kernels,
                     std::span<const sim::KernelStatistics> statistics) {
  std::string text;
  for (const sim::KernelStatistics &kernel : statistics) {
    auto it = kernels.find(kernel.kernel);
    if (it == kernels.end())
      continue;
    const KernelCode &code = object.kernels[it->second];
    TESSERA_ASSIGN_OR_RETURN(std::vector<isa::Instruction> program,
                             isa::decodeProgram(code.text));
    text += fmt::format("{}kernel {}\n{:>6} {:>10} {:>10} {:>10} {:>10}\n",
                        text.empty() ? "" : "\n", code.name, "pc", "count",
                        "issue", "busy", "stalled");
    std::string location;
    for (uint32_t pc = 0; pc < program.size(); ++pc) {
      sim::InstructionStatistics s;
      if (pc < kernel.instructions.size())
        s = kernel.instructions[pc];
      if (std::string here = locationAt(code, pc); here != location) {
        location = here;
        text += fmt::format("; {}\n", location);
      }
      uint64_t busy = s.execution[sim::StallCause::Busy];
      text += fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10}  {}\n", pc,
                          s.count, s.issue[sim::StallCause::Busy], busy,
                          s.issue.total() - s.issue[sim::StallCause::Busy] +
                              s.execution.total() - busy,
                          isa::print(program[pc]));
      auto stalls = [&](sim::EngineCycles cycles, const char *who) {
        cycles.byCause[size_t(sim::StallCause::Busy)] = 0;
        if (std::string causes = causesText(cycles); !causes.empty())
          text += fmt::format("{:>52}{}: {}\n", "", who, causes);
      };
      stalls(s.issue, "sequencer");
      stalls(s.execution, "engine");
    }
  }
  return text;
}

} // namespace tessera::tool
