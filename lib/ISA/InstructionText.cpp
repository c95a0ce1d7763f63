//===- InstructionText.cpp - Assembly text and disassembly ----------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fmt/format.h"
#include "tessera/ISA/Instruction.h"
#include <iterator>

namespace tessera::isa {

std::string_view queueName(Queue queue) {
  static constexpr std::string_view names[] = {"seq", "ld",  "st",  "mx",
                                               "vx",  "mx1", "mx2", "mx3",
                                               "mx4", "mx5", "mx6", "mx7"};
  return names[unsigned(queue)];
}

std::string_view accumulateName(Accumulate accumulate) {
  static constexpr std::string_view names[] = {"no", "yes", "reg"};
  return names[unsigned(accumulate)];
}

std::string_view reduceName(Reduce reduce) {
  static constexpr std::string_view names[] = {"none", "sum",    "max",   "min",
                                               "prod", "argmax", "argmin"};
  return names[unsigned(reduce)];
}

std::string_view roundingName(Rounding rounding) {
  static constexpr std::string_view names[] = {"nearest", "zero", "down", "up"};
  return names[unsigned(rounding)];
}

static void printValue(OperandKind kind, int64_t value, std::string &text) {
  auto out = std::back_inserter(text);
  switch (kind) {
  case OperandKind::ScalarReg:
    fmt::format_to(out, "r{}", value);
    break;
  case OperandKind::DescReg:
    fmt::format_to(out, "t{}", value);
    break;
  case OperandKind::Flag:
  case OperandKind::Dim:
  case OperandKind::Unsigned:
  case OperandKind::Signed:
    fmt::format_to(out, "{}", value);
    break;
  case OperandKind::DimMask: {
    text += '[';
    std::string_view comma;
    for (int dim = 0; value >> dim != 0; ++dim)
      if (value >> dim & 1) {
        fmt::format_to(out, "{}{}", comma, dim);
        comma = ", ";
      }
    text += ']';
    break;
  }
  case OperandKind::Queue:
    text += queueName(Queue(value));
    break;
  case OperandKind::MatrixQueue:
    text += queueName(matrixQueue(unsigned(value)));
    break;
  case OperandKind::Accumulate:
    text += accumulateName(Accumulate(value));
    break;
  case OperandKind::Reduce:
    text += reduceName(Reduce(value));
    break;
  case OperandKind::Reduction:
  case OperandKind::Scan:
    text += reduceName(Reduce(value + 1));
    break;
  case OperandKind::Rounding:
    text += roundingName(Rounding(value));
    break;
  }
}

static void printSteps(std::string_view what, std::string_view op,
                       std::span<const SemaphoreStep> steps,
                       std::string &text) {
  std::string_view comma;
  for (const SemaphoreStep &step : steps) {
    if (step.count == 0)
      break;
    fmt::format_to(std::back_inserter(text), "{}s{} {} {}",
                   comma.empty() ? fmt::format(" {}(", what) : comma, step.sem,
                   op, step.count);
    comma = ", ";
  }
  if (!comma.empty())
    text += ')';
}

std::string print(const Instruction &inst) {
  const InstInfo &info = inst.info();
  std::string text = fmt::format("isa.{}", info.mnemonic);
  std::string_view separator = " ";
  for (size_t i = 0; i < info.fields.size(); ++i) {
    const FieldInfo &field = info.fields[i];
    bool mayBeAbsent = field.kind == OperandKind::Flag ||
                       field.kind == OperandKind::MatrixQueue;
    if (mayBeAbsent && inst.fields[i] == 0)
      continue;
    fmt::format_to(std::back_inserter(text), "{}{}", separator, field.name);
    separator = ", ";
    if (field.kind == OperandKind::Flag)
      continue;
    text += " = ";
    printValue(field.kind, inst.fields[i], text);
  }
  printSteps("wait", ">=", inst.waits, text);
  printSteps("signal", "+=", inst.signals, text);
  return text;
}

std::string disassemble(std::span<const Instruction> program) {
  std::string text;
  std::vector<uint64_t> bodyEnds; // Of the loops around the instruction.
  for (size_t i = 0; i < program.size(); ++i) {
    while (!bodyEnds.empty() && bodyEnds.back() <= i)
      bodyEnds.pop_back();
    fmt::format_to(std::back_inserter(text), "{:6}  {:{}}{}\n", i, "",
                   2 * bodyEnds.size(), print(program[i]));
    if (std::optional<uint64_t> length = loopLength(program[i]);
        length && *length > 0)
      bodyEnds.push_back(i + 1 + *length);
  }
  return text;
}

} // namespace tessera::isa
