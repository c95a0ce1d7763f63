//===- InstructionTable.h - The checked instruction table -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the records of Instructions.td into plain structs and checks them, so
// that every backend can rely on a consistent table.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TBLGEN_INSTRUCTIONTABLE_H
#define TESSERA_TBLGEN_INSTRUCTIONTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/TableGen/Record.h"
#include <string>
#include <vector>

namespace tessera::tblgen {

struct Field {
  llvm::StringRef name, kindName, doc;
  std::string kind; ///< Enumerator of isa::OperandKind.
  unsigned lsb = 0, bits = 0;
  bool isSigned = false;
};

struct Instruction {
  std::string enumerator; ///< The record's name, e.g. "TDADDI".
  std::string mnemonic;   ///< e.g. "td.addi".
  unsigned opcode = 0;
  llvm::StringRef group, groupTitle, queue;
  unsigned words = 1;
  std::vector<Field> fields;
  bool hasWaits = false, hasSignals = false;
  llvm::StringRef summary, semantics, timing, faults;

  /// The mnemonic as a C++ identifier: "td_addi", "and_".
  std::string identifier() const;
};

struct LaneOp {
  std::string enumerator, mnemonic; ///< e.g. "ADDF", "addf".
  unsigned opcode = 0;
  llvm::StringRef unit, semantics;
  unsigned operands = 0;
  bool hasImm = false;
};

struct InstructionTable {
  std::vector<Instruction> instructions; ///< In the order of the file.
  std::vector<LaneOp> laneOps;
};

/// Reads and checks all records; prints TableGen errors at the offending
/// definition and exits if the table is inconsistent.
InstructionTable readInstructionTable(const llvm::RecordKeeper &records);

/// `name` usable as a C++ identifier: dots become underscores, and a keyword
/// gets an underscore at its end.
std::string toIdentifier(llvm::StringRef name);

} // namespace tessera::tblgen

#endif // TESSERA_TBLGEN_INSTRUCTIONTABLE_H
