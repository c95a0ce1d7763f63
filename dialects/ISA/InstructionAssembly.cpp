//===- InstructionAssembly.cpp - Parsing and printing of instructions -----===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One parser and one printer for all instructions, led by the table. The text
// is that of tessera::isa::print, except that a hardware loop shows its body
// instead of its length.
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/InstructionOps.h"

using namespace mlir;

namespace tessera::isa {

namespace {

class InstructionParser {
public:
  InstructionParser(OpAsmParser &parser, OperationState &result)
      : parser(parser), result(result), info(*getInstInfo(result.name)) {}

  ParseResult parse() {
    for (const FieldInfo &field : info.fields)
      if (!isDerivedField(info, field) && failed(parseField(field)))
        return failure();
    if (atComma)
      return parser.emitError(parser.getCurrentLocation(),
                              "expected no more fields");
    if (failed(parseSteps("wait", "waits", info.hasWaits)) ||
        failed(parseSteps("signal", "signals", info.hasSignals)))
      return failure();
    if (info.opcode != Opcode::LOOP && info.opcode != Opcode::LOOPR)
      return parser.parseOptionalAttrDict(result.attributes);
    if (failed(parser.parseOptionalAttrDictWithKeyword(result.attributes)))
      return failure();
    Region *body = result.addRegion();
    if (failed(parser.parseRegion(*body, /*arguments=*/{})))
      return failure();
    if (body->empty())
      body->emplaceBlock();
    return success();
  }

private:
  /// Between fields stands a comma; one may have been read ahead of an absent
  /// field.
  ParseResult parseComma() {
    if (std::exchange(isFirst, false) || std::exchange(atComma, false))
      return success();
    return parser.parseComma();
  }

  ParseResult parseField(const FieldInfo &field) {
    int64_t value = 0;
    if (field.kind == OperandKind::Flag ||
        field.kind == OperandKind::MatrixQueue) {
      if (!isFirst && !atComma)
        atComma = succeeded(parser.parseOptionalComma());
      if ((isFirst || atComma) &&
          succeeded(parser.parseOptionalKeyword(field.name))) {
        isFirst = atComma = false;
        value = 1;
        if (field.kind == OperandKind::MatrixQueue &&
            (failed(parser.parseEqual()) || failed(parseValue(field, value))))
          return failure();
      }
    } else if (failed(parseComma()) ||
               failed(parser.parseKeyword(field.name)) ||
               failed(parser.parseEqual()) ||
               failed(parseValue(field, value))) {
      return failure();
    }
    result.addAttribute(field.name,
                        parser.getBuilder().getI64IntegerAttr(value));
    return success();
  }

  ParseResult parseValue(const FieldInfo &field, int64_t &value) {
    switch (field.kind) {
    case OperandKind::ScalarReg:
      return parseNumbered('r', numScalarRegs, value);
    case OperandKind::DescReg:
      return parseNumbered('t', numDescRegs, value);
    case OperandKind::DimMask:
      return parseMask(field.bits, value);
    case OperandKind::Queue:
      return parseName(value, numQueues,
                       [](unsigned i) { return queueName(Queue(i)); });
    case OperandKind::MatrixQueue:
      return parseName(value, maxMatrixEngines,
                       [](unsigned i) { return queueName(matrixQueue(i)); });
    case OperandKind::Accumulate:
      return parseName(value, unsigned(Accumulate::Reg) + 1, [](unsigned i) {
        return accumulateName(Accumulate(i));
      });
    case OperandKind::Reduce:
      return parseName(value, unsigned(Reduce::ArgMin) + 1,
                       [](unsigned i) { return reduceName(Reduce(i)); });
    case OperandKind::Reduction:
      return parseName(value, unsigned(Reduce::ArgMin),
                       [](unsigned i) { return reduceName(Reduce(i + 1)); });
    case OperandKind::Scan:
      return parseName(value, unsigned(Reduce::Prod),
                       [](unsigned i) { return reduceName(Reduce(i + 1)); });
    case OperandKind::Rounding:
      return parseName(value, unsigned(Rounding::Up) + 1,
                       [](unsigned i) { return roundingName(Rounding(i)); });
    case OperandKind::Flag:
    case OperandKind::Dim:
    case OperandKind::Unsigned:
    case OperandKind::Signed:
      break;
    }
    return parser.parseInteger(value);
  }

  /// `r12`, `t3`, `s0`.
  ParseResult parseNumbered(char prefix, unsigned count, int64_t &value) {
    SMLoc location = parser.getCurrentLocation();
    StringRef text;
    if (failed(parser.parseOptionalKeyword(&text)) ||
        !text.consume_front(StringRef(&prefix, 1)) ||
        text.getAsInteger(10, value) || value < 0 || value >= int64_t(count) ||
        (text.size() > 1 && text.front() == '0'))
      return parser.emitError(location)
             << "expected " << prefix << "0 to " << prefix << count - 1;
    return success();
  }

  ParseResult parseMask(unsigned bits, int64_t &value) {
    return parser.parseCommaSeparatedList(
        OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
          SMLoc location = parser.getCurrentLocation();
          unsigned dim;
          if (failed(parser.parseInteger(dim)))
            return failure();
          if (dim >= bits || (value >> dim & 1))
            return parser.emitError(location)
                   << "expected different dimensions from 0 to " << bits - 1;
          value |= int64_t(1) << dim;
          return success();
        });
  }

  ParseResult parseName(int64_t &value, unsigned count,
                        llvm::function_ref<std::string_view(unsigned)> nameOf) {
    SMLoc location = parser.getCurrentLocation();
    StringRef text;
    std::string names;
    bool isName = succeeded(parser.parseOptionalKeyword(&text));
    for (unsigned i = 0; i < count; ++i) {
      if (isName && text == StringRef(nameOf(i))) {
        value = i;
        return success();
      }
      names += (i == 0 ? "" : ", ") + std::string(nameOf(i));
    }
    return parser.emitError(location) << "expected one of " << names;
  }

  /// `wait(s0 >= 1, s3 >= 2)` or `signal(s1 += 1)`, or nothing.
  ParseResult parseSteps(StringRef keyword, StringRef attribute,
                         bool isAllowed) {
    SmallVector<int64_t> pairs;
    SMLoc location = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalKeyword(keyword))) {
      if (!isAllowed)
        return parser.emitError(location) << "cannot carry a " << keyword;
      bool isWait = keyword == "wait";
      auto parseStep = [&]() -> ParseResult {
        int64_t sem, count;
        if (failed(parseNumbered('s', maxSemaphores, sem)) ||
            failed(isWait ? parser.parseGreater() : parser.parsePlus()) ||
            failed(parser.parseEqual()) || failed(parser.parseInteger(count)))
          return failure();
        pairs.append({sem, count});
        return success();
      };
      if (failed(parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                                parseStep)))
        return failure();
    }
    if (isAllowed)
      result.addAttribute(attribute,
                          parser.getBuilder().getDenseI64ArrayAttr(pairs));
    return success();
  }

  OpAsmParser &parser;
  OperationState &result;
  const InstInfo &info;
  bool isFirst = true, atComma = false;
};

} // namespace

ParseResult parseInstruction(OpAsmParser &parser, OperationState &result) {
  return InstructionParser(parser, result).parse();
}

void printInstruction(Operation *op, OpAsmPrinter &printer) {
  std::string text = isa::print(getInstruction(op));
  StringRef fields =
      StringRef(text).drop_front(op->getName().getStringRef().size());
  Block *body = getLoopBody(op);
  if (body)
    fields = fields.take_front(fields.rfind(", length = "));
  printer << fields;
  ArrayRef<NamedAttribute> others =
      op->getDiscardableAttrDictionary().getValue();
  if (body) {
    printer.printOptionalAttrDictWithKeyword(others);
    printer << ' ';
    printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false,
                        /*printBlockTerminators=*/true);
  } else {
    printer.printOptionalAttrDict(others);
  }
}

} // namespace tessera::isa
