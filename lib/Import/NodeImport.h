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
#include "tessera/Support/Progress.h"
#include "tessera/Support/Status.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <memory>
#include <optional>
#include <set>
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

/// The values of a graph by name, and where its constants are built. The values
/// of an inner graph also show those around it.
class GraphValues {
public:
  GraphValues(mlir::OpBuilder constants, GraphValues *outer = nullptr)
      : constants(constants), outer(outer) {}
  /// The value that `name` stands for; a new one if there is none.
  GraphValue &operator[](const std::string &name);
  /// A new value of this graph, whatever is around it.
  GraphValue &define(const std::string &name) { return byName[name] = {}; }
  /// The value of `name`, built if it is still only a constant.
  Result<mlir::Value> materialize(const std::string &name);
  /// A constant operation at the start of the function.
  mlir::Value buildConstant(const Tensor &tensor, llvm::StringRef name);
  mlir::OpBuilder constantBuilder() const { return constants; }
  /// A number that names no value of this graph or around it yet.
  size_t freshNumber() { return outer ? outer->freshNumber() : numbersGiven++; }

private:
  std::map<std::string, GraphValue> byName;
  mlir::OpBuilder constants;
  GraphValues *outer;
  size_t numbersGiven = 0;
};

/// What stays the same for all nodes of a model or a function.
struct ImportScope {
  const Model &model;
  /// Operator set versions by domain.
  const std::map<std::string, int64_t> &opsets;
  unsigned depth = 0; ///< Of calls and graphs.
  /// Of the model's own nodes; null elsewhere.
  const ProgressFunction *progress = nullptr;
};

/// The nodes of a graph with the given results, one after the other. Problems
/// go to `report`; false if there was one.
bool importNodes(llvm::ArrayRef<Node> nodes,
                 const std::set<std::string> &results, const ImportScope &scope,
                 GraphValues &values, mlir::OpBuilder &builder,
                 llvm::function_ref<void(const Node &, const Status &)> report);

/// Attributes of a node that an import function makes.
using NewAttributes = std::map<std::string, Attribute>;
Attribute attributeOf(int64_t value);
Attribute attributeOf(float value);
Attribute attributeOf(std::string value);
Attribute attributeOf(std::vector<int64_t> values);

class NodeImport {
public:
  NodeImport(const Node &node, int64_t opset, const ImportScope &scope,
             GraphValues &values, mlir::ImplicitLocOpBuilder &builder)
      : node(node), opset(opset), scope(scope), b(builder), values(values) {}

  const Node &node;
  const int64_t opset; ///< Of the standard operators.
  const ImportScope &scope;
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

  //===-- Operators made of others ----------------------------------------===//
  /// Imports a node of an operator as the newest version known defines it.
  /// Gives the names of its outputs, for further nodes.
  Result<std::vector<std::string>> expand(llvm::StringRef opType,
                                          std::vector<std::string> inputs,
                                          NewAttributes attributes = {},
                                          size_t outputs = 1);
  /// The name of its only output.
  Result<std::string> emit(llvm::StringRef opType,
                           std::vector<std::string> inputs,
                           NewAttributes attributes = {});
  /// A constant operation.
  mlir::Value buildConstant(const Tensor &tensor) {
    return values.buildConstant(tensor, node.displayName());
  }
  /// A name for a constant.
  std::string constant(Tensor tensor);
  std::string constant(llvm::ArrayRef<int64_t> integers);
  /// Makes result `index` what `name` stands for.
  void forward(size_t index, const std::string &name);
  /// The value that `name` stands for.
  GraphValue &lookup(const std::string &name) { return values[name]; }
  Result<std::vector<int64_t>> shapeOfName(const std::string &name);
  /// The graph that an attribute holds.
  Result<const Graph *> graphAttribute(llvm::StringRef name);
  /// Imports a graph whose inputs are the given values. Gives its outputs.
  Result<std::vector<GraphValue>>
  importGraph(const Graph &graph, llvm::ArrayRef<GraphValue> inputs);
  /// Imports a function's body as this node, each of its nodes after `resolve`.
  Status importBody(const Function &function,
                    llvm::function_ref<Node(const Node &)> resolve);
  /// A name for a value.
  std::string nameOf(GraphValue value);

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

/// Null if the importer does not know it. The standard domain is empty.
const Operator *findOperator(llvm::StringRef domain, llvm::StringRef name);
/// The names of the domain's known operators, for error messages; empty for an
/// unknown domain.
std::string knownOperators(llvm::StringRef domain = "");

// The import functions, by file.
// ImportControlFlow.cpp
Status importIf(NodeImport &node);
Status importLoop(NodeImport &node);
Status importScan(NodeImport &node);
/// A node whose operator the model defines.
Status importCall(NodeImport &node, const Function &function);
// ImportRecurrent.cpp
Status importRecurrent(NodeImport &node);
// ImportLoss.cpp
Status importNegativeLogLikelihood(NodeImport &node);
Status importSoftmaxCrossEntropy(NodeImport &node);
// ImportExpanded.cpp
Status importHardmax(NodeImport &node);
/// A ReduceProd of what is computed.
Status importComputedProduct(NodeImport &node, llvm::ArrayRef<int64_t> axes,
                             bool keep);
Status importEyeLike(NodeImport &node);
Status importWindowFunction(NodeImport &node);
Status importReverseSequence(NodeImport &node);
Status importMeanVarianceNormalization(NodeImport &node);
Status importCompress(NodeImport &node);
Status importMaxUnpool(NodeImport &node);
Status importRunning(NodeImport &node);
Status importSwiGlu(NodeImport &node);
Status importMelWeights(NodeImport &node);
Status importNonZero(NodeImport &node);
// ImportFourier.cpp
Status importDft(NodeImport &node);
Status importStft(NodeImport &node);
// ImportVolume.cpp
/// Conv, MaxPool and AveragePool over three dimensions.
Status importVolume(NodeImport &node);
/// GlobalAveragePool and GlobalMaxPool over any number of them.
Status importGlobalPool(NodeImport &node);
// ImportGridSample.cpp
Status importGridSample(NodeImport &node);
// ImportAttention.cpp
Status importAttention(NodeImport &node);
Status importRotaryEmbedding(NodeImport &node);
// ImportFused.cpp
Status importBiasedGelu(NodeImport &node);
Status importQuickGelu(NodeImport &node);
Status importFusedMatMul(NodeImport &node);
Status importFusedConv(NodeImport &node);
Status importFusedGemm(NodeImport &node);
Status importMatMulNBits(NodeImport &node);
Status importSkipNormalization(NodeImport &node);
Status importEmbedNormalization(NodeImport &node);
Status importPackedAttention(NodeImport &node);
Status importMultiHeadAttention(NodeImport &node);
Status importFusedRotaryEmbedding(NodeImport &node);
// ImportGroupQuery.cpp
Status importGroupQueryAttention(NodeImport &node);
// ImportFusedQuantized.cpp
Status importQLinearBinary(NodeImport &node);
Status importQLinearUnary(NodeImport &node);
Status importQLinearPool(NodeImport &node);
Status importQLinearConcat(NodeImport &node);
Status importQGemm(NodeImport &node);
Status importMatMulIntegerToFloat(NodeImport &node);
Status importDynamicQuantizeMatMul(NodeImport &node);
// ImportRegions.cpp
Status importRoiAlign(NodeImport &node);
Status importAffineGrid(NodeImport &node);
Status importCenterCropPad(NodeImport &node);
Status importCol2Im(NodeImport &node);
Status importTensorScatter(NodeImport &node);
// ImportDeterminant.cpp
Status importDet(NodeImport &node);
// ImportTfIdf.cpp
Status importTfIdf(NodeImport &node);
// ImportLp.cpp
Status importLpNormalization(NodeImport &node);
Status importGlobalLpPool(NodeImport &node);
Status importLpPool(NodeImport &node);
// ImportEinsum.cpp
Status importEinsum(NodeImport &node);
// ImportIndexing.cpp
Status importGatherElements(NodeImport &node);
Status importGatherND(NodeImport &node);
Status importScatter(NodeImport &node);
Status importOneHot(NodeImport &node);
// ImportRanking.cpp
Status importArgExtreme(NodeImport &node);
Status importTopK(NodeImport &node);
// ImportConvolution.cpp
Status importConv(NodeImport &node);
// ImportConvTranspose.cpp
Status importConvTranspose(NodeImport &node);
// ImportResize.cpp
Status importResize(NodeImport &node);
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
Status importBitShift(NodeImport &node);
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
