//===- ImportCasesTest.cpp - Imported operators against other software ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// make-cases.py wrote the models and what ONNX Runtime computes for them; here
// they are imported and run on the host.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/MLIRContext.h"
#include "tessera/Import/Import.h"
#include "tessera/Import/OnnxModel.h"
#include "tessera/Reference/Reference.h"
#include "tessera/Support/Npy.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <filesystem>

using namespace tessera;

namespace {

class ImportCases : public testing::TestWithParam<const char *> {};

TEST_P(ImportCases, AgreeWithOtherSoftware) {
  const std::string base =
      std::string(TESSERA_SOURCE_DIR "/test/unit/Import/cases/") + GetParam();
  std::vector<NpyArray> arrays;
  ImportOptions options;
  for (uint32_t i = 0;; ++i) {
    std::string path = base + ".in" + std::to_string(i) + ".npy";
    if (!std::filesystem::exists(path))
      break;
    Result<NpyArray> array = readNpy(path);
    ASSERT_TRUE(array.ok()) << array.status().message();
    options.inputShapesByPosition[i] = array->shape;
    arrays.push_back(std::move(*array));
  }
  ASSERT_FALSE(arrays.empty());
  Result<NpyArray> expected = readNpy(base + ".expected.npy");
  ASSERT_TRUE(expected.ok()) << expected.status().message();
  Result<onnx::Model> model = onnx::readOnnxModel(base + ".onnx");
  ASSERT_TRUE(model.ok()) << model.status().message();

  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importModel(context, base + ".onnx", options);
  ASSERT_TRUE(module.ok()) << module.status().message();
  Result<HostReference> reference = HostReference::compile(**module);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  std::vector<std::span<const std::byte>> inputs;
  for (const NpyArray &array : arrays)
    inputs.push_back(std::as_bytes(std::span(array.data)));
  auto outputs = reference->run(inputs);
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();

  size_t at = 0;
  ASSERT_EQ(outputs->size(), model->outputs.size());
  for (size_t i = 0; i < outputs->size(); ++i) {
    const std::string &name = model->outputs[i].name;
    size_t count = (*outputs)[i].size() / sizeof(float);
    size_t declared = 1;
    for (const onnx::Dimension &dimension : *model->outputs[i].shape)
      declared *= *dimension.size;
    ASSERT_EQ(count, declared) << name;
    ASSERT_LE((at + count) * sizeof(float), expected->data.size());
    for (size_t j = 0; j < count; ++j, ++at) {
      float got, want;
      std::memcpy(&got, (*outputs)[i].data() + j * sizeof(float), 4);
      std::memcpy(&want, expected->data.data() + at * sizeof(float), 4);
      ASSERT_NEAR(got, want, 1e-5 + 1e-5 * std::fabs(want))
          << name << "[" << j << "]";
    }
  }
  EXPECT_EQ(at * sizeof(float), expected->data.size());
}

INSTANTIATE_TEST_SUITE_P(Models, ImportCases,
                         testing::Values("convolution", "pooling", "matmul",
                                         "elementwise", "shapes",
                                         "normalization9", "normalization13",
                                         "reductions13", "reductions18"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
