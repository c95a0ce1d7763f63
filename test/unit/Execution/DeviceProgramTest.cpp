//===- DeviceProgramTest.cpp - Device programs on the simulated device ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleRunner.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::test;
using testing::ElementsAre;

TEST(DeviceProgram, CopiesFillsConstants) {
  const char *text = R"mlir(
device.program @main inputs [#device.tensor<"x" : "f32", [4]>]
    outputs [#device.tensor<"same" : "f32", [4]>, #device.tensor<"ones" : "f32", [2]>,
             #device.tensor<"zero" : "f32", [2]>, #device.tensor<"last" : "f32", [2]>] {
^bb0(%x: !device.buffer<16>, %same: !device.buffer<16>, %ones: !device.buffer<8>, %zero: !device.buffer<8>, %last: !device.buffer<8>):
  %w = device.constant dense<1.0> : tensor<2xf32> : !device.buffer<8>
  %again = device.constant dense<1.0> : tensor<1x2xf32> : !device.buffer<8>
  %other = device.constant dense<[3.0, 4.0]> : tensor<2xf32> : !device.buffer<8>
  %t = device.alloc : !device.buffer<16>
  %u = device.alloc : !device.buffer<8>
  device.copy %x to %t : !device.buffer<16> to !device.buffer<16>
  device.copy %t to %same : !device.buffer<16> to !device.buffer<16>
  device.copy %again to %u : !device.buffer<8> to !device.buffer<8>
  device.copy %u to %ones : !device.buffer<8> to !device.buffer<8>
  device.fill %zero, 0 : !device.buffer<8>
  device.copy %other to %last : !device.buffer<8> to !device.buffer<8>
  device.return
}
)mlir";
  Result<Object> object = compile(text, "tiny");
  ASSERT_TRUE(object.ok()) << object.status().message();
  // Equal constants are stored once, each on a boundary of 64 bytes; the two
  // buffers of the arena are not in use at the same time.
  EXPECT_EQ(object->rodata.size(), 64u + 8u);
  EXPECT_EQ(object->arenaBytes, 64u);
  auto outputs = run(*object, "tiny", {{1, 2, 3, 4}});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT((*outputs)[0], ElementsAre(1, 2, 3, 4));
  EXPECT_THAT((*outputs)[1], ElementsAre(1, 1));
  EXPECT_THAT((*outputs)[2], ElementsAre(0, 0));
  EXPECT_THAT((*outputs)[3], ElementsAre(3, 4));
}

TEST(DeviceProgram, SignatureAndDispatches) {
  const char *text = R"mlir(
tile.kernel @copy(%a: memref<4xf32, #tile.space<dram>>, %b: memref<4xf32, #tile.space<dram>>) {
  %t = tile.alloc : memref<4xf32, #tile.space<spm>>
  tile.load %a to %t : memref<4xf32, #tile.space<dram>> to memref<4xf32, #tile.space<spm>> loc("first")
  tile.store %t to %b : memref<4xf32, #tile.space<spm>> to memref<4xf32, #tile.space<dram>> loc("second")
  tile.return
}
device.program @main inputs [#device.tensor<"x" : "i64", [2]>] outputs [#device.tensor<"y" : "f32", [4]>] {
^bb0(%x: !device.buffer<16>, %y: !device.buffer<16>):
  device.dispatch @copy(%x, %y) cores = [1, 1] nodes = ["first", "second"] : !device.buffer<16>, !device.buffer<16>
  device.return
}
)mlir";
  Result<Object> object = compile(text, "tiny");
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->inputs[0], (TensorSignature{"x", "i64", {2}, 16}));
  EXPECT_EQ(object->outputs[0], (TensorSignature{"y", "f32", {4}, 16}));
  ASSERT_EQ(object->dispatches.size(), 1u);
  EXPECT_EQ(object->dispatches[0].name, "copy");
  EXPECT_THAT(object->dispatches[0].nodes, ElementsAre("first", "second"));
  ASSERT_EQ(object->kernels.size(), 1u);
  std::vector<std::string> locations;
  for (const LocationEntry &entry : object->kernels[0].locations)
    locations.push_back(entry.location);
  EXPECT_THAT(locations, testing::IsSupersetOf({"first", "second"}));
  auto outputs = run(*object, "tiny", {{5, 6, 7, 8}});
  ASSERT_TRUE(outputs.ok()) << outputs.status().message();
  EXPECT_THAT((*outputs)[0], ElementsAre(5, 6, 7, 8));
}
