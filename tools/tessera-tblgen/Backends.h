//===- Backends.h - What the generator can emit -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TBLGEN_BACKENDS_H
#define TESSERA_TBLGEN_BACKENDS_H

namespace llvm {
class RecordKeeper;
class raw_ostream;
} // namespace llvm

namespace tessera::tblgen {

/// Instructions.inc: the enumerations and tables of include/tessera/ISA.
void emitTables(const llvm::RecordKeeper &records, llvm::raw_ostream &os);

/// docs/isa.md: the instruction reference, between the files named by
/// -docs-prologue and -docs-epilogue.
void emitDocs(const llvm::RecordKeeper &records, llvm::raw_ostream &os);

} // namespace tessera::tblgen

#endif // TESSERA_TBLGEN_BACKENDS_H
