//===- PrintTest.cpp - Objects as text ------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Object/Print.h"
#include "SampleObject.h"
#include "tessera/Support/Hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <fmt/format.h>

using namespace tessera;
using testing::HasSubstr;

TEST(PrintObject, Disassembly) {
  std::string text = disassembleObject(test::sampleObject());
  for (const char *part : {
           "input.0      image: f32[1, 1, 8, 64], 2048 bytes\n",
           "output.0     scores: f32[1, 512], 2048 bytes\n",
           "     0  1 inputs to (r2)\n"
           "          const r1, 0x40000000\n"
           "          mulf r2, r0, r1\n",
           "     1  spm f32 [8, 16] strides [16, 1] base 1024\n",
           "kernel scale, 3 arguments\n"
           "        // prologue\n"
           "     0  isa.td.load td = t0, index = 0\n",
           "     4  isa.loop rd = r3, count = 4, length = 4\n"
           "        // /layer/Mul\n"
           "     5    isa.load dst = t1, src = t2 signal(s0 += 1)\n",
           "     9  isa.halt\n",
           "        // scale [/layer/Mul, /layer/Relu]\n"
           "     0  dispatch barrier id 0 kernel scale arguments args + 8 "
           "count 3 cores [0, 0] + [1, 1]\n"
           "          argument 0 = output.0 (scores)\n"
           "          argument 1 = shared arena + 128\n"
           "          argument 2 = 7\n",
           "     1  copy barrier id 1 rodata to arena + 256 size 64\n",
           "     0  /layer/Mul elementwise bf16 M 0 K 0 N 0 batch 1 elements "
           "512 alu 1 sfu 0 either engine\n",
           "section .bss, 65536 bytes\n",
           "section .bss.shared, 4096 bytes\n",
       })
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(PrintObject, Description) {
  Object object = test::sampleObject();
  std::string text = describeObject(object);
  EXPECT_THAT(text, HasSubstr(fmt::format(
                        "architecture  tiny (ISA {:016x}, timing {:016x})\n",
                        hashBytes(object.isaKeys), object.timingHash)));
  for (const char *part : {
           "kernels       2 (",
           "constants     3000 bytes\n",
           "commands      3 packets\n",
           "dispatch      packet 0: scale [/layer/Mul, /layer/Relu] "
           "one tile, 120 cycles expected\n",
       })
    EXPECT_THAT(text, HasSubstr(part));
}
