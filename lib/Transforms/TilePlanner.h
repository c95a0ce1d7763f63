//===- TilePlanner.h --------------------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses tile sizes, order and cores for a loop nest with several operands
// such that each tile's buffers fit into SPM and ACC, and the estimated time is
// short. Free of IR: TileProblem.h makes a problem of a dispatch.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_TRANSFORMS_TILEPLANNER_H
#define TESSERA_LIB_TRANSFORMS_TILEPLANNER_H

#include "TargetModel.h"
#include "tessera/Support/Status.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

class TileProblem {
public:
  /// A loop.
  struct Dim {
    int64_t extent = 1;
    enum class Kind : uint8_t {
      Free,  ///< Any size.
      Whole, ///< Not tiled.
      Unit,  ///< One iteration per tile.
    } kind = Kind::Free;
    /// A reduction: its tiles accumulate into the same outputs.
    bool reduction = false;
    /// Only sizes that divide the extent. Elsewhere the last tile of a
    /// reduction is smaller, any other one overlaps with the tile before it.
    bool divides = false;
    /// A reduction whose first and last tile are apart from the loop over the
    /// others: what these load has a place of its own.
    bool rotated = false;
  };

  /// An extent of a buffer: 1 + sum of |factor| * (tile of dim - 1) over the
  /// terms; `whole` instead if there are none.
  struct Extent {
    struct Term {
      unsigned dim;
      int64_t factor;
    };
    std::vector<Term> terms;
    int64_t whole = 1;  ///< The extent of the tensor in memory.
    int64_t border = 0; ///< Of padding, at the wider end.
  };

  enum class Memory : uint8_t { Spm, Acc };
  enum class Traffic : uint8_t { None, Load, Store };

  /// A buffer that each tile needs.
  struct Buffer {
    std::string name; ///< For messages.
    std::vector<Extent> extents;
    uint64_t elementBytes = 4;
    Memory memory = Memory::Spm;
    Traffic traffic = Traffic::None;
    /// The matrix engine's `a`: its rows may get room between them.
    bool streams = false;
    /// Its tensor is in the shared SRAM.
    bool shared = false;
  };

  /// A step of each tile; the lists index `dims`.
  struct Work {
    bool matrix = false;
    NumericFormat format = NumericFormat::F32;
    std::vector<unsigned> m, n, k; ///< Of a matrix step.
    std::vector<unsigned> points;  ///< Loops of a vector step.
    unsigned aluOps = 0, sfuOps = 0, inputs = 1;
  };

  std::string name;
  std::vector<Dim> dims;
  std::vector<Buffer> buffers;
  std::vector<Work> work;

  /// Sums of the matrix engine go through their terms in one order, whatever
  /// the tiles: a tile is a part of the flattened loops. So of its loops one
  /// may be cut, those outside of it have tiles of 1, those inside stay whole;
  /// and what is left of a cut comes last, so that inside of others it must
  /// divide.
  bool keepsOrder(const std::vector<int64_t> &tiles) const;

  /// InvalidArgument if an index, extent or factor is out of range.
  Status check() const;
};

struct TilePlan {
  /// Iterations of each dimension per tile.
  std::vector<int64_t> tiles;
  /// Cores that share each dimension; of reductions 1.
  std::vector<int64_t> grid;
  /// Dimensions from the outermost loop to the innermost one; reductions come
  /// after all others.
  std::vector<unsigned> order;
  /// Copies of the SPM buffers that change from tile to tile: 2 lets the next
  /// tile's loads overlap with this tile's work.
  unsigned depth = 2;
  /// The same of those that stay while an inner loop over other tiles runs:
  /// with 1 they may be larger, but the next one's load overlaps with nothing.
  unsigned panelDepth = 2;
  /// The same of ACC buffers: with 1 tiles may be larger, but each waits until
  /// the one before has left.
  unsigned accDepth = 2;
  /// Core c of n takes place c / interleave + c mod interleave * n / interleave
  /// in the grid, where that brings cores nearer to what they load.
  int64_t interleave = 1;
  /// Whether memory is read once for cores that load the same.
  bool multicast = false;
  /// Whether the first tile's operands come in pieces (KPieces.h).
  bool pieces = false;
  /// With `multicast`, the cores that get each buffer's loads together.
  std::vector<uint32_t> groups;
  uint64_t spmBytes = 0, accBytes = 0;
  double cycles = 0; ///< Estimate.

  bool isSameAs(const TilePlan &other) const {
    return tiles == other.tiles && grid == other.grid && order == other.order &&
           depth == other.depth && accDepth == other.accDepth &&
           panelDepth == other.panelDepth && interleave == other.interleave &&
           multicast == other.multicast && pieces == other.pieces;
  }
  bool isTiled(const TileProblem &problem, unsigned dim) const {
    return tiles[dim] != problem.dims[dim].extent;
  }
};

/// The best plan, and the best one of those that differ from it.
struct TileChoice {
  TilePlan best;
  std::optional<TilePlan> runnerUp; ///< Never faster than `best`.
};

/// Up to `count` plans, the best one first. Those that differ in tiles, cores
/// or multicasts come before those that differ in less. ResourceExhausted as
/// chooseTiles().
Result<std::vector<TilePlan>> rankTiles(const TileProblem &problem,
                                        const TargetModel &target,
                                        unsigned count);

/// ResourceExhausted if not even the smallest tiles fit, with the bytes needed
/// and available.
Result<TileChoice> chooseTiles(const TileProblem &problem,
                               const TargetModel &target);
/// The best plan alone.
Result<TilePlan> planTiles(const TileProblem &problem,
                           const TargetModel &target);

/// Fills in the bytes and cycles of a plan from elsewhere and checks that it is
/// legal.
Status completePlan(const TileProblem &problem, TilePlan &plan,
                    const TargetModel &target);

/// Recomputes what the plan needs and checks that it is legal.
Status verifyPlan(const TileProblem &problem, const TilePlan &plan,
                  const TargetModel &target);

} // namespace tessera

#endif // TESSERA_LIB_TRANSFORMS_TILEPLANNER_H
