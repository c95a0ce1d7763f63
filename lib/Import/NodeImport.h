//===- NodeImport.h - One ONNX node being imported --------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the import function of an operator sees: the node, its operands as MLIR
// values or constants, its attributes with their checks, and a builder whose
// location names the node. Import functions return errors without file and
// node: the caller adds both.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_IMPORT_NODEIMPORT_H
#define TESSERA_LIB_IMPORT_NODEIMPORT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Value.h"
#include "tessera/Import/OnnxModel.h"
#include "tessera/Support/Status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::onnx {

/// A value of the ONNX graph: an MLIR value, a constant, or both. A constant
/// becomes an MLIR value when a node needs it as one.
struct GraphValue {
  mlir::Value value;
  std::shared_ptr<const Tensor> constant;
  /// An ElementType: what the elements mean, e.g. whether i8 has a sign.
  int32_t elementType = Undefined;
  /// Defined by a node that could not be imported.
  bool missing = false;
};

/// The type of a computed tensor's elements, or null if tensors of the element
/// type are only known as constants.
mlir::Type storedType(mlir::MLIRContext *context, int32_t elementType);

/// The values of a graph by name, and where its constants are built.
class GraphValues {
public:
  GraphValues(mlir::OpBuilder constants) : constants(constants) {}
  std::map<std::string, GraphValue> byName;
  /// The value of `name`, built if it is still only a constant.
  Result<mlir::Value> materialize(const std::string &name);
  /// A constant operation at the start of the function.
  mlir::Value buildConstant(const Tensor &tensor, llvm::StringRef name);

private:
  mlir::OpBuilder constants;
};

class NodeImport {
public:
  NodeImport(const Node &node, int64_t opset, GraphValues &values,
             mlir::ImplicitLocOpBuilder &builder)
      : node(node), opset(opset), b(builder), values(values) {}

  const Node &node;
  const int64_t opset; ///< Of the standard operators.
  mlir::ImplicitLocOpBuilder &b;

  static Status error(std::string what) {
    return {StatusCode::InvalidArgument, std::move(what)};
  }

  //===-- Operands --------------------------------------------------------===//
  bool hasInput(size_t index) const {
    return index < node.inputs.size() && !node.inputs[index].empty();
  }
  bool hasOutput(size_t index) const {
    return index < node.outputs.size() && !node.outputs[index].empty();
  }
  /// The tensor of floats at `index`, as f32. Elements of a narrower type are
  /// widened, and then results are rounded to that type.
  Result<mlir::Value> input(size_t index);
  /// The tensor at `index` as it is stored.
  Result<mlir::Value> storedInput(size_t index);
  /// The element type of the operand at `index`, as ONNX numbers them.
  int32_t inputType(size_t index) const;
  /// The operand's elements if it is known while importing.
  const Tensor *constantInput(size_t index) const;
  /// The integers at `index`; an error if they are not known while importing.
  Result<std::vector<int64_t>> integerInput(size_t index);
  /// The float scalar at `index`; an error likewise.
  Result<float> scalarInput(size_t index);
  /// The operand's shape, be it a value or a constant.
  Result<std::vector<int64_t>> inputShape(size_t index);

  //===-- Attributes, each with the default of the specification ----------===//
  bool hasAttribute(llvm::StringRef name) const;
  Result<int64_t> intAttribute(llvm::StringRef name, int64_t byDefault);
  /// An integer that must be 0 or 1.
  Result<bool> flagAttribute(llvm::StringRef name, bool byDefault);
  Result<float> floatAttribute(llvm::StringRef name, float byDefault);
  Result<std::string> stringAttribute(llvm::StringRef name,
                                      llvm::StringRef byDefault);
  /// Nothing if the attribute is absent.
  Result<std::optional<std::vector<int64_t>>>
  intsAttribute(llvm::StringRef name);
  /// An axis of a tensor with `rank` dimensions, from 0; `axis` may count from
  /// the end. `last` is the greatest value accepted.
  Result<int64_t> axis(int64_t axis, int64_t rank, int64_t last);

  //===-- Results ---------------------------------------------------------===//
  /// A result of f32, rounded to the narrow type of the operands if they have
  /// one.
  void setResult(size_t index, mlir::Value value);
  /// A result with elements of an ONNX type, stored as that is.
  void setResult(size_t index, mlir::Value value, int32_t elementType);
  void setConstant(size_t index, Tensor tensor);
  /// Result 0 is operand 0, constant or not.
  void forwardInput();
  /// A result that is set already, in another shape with as many elements.
  void reshapeResult(size_t index, llvm::ArrayRef<int64_t> shape);

private:
  GraphValues &values;
  int32_t narrowType = Undefined; ///< Of operands that were widened.
  const Attribute *find(llvm::StringRef name) const;
  Result<const Attribute *> find(llvm::StringRef name, Attribute::Kind kind);
};

/// An operator that the importer knows.
struct Operator {
  llvm::StringLiteral name;
  size_t minInputs, maxInputs; ///< Operands, trailing optional ones included.
  size_t maxOutputs;           ///< Further ones must be unused.
  /// Attribute names, separated by spaces. Any other is refused.
  llvm::StringLiteral attributes;
  Status (*import)(NodeImport &node);
};

/// Null if the importer does not know it.
const Operator *findOperator(llvm::StringRef name);
/// The names of all known operators, for error messages.
std::string knownOperators();

// The import functions, by file.
// ImportConvolution.cpp
Status importConv(NodeImport &node);
// ImportConvTranspose.cpp
Status importConvTranspose(NodeImport &node);
// ImportResize.cpp
Status importResize(NodeImport &node);
Status importCumSum(NodeImport &node);
Status importLrn(NodeImport &node);
Status importTrilu(NodeImport &node);
// ImportPooling.cpp
Status importMaxPool(NodeImport &node);
Status importAveragePool(NodeImport &node);
Status importGlobalAveragePool(NodeImport &node);
Status importGlobalMaxPool(NodeImport &node);
// ImportMatmul.cpp
Status importGemm(NodeImport &node);
Status importMatMul(NodeImport &node);
// ImportNormalization.cpp
Status importBatchNormalization(NodeImport &node);
Status importSoftmax(NodeImport &node);
Status importLogSoftmax(NodeImport &node);
Status importLayerNormalization(NodeImport &node);
Status importGroupNormalization(NodeImport &node);
// ImportQuantized.cpp
Status importQuantizeLinear(NodeImport &node);
Status importDequantizeLinear(NodeImport &node);
Status importDynamicQuantizeLinear(NodeImport &node);
Status importMatMulInteger(NodeImport &node);
Status importConvInteger(NodeImport &node);
Status importQLinearMatMul(NodeImport &node);
Status importQLinearConv(NodeImport &node);
// ImportReduction.cpp
Status importReduction(NodeImport &node);
// ImportElementwise.cpp
Status importBinary(NodeImport &node);
Status importMean(NodeImport &node);
Status importPow(NodeImport &node);
Status importWhere(NodeImport &node);
Status importCast(NodeImport &node);
Status importUnary(NodeImport &node);
Status importActivation(NodeImport &node);
Status importClip(NodeImport &node);
Status importLeakyRelu(NodeImport &node);
Status importHardSigmoid(NodeImport &node);
// ImportShape.cpp
Status importIdentity(NodeImport &node);
Status importConstant(NodeImport &node);
Status importFlatten(NodeImport &node);
Status importReshape(NodeImport &node);
Status importSqueeze(NodeImport &node);
Status importUnsqueeze(NodeImport &node);
Status importTranspose(NodeImport &node);
Status importConcat(NodeImport &node);
Status importShape(NodeImport &node);
// ImportSlices.cpp
Status importSlice(NodeImport &node);
Status importSplit(NodeImport &node);
Status importGather(NodeImport &node);
Status importPad(NodeImport &node);
Status importExpand(NodeImport &node);
Status importTile(NodeImport &node);
Status importBlocks(NodeImport &node);
Status importConstantOfShape(NodeImport &node);
Status importRange(NodeImport &node);
Status importSize(NodeImport &node);

} // namespace tessera::onnx

#endif // TESSERA_LIB_IMPORT_NODEIMPORT_H
