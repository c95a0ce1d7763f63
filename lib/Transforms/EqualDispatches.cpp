//===- EqualDispatches.cpp - Dispatches that share a kernel ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EqualDispatches.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tessera;

/// Of what is cheap to look at; equal dispatches have equal ones.
static llvm::hash_code hashDispatch(graph::DispatchOp dispatch) {
  llvm::hash_code hash = llvm::hash_combine(dispatch.getInputs().size(),
                                            dispatch.getOutputs().size());
  for (BlockArgument argument : dispatch.getBody().getArguments())
    hash = llvm::hash_combine(hash, argument.getType());
  dispatch.getBody().walk([&](Operation *op) {
    hash = llvm::hash_combine(hash, op->getName());
    for (Type type : op->getResultTypes())
      hash = llvm::hash_combine(hash, type);
  });
  return hash;
}

static bool areEqual(graph::DispatchOp a, graph::DispatchOp b) {
  return a.getInputs().size() == b.getInputs().size() &&
         OperationEquivalence::isRegionEquivalentTo(
             &a.getBody(), &b.getBody(), OperationEquivalence::IgnoreLocations);
}

SmallVector<SmallVector<graph::DispatchOp>>
tessera::groupEqualDispatches(ArrayRef<graph::DispatchOp> dispatches) {
  SmallVector<SmallVector<graph::DispatchOp>> groups;
  llvm::DenseMap<uint64_t, SmallVector<unsigned>> byHash;
  for (graph::DispatchOp dispatch : dispatches) {
    SmallVector<unsigned> &candidates =
        byHash[uint64_t(hashDispatch(dispatch))];
    auto found = llvm::find_if(candidates, [&](unsigned group) {
      return areEqual(groups[group].front(), dispatch);
    });
    if (found != candidates.end()) {
      groups[*found].push_back(dispatch);
      continue;
    }
    candidates.push_back(groups.size());
    groups.push_back({dispatch});
  }
  return groups;
}
