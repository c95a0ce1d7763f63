//===- KernelRecord.cpp - What a dispatch points to -----------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"

namespace tessera::isa {

// Byte offsets in the record.
static constexpr unsigned textAt = 0, descriptorsAt = 8, mapProgramsAt = 16;
static constexpr unsigned textBytesAt = 24, numDescriptorsAt = 28;
static constexpr unsigned mapBytesAt = 32, numArgumentsAt = 36;
static constexpr unsigned reservedAt = 40;

std::array<uint8_t, kernelRecordBytes> encode(const KernelRecord &record) {
  std::array<uint8_t, kernelRecordBytes> out{};
  storeLittleEndian(&out[textAt], record.text);
  storeLittleEndian(&out[descriptorsAt], record.descriptors);
  storeLittleEndian(&out[mapProgramsAt], record.mapPrograms);
  storeLittleEndian(&out[textBytesAt], record.textBytes);
  storeLittleEndian(&out[numDescriptorsAt], record.numDescriptors);
  storeLittleEndian(&out[mapBytesAt], record.mapBytes);
  storeLittleEndian(&out[numArgumentsAt], record.numArguments);
  return out;
}

Result<KernelRecord> decodeKernelRecord(std::span<const uint8_t> bytes) {
  if (bytes.size() < kernelRecordBytes)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("kernel record: needs {} bytes, {} are left",
                              kernelRecordBytes, bytes.size()));
  for (unsigned i = reservedAt; i < kernelRecordBytes; ++i)
    if (bytes[i] != 0)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("kernel record: reserved byte {} is not 0", i));
  KernelRecord record;
  record.text = loadLittleEndian<uint64_t>(&bytes[textAt]);
  record.descriptors = loadLittleEndian<uint64_t>(&bytes[descriptorsAt]);
  record.mapPrograms = loadLittleEndian<uint64_t>(&bytes[mapProgramsAt]);
  record.textBytes = loadLittleEndian<uint32_t>(&bytes[textBytesAt]);
  record.numDescriptors = loadLittleEndian<uint32_t>(&bytes[numDescriptorsAt]);
  record.mapBytes = loadLittleEndian<uint32_t>(&bytes[mapBytesAt]);
  record.numArguments = loadLittleEndian<uint32_t>(&bytes[numArgumentsAt]);
  return record;
}

} // namespace tessera::isa
