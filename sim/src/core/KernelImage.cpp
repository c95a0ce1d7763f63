//===- KernelImage.cpp - A kernel as the cores run it -----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "core/KernelImage.h"
#include <algorithm>

namespace tessera::sim {

std::shared_ptr<const KernelImage>
KernelImage::decode(std::vector<uint8_t> text,
                    std::vector<uint8_t> descriptorBytes,
                    std::vector<uint8_t> mapBytes) {
  auto image = std::make_shared<KernelImage>();
  image->text = std::move(text);
  image->descriptorBytes = std::move(descriptorBytes);
  image->mapBytes = std::move(mapBytes);

  std::span<const uint8_t> rest = image->text;
  while (!rest.empty()) {
    Result<isa::Decoded> decoded = isa::decode(rest);
    if (!decoded) {
      image->programBroken = true;
      break;
    }
    image->program.push_back(decoded->inst);
    rest = rest.subspan(decoded->bytes);
  }

  size_t size = image->program.size();
  image->enclosingLoop.assign(size, -1);
  // Later loops are inner ones: they overwrite what an outer one wrote.
  for (size_t pc = 0; pc < size; ++pc)
    if (std::optional<uint64_t> length = isa::loopLength(image->program[pc]))
      for (size_t i = pc + 1; i < std::min<uint64_t>(size, pc + 1 + *length);
           ++i)
        image->enclosingLoop[i] = int32_t(pc);

  std::span<const uint8_t> images = image->descriptorBytes;
  for (; images.size() >= isa::descriptorBytes;
       images = images.subspan(isa::descriptorBytes)) {
    Result<isa::Descriptor> td =
        isa::decodeDescriptor(images.first(isa::descriptorBytes));
    image->descriptors.push_back(td ? std::optional(*td) : std::nullopt);
  }
  if (!image->mapBytes.empty())
    if (auto maps = isa::decodeMapPrograms(image->mapBytes))
      image->maps = std::move(*maps);
  return image;
}

} // namespace tessera::sim
