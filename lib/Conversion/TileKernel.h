//===- TileKernel.h - A tile.kernel, analysed -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the conversion to instructions needs to know of a tile.kernel: its tree
// of loops and engine operations, each operand as a strided view of a buffer or
// argument whose offset is a linear expression of the kernel's scalars.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_CONVERSION_TILEKERNEL_H
#define TESSERA_LIB_CONVERSION_TILEKERNEL_H

#include "LinearExpr.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "tessera/ISA/Instruction.h"
#include <vector>

namespace tessera {

/// A value that a scalar register holds while the kernel runs.
struct KernelSymbol {
  enum class Kind : uint8_t {
    Argument,  ///< Address of argument `index`.
    LoopIndex, ///< Iteration number of loop `index`.
    CoreId,
    NumCores,
    Slot,   ///< Slot that the rotating buffers `index` (a SlotCounter) are at.
    Scalar, ///< Result of a scalar operation.
  };
  Kind kind = Kind::Scalar;
  uint32_t index = 0;
  /// Number of loops around the place where it is defined; a loop's index is
  /// defined inside of it.
  uint32_t depth = 0;
  /// What is known of its values; nullopt: no bound.
  std::optional<int64_t> lowest = 0, highest;
};

/// Counts the iterations of a loop modulo the depth of buffers in its body.
struct SlotCounter {
  uint32_t loop = 0; ///< Node.
  uint32_t depth = 2;
  SymbolId symbol = 0;
};

/// A buffer in SPM or ACC.
struct LocalBuffer {
  tile::AllocOp op;
  tile::Space space = tile::Space::Spm;
  uint64_t bytes = 0; ///< Of one slot.
  uint32_t depth = 1; ///< 1 if its block runs only once.
  uint32_t home = 0;  ///< Node of the block.
  /// Of a buffer that is filled by a shared load.
  tile::GroupAttr group;
  std::optional<SymbolId> slot; ///< If depth > 1.
};

/// A strided view of an argument or of a local buffer.
struct View {
  mlir::Value root; ///< Kernel argument or result of tile.alloc.
  llvm::SmallVector<int64_t> shape, strides; ///< Elements.
  LinearExpr offset;                         ///< Elements.
};

/// A node of the kernel's tree, in program order. Node 0 is the body.
struct KernelNode {
  enum class Kind : uint8_t { Loop, Engine, Scalar };
  Kind kind = Kind::Loop;
  mlir::Operation *op = nullptr;

  // Loop.
  std::vector<uint32_t> body;
  uint32_t depth = 0; ///< Loops around its body, itself included; the root: 0.
  SymbolId index = 0;
  LinearExpr count; ///< Iterations; skipped if negative.

  // Engine.
  isa::Queue queue = isa::Queue::Seq;

  // Scalar: `result = opcode(a, b)`.
  isa::Opcode opcode = isa::Opcode::ADD;
  SymbolId result = 0;
  LinearExpr a, b;
};

class TileKernel {
public:
  /// Emits an error at what an instruction cannot say.
  static mlir::FailureOr<TileKernel> analyse(tile::KernelOp kernel);

  tile::KernelOp getOp() const { return op; }

  std::vector<KernelNode> nodes;
  std::vector<KernelSymbol> symbols;
  std::vector<LocalBuffer> buffers;
  std::vector<SlotCounter> slotCounters;

  /// The view that a memref value of this kernel is.
  mlir::FailureOr<View> getView(mlir::Value memref) const;
  /// Value of an index computed by this kernel.
  const LinearExpr &getIndex(mlir::Value index) const {
    return indices.find(index)->second;
  }
  /// Symbol of an argument's address.
  SymbolId getArgument(unsigned number) const { return arguments[number]; }
  /// Number of the buffer that tile.alloc made.
  uint32_t getBuffer(mlir::Value alloc) const {
    return bufferNumbers.find(alloc)->second;
  }
  /// Largest depth at which a term of `expr` is defined.
  uint32_t depthOf(const LinearExpr &expr) const;

private:
  friend class TileKernelAnalysis;
  tile::KernelOp op;
  llvm::DenseMap<mlir::Value, LinearExpr> indices;
  llvm::DenseMap<mlir::Value, uint32_t> bufferNumbers;
  std::vector<SymbolId> arguments;
};

} // namespace tessera

#endif // TESSERA_LIB_CONVERSION_TILEKERNEL_H
