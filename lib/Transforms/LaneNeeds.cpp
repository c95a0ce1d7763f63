//===- LaneNeeds.cpp - What a body needs of the vector lanes --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneNeeds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tessera/ISA/MapProgram.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace tessera;

// Conversions of narrow types take registers and operations of their own, and
// so do constants, for the operation that reads them.
bool LaneNeeds::fit() const {
  return operations <= isa::maxMapOps / 3 && registers <= isa::numLaneRegs - 4;
}

bool LaneNeeds::exceed() const {
  return operations > isa::maxMapOps * 3 / 4 ||
         registers > isa::numLaneRegs - 3;
}

/// Whether a register holds the value from where it is made on.
static bool isHeld(Value value) {
  return !value.getDefiningOp<arith::ConstantOp>();
}

LaneNeeds tessera::laneNeeds(ArrayRef<Operation *> operations,
                             ValueRange results) {
  LaneNeeds needs;
  // Backwards: a value is live from its last use to where it is made.
  llvm::SmallDenseSet<Value, 32> live(results.begin(), results.end());
  for (Operation *op : llvm::reverse(operations)) {
    if (!isHeld(op->getResult(0)))
      continue;
    ++needs.operations;
    for (Value result : op->getResults())
      live.erase(result);
    for (Value operand : op->getOperands())
      if (isHeld(operand) && operand.getParentBlock() == op->getBlock())
        live.insert(operand);
    needs.registers =
        std::max<unsigned>(needs.registers, live.size() + op->getNumResults());
  }
  return needs;
}

LaneNeeds tessera::laneNeeds(Block &body) {
  SmallVector<Operation *> operations;
  for (Operation &op : body.without_terminator())
    operations.push_back(&op);
  return laneNeeds(operations, body.getTerminator()->getOperands());
}

LaneNeeds tessera::laneNeeds(Block &producer, Block &consumer) {
  LaneNeeds first = laneNeeds(producer), second = laneNeeds(consumer);
  // The first one is computed while the other's operands wait.
  return {first.operations + second.operations,
          std::max(first.registers + consumer.getNumArguments() - 1,
                   second.registers)};
}
