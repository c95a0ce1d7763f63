//===- TileDialect.cpp - The tile dialect ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera::tile;

#include "dialects/Tile/TileDialect.cpp.inc"
#include "dialects/Tile/TileEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

bool GroupAttr::isRectangle(int64_t size, int64_t stride, int64_t columns) {
  return stride == columns ||
         (stride == 1 && (columns % size == 0 || size % columns == 0));
}

LogicalResult GroupAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t size, int64_t stride, int64_t columns) {
  if (size < 2 || stride < 1 || columns < 1)
    return emitError() << "a group has 2 cores or more, a positive stride and "
                          "a positive number of columns";
  if (!isRectangle(size, stride, columns))
    return emitError() << size << " cores at a stride of " << stride
                       << " are no rectangle of a dispatch " << columns
                       << " cores wide";
  return success();
}

std::optional<Space> tessera::tile::getSpace(Type type) {
  auto memref = dyn_cast<BaseMemRefType>(type);
  if (!memref)
    return std::nullopt;
  if (auto space = dyn_cast_or_null<SpaceAttr>(memref.getMemorySpace()))
    return space.getValue();
  return std::nullopt;
}

Value tessera::tile::getBase(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

std::optional<std::pair<int64_t, int64_t>>
tessera::tile::getRange(AffineExpr expr, ArrayRef<int64_t> bounds) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return std::pair(constant.getValue(), constant.getValue());
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= bounds.size())
      return std::nullopt;
    return std::pair(int64_t(0), bounds[dim.getPosition()] - 1);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = getRange(binary.getLHS(), bounds);
  auto rhs = getRange(binary.getRHS(), bounds);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(lhs->first + rhs->first, lhs->second + rhs->second);
  // Canonical affine expressions keep the constant of a product on the right.
  if (expr.getKind() == AffineExprKind::Mul && rhs->first == rhs->second) {
    int64_t low = lhs->first * rhs->first, high = lhs->second * rhs->first;
    return std::pair(std::min(low, high), std::max(low, high));
  }
  return std::nullopt;
}
