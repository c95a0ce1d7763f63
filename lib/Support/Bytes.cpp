//===- Bytes.cpp - Little-endian byte buffers -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Bytes.h"
#include <cassert>
#include <fmt/format.h>
#include <limits>

using namespace tessera;

void ByteWriter::writeString(std::string_view text) {
  assert(text.size() <= std::numeric_limits<uint32_t>::max());
  write<uint32_t>(uint32_t(text.size()));
  writeBytes(
      std::span(reinterpret_cast<const uint8_t *>(text.data()), text.size()));
}

std::span<const uint8_t> ByteReader::readBytes(uint64_t count) {
  if (!error.ok() || count > remaining()) {
    fail(count, 1);
    return {};
  }
  std::span<const uint8_t> bytes = buffer.subspan(position_, count);
  position_ += count;
  return bytes;
}

std::string ByteReader::readString() {
  uint32_t size = read<uint32_t>();
  std::span<const uint8_t> bytes = readBytes(size);
  return std::string(bytes.begin(), bytes.end());
}

Status ByteReader::finish() const {
  if (error.ok() && remaining() != 0)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{} bytes left over at offset {}", remaining(), position_));
  return error;
}

void ByteReader::fail(uint64_t count, size_t elementBytes) {
  if (!error.ok())
    return;
  error =
      Status(StatusCode::InvalidArgument,
             elementBytes == 1
                 ? fmt::format("truncated: {} bytes wanted at offset {}, "
                               "{} there",
                               count, position_, remaining())
                 : fmt::format("truncated: {} elements of {} bytes wanted "
                               "at offset {}, {} bytes there",
                               count, elementBytes, position_, remaining()));
}
