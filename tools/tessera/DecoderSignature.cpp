//===- DecoderSignature.cpp - A model that writes token by token ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecoderSignature.h"
#include "TensorFiles.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace tessera::tool {

static uint64_t countElements(const TensorSignature &tensor) {
  uint64_t count = 1;
  for (uint64_t extent : tensor.shape)
    count *= extent;
  return count;
}

static Status unsuitable(const char *what, const TensorSignature &tensor,
                         std::string_view accepted) {
  return Status(StatusCode::InvalidArgument,
                fmt::format("{} '{}' is {}; accepted is {}", what, tensor.name,
                            typeText(tensor.type, tensor.shape), accepted));
}

/// Whether all elements are in the last dimension.
static bool isRow(const TensorSignature &tensor) {
  return !tensor.shape.empty() && countElements(tensor) == tensor.shape.back();
}

static Status checkNumbers(const TensorSignature &tensor) {
  if ((tensor.type != "i64" && tensor.type != "i32") || !isRow(tensor))
    return unsuitable("input", tensor, "i64 or i32 [1, S]");
  return Status::success();
}

/// The output that holds the next value of a state.
static Result<size_t> findNext(const TensorSignature &state,
                               const std::vector<TensorSignature> &outputs) {
  std::string wanted;
  for (auto [from, to] : {std::pair("past_key_values", "present"),
                          std::pair("past_key_values", "present_key_values"),
                          std::pair("past", "present")}) {
    std::string name = state.name;
    size_t at = name.find(from);
    if (at == std::string::npos)
      continue;
    name.replace(at, std::string_view(from).size(), to);
    if (wanted.empty())
      wanted = name;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i].name == name) {
        if (outputs[i].type == state.type && outputs[i].shape == state.shape)
          return i;
        return Status(
            StatusCode::InvalidArgument,
            fmt::format("output '{}' is {}, input '{}' {}; accepted are states "
                        "that keep their type and shape",
                        name, typeText(outputs[i].type, outputs[i].shape),
                        state.name, typeText(state.type, state.shape)));
      }
  }
  if (wanted.empty())
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("input '{}' is of no known use; accepted are input_ids, "
                    "position_ids or cache_position, and states past…",
                    state.name));
  return Status(StatusCode::InvalidArgument,
                fmt::format("input '{}' has no output '{}' with its next value",
                            state.name, wanted));
}

static Status readLogits(DecoderSignature &decoder, const Object &object) {
  std::set<size_t> taken;
  for (const DecoderSignature::State &state : decoder.states)
    taken.insert(state.output);
  std::vector<size_t> left;
  for (size_t i = 0; i < object.outputs.size(); ++i)
    if (!taken.count(i))
      left.push_back(i);
  auto named = std::ranges::find_if(
      left, [&](size_t i) { return object.outputs[i].name == "logits"; });
  if (named == left.end() && left.size() != 1)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{} outputs are no states, and none is called "
                              "'logits'; accepted is one with the scores",
                              left.size()));
  decoder.logits = named == left.end() ? left.front() : *named;
  const TensorSignature &logits = object.outputs[decoder.logits];
  bool isFloat =
      logits.type == "f32" || logits.type == "f16" || logits.type == "bf16";
  uint64_t count = countElements(logits);
  decoder.vocabulary = logits.shape.empty() ? 0 : logits.shape.back();
  decoder.rows = decoder.vocabulary ? count / decoder.vocabulary : 0;
  if (!isFloat || decoder.vocabulary < 2 ||
      (decoder.rows != 1 && decoder.rows != decoder.perCall))
    return unsuitable(
        "output", logits,
        "f32, f16 or bf16 [1, S, V], or [1, V] of the last token, "
        "with at least 2 tokens to choose from");
  return Status::success();
}

Result<DecoderSignature> DecoderSignature::of(const Object &object) {
  DecoderSignature decoder;
  bool hasTokens = false;
  for (size_t i = 0; i < object.inputs.size(); ++i) {
    const TensorSignature &input = object.inputs[i];
    if (input.name == tokenInputName) {
      TESSERA_RETURN_IF_ERROR(checkNumbers(input));
      decoder.tokens = i;
      decoder.perCall = input.shape.back();
      hasTokens = true;
    } else if (input.name == "position_ids" || input.name == "cache_position") {
      TESSERA_RETURN_IF_ERROR(checkNumbers(input));
      if (decoder.positions)
        return Status(StatusCode::InvalidArgument,
                      fmt::format("input '{}': positions are asked for twice",
                                  input.name));
      decoder.positions = i;
    } else {
      TESSERA_ASSIGN_OR_RETURN(size_t next, findNext(input, object.outputs));
      decoder.states.push_back({i, next, input.bytes});
      if (input.shape.size() == 4)
        decoder.context =
            std::min(decoder.context.value_or(input.shape[2]), input.shape[2]);
    }
  }
  if (!hasTokens)
    return Status(StatusCode::InvalidArgument,
                  "no input is called 'input_ids'; accepted are models that "
                  "take tokens there, and keep what they know of earlier ones "
                  "in states past… and present…");
  if (decoder.positions &&
      object.inputs[*decoder.positions].shape.back() != decoder.perCall)
    return unsuitable("input", object.inputs[*decoder.positions],
                      "one position for each token");
  if (decoder.states.empty())
    return Status(StatusCode::InvalidArgument,
                  "the model has no state: without past… and present… it knows "
                  "nothing of earlier tokens");
  TESSERA_RETURN_IF_ERROR(readLogits(decoder, object));
  return decoder;
}

} // namespace tessera::tool
