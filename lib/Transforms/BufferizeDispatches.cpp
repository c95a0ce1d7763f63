//===- BufferizeDispatches.cpp - Dispatches on buffers, device program ----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DispatchBuilder.h"
#include "EqualDispatches.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "tessera/Transforms/Passes.h"

namespace tessera {
#define GEN_PASS_DEF_BUFFERIZEDISPATCHESPASS
#include "lib/Transforms/Passes.h.inc"
} // namespace tessera

using namespace mlir;
using namespace tessera;

/// Bytes of a tensor in device memory, elements in whole bytes.
static int64_t bytesOf(ShapedType type) {
  return type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
}

static MemRefType inSpace(ShapedType type, tile::Space space) {
  return MemRefType::get(type.getShape(), type.getElementType(), AffineMap(),
                         tile::SpaceAttr::get(type.getContext(), space));
}

/// How the model calls an element type.
static std::string typeName(Type type) {
  if (type.isInteger(1))
    return "bool";
  if (auto integer = dyn_cast<IntegerType>(type))
    return (integer.isUnsigned() ? "u" : "i") +
           std::to_string(integer.getWidth());
  std::string name;
  llvm::raw_string_ostream(name) << type;
  return name;
}

/// A name for a dispatch's kernel: that of its first node, as an identifier.
static std::string kernelName(graph::DispatchOp dispatch) {
  std::string name = "dispatch";
  if (auto nodes = dispatch->getAttrOfType<ArrayAttr>(nodesAttrName);
      nodes && !nodes.empty())
    if (StringRef node = cast<StringAttr>(nodes[0]).getValue(); !node.empty())
      name = node.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_')
      c = '_';
  if (llvm::isDigit(name.front()))
    name = "_" + name;
  return name;
}

/// Moves the body of a dispatch into a function on device buffers.
static func::FuncOp outline(graph::DispatchOp dispatch, SymbolTable &symbols) {
  Location loc = dispatch.getLoc();
  Block &body = dispatch.getBody().front();
  MLIRContext *context = dispatch.getContext();
  SmallVector<Type> types;
  for (Type type : body.getArgumentTypes())
    types.push_back(inSpace(cast<ShapedType>(type), tile::Space::Dram));
  auto function = func::FuncOp::create(loc, kernelName(dispatch),
                                       FunctionType::get(context, types, {}));
  function.setPrivate();
  function->setAttr("tile.dispatch", UnitAttr::get(context));
  for (StringRef name :
       {nodesAttrName, StringLiteral("depth"), StringLiteral("acc_depth"),
        StringLiteral("panel_depth"), StringLiteral("cores"),
        StringLiteral("interleave"), StringLiteral("multicast"),
        StringLiteral("pieces")})
    if (Attribute attribute = dispatch->getAttr(name))
      function->setAttr(name, attribute);
  symbols.insert(function);

  OpBuilder builder(context);
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  size_t numInputs = dispatch.getInputs().size();
  for (auto [index, argument] : llvm::enumerate(body.getArguments()))
    mapping.map(argument,
                bufferization::ToTensorOp::create(
                    builder, loc, argument.getType(), entry->getArgument(index),
                    /*restrict=*/true, /*writable=*/index >= numInputs));
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    bufferization::MaterializeInDestinationOp::create(
        builder, loc, TypeRange(), mapping.lookupOrDefault(value),
        entry->getArgument(numInputs + index), /*restrict=*/true,
        /*writable=*/true);
  func::ReturnOp::create(builder, loc);
  return function;
}

/// Turns the entry function, with its dispatches outlined, into a program.
namespace {
class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp entry, SymbolTable &symbols)
      : entry(entry), symbols(symbols), builder(entry.getContext()) {}

  LogicalResult build() {
    Location loc = entry.getLoc();
    auto result = cast<func::ReturnOp>(entry.getBody().front().getTerminator());
    std::string name = entry.getName().str();
    builder.setInsertionPoint(entry);
    auto program = device::ProgramOp::create(
        builder, loc, name, signature(entry.getArgumentTypes(), true),
        signature(result.getOperandTypes(), false), IntegerAttr(),
        IntegerAttr());
    Block *block = builder.createBlock(&program.getBody());
    builder.setInsertionPointToStart(block);
    for (BlockArgument argument : entry.getArguments())
      buffers[argument] =
          block->addArgument(bufferType(argument.getType()), loc);
    // What is returned is made in the output's buffer, if it is made here.
    SmallVector<std::pair<Value, Value>> copies;
    for (Value value : result.getOperands()) {
      Value output = block->addArgument(bufferType(value.getType()), loc);
      Operation *maker = findAllocation(value);
      if (maker && allocations.try_emplace(maker, output).second)
        continue;
      if (bytesOf(cast<ShapedType>(value.getType())) == 0)
        continue;
      copies.emplace_back(value, output);
    }
    for (Operation &op : entry.getBody().front().without_terminator())
      if (failed(convert(op)))
        return failure();
    for (auto [value, output] : copies)
      device::CopyOp::create(builder, loc, buffers.lookup(value), output);
    device::ReturnOp::create(builder, loc);
    symbols.erase(entry);
    symbols.insert(program);
    return success();
  }

private:
  static device::BufferType bufferType(Type type) {
    return device::BufferType::get(type.getContext(),
                                   bytesOf(cast<ShapedType>(type)));
  }

  /// Names and types of the arguments or results.
  ArrayAttr signature(TypeRange types, bool arguments) {
    SmallVector<Attribute> tensors;
    for (auto [index, type] : llvm::enumerate(types)) {
      auto get = [&](StringRef attribute) {
        return arguments ? entry.getArgAttr(index, attribute)
                         : entry.getResultAttr(index, attribute);
      };
      std::string name =
          (arguments ? "input" : "output") + std::to_string(index);
      if (auto given = dyn_cast_or_null<StringAttr>(get(graph::nameAttrName)))
        name = given.str();
      std::string element = typeName(cast<ShapedType>(type).getElementType());
      if (auto given = dyn_cast_or_null<TypeAttr>(get(graph::typeAttrName)))
        element = typeName(given.getValue());
      // 64-bit integers are pairs of words in memory, in a last dimension.
      ArrayRef<int64_t> shape = cast<ShapedType>(type).getShape();
      if (element == "i64" && getElementTypeOrSelf(type).isInteger(32))
        shape = shape.drop_back();
      tensors.push_back(
          device::TensorAttr::get(entry.getContext(), name, element, shape));
    }
    return builder.getArrayAttr(tensors);
  }

  static bool isReshape(Operation *op) {
    return isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                           tensor::CastOp>(op);
  }

  /// The dispatch that allocates the buffer in which `value` ends up: each
  /// dispatch makes the memory for an output that starts empty.
  static Operation *findAllocation(Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (isReshape(op)) {
        value = op->getOperand(0);
        continue;
      }
      auto dispatch = dyn_cast<graph::DispatchOp>(op);
      // An allocation is found by its first output only.
      if (!dispatch || dispatch.getNumResults() != 1)
        return nullptr;
      Value output = dispatch.getOutputs()[0];
      if (output.getDefiningOp<tensor::EmptyOp>())
        return dispatch;
      if (!output.hasOneUse())
        return nullptr;
      value = output;
    }
    return nullptr;
  }

  LogicalResult convert(Operation &op) {
    if (isReshape(&op)) {
      buffers[op.getResult(0)] = buffers.lookup(op.getOperand(0));
      return success();
    }
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto value = dyn_cast<ElementsAttr>(constant.getValue()))
        buffers[constant] = device::ConstantOp::create(
            builder, op.getLoc(), bufferType(constant.getType()),
            storedAs(value));
      return success();
    }
    // Memory is made for the dispatch that fills it; an empty tensor that is
    // read as it is, too.
    if (isa<tensor::EmptyOp>(op)) {
      for (OpOperand &use : op.getUses()) {
        auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
        if (dispatch && llvm::is_contained(dispatch.getOutputs(), use.get()))
          continue;
        if (bytesOf(cast<ShapedType>(op.getResult(0).getType())) == 0)
          continue;
        buffers[op.getResult(0)] =
            allocate(op.getLoc(), op.getResult(0).getType());
        break;
      }
      return success();
    }
    auto dispatch = dyn_cast<graph::DispatchOp>(op);
    if (!dispatch)
      return op.emitError() << "'" << op.getName()
                            << "' is outside of a dispatch and no reshape";
    SmallVector<Value> operands;
    for (Value input : dispatch.getInputs())
      operands.push_back(buffers.lookup(input));
    for (auto [index, output] : llvm::enumerate(dispatch.getOutputs())) {
      Value buffer;
      if (output.getDefiningOp<tensor::EmptyOp>()) {
        auto given = allocations.find(dispatch);
        buffer = given != allocations.end() && index == 0
                     ? given->second
                     : allocate(op.getLoc(), output.getType());
      } else if (output.hasOneUse() &&
                 output.getDefiningOp<graph::DispatchOp>()) {
        buffer = buffers.lookup(output);
      } else {
        // Somebody else needs the old value: update a copy.
        buffer = allocate(op.getLoc(), output.getType());
        device::CopyOp::create(builder, op.getLoc(), buffers.lookup(output),
                               buffer);
      }
      operands.push_back(buffer);
      buffers[dispatch.getResult(index)] = buffer;
    }
    func::FuncOp kernel = kernelOf(dispatch);
    auto nodes = dispatch->getAttrOfType<ArrayAttr>(nodesAttrName);
    device::DispatchOp::create(
        builder, op.getLoc(), FlatSymbolRefAttr::get(kernel), operands,
        builder.getDenseI32ArrayAttr({1, 1}),
        nodes ? nodes : builder.getArrayAttr({}),
        dispatch->getAttrOfType<device::MappingAttr>(mappingAttrName));
    return success();
  }

  /// The function of a dispatch; those that share a kernel share it, made of
  /// the one that has its tiles.
  func::FuncOp kernelOf(graph::DispatchOp dispatch) {
    auto number = dispatch->getAttrOfType<IntegerAttr>(kernelAttrName);
    if (!number)
      return outline(dispatch, symbols);
    func::FuncOp &kernel = kernels[number.getInt()];
    for (auto other : entry.getOps<graph::DispatchOp>()) {
      if (kernel)
        break;
      if (other->getAttr(kernelAttrName) == number &&
          !other->hasAttr(untiledAttrName))
        kernel = outline(other, symbols);
    }
    return kernel;
  }

  Value allocate(Location loc, Type type) {
    return device::AllocOp::create(builder, loc, bufferType(type),
                                   IntegerAttr(), /*shared=*/false);
  }

  /// Booleans are stored as i8.
  ElementsAttr storedAs(ElementsAttr value) {
    auto dense = dyn_cast<DenseIntElementsAttr>(value);
    if (!dense || !value.getElementType().isInteger(1))
      return value;
    SmallVector<int8_t> bytes;
    for (bool element : dense.getValues<bool>())
      bytes.push_back(element);
    return DenseElementsAttr::get(
        RankedTensorType::get(value.getShapedType().getShape(),
                              builder.getI8Type()),
        ArrayRef<int8_t>(bytes));
  }

  func::FuncOp entry;
  SymbolTable &symbols;
  OpBuilder builder;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseMap<Operation *, Value> allocations;
  llvm::DenseMap<int64_t, func::FuncOp> kernels; ///< By number.
};

struct BufferizeDispatchesPass
    : tessera::impl::BufferizeDispatchesPassBase<BufferizeDispatchesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    func::FuncOp entry = symbols.lookup<func::FuncOp>("main");
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (!entry && functions.size() == 1)
      entry = functions[0];
    if (!entry || entry.isExternal()) {
      module.emitError(
          "needs a function @main with a body, or just one function");
      return signalPassFailure();
    }
    if (failed(ProgramBuilder(entry, symbols).build()))
      return signalPassFailure();
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function->hasAttr("tile.dispatch") && failed(bufferize(function)))
        return signalPassFailure();
  }

  LogicalResult bufferize(func::FuncOp function) {
    IRRewriter rewriter(&getContext());
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = false;
    options.defaultMemorySpaceFn =
        [](TensorType type) -> std::optional<Attribute> {
      return tile::SpaceAttr::get(type.getContext(), tile::Space::Spm);
    };
    options.memCpyFn = [](OpBuilder &builder, Location loc, Value from,
                          Value to) {
      memref::CopyOp::create(builder, loc, from, to);
      return success();
    };
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotBufferize(function, options, state)))
      return function.emitError("cannot be bufferised");
    RewritePatternSet patterns(&getContext());
    for (RegisteredOperationName op : getContext().getRegisteredOperations())
      if (isa<memref::MemRefDialect, scf::SCFDialect,
              bufferization::BufferizationDialect>(op.getDialect()))
        op.getCanonicalizationPatterns(patterns, &getContext());
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    return applyPatternsGreedily(function, std::move(patterns), config);
  }
};

} // namespace
