//===- MapProgramOp.cpp - Lane programs -----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/ISADialect.h"
#include "mlir/IR/SymbolTable.h"
#include "tessera/Support/Bytes.h"

using namespace mlir;

namespace tessera::isa {

// The encoding of a program has an 8-byte header, then its words.
static constexpr size_t headerBytes = 8, opBytes = 8;

MapProgramOp createMapProgram(OpBuilder &builder, Location location,
                              StringRef name, const MapProgram &program) {
  std::vector<uint8_t> bytes;
  Status status = encode(program, bytes);
  assert(status.ok() && "the program must be encodable");
  (void)status;
  SmallVector<int64_t> words;
  for (size_t at = headerBytes; at < bytes.size(); at += opBytes)
    words.push_back(loadLittleEndian<int64_t>(&bytes[at]));
  SmallVector<int64_t> outputs(program.outRegs.begin(),
                               program.outRegs.begin() + program.outputs);
  return MapProgramOp::create(builder, location, name, program.inputs, outputs,
                              words);
}

/// The program that the attributes say; its image is what has to be right.
static Result<MapProgram> decodeProgram(MapProgramOp op) {
  std::vector<uint8_t> bytes(headerBytes + opBytes * op.getWords().size());
  bytes[0] = uint8_t(op.getInputs());
  bytes[1] = uint8_t(op.getOutputs().size());
  storeLittleEndian(&bytes[2], uint16_t(op.getWords().size()));
  for (auto [i, output] : llvm::enumerate(op.getOutputs()))
    bytes[4 + i] = uint8_t(output);
  for (auto [i, word] : llvm::enumerate(op.getWords()))
    storeLittleEndian(&bytes[headerBytes + opBytes * i], word);
  Result<std::vector<MapProgram>> programs = decodeMapPrograms(bytes);
  if (!programs)
    return programs.status();
  return programs->front();
}

MapProgram MapProgramOp::getProgram() { return *decodeProgram(*this); }

LogicalResult MapProgramOp::verify() {
  if (getInputs() > maxMapInputs || getOutputs().size() > maxMapOutputs ||
      getWords().size() > maxMapOps)
    return emitOpError() << "has " << getInputs() << " inputs, "
                         << getOutputs().size() << " outputs, "
                         << getWords().size() << " operations; accepted: up to "
                         << maxMapInputs << ", " << maxMapOutputs << ", "
                         << maxMapOps;
  for (int64_t output : getOutputs())
    if (output < 0 || output >= numLaneRegs)
      return emitOpError() << "names the register " << output
                           << "; accepted: 0 to " << numLaneRegs - 1;
  if (Result<MapProgram> program = decodeProgram(*this); !program)
    return emitError() << program.status().message();
  return success();
}

void MapProgramOp::print(OpAsmPrinter &printer) {
  MapProgram program = getProgram();
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << " inputs " << getInputs() << " outputs [";
  llvm::interleaveComma(getOutputs(), printer,
                        [&](int64_t output) { printer << 'r' << output; });
  printer << ']';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getDiscardableAttrDictionary().getValue());
  printer << " {";
  printer.increaseIndent();
  for (const LaneInst &inst : program.ops) {
    printer.printNewline();
    printer << isa::print(inst);
  }
  printer.decreaseIndent();
  printer.printNewline();
  printer << '}';
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static ParseResult parseLaneReg(OpAsmParser &parser, uint8_t &reg) {
  SMLoc location = parser.getCurrentLocation();
  StringRef text;
  if (failed(parser.parseOptionalKeyword(&text)) || !text.consume_front("r") ||
      text.getAsInteger(10, reg) || reg >= numLaneRegs ||
      (text.size() > 1 && text.front() == '0'))
    return parser.emitError(location) << "expected r0 to r" << numLaneRegs - 1;
  return success();
}

static ParseResult parseLaneInst(OpAsmParser &parser, SMLoc location,
                                 StringRef mnemonic, LaneInst &inst) {
  const LaneOpInfo *info = lookupLaneOp(std::string_view(mnemonic));
  if (!info)
    return parser.emitError(location)
           << "unknown lane operation '" << mnemonic << "'";
  inst.opcode = info->opcode;
  if (failed(parseLaneReg(parser, inst.dst)))
    return failure();
  uint8_t *sources[] = {&inst.a, &inst.b, &inst.c};
  for (unsigned i = 0; i < info->operands; ++i)
    if (failed(parser.parseComma()) ||
        failed(parseLaneReg(parser, *sources[i])))
      return failure();
  if (info->hasImm &&
      (failed(parser.parseComma()) || failed(parser.parseInteger(inst.imm))))
    return failure();
  return success();
}

ParseResult MapProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  MapProgram program;
  SmallVector<uint8_t> outputs;
  SMLoc start = parser.getCurrentLocation();
  if (failed(parser.parseSymbolName(name, getSymNameAttrName(result.name),
                                    result.attributes)) ||
      failed(parser.parseKeyword("inputs")) ||
      failed(parser.parseInteger(program.inputs)) ||
      failed(parser.parseKeyword("outputs")) ||
      failed(parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Square,
          [&] { return parseLaneReg(parser, outputs.emplace_back()); })) ||
      failed(parser.parseOptionalAttrDictWithKeyword(result.attributes)) ||
      failed(parser.parseLBrace()))
    return failure();
  if (outputs.empty() || outputs.size() > maxMapOutputs)
    return parser.emitError(start)
           << "expected 1 to " << maxMapOutputs << " output registers";
  program.outputs = outputs.size();
  llvm::copy(outputs, program.outRegs.begin());
  while (true) {
    SMLoc location = parser.getCurrentLocation();
    StringRef mnemonic;
    if (failed(parser.parseOptionalKeyword(&mnemonic)))
      break;
    if (failed(parseLaneInst(parser, location, mnemonic,
                             program.ops.emplace_back())))
      return failure();
  }
  if (failed(parser.parseRBrace()))
    return failure();
  std::vector<uint8_t> bytes;
  if (Status status = encode(program, bytes); !status.ok())
    return parser.emitError(start) << status.message();
  SmallVector<int64_t> words;
  for (size_t at = headerBytes; at < bytes.size(); at += opBytes)
    words.push_back(loadLittleEndian<int64_t>(&bytes[at]));
  result.addAttribute(getInputsAttrName(result.name),
                      builder.getI64IntegerAttr(program.inputs));
  result.addAttribute(getOutputsAttrName(result.name),
                      builder.getDenseI64ArrayAttr(SmallVector<int64_t>(
                          outputs.begin(), outputs.end())));
  result.addAttribute(getWordsAttrName(result.name),
                      builder.getDenseI64ArrayAttr(words));
  return success();
}

} // namespace tessera::isa
