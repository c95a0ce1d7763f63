//===- HostDecoder.h - Decoding with the reference on the host --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_HOSTDECODER_H
#define TESSERA_TOOLS_TESSERA_HOSTDECODER_H

#include "DecoderSignature.h"
#include "tessera/Pipelines/Compiler.h"
#include <span>
#include <vector>

namespace tessera::tool {

/// What DeviceDecoder does, by the models' references, with states of its own.
class HostDecoder {
public:
  /// Compiles the reference of one more program; the first is number 0.
  Status add(const CompiledModel &model, const DecoderSignature &signature);

  /// The scores of the last token, [V].
  Result<HostTensor> feed(size_t index, std::span<const int64_t> tokens);

private:
  struct Program {
    ReferenceModel reference;
    DecoderSignature signature;
    std::vector<TensorSignature> inputs;
  };
  std::vector<Program> programs;
  std::vector<std::vector<std::byte>> states; ///< In the order of signatures.
  uint64_t position = 0;
};

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_HOSTDECODER_H
