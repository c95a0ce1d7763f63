//===- DocsBackend.cpp - The instruction reference ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"
#include "InstructionTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TableGen/Error.h"

using namespace llvm;

static cl::opt<std::string> prologue("docs-prologue", cl::value_desc("file"),
                                     cl::desc("Text before the instructions"));
static cl::opt<std::string> epilogue("docs-epilogue", cl::value_desc("file"),
                                     cl::desc("Text after the instructions"));

namespace tessera::tblgen {

static void emitFile(raw_ostream &os, StringRef path) {
  if (path.empty())
    return;
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    PrintFatalError("cannot read '" + path + "': " + file.getError().message());
  os << (*file)->getBuffer();
}

static StringRef operandSyntax(const Field &field) {
  return StringSwitch<StringRef>(field.kind)
      .Case("ScalarReg", "r0 … r31")
      .Case("DescReg", "t0 … t31")
      .Case("Flag", "present or absent")
      .Case("DimMask", "list of dimensions, e.g. [0, 2]")
      .Case("Dim", "0 … 5")
      .Case("Queue", "seq, ld, st, mx, vx = 0 … 4; mx1 … mx7 = 5 … 11")
      .Case("MatrixQueue", "mx, mx1 … mx7 = 0 … 7; absent: mx")
      .Case("Accumulate", "no, yes, reg = 0 … 2")
      .Case("Reduce", "none, sum, max, min, prod, argmax, argmin = 0 … 6")
      .Case("Reduction", "sum, max, min, prod, argmax, argmin = 0 … 5")
      .Case("Scan", "sum, max, min, prod = 0 … 3")
      .Case("Rounding", "nearest, zero, down, up = 0 … 3")
      .Case("Signed", "signed integer")
      .Default("unsigned integer");
}

static void emitSyntax(raw_ostream &os, const Instruction &inst) {
  os << "    isa." << inst.mnemonic;
  ListSeparator comma(",");
  for (const Field &field : inst.fields) {
    if (field.kind == "Flag")
      os << comma << " [" << field.name << "]";
    else if (field.kind == "MatrixQueue")
      os << comma << " [" << field.name << " = <" << field.name << ">]";
    else
      os << comma << " " << field.name << " = <" << field.name << ">";
  }
  if (inst.hasWaits)
    os << " [wait(s<i> >= <n>, …)]";
  if (inst.hasSignals)
    os << " [signal(s<i> += <n>, …)]";
  os << "\n\n";
}

static std::string bitRange(unsigned lsb, unsigned bits) {
  return bits == 1 ? std::to_string(lsb)
                   : std::to_string(lsb) + "–" + std::to_string(lsb + bits - 1);
}

static void emitEncoding(raw_ostream &os, const Instruction &inst) {
  std::vector<const Field *> byPosition;
  for (const Field &field : inst.fields)
    byPosition.push_back(&field);
  sort(byPosition,
       [](const Field *a, const Field *b) { return a->lsb < b->lsb; });

  os << "| bits | field | values | meaning |\n|---|---|---|---|\n";
  os << "| 0–7 | opcode | " << format_hex(inst.opcode, 4) << " | |\n";
  unsigned next = 8;
  auto emitReserved = [&](unsigned end) {
    if (next < end)
      os << "| " << bitRange(next, end - next) << " | reserved | 0 | |\n";
  };
  for (const Field *field : byPosition) {
    emitReserved(field->lsb);
    os << "| " << bitRange(field->lsb, field->bits) << " | " << field->name
       << " | " << operandSyntax(*field) << " | " << field->doc << " |\n";
    next = field->lsb + field->bits;
  }
  emitReserved(128);
  if (inst.words == 2)
    os << "| 128–255 | | | semaphore list |\n";
  os << "\n";
}

namespace {
/// A stretch of bits of word 0 under one name.
struct Stretch {
  unsigned lsb = 0, bits = 0;
  std::string name;
};
} // namespace

/// What word 0 holds, from bit 0 up, without gaps.
static std::vector<Stretch> stretchesOf(const Instruction &inst) {
  std::vector<Stretch> stretches = {{0, 8, "opcode"}};
  for (const Field &field : inst.fields)
    stretches.push_back({field.lsb, field.bits, field.name.str()});
  sort(stretches,
       [](const Stretch &a, const Stretch &b) { return a.lsb < b.lsb; });
  std::vector<Stretch> whole;
  unsigned next = 0;
  for (const Stretch &stretch : stretches) {
    if (next < stretch.lsb)
      whole.push_back({next, stretch.lsb - next, "0"});
    whole.push_back(stretch);
    next = stretch.lsb + stretch.bits;
  }
  if (next < 128)
    whole.push_back({next, 128 - next, "0"});
  return whole;
}

/// Word 0 drawn in rows of 32 bits, the highest bit left, three characters a
/// bit; a name that has no room is cut short.
static void emitDiagram(raw_ostream &os, const Instruction &inst) {
  constexpr unsigned rowBits = 32, cell = 3;
  std::vector<Stretch> stretches = stretchesOf(inst);
  os << "```text\n";
  for (unsigned row = 0; row < 128; row += rowBits) {
    std::string numbers(rowBits * cell + 1, ' '),
        names = numbers, border(rowBits * cell + 1, '-');
    auto write = [](std::string &line, size_t at, StringRef text) {
      line.replace(at, text.size(), text.str());
    };
    for (const Stretch &stretch : stretches) {
      unsigned low = std::max(stretch.lsb, row);
      unsigned end = std::min(stretch.lsb + stretch.bits, row + rowBits);
      if (low >= end)
        continue;
      size_t left = (row + rowBits - end) * cell, width = (end - low) * cell;
      names[left] = names[left + width] = '|';
      border[left] = border[left + width] = '+';
      StringRef name = StringRef(stretch.name).take_front(width - 1);
      write(names, left + 1 + (width - 1 - name.size()) / 2, name);
      std::string high = std::to_string(end - 1), lowText = std::to_string(low);
      write(numbers, left + 1, StringRef(high).take_front(width));
      if (end - low > 2)
        write(numbers, left + width - lowText.size(), lowText);
    }
    os << StringRef(numbers).rtrim() << "\n"
       << border << "\n"
       << names << "\n"
       << border << "\n";
  }
  if (inst.words == 2)
    os << " bits 128 to 255: the semaphore list\n";
  os << "```\n\n";
}

static void emitInstruction(raw_ostream &os, const Instruction &inst) {
  os << "### `" << inst.mnemonic << "`\n\n" << inst.summary << "\n\n";
  emitSyntax(os, inst);
  emitDiagram(os, inst);
  emitEncoding(os, inst);
  StringRef queue = inst.queue == "seq"     ? "the sequencer"
                    : inst.queue == "field" ? "the queue it names"
                                            : inst.queue;
  os << "- **Executed by:** " << queue << "\n";
  os << "- **Semantics:** " << inst.semantics << "\n";
  os << "- **Timing:** " << inst.timing << "\n";
  os << "- **Faults:** " << inst.faults << "\n\n";
}

static void emitLaneOps(raw_ostream &os, const InstructionTable &table) {
  os << "## Lane operations\n\n"
        "The operations of a `map` program. Comparisons give i32 1 or 0; a "
        "`free` operation takes no slot of the vector engine.\n\n"
        "| operation | opcode | unit | syntax | dst = "
        "|\n|---|---|---|---|---|\n";
  for (const LaneOp &op : table.laneOps) {
    os << "| `" << op.mnemonic << "` | " << format_hex(op.opcode, 4) << " | "
       << op.unit << " | `" << op.mnemonic << " dst";
    for (unsigned i = 0; i < op.operands; ++i)
      os << ", " << "abc"[i];
    if (op.hasImm)
      os << ", imm";
    os << "` | " << op.semantics << " |\n";
  }
  os << "\n";
}

void emitDocs(const RecordKeeper &records, raw_ostream &os) {
  InstructionTable table = readInstructionTable(records);
  os << "<!-- Generated by tessera-tblgen from "
        "include/tessera/ISA/Instructions.td, "
        "docs/isa-prologue.md.in and docs/isa-epilogue.md.in. -->\n\n";
  emitFile(os, prologue);
  StringRef group;
  for (const Instruction &inst : table.instructions) {
    if (inst.group != group)
      os << "## " << inst.groupTitle << "\n\n";
    group = inst.group;
    emitInstruction(os, inst);
  }
  emitLaneOps(os, table);
  emitFile(os, epilogue);
}

} // namespace tessera::tblgen
