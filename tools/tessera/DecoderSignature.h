//===- DecoderSignature.h - A model that writes token by token --*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which tensors of a program are what, by the names that exporters give:
//
//   input  input_ids                   the tokens of the call, [1, S]
//   input  position_ids,               their positions, likewise; may be absent
//          or cache_position
//   input  past_… or past…             a state; the output of the same name,
//   output present_… or present…       type and shape is its next value
//   output logits                      scores, [1, S, V] or those of the last
//                                      token alone, [1, V] or [1, 1, V]
//
// A state of four dimensions is a cache [1, heads, positions, size]: its third
// extent is the number of positions that the model has room for.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TOOLS_TESSERA_DECODERSIGNATURE_H
#define TESSERA_TOOLS_TESSERA_DECODERSIGNATURE_H

#include "tessera/Object/Object.h"
#include <optional>
#include <vector>

namespace tessera::tool {

struct DecoderSignature {
  struct State {
    size_t input = 0, output = 0;
    uint64_t bytes = 0;
  };
  size_t tokens = 0; ///< Input.
  std::optional<size_t> positions;
  std::vector<State> states; ///< In the order of inputs.
  size_t logits = 0;         ///< Output.
  uint64_t perCall = 1;      ///< Tokens that a call takes.
  uint64_t rows = 1;         ///< Of scores: perCall or 1.
  uint64_t vocabulary = 0;
  std::optional<uint64_t> context; ///< Positions that there is room for.

  /// InvalidArgument that names the tensor in the way and what is accepted.
  static Result<DecoderSignature> of(const Object &object);
};

/// "input_ids": whose last dimension is the number of tokens of a call.
inline constexpr const char *tokenInputName = "input_ids";

} // namespace tessera::tool

#endif // TESSERA_TOOLS_TESSERA_DECODERSIGNATURE_H
