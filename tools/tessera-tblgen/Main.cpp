//===- Main.cpp - The project's TableGen backends -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/TableGen/Main.h"
#include "Backends.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/TableGen/TableGenBackend.h"

static llvm::TableGen::Emitter::Opt
    tables("gen-isa-tables", tessera::tblgen::emitTables,
           "Generate the enumerations and tables of the instructions");
static llvm::TableGen::Emitter::Opt docs("gen-isa-docs",
                                         tessera::tblgen::emitDocs,
                                         "Generate the instruction reference");

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv,
                                    "Tessera's instruction table\n");
  return llvm::TableGenMain(argv[0], llvm::TableGenMainFn());
}
