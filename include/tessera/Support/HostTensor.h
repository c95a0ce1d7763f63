//===- HostTensor.h - A tensor on the host --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A named, typed, row-major tensor in host memory: what models take and give.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_HOSTTENSOR_H
#define TESSERA_SUPPORT_HOSTTENSOR_H

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

struct HostTensor {
  std::string name;
  std::string type; ///< As in TensorSignature: "f32", "i64", "bool", ….
  std::vector<uint64_t> shape;
  std::vector<uint8_t> data; ///< Densely packed, little endian.
};

} // namespace tessera

#endif // TESSERA_SUPPORT_HOSTTENSOR_H
