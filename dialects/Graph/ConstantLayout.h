//===- ConstantLayout.h - Constants' elements in another order -*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_DIALECTS_GRAPH_CONSTANTLAYOUT_H
#define TESSERA_DIALECTS_GRAPH_CONSTANTLAYOUT_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tessera::graph {

/// Row-major elements of `width` bytes and shape `from`, with dimension i of
/// the result being dimension permutation[i] of the source.
llvm::SmallVector<char> transposeBytes(llvm::ArrayRef<char> source,
                                       size_t width,
                                       llvm::ArrayRef<int64_t> from,
                                       llvm::ArrayRef<int64_t> permutation);

} // namespace tessera::graph

#endif // TESSERA_DIALECTS_GRAPH_CONSTANTLAYOUT_H
