//===- TablesBackend.cpp - Enumerations and tables for C++ ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "InstructionTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/TableGen/TableGenBackend.h"

using namespace llvm;

namespace tessera::tblgen {

/// "mx" → "Mx": the enumerator that stands for a lower-case name in the table.
static std::string capitalized(StringRef name) {
  std::string result = name.str();
  result[0] = toUpper(result[0]);
  return result;
}

/// Wraps `body` in the guard by which a file includes one section only.
static void emitSection(raw_ostream &os, StringRef guard,
                        function_ref<void()> body) {
  os << "#ifdef " << guard << "\n#undef " << guard << "\n\n";
  body();
  os << "\n#endif // " << guard << "\n\n";
}

static void emitInstEnums(raw_ostream &os, const InstructionTable &table) {
  os << "enum class Opcode : uint8_t {\n";
  for (const Instruction &inst : table.instructions)
    os << "  " << inst.enumerator << " = " << format_hex(inst.opcode, 4)
       << ", ///< " << inst.summary << "\n";
  os << "};\n\n// Indices of the fields.\n";
  for (const Instruction &inst : table.instructions) {
    if (inst.fields.empty())
      continue;
    os << "namespace " << inst.identifier() << " {\nenum : unsigned {";
    ListSeparator comma(",");
    for (const Field &field : inst.fields)
      os << comma << " " << toIdentifier(field.name);
    os << " };\n} // namespace " << inst.identifier() << "\n";
  }
}

static void emitInstTable(raw_ostream &os, const InstructionTable &table) {
  for (const Instruction &inst : table.instructions) {
    if (inst.fields.empty())
      continue;
    os << "static constexpr FieldInfo fieldsOf" << inst.enumerator
       << "[] = {\n";
    for (const Field &field : inst.fields)
      os << "    {\"" << field.name << "\", OperandKind::" << field.kind << ", "
         << field.lsb << ", " << field.bits << ", "
         << (field.isSigned ? "true" : "false") << "},\n";
    os << "};\n";
  }
  os << "\nstatic constexpr InstInfo instTable[] = {\n";
  for (const Instruction &inst : table.instructions) {
    os << "    {Opcode::" << inst.enumerator << ", \"" << inst.mnemonic
       << "\", InstGroup::" << capitalized(inst.group) << ", ";
    if (inst.queue == "field")
      os << "std::nullopt";
    else
      os << "Queue::" << capitalized(inst.queue);
    os << ", " << inst.words << ", ";
    if (inst.fields.empty())
      os << "{}";
    else
      os << "fieldsOf" << inst.enumerator;
    os << ", " << (inst.hasWaits ? "true" : "false") << ", "
       << (inst.hasSignals ? "true" : "false") << "},\n";
  }
  os << "};\n";
}

static void emitLaneEnums(raw_ostream &os, const InstructionTable &table) {
  os << "enum class LaneOpcode : uint8_t {\n";
  for (const LaneOp &op : table.laneOps)
    os << "  " << op.enumerator << " = " << format_hex(op.opcode, 4)
       << ", ///< " << op.semantics << "\n";
  os << "};\n";
}

static void emitLaneTable(raw_ostream &os, const InstructionTable &table) {
  os << "static constexpr LaneOpInfo laneOpTable[] = {\n";
  for (const LaneOp &op : table.laneOps)
    os << "    {LaneOpcode::" << op.enumerator << ", \"" << op.mnemonic
       << "\", LaneUnit::" << capitalized(op.unit) << ", " << op.operands
       << ", " << (op.hasImm ? "true" : "false") << "},\n";
  os << "};\n";
}

void emitTables(const RecordKeeper &records, raw_ostream &os) {
  InstructionTable table = readInstructionTable(records);
  emitSourceFileHeader("The instruction table", os, records);
  emitSection(os, "GET_ISA_ENUMS", [&] { emitInstEnums(os, table); });
  emitSection(os, "GET_ISA_TABLE", [&] { emitInstTable(os, table); });
  emitSection(os, "GET_LANE_ENUMS", [&] { emitLaneEnums(os, table); });
  emitSection(os, "GET_LANE_TABLE", [&] { emitLaneTable(os, table); });
}

} // namespace tessera::tblgen
