//===- TraceFile.cpp - What --trace writes --------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceFile.h"
#include "FileOutput.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/File.h"
#include "tessera/sim/PerfettoFile.h"
#include <fmt/format.h>

namespace tessera::tool {

namespace {
class ChromeFile final : public TraceFile {
public:
  explicit ChromeFile(std::string path) : path(std::move(path)) {}
  sim::TraceObserver &observer() override { return writer; }
  Status finish() override { return replaceFile(path, writer.json()); }

private:
  std::string path;
  sim::ChromeTraceWriter writer;
};

class PerfettoFile final : public TraceFile {
public:
  PerfettoFile(FileReplacement place,
               std::map<uint64_t, sim::TracedDispatch> dispatches)
      : file(std::move(place), std::move(dispatches)) {}
  sim::TraceObserver &observer() override { return file; }
  Status finish() override { return file.finish(); }

private:
  sim::PerfettoFile file;
};
} // namespace

/// Names, places and cores of each dispatch, by its place in the commands: that
/// is the identifier of its packet.
static Result<std::map<uint64_t, sim::TracedDispatch>>
describeDispatches(const Object &object, const Architecture &arch) {
  std::map<uint64_t, sim::TracedDispatch> result;
  for (const DispatchInfo &info : object.dispatches) {
    size_t at = size_t(info.packet) * isa::packetBytes;
    std::span<const uint8_t> image(object.commands);
    image = image.subspan(at, isa::packetBytes);
    std::vector<uint8_t> bytes(image.begin(), image.end());
    uint32_t kernel = 0;
    for (const Relocation &relocation : object.relocations)
      if (relocation.section == Relocation::Section::Commands &&
          relocation.offset / isa::packetBytes == info.packet) {
        // A packet decodes with addresses only; any will do.
        storeLittleEndian<uint64_t>(bytes.data() + relocation.offset - at,
                                    isa::packetBytes);
        if (relocation.target.kind == SymbolKind::Kernel)
          kernel = relocation.target.index;
      }
    TESSERA_ASSIGN_OR_RETURN(isa::Packet packet, isa::decodePacket(bytes));
    const auto *dispatch = std::get_if<isa::DispatchPacket>(&packet.body);
    if (!dispatch)
      continue;
    sim::TracedDispatch &traced = result[packet.id];
    traced.name = info.name;
    traced.nodes = fmt::format("{}", fmt::join(info.nodes, ", "));
    for (unsigned y = dispatch->y; y < dispatch->y + dispatch->height; ++y)
      for (unsigned x = dispatch->x; x < dispatch->x + dispatch->width; ++x)
        traced.cores.push_back(y * arch.cores.meshX + x);
    for (const LocationEntry &entry : object.kernels[kernel].locations)
      traced.locations.emplace_back(entry.firstInstruction, entry.location);
  }
  return result;
}

bool isTraceName(const std::string &path) {
  return path.ends_with(".json") || path.ends_with(".pftrace");
}

Result<std::unique_ptr<TraceFile>> openTrace(const std::string &path,
                                             const Object &object,
                                             const Architecture &arch) {
  if (path.ends_with(".json"))
    return std::unique_ptr<TraceFile>(std::make_unique<ChromeFile>(path));
  TESSERA_ASSIGN_OR_RETURN(auto dispatches, describeDispatches(object, arch));
  TESSERA_ASSIGN_OR_RETURN(FileReplacement file, FileReplacement::begin(path));
  return std::unique_ptr<TraceFile>(
      std::make_unique<PerfettoFile>(std::move(file), std::move(dispatches)));
}

} // namespace tessera::tool
