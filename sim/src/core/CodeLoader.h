//===- CodeLoader.h - Loading a kernel into a core --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fetches text, descriptors and lane programs into the core's memories at
// dispatch, one burst per cycle, at most dma.outstanding in flight.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_CODELOADER_H
#define TESSERA_SIM_CORE_CODELOADER_H

#include "core/Core.h"

namespace tessera::sim {

class CodeLoader final : public Unit {
public:
  explicit CodeLoader(Core &core);

  void start();
  void reset();
  void handle(const Event &event) override;

  template <typename A> void serialize(A &ar) {
    serializeUnit(ar);
    fields(ar, region, position, inFlight, translating, active);
  }

protected:
  void step(Cycle now) override;

private:
  struct Region {
    uint64_t address = 0, bytes = 0;
    Access access = Access::Read;
  };
  Region regionAt(unsigned index) const;

  static constexpr unsigned numRegions = 3;
  uint16_t client;
  uint32_t region = 0;
  uint64_t position = 0; ///< Bytes of the region requested.
  uint32_t inFlight = 0;
  bool translating = false, active = false;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_CODELOADER_H
