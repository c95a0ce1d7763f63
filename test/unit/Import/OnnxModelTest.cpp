//===- OnnxModelTest.cpp - Reading ONNX files -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/OnnxModel.h"
#include "ProtobufBytes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>

using namespace tessera;
using namespace tessera::onnx;
using namespace tessera::onnx::test;
using testing::HasSubstr;

namespace {

Result<Model> parse(const std::string &bytes, const std::string &dir = "") {
  return parseOnnxModel(
      std::span(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()),
      "m.onnx", dir);
}

std::string errorOf(const std::string &bytes, const std::string &dir = "") {
  Result<Model> model = parse(bytes, dir);
  return model.ok() ? "no error" : model.status().message();
}

/// x → Relu → y.
GraphBytes reluGraph() {
  GraphBytes graph;
  graph.input(valueInfo("x", {2}))
      .output(valueInfo("y", {2}))
      .node(node("act", "Relu", {"x"}, {"y"}));
  return graph;
}

TEST(OnnxModel, ReadsTheDigitsModel) {
  Result<Model> model =
      readOnnxModel(TESSERA_SOURCE_DIR "/test/e2e/models/digits.onnx");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->opsets.at(""), 17);
  ASSERT_EQ(model->inputs.size(), 1u);
  EXPECT_EQ(model->inputs[0].name, "image");
  EXPECT_EQ(model->inputs[0].shape->at(0).symbol, "N");
  EXPECT_EQ(model->inputs[0].shape->at(3).size, 8u);
  EXPECT_EQ(model->nodes.front().name, "conv1");
  EXPECT_EQ(model->nodes.back().opType, "Softmax");
  const Tensor &weight = model->initializers.at("conv2.weight");
  EXPECT_EQ(weight.shape, (std::vector<uint64_t>{32, 16, 3, 3}));
  EXPECT_EQ(weight.data->size(), 32u * 16 * 9 * 4);
}

TEST(OnnxModel, SortsNodes) {
  GraphBytes graph;
  graph.input(valueInfo("x", {2}))
      .output(valueInfo("z", {2}))
      .node(node("second", "Relu", {"y"}, {"z"}))
      .node(node("first", "Relu", {"x"}, {"y"}));
  Result<Model> model = parse(graph.model());
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(model->nodes[0].name, "first");
  EXPECT_EQ(model->nodes[1].name, "second");
}

TEST(OnnxModel, RefusesCyclesAndMissingValues) {
  GraphBytes cycle;
  cycle.output(valueInfo("a", {2}))
      .node(node("one", "Relu", {"b"}, {"a"}))
      .node(node("two", "Relu", {"a"}, {"b"}));
  EXPECT_EQ(errorOf(cycle.model()),
            "m.onnx: node 'one' (Relu): depends on its own result");

  GraphBytes missing = reluGraph();
  missing.node(node("more", "Relu", {"nowhere"}, {"w"}));
  EXPECT_EQ(
      errorOf(missing.model()),
      "m.onnx: node 'more' (Relu): reads 'nowhere', which nothing defines");

  GraphBytes twice = reluGraph();
  twice.node(node("again", "Relu", {"x"}, {"y"}));
  EXPECT_EQ(errorOf(twice.model()),
            "m.onnx: node 'again' (Relu): defines the value 'y' a second time");

  GraphBytes output = reluGraph();
  output.output(valueInfo("ghost", {2}));
  EXPECT_EQ(errorOf(output.model()),
            "m.onnx: output 'ghost' is not defined by any node");
}

TEST(OnnxModel, RefusesWhatIsNoModel) {
  EXPECT_THAT(errorOf("this is a text file\n"),
              HasSubstr("m.onnx: is no ONNX"));
  EXPECT_THAT(errorOf(""), HasSubstr("m.onnx: is no ONNX model"));
  EXPECT_THAT(errorOf(reluGraph().model().substr(0, 30)),
              HasSubstr("m.onnx: is no ONNX model, or not a whole one"));
}

TEST(OnnxModel, ChecksTensorSizes) {
  auto with = [](const std::string &proto) {
    return errorOf(reluGraph().initializer(proto).model());
  };
  EXPECT_EQ(with(tensor("w", Float, {2}, "12345678")), "no error");
  EXPECT_EQ(with(tensor("w", Float, {3}, "12345678")),
            "m.onnx: initializer 'w' holds 8 bytes, its type float and shape "
            "need 12");
  EXPECT_THAT(with(tensor("w", Float, {-1}, "")),
              HasSubstr("has the extent -1"));
  EXPECT_THAT(with(tensor("w", Float, {1LL << 40, 1LL << 40}, "")),
              HasSubstr("more than 2^48 elements"));
  EXPECT_THAT(with(tensor("w", Float, {0, 1LL << 40, 1LL << 40}, "")),
              HasSubstr("more than 2^48"));
  EXPECT_EQ(with(tensor("w", Float, {0, 5}, "")), "no error");
}

TEST(OnnxModel, NamesOverloadsAndUnknownAttributeTypes) {
  GraphBytes overload = reluGraph();
  overload.node(node("n", "F", {"x"}, {"v"}, bytes(8, "special")));
  EXPECT_THAT(errorOf(overload.model()),
              HasSubstr("node 'n' (F): names the overload 'special'"));

  GraphBytes attribute = reluGraph();
  attribute.node(
      node("n", "F", {"x"}, {"v"}, bytes(5, bytes(1, "a") + number(20, 99))));
  EXPECT_THAT(errorOf(attribute.model()),
              HasSubstr("node 'n' (F): attribute 'a': has no known type"));
}

/// A folder that goes away with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "tessera-onnx-model-test";
  Folder() {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path / "model");
    std::ofstream(path / "model/w.bin") << "0123456789abcdef";
    std::ofstream(path / "secret.bin") << "0123456789abcdef";
    std::filesystem::create_symlink("../secret.bin", path / "model/link.bin");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

TEST(OnnxModel, ReadsExternalDataInTheModelsFolderOnly) {
  Folder folder;
  auto with = [&](const std::string &location, const std::string &offset,
                  int64_t count = 2) {
    std::string proto = number(1, count) + number(2, Float) + bytes(8, "w") +
                        bytes(13, bytes(1, "location") + bytes(2, location)) +
                        bytes(13, bytes(1, "offset") + bytes(2, offset)) +
                        number(14, 1);
    return parse(reluGraph().initializer(proto).model(),
                 (folder.path / "model").string());
  };
  Result<Model> model = with("w.bin", "4");
  ASSERT_TRUE(model.ok()) << model.status().message();
  EXPECT_EQ(*model->initializers.at("w").data, "456789ab");

  EXPECT_THAT(with("../secret.bin", "0").status().message(),
              HasSubstr("lies outside the model's folder"));
  EXPECT_THAT(with("link.bin", "0").status().message(),
              HasSubstr("lies outside the model's folder"));
  EXPECT_THAT(with("/etc/passwd", "0").status().message(),
              HasSubstr("accepted is a path relative"));
  EXPECT_THAT(with("none.bin", "0").status().message(),
              HasSubstr("external data 'none.bin'"));
  EXPECT_THAT(with("w.bin", "-1").status().message(),
              HasSubstr("has offset '-1'"));
  EXPECT_THAT(with("w.bin", "12").status().message(),
              HasSubstr("has 16 bytes, the tensor is at 12 to 20"));
  EXPECT_THAT(with("w.bin", "0", int64_t(1) << 40).status().message(),
              HasSubstr("has 16 bytes"));
}

} // namespace
