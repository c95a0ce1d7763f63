//===- OnnxFuzzTest.cpp - Damaged ONNX files ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/OnnxModel.h"
#include "tessera/Support/File.h"
#include "gtest/gtest.h"
#include <random>

using namespace tessera;
using namespace tessera::onnx;

namespace {

std::vector<uint8_t> digits() {
  auto bytes = readFile(TESSERA_SOURCE_DIR "/test/e2e/models/digits.onnx");
  EXPECT_TRUE(bytes.ok()) << bytes.status().message();
  return bytes.ok() ? *bytes : std::vector<uint8_t>();
}

/// Damage may go unnoticed (a bit of a weight), but what comes back is usable:
/// every tensor has its bytes and every error names the file.
void readDamaged(const std::vector<uint8_t> &bytes) {
  Result<Model> model = parseOnnxModel(bytes, "damaged.onnx", "");
  if (!model.ok()) {
    EXPECT_EQ(model.status().message().rfind("damaged.onnx: ", 0), 0u)
        << model.status().message();
    return;
  }
  for (const auto &[name, tensor] : model->initializers)
    EXPECT_EQ(tensor.data->size(),
              elementBytes(tensor.elementType) == 0
                  ? 0
                  : tensor.elementCount() * elementBytes(tensor.elementType));
}

TEST(OnnxFuzz, TruncatedAnywhereIsAnError) {
  std::vector<uint8_t> whole = digits();
  // Every length near both ends, and a spread between.
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 400 && i < whole.size(); ++i) {
    lengths.push_back(i);
    lengths.push_back(whole.size() - 1 - i);
  }
  for (size_t i = 0; i < whole.size(); i += 997)
    lengths.push_back(i);
  size_t accepted = 0;
  for (size_t length : lengths) {
    std::vector<uint8_t> part(whole.begin(), whole.begin() + length);
    readDamaged(part);
    accepted += parseOnnxModel(part, "t", "").ok();
  }
  // The operator set follows the graph: without it the file still parses.
  EXPECT_LE(accepted, 8u);
}

TEST(OnnxFuzz, FlippedBytesNeverCrash) {
  const std::vector<uint8_t> whole = digits();
  std::mt19937 random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<uint8_t> bytes = whole;
    unsigned flips = 1 + random() % 8;
    for (unsigned i = 0; i < flips; ++i) {
      // Half of them where the structure is dense: nodes come first, inputs,
      // outputs and operator sets last.
      size_t at = random() % bytes.size();
      if (random() % 2)
        at = random() % 2 ? random() % 1500 : bytes.size() - 1 - random() % 300;
      bytes[at] ^= static_cast<uint8_t>(1 + random() % 255);
    }
    readDamaged(bytes);
  }
}

} // namespace
