//===- DeviceDecoder.h - Decoding on the simulated device -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_DEVICEDECODER_H
#define TESSERA_TOOLS_TESSERA_DEVICEDECODER_H

#include "DecoderSignature.h"
#include "tessera/Pipelines/Compiler.h"
#include "tessera/Report/Generation.h"
#include <memory>
#include <span>

namespace tessera::tool {

/// Programs of one model that differ in the tokens of a call, on one device.
/// Each state has two buffers in device memory: a call reads one and writes the
/// other, and the next call has them the other way round. Between calls only
/// tokens go to the device, and one row of scores comes back.
class DeviceDecoder {
public:
  struct Program {
    Object object;
    DecoderSignature signature;
  };
  /// All states are zero. The programs must have states of the same shapes.
  static Result<DeviceDecoder> create(std::vector<Program> programs,
                                      const Architecture &arch);
  DeviceDecoder(DeviceDecoder &&) noexcept;
  ~DeviceDecoder();

  /// Runs program `index` on its number of tokens, at the positions after those
  /// of earlier calls. The scores of the last token, [V], and what it took.
  struct Answer {
    HostTensor scores;
    report::GenerationCall call;
  };
  Result<Answer> feed(size_t index, std::span<const int64_t> tokens);

private:
  struct Session;
  explicit DeviceDecoder(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session;
};

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_DEVICEDECODER_H
