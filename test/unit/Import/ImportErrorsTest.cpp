//===- ImportErrorsTest.cpp - What bad models get -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProtobufBytes.h"
#include "mlir/IR/MLIRContext.h"
#include "tessera/Import/Import.h"
#include "tessera/Import/OnnxModel.h"
#include "tessera/Support/File.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace tessera;
using namespace tessera::onnx::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// A file of its own for each test program.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &ending)
      : path(testing::TempDir() + "tessera-import-" + std::to_string(getpid()) +
             ending) {}
  ~TemporaryFile() { std::filesystem::remove(path); }
  void write(std::string_view bytes) const {
    Status status = writeTextFile(path, bytes);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  const std::string path;
};

class ImportErrors : public testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  TemporaryFile onnxFile{".onnx"}, mlirFile{".mlir"};

  std::string import(const std::string &path, const ImportOptions &options) {
    auto module = importModel(context, path, options);
    if (module.ok())
      return "no error";
    // "path: what", or "path:line: what".
    EXPECT_EQ(module.status().message().rfind(path + ":", 0), 0u)
        << module.status().message();
    std::string rest = module.status().message().substr(path.size());
    return rest.starts_with(": ") ? rest.substr(2) : rest;
  }
  std::string importOnnx(const std::string &bytes,
                         const ImportOptions &options = {}) {
    onnxFile.write(bytes);
    return import(onnxFile.path, options);
  }
  std::string importMlir(const std::string &text,
                         const ImportOptions &options = {}) {
    mlirFile.write(text);
    return import(mlirFile.path, options);
  }
  /// One node on inputs x [1, 4, 5, 5] and w [4, 4, 3, 3].
  std::string importNode(const std::string &op, const std::string &more = "",
                         const std::vector<std::string> &inputs = {"x"}) {
    GraphBytes graph;
    graph.input(valueInfo("x", {1, 4, 5, 5}))
        .input(valueInfo("w", {4, 4, 3, 3}))
        .output(valueInfo("y", {}))
        .node(node("n", op, inputs, {"y"}, more));
    return importOnnx(graph.model());
  }
};

/// Attributes of a node.
std::string ints(std::string_view name, const std::vector<int64_t> &values) {
  std::string list;
  for (int64_t value : values)
    list += number(8, value);
  return bytes(5, bytes(1, name) + number(20, 7) + list);
}
std::string integer(std::string_view name, int64_t value) {
  return bytes(5, bytes(1, name) + number(20, 2) + number(3, value));
}
std::string text(std::string_view name, std::string_view value) {
  return bytes(5, bytes(1, name) + number(20, 3) + bytes(4, value));
}

TEST_F(ImportErrors, ListEveryNodeThatCannotBeImported) {
  GraphBytes graph;
  graph.input(valueInfo("x", {1, 4}))
      .output(valueInfo("d", {1, 4}))
      .node(node("first", "Mystery", {"x"}, {"a"}))
      // Depends on what is missing: known, so not a problem of its own.
      .node(node("fine", "Relu", {"a"}, {"b"}))
      .node(node("second", "Riddle", {"b"}, {"c"}))
      .node(node("third", "Softmax", {"x"}, {"d"}, integer("axis", 7)));
  std::string error = importOnnx(graph.model());
  EXPECT_THAT(error, HasSubstr("3 problems:"));
  EXPECT_THAT(error, HasSubstr("node 'first' (Mystery): unknown operator"));
  EXPECT_THAT(error, HasSubstr("node 'second' (Riddle): unknown operator"));
  EXPECT_THAT(error, HasSubstr("node 'third' (Softmax): axis 7"));
  EXPECT_THAT(error, HasSubstr("known operators: Abs, Acos, Acosh, Add,"));
  EXPECT_THAT(error, Not(HasSubstr("'fine'")));
}

TEST_F(ImportErrors, ListWhatFollowsAMissingValue) {
  GraphBytes graph;
  graph.input(valueInfo("x", {1, 4}))
      .output(valueInfo("d", {}))
      .output(valueInfo("e", {}))
      .node(node("first", "Mystery", {"x"}, {"a"}))
      // How many positions there are depends on what is computed.
      .node(node("count", "NonZero", {"a"}, {"b"}))
      .node(node("size", "Shape", {"a"}, {"c"}))
      // These depend on a shape only, which the unknown operator may have.
      .node(node("fill", "ConstantOfShape", {"c"}, {"d"}))
      .node(node("sized", "Expand", {"x", "b"}, {"e"}));
  std::string error = importOnnx(graph.model());
  EXPECT_THAT(error, HasSubstr("3 problems:"));
  EXPECT_THAT(error, HasSubstr("node 'first' (Mystery): unknown operator"));
  EXPECT_THAT(error, HasSubstr("node 'count' (NonZero): operand 0 decides"));
  EXPECT_THAT(error, HasSubstr("node 'sized' (Expand): operand 1 decides"));
}

TEST_F(ImportErrors, ListEveryNodeOfAnInnerGraph) {
  auto branch = [](std::string_view name) {
    GraphBytes graph;
    graph.output(valueInfo("r", {1, 4}))
        .node(node("one", "Mystery", {"x"}, {"p"}))
        .node(node("two", "Riddle", {"p"}, {"r"}));
    return bytes(5, bytes(1, name) + number(20, 5) + bytes(6, graph.fields));
  };
  GraphBytes graph;
  graph.input(valueInfo("x", {1, 4}))
      .input(valueInfo("c", {}))
      .output(valueInfo("y", {}))
      .node(node("choice", "If", {"c"}, {"y"},
                 branch("then_branch") + branch("else_branch")));
  std::string error = importOnnx(graph.model());
  EXPECT_THAT(error, HasSubstr("node 'choice' (If): node 'one' (Mystery): "));
  EXPECT_THAT(error, HasSubstr("node 'choice' (If): node 'two' (Riddle): "));
}

TEST_F(ImportErrors, NameNodeAndWhatIsAccepted) {
  EXPECT_EQ(importNode("Conv", "", {"x", "w"}), "no error");
  EXPECT_THAT(importNode("Conv"), HasSubstr("node 'n' (Conv): has 1 operands; "
                                            "accepted are 2 to 3"));
  EXPECT_THAT(importNode("Conv", ints("pads", {1, 1}), {"x", "w"}),
              HasSubstr("attribute 'pads' has 2 values; accepted are 4 here"));
  EXPECT_THAT(importNode("Conv", ints("strides", {0, 1}), {"x", "w"}),
              HasSubstr("attribute 'strides' has the value 0; accepted are 1"));
  EXPECT_THAT(importNode("Conv", ints("pads", {-1, 0, 0, 0}), {"x", "w"}),
              HasSubstr("attribute 'pads' has the value -1"));
  EXPECT_THAT(importNode("Conv", ints("dilations", {3, 1}), {"x", "w"}),
              HasSubstr("a window reaches over 7 elements"));
  EXPECT_THAT(importNode("Conv", integer("group", 3), {"x", "w"}),
              HasSubstr("group 3 do not fit"));
  EXPECT_THAT(importNode("Conv", integer("strides", 1), {"x", "w"}),
              HasSubstr("attribute 'strides' is an integer; accepted is a list "
                        "of integers"));
  EXPECT_THAT(
      importNode("Conv", text("auto_pad", "SAME"), {"x", "w"}),
      HasSubstr("'auto_pad' is 'SAME'; accepted are NOTSET, SAME_UPPER"));
  EXPECT_THAT(importNode("Conv", ints("kernel_shape", {2, 2}), {"x", "w"}),
              HasSubstr("'kernel_shape' is [2, 2], the weights have [3, 3]"));
  EXPECT_THAT(importNode("Relu", integer("slope", 1)),
              HasSubstr("attribute 'slope' is unknown; accepted are none"));
  EXPECT_THAT(importNode("MaxPool"), HasSubstr("no attribute 'kernel_shape'"));
  EXPECT_THAT(importNode("Transpose", ints("perm", {0, 1, 1, 2})),
              HasSubstr("'perm' is [0, 1, 1, 2]; accepted is a permutation"));
  EXPECT_THAT(importNode("Add", "", {"x", "w"}),
              HasSubstr("[1, 4, 5, 5] and [4, 4, 3, 3] do not broadcast"));
  EXPECT_THAT(importNode("Reshape", "", {"x", "w"}),
              HasSubstr("operand 1 decides the shape, but is computed"));
  EXPECT_THAT(importNode("Relu", bytes(7, "com.example")),
              HasSubstr("an operator of the domain 'com.example'"));
}

TEST_F(ImportErrors, OutputsOtherThanDeclared) {
  auto declared = [&](std::vector<int64_t> shape) {
    GraphBytes graph;
    graph.input(valueInfo("x", {2, 3}))
        .output(valueInfo("y", shape))
        .node(node("n", "Relu", {"x"}, {"y"}));
    return importOnnx(graph.model());
  };
  EXPECT_EQ(declared({2, 3}), "no error");
  EXPECT_THAT(declared({2, 4}),
              HasSubstr("output 'y': is declared as [2, 4], the graph gives "
                        "[2, 3]"));
  EXPECT_THAT(declared({6}), HasSubstr("is declared as [6]"));
}

// Exporters name outputs that nobody reads.
TEST_F(ImportErrors, OutputsThatCannotBeComputed) {
  auto sigmoid = [&](const std::string &read) {
    GraphBytes graph;
    graph.input(valueInfo("x", {2}))
        .output(valueInfo("z", {2}))
        .node(node("n", "Sigmoid", {"x"}, {"y", "mask"}))
        .node(node("m", "Relu", {read}, {"z"}));
    return importOnnx(graph.model());
  };
  EXPECT_EQ(sigmoid("y"), "no error");
  EXPECT_EQ(sigmoid("mask"), "node 'n' (Sigmoid): output 1 ('mask') cannot be "
                             "computed; accepted are 1");
}

TEST_F(ImportErrors, OperatorSetVersions) {
  GraphBytes graph;
  graph.input(valueInfo("x", {2}))
      .output(valueInfo("y", {2}))
      .node(node("n", "Relu", {"x"}, {"y"}));
  EXPECT_EQ(importOnnx(graph.model(7)), "no error");
  EXPECT_EQ(importOnnx(graph.model(1)), "no error");
  EXPECT_THAT(importOnnx(graph.model(0)),
              HasSubstr("version 0 of the standard operators; accepted are 1"));
  EXPECT_THAT(importOnnx(graph.model(99)), HasSubstr("version 99"));
}

TEST_F(ImportErrors, SymbolicDimensions) {
  const std::string digits = TESSERA_SOURCE_DIR "/test/e2e/models/digits.onnx";
  ImportOptions options;
  EXPECT_EQ(import(digits, options),
            "input 'image': dimension 0 is the symbolic 'N', which nothing "
            "fixes; give --dim N=<size> or the input");
  options.dims["M"] = 3;
  EXPECT_EQ(import(digits, options),
            "--dim M=3: no such dimension; the model has N");
  options.dims = {{"N", 3}};
  EXPECT_EQ(import(digits, options), "no error");
  options.inputShapes["image"] = {4, 1, 8, 8};
  EXPECT_EQ(import(digits, options),
            "input 'image': given is the shape [4, 1, 8, 8], but dimension 'N' "
            "is 3");
  options.dims.clear();
  EXPECT_EQ(import(digits, options), "no error");
  options.inputShapes["image"] = {4, 1, 8, 9};
  EXPECT_EQ(
      import(digits, options),
      "input 'image': given is the shape [4, 1, 8, 9], dimension 3 of the "
      "model is 8");
  options.inputShapes = {{"picture", {4, 1, 8, 8}}};
  EXPECT_EQ(import(digits, options),
            "no input is called 'picture'; the model has image");
  options.inputShapes.clear();
  options.dims = {{"N", 0}};
  EXPECT_THAT(import(digits, options), HasSubstr("has no elements"));
  options.dims = {{"N", uint64_t(1) << 63}};
  EXPECT_THAT(import(digits, options), HasSubstr("more than 2^40 elements"));
}

TEST_F(ImportErrors, Mlir) {
  EXPECT_EQ(importMlir("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                       "  return %x : tensor<2xf32>\n}\n"),
            "no error");
  EXPECT_THAT(importMlir("func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {\n"
                         "  return %x : tensor<?xf32>\n}\n"),
              HasSubstr("argument 0 has the type tensor<?xf32>; accepted are "
                        "tensors without dynamic dimensions"));
  EXPECT_THAT(importMlir("func.func @f(%x: tensor<2xf32>) {\n  nonsense\n}\n"),
              HasSubstr(":2: "));
  EXPECT_THAT(importMlir("func.func private @a()\nfunc.func private @b()\n"),
              HasSubstr("has 2 functions; accepted are one, or one called "
                        "@main"));
  EXPECT_THAT(
      importMlir("func.func @f(%x: tensor<2xf32>, %i: index) -> tensor<2xf32> "
                 "{\n  return %x : tensor<2xf32>\n}\n"),
      HasSubstr("argument 1 has the type index; accepted are ranked tensors"));
  EXPECT_THAT(importMlir("func.func @f(%x: tensor<2xi16>) -> tensor<2xi16> {\n"
                         "  return %x : tensor<2xi16>\n}\n"),
              HasSubstr("accepted are tensors of f32"));
  ImportOptions options;
  options.inputShapesByPosition[0] = {3};
  EXPECT_THAT(importMlir("func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
                         "  return %x : tensor<2xf32>\n}\n",
                         options),
              HasSubstr("input 0: given is the shape [3], the model has [2]"));
}

// Whatever a damaged file holds, there is a module or an error.
TEST_F(ImportErrors, DamagedModelsNeverCrash) {
  auto whole = readTextFile(TESSERA_SOURCE_DIR "/test/e2e/models/digits.onnx");
  ASSERT_TRUE(whole.ok());
  std::mt19937 random(11);
  ImportOptions options;
  options.dims["N"] = 2;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = *whole;
    unsigned flips = 1 + random() % 3;
    for (unsigned i = 0; i < flips; ++i) {
      // Nodes are at the start, shapes and names of values at the end.
      size_t at =
          random() % 4 ? random() % 1500 : bytes.size() - 1 - random() % 300;
      bytes[at] ^= static_cast<char>(1 + random() % 255);
    }
    importOnnx(bytes, options);
  }
}

} // namespace
