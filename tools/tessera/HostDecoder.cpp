//===- HostDecoder.cpp - Decoding with the reference on the host ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostDecoder.h"
#include "DecoderInputs.h"

namespace tessera::tool {

Status HostDecoder::add(const CompiledModel &model,
                        const DecoderSignature &signature) {
  TESSERA_ASSIGN_OR_RETURN(ReferenceModel reference,
                           ReferenceModel::compile(model));
  if (programs.empty())
    for (const DecoderSignature::State &state : signature.states)
      states.emplace_back(state.bytes);
  programs.push_back({std::move(reference), signature, model.object.inputs});
  return Status::success();
}

Result<HostTensor> HostDecoder::feed(size_t index,
                                     std::span<const int64_t> tokens) {
  const auto &[reference, signature, inputs] = programs[index];
  std::vector<HostTensor> given;
  for (const TensorSignature &input : inputs)
    given.push_back({input.name, input.type, input.shape, {}});
  given[signature.tokens].bytes =
      numberBytes(inputs[signature.tokens].type, tokens);
  if (signature.positions)
    given[*signature.positions].bytes =
        numberBytes(inputs[*signature.positions].type,
                    positionsFrom(position, tokens.size()));
  for (size_t i = 0; i < states.size(); ++i)
    given[signature.states[i].input].bytes = std::move(states[i]);
  TESSERA_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs,
                           reference.run(given));
  for (size_t i = 0; i < states.size(); ++i)
    states[i] = std::move(outputs[signature.states[i].output].bytes);
  position += tokens.size();
  HostTensor scores = std::move(outputs[signature.logits]);
  size_t row = scores.bytes.size() / signature.rows;
  scores.bytes.erase(scores.bytes.begin(), scores.bytes.end() - ptrdiff_t(row));
  scores.shape = {signature.vocabulary};
  return scores;
}

} // namespace tessera::tool
