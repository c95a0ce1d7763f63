//===- Expectations.cpp - What a module expects of its values -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between import and the end of a compilation an expectation is the attribute
// `check.expect` of the result that holds the value: empty for equality, else
// with `atol` and `rtol`. The result after it holds the expected value.
//
//===----------------------------------------------------------------------===//

#include "tessera/Import/Expectations.h"
#include "MlirImport.h"
#include "dialects/Check/CheckDialect.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <fmt/format.h>

using namespace mlir;
using namespace tessera;

static constexpr StringLiteral expectAttrName = "check.expect";

void tessera::takeExpectations(func::FuncOp entry) {
  SmallVector<Operation *> ops;
  entry.walk([&](Operation *op) {
    if (isa<check::ExpectEqOp, check::ExpectCloseOp>(op) &&
        op->getParentOp() == entry)
      ops.push_back(op);
  });
  Builder builder(entry.getContext());
  Operation *end = entry.getBody().front().getTerminator();
  for (Operation *op : ops) {
    NamedAttrList tolerance;
    if (auto close = dyn_cast<check::ExpectCloseOp>(op)) {
      tolerance.set("atol", close.getAtolAttr());
      tolerance.set("rtol", close.getRtolAttr());
    }
    std::string name = fmt::format(
        "{} ({})", op->getName().getStringRef().str(), placeOf(op->getLoc()));
    for (OpOperand &operand : op->getOpOperands()) {
      bool isWant = operand.getOperandNumber() == 1;
      unsigned index = entry.getNumResults();
      NamedAttrList attributes;
      attributes.set(
          graph::nameAttrName,
          builder.getStringAttr(isWant ? name + ", expected" : name));
      if (!isWant)
        attributes.set(expectAttrName,
                       tolerance.getDictionary(entry.getContext()));
      (void)entry.insertResult(index, operand.get().getType(),
                               attributes.getDictionary(entry.getContext()));
      end->insertOperands(index, operand.get());
    }
    op->erase();
  }
}

std::vector<Expectation> tessera::expectationsOf(ModuleOp module) {
  std::vector<Expectation> expectations;
  auto entry = module.lookupSymbol<func::FuncOp>("main");
  for (unsigned i = 0; entry && i + 1 < entry.getNumResults(); ++i) {
    auto expect = entry.getResultAttrOfType<DictionaryAttr>(i, expectAttrName);
    if (!expect)
      continue;
    Expectation one;
    one.name = entry.getResultAttrOfType<StringAttr>(i, graph::nameAttrName)
                   .getValue()
                   .str();
    one.output = i;
    if (auto atol = expect.getAs<FloatAttr>("atol"))
      one.tolerance = {atol.getValueAsDouble(),
                       expect.getAs<FloatAttr>("rtol").getValueAsDouble()};
    expectations.push_back(std::move(one));
  }
  return expectations;
}
