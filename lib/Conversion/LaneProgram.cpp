//===- LaneProgram.cpp - Bodies of tile.map as lane programs --------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneProgram.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tessera;
using isa::LaneOpcode;

std::optional<NumericFormat> tessera::elementFormatOf(Type type) {
  if (type.isF32())
    return NumericFormat::F32;
  if (type.isBF16())
    return NumericFormat::BF16;
  if (type.isF16())
    return NumericFormat::F16;
  if (llvm::isa<Float8E4M3FNType>(type))
    return NumericFormat::F8E4M3FN;
  if (llvm::isa<Float8E5M2Type>(type))
    return NumericFormat::F8E5M2;
  // A boolean is a byte that holds 0 or 1.
  if (type.isUnsignedInteger(8) || type.isInteger(1))
    return NumericFormat::U8;
  if (type.isInteger(8))
    return NumericFormat::I8;
  if (type.isInteger(32))
    return NumericFormat::I32;
  return std::nullopt;
}

uint32_t tessera::elementBits(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().bitcastToAPInt().getZExtValue();
  return cast<IntegerAttr>(value).getValue().getZExtValue();
}

namespace {

class LaneProgramBuilder {
public:
  LaneProgramBuilder(Block &body)
      : body(body), freeRegs(isa::numLaneRegs, true) {}

  FailureOr<isa::MapProgram> build();

private:
  LogicalResult selectOp(Operation &op);
  LogicalResult selectCompare(arith::CmpFOp op);
  LogicalResult selectCompare(arith::CmpIOp op);

  /// The register that holds `value`. A constant costs no time and is made
  /// for each operation that uses it, so that it occupies no register between.
  unsigned use(Value value);
  /// A register for `value`, in which it stays until its last use.
  unsigned define(Value value);
  /// `value` is what `source` is, bit by bit: no operation, the same register.
  void alias(Value value, Value source);
  /// A register for the operation at hand only.
  unsigned temporary();
  unsigned allocate();
  /// Emits the first error only: one lack of registers entails others.
  void fail(const char *message) {
    if (!hasFailed)
      current->emitError(message);
    hasFailed = true;
  }
  unsigned constant(uint32_t bits) {
    unsigned reg = temporary();
    append(LaneOpcode::CONST, reg, {}, bits);
    return reg;
  }
  void append(LaneOpcode opcode, unsigned dst, ArrayRef<unsigned> operands,
              uint32_t imm = 0) {
    isa::LaneInst inst;
    inst.opcode = opcode;
    inst.dst = dst;
    inst.a = operands.size() > 0 ? operands[0] : 0;
    inst.b = operands.size() > 1 ? operands[1] : 0;
    inst.c = operands.size() > 2 ? operands[2] : 0;
    inst.imm = imm;
    program.ops.push_back(inst);
  }
  /// `opcode` on the operation's operands, rounded to the result's type.
  void simple(Operation &op, LaneOpcode opcode);
  /// The value of `bits` sign-extended bits of `source` in `dst`.
  void signExtend(unsigned dst, unsigned source, unsigned bits);
  /// The low `bits` of `source` in `dst`: a boolean, or sign-extended.
  void truncate(unsigned dst, unsigned source, unsigned bits) {
    if (bits == 1)
      append(LaneOpcode::ANDI, dst, {source, constant(1)});
    else
      signExtend(dst, source, bits);
  }
  /// A register with the unsigned value of an integer.
  unsigned zeroExtended(Value value) {
    unsigned reg = use(value), bits = value.getType().getIntOrFloatBitWidth();
    if (bits == 32 || bits == 1)
      return reg;
    unsigned mask = constant((uint64_t(1) << bits) - 1);
    unsigned result = temporary();
    append(LaneOpcode::ANDI, result, {reg, mask});
    return result;
  }
  void releaseAfter(Operation &op);
  /// Results of narrow float types are rounded after each operation, the last
  /// ones by the conversion to the output's format.
  void roundResult(Value result, unsigned reg);
  bool isRoundedByOutput(Value value);

  Block &body;
  isa::MapProgram program;
  llvm::BitVector freeRegs;
  DenseMap<Value, unsigned> registers;
  SmallVector<unsigned> temporaries;
  Operation *current = nullptr;
  bool hasFailed = false;
};

} // namespace

unsigned LaneProgramBuilder::allocate() {
  int reg = freeRegs.find_first();
  if (reg < 0) {
    fail("the body needs more than 16 lane registers");
    return 0;
  }
  freeRegs.reset(reg);
  return reg;
}

unsigned LaneProgramBuilder::temporary() {
  unsigned reg = allocate();
  temporaries.push_back(reg);
  return reg;
}

unsigned LaneProgramBuilder::define(Value value) {
  unsigned reg = allocate();
  registers[value] = reg;
  return reg;
}

void LaneProgramBuilder::alias(Value value, Value source) {
  unsigned reg = use(source);
  // A constant's register stays, too.
  llvm::erase(temporaries, reg);
  registers[value] = reg;
}

static uint32_t laneBits(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    APFloat wide = number.getValue();
    bool losesInfo;
    wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return wide.bitcastToAPInt().getZExtValue();
  }
  APInt integer = cast<IntegerAttr>(value).getValue();
  // Booleans are 0 and 1; other integers are signed.
  return integer.getBitWidth() == 1 ? integer.getZExtValue()
                                    : integer.sextOrTrunc(32).getZExtValue();
}

unsigned LaneProgramBuilder::use(Value value) {
  if (auto known = registers.find(value); known != registers.end())
    return known->second;
  TypedAttr constantValue;
  if (!matchPattern(value, m_Constant(&constantValue)) ||
      !llvm::isa<FloatAttr, IntegerAttr>(constantValue)) {
    fail("uses a value that is neither computed in the body nor a constant");
    return 0;
  }
  return constant(laneBits(constantValue));
}

/// A reduction takes the lanes' values as they are.
bool LaneProgramBuilder::isRoundedByOutput(Value value) {
  auto map = cast<tile::MapOp>(body.getParentOp());
  return map.getReduce() == tile::Reduction::None &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           return use.getOwner() == body.getTerminator() &&
                  cast<MemRefType>(
                      map.getOutputs()[use.getOperandNumber()].getType())
                          .getElementType() == value.getType();
         });
}

void LaneProgramBuilder::roundResult(Value result, unsigned reg) {
  Type type = result.getType();
  if (!(type.isBF16() || type.isF16()) || isRoundedByOutput(result))
    return;
  append(type.isBF16() ? LaneOpcode::RNDBF16 : LaneOpcode::RNDF16, reg, {reg});
}

void LaneProgramBuilder::simple(Operation &op, LaneOpcode opcode) {
  SmallVector<unsigned> operands;
  for (Value operand : op.getOperands())
    operands.push_back(use(operand));
  unsigned dst = define(op.getResult(0));
  append(opcode, dst, operands);
  roundResult(op.getResult(0), dst);
}

void LaneProgramBuilder::signExtend(unsigned dst, unsigned source,
                                    unsigned bits) {
  unsigned shift = constant(32 - bits);
  append(LaneOpcode::SHLI, dst, {source, shift});
  append(LaneOpcode::SHRSI, dst, {dst, shift});
}

void LaneProgramBuilder::releaseAfter(Operation &op) {
  for (unsigned reg : temporaries)
    freeRegs.set(reg);
  temporaries.clear();
  auto release = [&](Value value) {
    auto known = registers.find(value);
    if (known == registers.end())
      return;
    for (Operation *user : value.getUsers())
      if (user->getBlock() == &body &&
          (user == &op || op.isBeforeInBlock(user)))
        if (user != &op)
          return;
    unsigned reg = known->second;
    registers.erase(known);
    if (llvm::none_of(registers,
                      [&](auto &other) { return other.second == reg; }))
      freeRegs.set(reg);
  };
  for (Value operand : op.getOperands())
    release(operand);
  for (Value result : op.getResults())
    release(result);
}

/// The lane operation that does just what `op` does, if there is one.
static std::optional<LaneOpcode> lookupSimple(Operation &op) {
  return llvm::TypeSwitch<Operation *, std::optional<LaneOpcode>>(&op)
      .Case<arith::AddFOp>([](auto) { return LaneOpcode::ADDF; })
      .Case<arith::SubFOp>([](auto) { return LaneOpcode::SUBF; })
      .Case<arith::MulFOp>([](auto) { return LaneOpcode::MULF; })
      .Case<arith::DivFOp>([](auto) { return LaneOpcode::DIVF; })
      .Case<arith::MinimumFOp>([](auto) { return LaneOpcode::MINF; })
      .Case<arith::MaximumFOp>([](auto) { return LaneOpcode::MAXF; })
      .Case<arith::NegFOp>([](auto) { return LaneOpcode::NEGF; })
      .Case<arith::SelectOp>([](auto) { return LaneOpcode::SELECT; })
      .Case<math::FmaOp>([](auto) { return LaneOpcode::FMA; })
      .Case<math::AbsFOp>([](auto) { return LaneOpcode::ABSF; })
      .Case<math::FloorOp>([](auto) { return LaneOpcode::FLOORF; })
      .Case<math::CeilOp>([](auto) { return LaneOpcode::CEILF; })
      .Case<math::RoundEvenOp>([](auto) { return LaneOpcode::ROUNDF; })
      .Case<math::SqrtOp>([](auto) { return LaneOpcode::SQRT; })
      .Case<math::RsqrtOp>([](auto) { return LaneOpcode::RSQRT; })
      .Case<math::ExpOp>([](auto) { return LaneOpcode::EXP; })
      .Case<math::LogOp>([](auto) { return LaneOpcode::LOG; })
      .Case<math::TanhOp>([](auto) { return LaneOpcode::TANH; })
      .Case<math::ErfOp>([](auto) { return LaneOpcode::ERF; })
      .Case<math::SinOp>([](auto) { return LaneOpcode::SIN; })
      .Case<math::CosOp>([](auto) { return LaneOpcode::COS; })
      .Default([](auto) { return std::nullopt; });
}

/// Integer operations that are right on 32 bits, and on booleans held as 0
/// and 1.
static std::optional<LaneOpcode> lookupInteger(Operation &op) {
  using Found = std::optional<LaneOpcode>;
  if (op.getNumResults() != 1)
    return std::nullopt;
  if (op.getResult(0).getType().isInteger(1))
    return llvm::TypeSwitch<Operation *, Found>(&op)
        .Case<arith::AndIOp, arith::MulIOp, arith::MinUIOp, arith::MaxSIOp>(
            [](auto) { return LaneOpcode::ANDI; })
        .Case<arith::OrIOp, arith::MaxUIOp, arith::MinSIOp>(
            [](auto) { return LaneOpcode::ORI; })
        .Case<arith::XOrIOp, arith::AddIOp, arith::SubIOp>(
            [](auto) { return LaneOpcode::XORI; })
        .Default([](auto) { return std::nullopt; });
  return llvm::TypeSwitch<Operation *, Found>(&op)
      .Case<arith::AndIOp>([](auto) { return LaneOpcode::ANDI; })
      .Case<arith::OrIOp>([](auto) { return LaneOpcode::ORI; })
      .Case<arith::XOrIOp>([](auto) { return LaneOpcode::XORI; })
      .Case<arith::AddIOp>([](auto) { return LaneOpcode::ADDI; })
      .Case<arith::SubIOp>([](auto) { return LaneOpcode::SUBI; })
      .Case<arith::MulIOp>([](auto) { return LaneOpcode::MULI; })
      .Case<arith::MinSIOp>([](auto) { return LaneOpcode::MINI; })
      .Case<arith::MaxSIOp>([](auto) { return LaneOpcode::MAXI; })
      .Case<arith::ShLIOp>([](auto) { return LaneOpcode::SHLI; })
      .Case<arith::ShRSIOp>([](auto) { return LaneOpcode::SHRSI; })
      .Case<arith::ShRUIOp>([](auto) { return LaneOpcode::SHRUI; })
      .Case<arith::DivSIOp>([](auto) { return LaneOpcode::DIVI; })
      .Case<arith::RemSIOp>([](auto) { return LaneOpcode::REMI; })
      .Default([](auto) { return std::nullopt; });
}

/// Whether `op` may leave bits beyond the width of its narrow result.
static bool exceedsWidth(Operation &op) {
  return llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp,
                   arith::DivSIOp>(op);
}

LogicalResult LaneProgramBuilder::selectCompare(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  unsigned a = use(op.getLhs()), b = use(op.getRhs());
  unsigned dst = define(op.getResult());
  auto compare = [&](LaneOpcode opcode, unsigned x, unsigned y) {
    append(opcode, dst, {x, y});
    return success();
  };
  // An unordered comparison is the negation of the opposite ordered one.
  auto negated = [&](LaneOpcode opcode, unsigned x, unsigned y) {
    append(opcode, dst, {x, y});
    append(LaneOpcode::XORI, dst, {dst, constant(1)});
    return success();
  };
  auto both = [&](LaneOpcode first, LaneOpcode combine, LaneOpcode second,
                  bool swapSecond) {
    unsigned other = temporary();
    append(second, other, swapSecond ? ArrayRef{b, a} : ArrayRef{a, b});
    append(first, dst, {a, b});
    append(combine, dst, {dst, other});
    return success();
  };
  switch (op.getPredicate()) {
  case P::AlwaysFalse:
    append(LaneOpcode::CONST, dst, {}, 0);
    return success();
  case P::AlwaysTrue:
    append(LaneOpcode::CONST, dst, {}, 1);
    return success();
  case P::OEQ:
    return compare(LaneOpcode::EQF, a, b);
  case P::UNE:
    return compare(LaneOpcode::NEF, a, b);
  case P::OLT:
    return compare(LaneOpcode::LTF, a, b);
  case P::OLE:
    return compare(LaneOpcode::LEF, a, b);
  case P::OGT:
    return compare(LaneOpcode::LTF, b, a);
  case P::OGE:
    return compare(LaneOpcode::LEF, b, a);
  case P::UGE:
    return negated(LaneOpcode::LTF, a, b);
  case P::UGT:
    return negated(LaneOpcode::LEF, a, b);
  case P::ULE:
    return negated(LaneOpcode::LTF, b, a);
  case P::ULT:
    return negated(LaneOpcode::LEF, b, a);
  case P::ONE:
    return both(LaneOpcode::LTF, LaneOpcode::ORI, LaneOpcode::LTF, true);
  case P::UEQ:
    (void)both(LaneOpcode::LTF, LaneOpcode::ORI, LaneOpcode::LTF, true);
    append(LaneOpcode::XORI, dst, {dst, constant(1)});
    return success();
  case P::ORD:
  case P::UNO: {
    unsigned other = temporary();
    append(LaneOpcode::NEF, other, {b, b});
    append(LaneOpcode::NEF, dst, {a, a});
    append(LaneOpcode::ORI, dst, {dst, other});
    if (op.getPredicate() == P::ORD)
      append(LaneOpcode::XORI, dst, {dst, constant(1)});
    return success();
  }
  }
  return failure();
}

LogicalResult LaneProgramBuilder::selectCompare(arith::CmpIOp op) {
  using P = arith::CmpIPredicate;
  unsigned a = use(op.getLhs()), b = use(op.getRhs());
  unsigned dst = define(op.getResult());
  // As a signed number, a boolean that is set is -1.
  if (op.getLhs().getType().isInteger(1) &&
      llvm::is_contained({P::slt, P::sle, P::sgt, P::sge}, op.getPredicate()))
    std::swap(a, b);
  auto compare = [&](LaneOpcode opcode, unsigned x, unsigned y,
                     bool negate = false) {
    append(opcode, dst, {x, y});
    if (negate)
      append(LaneOpcode::XORI, dst, {dst, constant(1)});
    return success();
  };
  switch (op.getPredicate()) {
  case P::eq:
    return compare(LaneOpcode::EQI, a, b);
  case P::ne:
    return compare(LaneOpcode::NEI, a, b);
  case P::slt:
    return compare(LaneOpcode::LTI, a, b);
  case P::sle:
    return compare(LaneOpcode::LEI, a, b);
  case P::sgt:
    return compare(LaneOpcode::LTI, b, a);
  case P::sge:
    return compare(LaneOpcode::LEI, b, a);
  case P::ult:
    return compare(LaneOpcode::LTU, a, b);
  case P::ugt:
    return compare(LaneOpcode::LTU, b, a);
  case P::ule:
    return compare(LaneOpcode::LTU, b, a, true);
  case P::uge:
    return compare(LaneOpcode::LTU, a, b, true);
  }
  return failure();
}

/// Lanes hold f32 (and narrower floats as f32), and integers of at most 32
/// bits.
static bool fitsLane(Type type) {
  if (llvm::isa<FloatType>(type))
    return type.getIntOrFloatBitWidth() <= 32;
  return llvm::isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 32;
}

LogicalResult LaneProgramBuilder::selectOp(Operation &op) {
  auto unsupported = [&] {
    return op.emitError("the vector engine has no lane operation for '")
           << op.getName() << "' on " << op.getOperandTypes();
  };
  for (Type type :
       llvm::concat<const Type>(SmallVector<Type>(op.getOperandTypes()),
                                SmallVector<Type>(op.getResultTypes())))
    if (!fitsLane(type))
      return unsupported();

  if (llvm::isa<arith::ConstantOp>(op))
    return success(); // Made where it is used.
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return selectCompare(compare);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return selectCompare(compare);
  if (auto divide = dyn_cast<arith::DivFOp>(op))
    if (matchPattern(divide.getLhs(), m_OneFloat())) {
      unsigned a = use(divide.getRhs());
      unsigned dst = define(divide.getResult());
      append(LaneOpcode::RCP, dst, {a});
      roundResult(divide.getResult(), dst);
      return success();
    }
  if (auto simpleOpcode = lookupSimple(op)) {
    simple(op, *simpleOpcode);
    return success();
  }

  Type type = op.getNumResults() == 1 ? op.getResult(0).getType() : Type();
  if (auto integer = lookupInteger(op)) {
    unsigned bits = type.getIntOrFloatBitWidth();
    // A logical shift of a narrow value would see the copies of its sign.
    if (bits != 32 && bits != 1 && llvm::isa<arith::ShRUIOp>(op)) {
      unsigned a = zeroExtended(op.getOperand(0)), b = use(op.getOperand(1));
      unsigned dst = define(op.getResult(0));
      append(LaneOpcode::SHRUI, dst, {a, b});
      signExtend(dst, dst, bits);
      return success();
    }
    simple(op, *integer);
    if (bits != 32 && bits != 1 && exceedsWidth(op)) {
      unsigned dst = registers[op.getResult(0)];
      signExtend(dst, dst, bits);
    }
    return success();
  }
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) {
        // The other operand where one is NaN, else as maximumf.
        unsigned a = use(op.getOperand(0)), b = use(op.getOperand(1));
        unsigned dst = define(op.getResult(0));
        unsigned isNan = temporary(), left = temporary();
        append(LaneOpcode::NEF, isNan, {a, a});
        append(LaneOpcode::SELECT, left, {isNan, b, a});
        append(LaneOpcode::NEF, isNan, {b, b});
        append(LaneOpcode::SELECT, isNan, {isNan, a, b});
        append(llvm::isa<arith::MaxNumFOp>(op) ? LaneOpcode::MAXF
                                               : LaneOpcode::MINF,
               dst, {left, isNan});
        return success();
      })
      .Case<arith::ExtFOp>([&](auto) {
        alias(op.getResult(0), op.getOperand(0));
        return success();
      })
      .Case<arith::TruncFOp>([&](auto) -> LogicalResult {
        if (!type.isBF16() && !type.isF16())
          return unsupported();
        if (isRoundedByOutput(op.getResult(0))) {
          alias(op.getResult(0), op.getOperand(0));
          return success();
        }
        unsigned a = use(op.getOperand(0));
        unsigned dst = define(op.getResult(0));
        append(type.isBF16() ? LaneOpcode::RNDBF16 : LaneOpcode::RNDF16, dst,
               {a});
        return success();
      })
      .Case<arith::SIToFPOp>([&](auto) -> LogicalResult {
        if (op.getOperand(0).getType().isInteger(1))
          return unsupported();
        simple(op, LaneOpcode::ITOF);
        return success();
      })
      .Case<arith::UIToFPOp>([&](auto) {
        unsigned a = zeroExtended(op.getOperand(0));
        unsigned dst = define(op.getResult(0));
        append(LaneOpcode::UTOF, dst, {a});
        roundResult(op.getResult(0), dst);
        return success();
      })
      .Case<arith::FPToSIOp>([&](auto) -> LogicalResult {
        if (type.isInteger(1))
          return unsupported();
        simple(op, LaneOpcode::FTOI);
        unsigned dst = registers[op.getResult(0)];
        if (!type.isInteger(32))
          signExtend(dst, dst, type.getIntOrFloatBitWidth());
        return success();
      })
      .Case<arith::FPToUIOp>([&](auto) {
        // Values from 2^31 on are converted without their highest bit.
        unsigned a = use(op.getOperand(0));
        unsigned dst = define(op.getResult(0));
        if (type.isInteger(32)) {
          unsigned limit = constant(0x4f000000), isLarge = temporary(),
                   rest = temporary();
          append(LaneOpcode::LEF, isLarge, {limit, a});
          append(LaneOpcode::SUBF, rest, {a, limit});
          append(LaneOpcode::SELECT, rest, {isLarge, rest, a});
          append(LaneOpcode::FTOI, rest, {rest});
          append(LaneOpcode::SHLI, isLarge, {isLarge, constant(31)});
          append(LaneOpcode::XORI, dst, {rest, isLarge});
        } else {
          append(LaneOpcode::FTOI, dst, {a});
          truncate(dst, dst, type.getIntOrFloatBitWidth());
        }
        return success();
      })
      .Case<arith::MinUIOp, arith::MaxUIOp>([&](auto) {
        // Sign extension keeps the order of unsigned numbers.
        unsigned a = use(op.getOperand(0)), b = use(op.getOperand(1));
        unsigned dst = define(op.getResult(0)), isLess = temporary();
        append(LaneOpcode::LTU, isLess, {a, b});
        bool isMin = llvm::isa<arith::MinUIOp>(op);
        append(LaneOpcode::SELECT, dst, {isLess, isMin ? a : b, isMin ? b : a});
        return success();
      })
      .Case<arith::DivUIOp, arith::RemUIOp>([&](auto) -> LogicalResult {
        unsigned bits = type.getIntOrFloatBitWidth();
        if (bits == 32 || bits == 1)
          return unsupported();
        unsigned a = zeroExtended(op.getOperand(0)),
                 b = zeroExtended(op.getOperand(1));
        unsigned dst = define(op.getResult(0));
        append(llvm::isa<arith::DivUIOp>(op) ? LaneOpcode::DIVI
                                             : LaneOpcode::REMI,
               dst, {a, b});
        signExtend(dst, dst, bits);
        return success();
      })
      .Case<arith::MulSIExtendedOp, arith::MulUIExtendedOp>(
          [&](auto) -> LogicalResult {
            if (!op.getResult(0).getType().isInteger(32))
              return unsupported();
            unsigned a = use(op.getOperand(0)), b = use(op.getOperand(1));
            unsigned low = define(op.getResult(0)),
                     high = define(op.getResult(1));
            append(LaneOpcode::MULI, low, {a, b});
            append(LaneOpcode::MULHSI, high, {a, b});
            if (llvm::isa<arith::MulSIExtendedOp>(op))
              return success();
            // A factor whose highest bit is set counts 2^32 more unsigned.
            unsigned mask = temporary(), shift = constant(31);
            for (auto [factor, other] : {std::pair(a, b), std::pair(b, a)}) {
              append(LaneOpcode::SHRSI, mask, {factor, shift});
              append(LaneOpcode::ANDI, mask, {mask, other});
              append(LaneOpcode::ADDI, high, {high, mask});
            }
            return success();
          })
      .Case<math::AbsIOp>([&](auto) -> LogicalResult {
        unsigned bits = type.getIntOrFloatBitWidth();
        if (bits == 1)
          return unsupported();
        unsigned a = use(op.getOperand(0));
        unsigned dst = define(op.getResult(0)), negative = temporary();
        append(LaneOpcode::SUBI, negative, {constant(0), a});
        append(LaneOpcode::MAXI, dst, {a, negative});
        if (bits != 32)
          signExtend(dst, dst, bits);
        return success();
      })
      .Case<math::IsNaNOp>([&](auto) {
        unsigned a = use(op.getOperand(0));
        append(LaneOpcode::NEF, define(op.getResult(0)), {a, a});
        return success();
      })
      .Case<math::TruncOp>([&](auto) {
        // Toward zero, with the operand's sign even if the result is 0.
        unsigned a = use(op.getOperand(0));
        unsigned dst = define(op.getResult(0)), sign = temporary();
        append(LaneOpcode::ANDI, sign, {a, constant(0x80000000)});
        append(LaneOpcode::ABSF, dst, {a});
        append(LaneOpcode::FLOORF, dst, {dst});
        append(LaneOpcode::ORI, dst, {dst, sign});
        return success();
      })
      .Case<math::CopySignOp>([&](auto) {
        unsigned a = use(op.getOperand(0)), b = use(op.getOperand(1));
        unsigned dst = define(op.getResult(0)), sign = temporary();
        append(LaneOpcode::ANDI, sign, {b, constant(0x80000000)});
        append(LaneOpcode::ABSF, dst, {a});
        append(LaneOpcode::ORI, dst, {dst, sign});
        return success();
      })
      .Case<arith::BitcastOp>([&](auto) -> LogicalResult {
        if (!(type.isF32() || type.isInteger(32)) ||
            !(op.getOperand(0).getType().isF32() ||
              op.getOperand(0).getType().isInteger(32)))
          return unsupported();
        alias(op.getResult(0), op.getOperand(0));
        return success();
      })
      .Case<arith::ExtSIOp>([&](auto) {
        if (!op.getOperand(0).getType().isInteger(1)) {
          alias(op.getResult(0), op.getOperand(0));
          return success();
        }
        unsigned a = use(op.getOperand(0));
        append(LaneOpcode::SUBI, define(op.getResult(0)), {constant(0), a});
        return success();
      })
      .Case<arith::ExtUIOp>([&](auto) {
        unsigned a = use(op.getOperand(0));
        unsigned bits = op.getOperand(0).getType().getIntOrFloatBitWidth();
        unsigned dst = define(op.getResult(0));
        append(LaneOpcode::ANDI, dst, {a, constant((uint64_t(1) << bits) - 1)});
        return success();
      })
      .Case<arith::TruncIOp>([&](auto) {
        unsigned a = use(op.getOperand(0));
        unsigned dst = define(op.getResult(0));
        truncate(dst, a, type.getIntOrFloatBitWidth());
        return success();
      })
      .Default([&](auto) { return unsupported(); });
}

FailureOr<isa::MapProgram> LaneProgramBuilder::build() {
  program.inputs = body.getNumArguments();
  for (BlockArgument argument : body.getArguments()) {
    if (!fitsLane(argument.getType()))
      return emitError(argument.getLoc(), "elements of type ")
             << argument.getType() << " do not fit the vector engine's lanes";
    registers[argument] = argument.getArgNumber();
    freeRegs.reset(argument.getArgNumber());
  }
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      freeRegs.set(argument.getArgNumber());
  for (Operation &op : body.without_terminator()) {
    current = &op;
    if (failed(selectOp(op)))
      return failure();
    if (hasFailed)
      return failure();
    releaseAfter(op);
  }
  Operation *yield = body.getTerminator();
  current = yield;
  program.outputs = yield->getNumOperands();
  for (auto [index, value] : llvm::enumerate(yield->getOperands()))
    program.outRegs[index] = use(value);
  if (hasFailed)
    return failure();
  if (program.ops.size() > isa::maxMapOps)
    return yield->emitError("the body needs ")
           << program.ops.size() << " lane operations, at most "
           << isa::maxMapOps << " fit a program";
  return program;
}

FailureOr<isa::MapProgram> tessera::buildLaneProgram(Block &body) {
  return LaneProgramBuilder(body).build();
}
