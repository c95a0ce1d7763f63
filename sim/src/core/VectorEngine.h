//===- VectorEngine.h - The vector engine -----------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_CORE_VECTORENGINE_H
#define TESSERA_SIM_CORE_VECTORENGINE_H

#include "core/InOrderEngine.h"
#include "core/VectorPlan.h"

namespace tessera::sim {

/// What a vector instruction writes when it completes.
struct VectorResults {
  std::vector<VectorOutput> outputs;
  template <typename A> void serialize(A &ar) { fields(ar, outputs); }
};

class VectorEngine final : public InOrderEngine<VectorResults> {
public:
  explicit VectorEngine(Core &core);

  template <typename A> void serialize(A &ar) { serializeOperations(ar); }

protected:
  void step(Cycle now) override;
  void commit(const VectorResults &results) override;

private:
  /// When the last predecessor is over on whose results it depends.
  Cycle dependencesReady(const VectorPlan &plan) const;
  void start(const QueueEntry &entry, VectorPlan &plan, Cycle now);
  /// Tells the checker.
  void reportAccesses(const QueueEntry &entry, const VectorPlan &plan);
  void write(const VectorOutput &output);
};

} // namespace tessera::sim

#endif // TESSERA_SIM_CORE_VECTORENGINE_H
