//===- SampleObject.h - An object that uses every part ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_OBJECT_SAMPLEOBJECT_H
#define TESSERA_TEST_OBJECT_SAMPLEOBJECT_H

#include "tessera/Object/Object.h"

namespace tessera::test {

/// Two kernels, a lane program, three packets, every kind of reference.
Object sampleObject();

} // namespace tessera::test

#endif // TESSERA_TEST_OBJECT_SAMPLEOBJECT_H
