//===- DecoderSignatureTest.cpp - A model that writes token by token ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecoderSignature.h"
#include <gtest/gtest.h>

using namespace tessera;
using tool::DecoderSignature;

static Object decoder() {
  Object object;
  object.inputs = {{"input_ids", "i64", {1, 3}, 24},
                   {"position_ids", "i64", {1, 3}, 24},
                   {"past_key_values.0.key", "f32", {1, 2, 16, 4}, 512},
                   {"past_key_values.0.value", "f32", {1, 2, 16, 4}, 512}};
  object.outputs = {{"present.0.value", "f32", {1, 2, 16, 4}, 512},
                    {"present.0.key", "f32", {1, 2, 16, 4}, 512},
                    {"logits", "f32", {1, 3, 50}, 600}};
  return object;
}

static std::string errorOf(const Object &object) {
  return DecoderSignature::of(object).status().message();
}

TEST(DecoderSignatureTest, FindsEveryTensorByItsName) {
  Result<DecoderSignature> found = DecoderSignature::of(decoder());
  ASSERT_TRUE(bool(found)) << found.status().message();
  EXPECT_EQ(found->tokens, 0u);
  EXPECT_EQ(found->positions, 1u);
  ASSERT_EQ(found->states.size(), 2u);
  EXPECT_EQ(found->states[0].input, 2u);
  EXPECT_EQ(found->states[0].output, 1u); // By name, not by position.
  EXPECT_EQ(found->states[1].output, 0u);
  EXPECT_EQ(found->states[1].bytes, 512u);
  EXPECT_EQ(found->logits, 2u);
  EXPECT_EQ(found->perCall, 3u);
  EXPECT_EQ(found->rows, 3u);
  EXPECT_EQ(found->vocabulary, 50u);
  EXPECT_EQ(found->context, 16u);
}

TEST(DecoderSignatureTest, AcceptsOtherSpellings) {
  Object object = decoder();
  object.inputs[1].name = "cache_position";
  object.inputs[2].name = "past_key_0";
  object.outputs[1].name = "present_key_0";
  object.outputs[0].name = "present_key_values.0.value";
  object.outputs[2] = {"scores", "f16", {1, 50}, 100}; // Of the last token.
  Result<DecoderSignature> found = DecoderSignature::of(object);
  ASSERT_TRUE(bool(found)) << found.status().message();
  EXPECT_EQ(found->rows, 1u);
  EXPECT_EQ(found->states[0].output, 1u);
  EXPECT_EQ(found->states[1].output, 0u);
}

TEST(DecoderSignatureTest, AStateOfAnotherRankHasNoPositions) {
  Object object = decoder();
  object.inputs[2] = {"past_h", "f32", {1, 8}, 32};
  object.outputs[1] = {"present_h", "f32", {1, 8}, 32};
  object.inputs[3] = {"past_c", "f32", {1, 8}, 32};
  object.outputs[0] = {"present_c", "f32", {1, 8}, 32};
  Result<DecoderSignature> found = DecoderSignature::of(object);
  ASSERT_TRUE(bool(found)) << found.status().message();
  EXPECT_FALSE(found->context.has_value());
}

TEST(DecoderSignatureTest, SaysWhatIsInTheWay) {
  Object object = decoder();
  object.inputs[0].name = "tokens";
  EXPECT_EQ(errorOf(object),
            "input 'tokens' is of no known use; accepted are input_ids, "
            "position_ids or cache_position, and states past…");
  object = decoder();
  object.inputs[0].type = "f32";
  EXPECT_EQ(errorOf(object),
            "input 'input_ids' is f32 [1, 3]; accepted is i64 or i32 [1, S]");
  object = decoder();
  object.inputs[0].shape = {3, 1};
  EXPECT_NE(errorOf(object).find("accepted is i64 or i32 [1, S]"),
            std::string::npos);
  object = decoder();
  object.inputs[1].shape = {1, 2};
  EXPECT_NE(errorOf(object).find("one position for each token"),
            std::string::npos);
  object = decoder();
  object.outputs[1].shape = {1, 2, 17, 4}; // A cache that grows.
  EXPECT_NE(errorOf(object).find("states that keep their type and shape"),
            std::string::npos);
  object = decoder();
  object.outputs[1].name = "other";
  EXPECT_NE(errorOf(object).find("has no output 'present.0.key'"),
            std::string::npos);
  object = decoder();
  object.outputs[2].name = "a";
  object.outputs.push_back({"b", "f32", {1, 3, 50}, 600});
  EXPECT_EQ(errorOf(object), "2 outputs are no states, and none is called "
                             "'logits'; accepted is one with the scores");
  object = decoder();
  object.outputs[2].shape = {1, 2, 50};
  EXPECT_NE(errorOf(object).find("output 'logits' is f32 [1, 2, 50]"),
            std::string::npos);
  object = decoder();
  object.inputs.resize(2);
  EXPECT_NE(errorOf(object).find("the model has no state"), std::string::npos);
  EXPECT_NE(errorOf(Object()).find("no input is called 'input_ids'"),
            std::string::npos);
}
