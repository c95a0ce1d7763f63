//===- FormCheck.h - What is wrong with nodes, without import ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A node whose operands are missing, since a shape is not known or another node
// cannot be imported, may be one that cannot be imported itself: because of its
// operator, or since a shape or a number of iterations depends on what the
// model computes. All such nodes are to be named at once.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_FORMCHECK_H
#define TESSERA_LIB_IMPORT_FORMCHECK_H

#include "tessera/Import/OnnxModel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <set>
#include <string>

namespace tessera::onnx {

/// Whether the node is one that the importer knows, in form. `used` holds what
/// is read of the graph's values.
Status checkNode(const Node &node, const std::set<std::string> &used);

/// What else is refused of a node, in the words of its importer.
Status tripCountError();
Status loopConditionError();
Status castTypeError(int64_t to);

/// Names of values that the model's inputs decide, and not only their shapes.
using ComputedNames = std::set<std::string>;

/// Whether results of the node are computed, if an operand is.
bool passesValues(const Node &node);

class FormCheck {
public:
  /// Hears of a node of those given, and what is wrong with it or with one
  /// inside of it.
  using Report = llvm::function_ref<void(const Node &, const Status &)>;

  FormCheck(const Model &model, Report report) : model(model), report(report) {}

  /// Checks the nodes, each after those that it depends on, and all inside of
  /// them. `computed` holds what is so around them, and gets their results.
  void checkNodes(llvm::ArrayRef<Node> nodes,
                  const std::set<std::string> &results,
                  ComputedNames &computed);
  /// Checks a known node for what it wants to know while importing, and the
  /// graphs that it holds.
  void checkOperands(const Node &node, const ComputedNames &computed);

private:
  void add(const Status &status);
  void checkGraphs(const Node &node, const ComputedNames &computed);
  void checkCall(const Node &node, const Function &function,
                 const ComputedNames &computed);

  const Model &model;
  Report report;
  std::vector<const Node *> path;     ///< To the node that is checked.
  std::set<const Function *> checked; ///< Each once, wherever it is called.
};

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_FORMCHECK_H
