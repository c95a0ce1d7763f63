//===- Registration.h - Everything a tool can parse and run -----*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dialects and passes of Tessera and upstream, for the programs that take
// IR: tessera-opt, tessera-translate, tessera-lsp-server and the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_PIPELINES_REGISTRATION_H
#define TESSERA_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tessera {

/// Upstream's dialects, their extensions, and ours.
void registerTesseraDialects(mlir::DialectRegistry &registry);

/// Upstream's passes and ours, and our pipelines.
void registerTesseraPasses();

} // namespace tessera

#endif // TESSERA_PIPELINES_REGISTRATION_H
