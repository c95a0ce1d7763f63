//===- RandomTensor.cpp - Seeded random tensors ---------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomTensor.h"
#include "TensorFiles.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Random.h"
#include <bit>
#include <fmt/format.h>

namespace tessera::tool {

/// The upper half of an f32, which is a bf16, rounded to nearest even.
static uint16_t toBfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

Result<HostTensor> makeRandomTensor(const TensorSignature &signature,
                                    uint64_t seed, uint32_t position) {
  HostTensor tensor{signature.name, signature.type, signature.shape, {}};
  uint64_t count = 1, width = elementBytes(signature.type);
  for (uint64_t extent : signature.shape)
    count *= extent;
  if (width == 0 || count * width != signature.bytes)
    return Status(
        StatusCode::Unsupported,
        fmt::format("input '{}': no random values of {} in {} bytes can be "
                    "made; give the input with --input",
                    signature.name, typeText(signature.type, signature.shape),
                    signature.bytes));
  tensor.bytes.resize(signature.bytes);
  Random random(seed ^ (uint64_t(position) << 32));
  const std::string &type = signature.type;
  for (uint64_t i = 0; i < count; ++i) {
    std::byte *to = tensor.bytes.data() + i * width;
    if (type == "f32")
      storeLittleEndian(to, random.uniformFloat(-1, 1));
    else if (type == "f64")
      storeLittleEndian(to, double(random.uniformFloat(-1, 1)));
    else if (type == "bf16")
      storeLittleEndian(to, toBfloat16(random.uniformFloat(-1, 1)));
    else if (type == "f16")
      storeLittleEndian(
          to, std::bit_cast<uint16_t>(_Float16(random.uniformFloat(-1, 1))));
    else if (type == "bool")
      storeLittleEndian(to, uint8_t(random.below(2)));
    else if (type.starts_with("f8"))
      // Any byte with a middle exponent: a finite number in either format.
      storeLittleEndian(to, uint8_t((random.below(16) << 4 & 0x80) |
                                    (0x28 + random.below(16))));
    else {
      uint64_t value = random.below(8);
      std::memcpy(to, &value, width);
    }
  }
  return tensor;
}

} // namespace tessera::tool
