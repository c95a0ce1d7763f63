//===- InstructionTable.cpp - The checked instruction table ---------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstructionTable.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TableGen/Error.h"
#include <algorithm>
#include <bitset>
#include <map>

using namespace llvm;

namespace tessera::tblgen {

static constexpr unsigned wordBits = 128;
static constexpr unsigned opcodeBits = 8;
static constexpr unsigned maxFields = 12;

static bool isKeyword(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"and", "or", "xor", "not", "bitand", "bitor", "compl"}, true)
      .Cases({"and_eq", "or_eq", "xor_eq", "not_eq", "export", "import"}, true)
      .Cases({"if", "else", "for", "while", "do", "switch", "case"}, true)
      .Cases({"break", "continue", "return", "goto", "default"}, true)
      .Cases({"int", "char", "bool", "float", "double", "long", "short"}, true)
      .Cases({"signed", "unsigned", "void", "auto", "const", "static"}, true)
      .Cases({"register", "volatile", "union", "struct", "class", "enum"}, true)
      .Cases({"new", "delete", "this", "throw", "try", "catch"}, true)
      .Cases({"operator", "template", "typename", "using", "namespace"}, true)
      .Default(false);
}

std::string toIdentifier(StringRef name) {
  std::string result = name.str();
  std::replace(result.begin(), result.end(), '.', '_');
  return isKeyword(name) ? result + "_" : result;
}

std::string Instruction::identifier() const { return toIdentifier(mnemonic); }

static Field readField(const Record *record) {
  const Record *kind = record->getValueAsDef("Kind");
  Field field;
  field.name = record->getValueAsString("Name");
  field.kindName = kind->getName();
  field.kind = kind->getValueAsString("CppName").str();
  field.doc = record->getValueAsString("Doc");
  field.bits = kind->getValueAsInt("Bits");
  field.isSigned = kind->getValueAsBit("IsSigned");
  field.lsb = record->getValueAsInt("Lsb");
  return field;
}

/// The text of a field that every instruction must set.
static StringRef readText(const Record *record, StringRef name) {
  if (std::optional<StringRef> text = record->getValueAsOptionalString(name);
      text && !text->empty())
    return *text;
  PrintError(record->getLoc(),
             "'" + record->getName() + "' has no " + name.lower());
  return "";
}

static void checkFields(const Record *record, const Instruction &inst) {
  if (inst.fields.size() > maxFields)
    PrintError(record->getLoc(), "'" + inst.mnemonic + "' has more than " +
                                     Twine(maxFields) + " fields");
  std::bitset<wordBits> used;
  for (unsigned bit = 0; bit < opcodeBits; ++bit)
    used.set(bit);
  StringSet<> names;
  for (const Field &field : inst.fields) {
    std::string where =
        "field '" + field.name.str() + "' of '" + inst.mnemonic + "'";
    if (!names.insert(field.name).second)
      PrintError(record->getLoc(), where + " is there twice");
    if (field.bits == 0 || field.bits > 64)
      PrintError(record->getLoc(), where + " must have 1 to 64 bits");
    if (field.lsb + field.bits > wordBits) {
      PrintError(record->getLoc(), where + " takes bits " + Twine(field.lsb) +
                                       "-" + Twine(field.lsb + field.bits - 1) +
                                       ", outside word 0 (bits 0-127)");
      continue;
    }
    for (unsigned bit = field.lsb; bit < field.lsb + field.bits; ++bit) {
      if (used[bit]) {
        PrintError(record->getLoc(),
                   where + " overlaps another field or the opcode at bit " +
                       Twine(bit));
        break;
      }
      used.set(bit);
    }
  }
}

static Instruction readInstruction(const Record *record) {
  Instruction inst;
  inst.enumerator = record->getName().str();
  inst.mnemonic = record->getValueAsString("Mnemonic").str();
  inst.opcode = record->getValueAsInt("Opcode");
  inst.group = record->getValueAsDef("InstGroup")->getValueAsString("Name");
  inst.groupTitle =
      record->getValueAsDef("InstGroup")->getValueAsString("Title");
  inst.queue = record->getValueAsString("Queue");
  inst.words = record->getValueAsInt("Words");
  for (const Record *field : record->getValueAsListOfDefs("Fields"))
    inst.fields.push_back(readField(field));
  inst.hasWaits = record->getValueAsBit("HasWaits");
  inst.hasSignals = record->getValueAsBit("HasSignals");
  inst.summary = readText(record, "Summary");
  inst.semantics = readText(record, "Semantics");
  inst.timing = readText(record, "Timing");
  inst.faults = readText(record, "Faults");

  if (inst.words != 1 && inst.words != 2)
    PrintError(record->getLoc(),
               "'" + inst.mnemonic + "' must have 1 or 2 words");
  if ((inst.hasWaits || inst.hasSignals) != (inst.words == 2))
    PrintError(record->getLoc(),
               "'" + inst.mnemonic +
                   "' must have a second word exactly if it has a semaphore "
                   "list");
  bool knownQueue = StringSwitch<bool>(inst.queue)
                        .Cases({"seq", "ld", "st", "mx", "vx", "field"}, true)
                        .Default(false);
  if (!knownQueue)
    PrintError(record->getLoc(), "'" + inst.mnemonic +
                                     "' has the unknown queue '" + inst.queue +
                                     "'");
  bool hasQueueField = any_of(inst.fields, [](const Field &field) {
    return field.name == "queue" &&
           (field.kind == "Queue" || field.kind == "MatrixQueue");
  });
  if (hasQueueField != (inst.queue == "field"))
    PrintError(record->getLoc(),
               "'" + inst.mnemonic +
                   "' must have the queue \"field\" exactly if it has a "
                   "field 'queue'");
  checkFields(record, inst);
  return inst;
}

static LaneOp readLaneOp(const Record *record) {
  LaneOp op;
  StringRef name = record->getName();
  if (!name.consume_front("LANE_"))
    PrintError(record->getLoc(),
               "the name of a lane operation starts with LANE_");
  op.enumerator = name.str();
  op.mnemonic = record->getValueAsString("Mnemonic").str();
  op.opcode = record->getValueAsInt("Opcode");
  op.unit = record->getValueAsString("Unit");
  op.operands = record->getValueAsInt("Operands");
  op.semantics = readText(record, "Semantics");
  op.hasImm = record->getValueAsBit("HasImm");
  if (op.unit != "alu" && op.unit != "sfu" && op.unit != "free")
    PrintError(record->getLoc(),
               "'" + op.mnemonic + "' has the unknown unit '" + op.unit + "'");
  if (op.operands > 3)
    PrintError(record->getLoc(),
               "'" + op.mnemonic + "' has more than 3 operands");
  return op;
}

/// The records derived from `className` in the order of the file.
static std::vector<const Record *> inFileOrder(const RecordKeeper &records,
                                               StringRef className) {
  std::vector<const Record *> result(
      records.getAllDerivedDefinitions(className));
  sort(result, [](const Record *a, const Record *b) {
    return a->getID() < b->getID();
  });
  return result;
}

/// Opcodes are bytes, and every opcode, mnemonic and identifier is used once.
template <typename Entry>
static void checkUnique(ArrayRef<const Record *> records,
                        ArrayRef<Entry> entries) {
  std::map<unsigned, std::string> opcodes;
  StringSet<> mnemonics;
  for (auto [record, entry] : zip_equal(records, entries)) {
    if (entry.opcode > 0xff)
      PrintError(record->getLoc(),
                 "the opcode of '" + entry.mnemonic + "' is not a byte");
    auto [it, isNew] = opcodes.try_emplace(entry.opcode, entry.mnemonic);
    if (!isNew)
      PrintError(record->getLoc(), "'" + entry.mnemonic +
                                       "' has the opcode of '" + it->second +
                                       "'");
    if (!mnemonics.insert(toIdentifier(entry.mnemonic)).second)
      PrintError(record->getLoc(),
                 "the mnemonic '" + entry.mnemonic + "' is there twice");
  }
}

InstructionTable readInstructionTable(const RecordKeeper &records) {
  InstructionTable table;
  std::vector<const Record *> insts = inFileOrder(records, "Inst");
  std::vector<const Record *> lanes = inFileOrder(records, "LaneOp");
  for (const Record *record : insts)
    table.instructions.push_back(readInstruction(record));
  for (const Record *record : lanes)
    table.laneOps.push_back(readLaneOp(record));
  checkUnique<Instruction>(insts, table.instructions);
  checkUnique<LaneOp>(lanes, table.laneOps);
  if (ErrorsPrinted > 0)
    PrintFatalError(Twine(ErrorsPrinted) + " errors in the instruction table");
  return table;
}

} // namespace tessera::tblgen
