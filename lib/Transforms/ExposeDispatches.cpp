//===- ExposeDispatches.cpp - What each dispatch computes -----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Transforms/ExposeDispatches.h"
#include "DispatchBuilder.h"
#include "dialects/Graph/GraphDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tessera;

/// Whether the result keeps what the dispatch computed until the end.
static bool isKept(OpResult result) {
  auto dispatch = cast<graph::DispatchOp>(result.getOwner());
  Value place = dispatch.getOutputs()[result.getResultNumber()];
  Type element = getElementTypeOrSelf(result.getType());
  if (!place.getDefiningOp<tensor::EmptyOp>() || !element.isIntOrFloat() ||
      element.getIntOrFloatBitWidth() % 8 != 0)
    return false;
  return llvm::all_of(result.getUses(), [](OpOperand &use) {
    auto user = dyn_cast<graph::DispatchOp>(use.getOwner());
    return user && use.getOperandNumber() < user.getInputs().size();
  });
}

static std::string nameOf(graph::DispatchOp dispatch) {
  std::string name;
  if (auto nodes = dispatch->getAttrOfType<ArrayAttr>(nodesAttrName))
    for (auto node : nodes.getAsRange<StringAttr>())
      name += (name.empty() ? "" : "+") + node.getValue().str();
  return name;
}

void tessera::exposeDispatches(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  Operation *end = function.getBody().front().getTerminator();
  SmallVector<Value> results(end->getOperands());
  OpBuilder builder(module.getContext());
  SmallVector<std::pair<unsigned, std::string>> names;
  function.walk([&](graph::DispatchOp dispatch) {
    for (OpResult result : dispatch->getResults())
      if (isKept(result)) {
        names.push_back({results.size(), nameOf(dispatch)});
        results.push_back(result);
      }
  });
  end->setOperands(results);
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  function.setType(builder.getFunctionType(function.getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  attributes.resize(results.size(), builder.getDictionaryAttr({}));
  function.setAllResultAttrs(attributes);
  for (auto &[index, name] : names)
    function.setResultAttr(index, graph::nameAttrName,
                           builder.getStringAttr(name));
}

void tessera::inlineDispatches(ModuleOp module) {
  auto function = module.lookupSymbol<func::FuncOp>("main");
  SmallVector<graph::DispatchOp> dispatches;
  function.walk([&](graph::DispatchOp op) { dispatches.push_back(op); });
  for (graph::DispatchOp dispatch : dispatches) {
    OpBuilder builder(dispatch);
    IRMapping mapping;
    mapping.map(dispatch.getBody().getArguments(), dispatch->getOperands());
    Block &body = dispatch.getBody().front();
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    for (auto [result, value] : llvm::zip_equal(
             dispatch->getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    dispatch.erase();
  }
}
