//===- Instructions.cpp - Between operations and instructions -------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/ISA/InstructionOps.h"

using namespace mlir;

namespace tessera::isa {

const InstInfo *getInstInfo(OperationName name) {
  StringRef mnemonic = name.getStringRef();
  if (!mnemonic.consume_front("isa."))
    return nullptr;
  return lookupInst(std::string_view(mnemonic));
}

const InstInfo *getInstInfo(Operation *op) {
  return getInstInfo(op->getName());
}

static bool isLoop(const InstInfo &info) {
  return info.opcode == Opcode::LOOP || info.opcode == Opcode::LOOPR;
}

bool isDerivedField(const InstInfo &info, const FieldInfo &field) {
  return isLoop(info) && field.name == "length";
}

Block *getLoopBody(Operation *op) {
  const InstInfo *info = getInstInfo(op);
  if (!info || !isLoop(*info) || op->getRegion(0).empty())
    return nullptr;
  return &op->getRegion(0).front();
}

//===----------------------------------------------------------------------===//
// Instruction → operation
//===----------------------------------------------------------------------===//

static Attribute getStepsAttr(Builder &builder,
                              llvm::ArrayRef<SemaphoreStep> steps) {
  SmallVector<int64_t> pairs;
  for (const SemaphoreStep &step : steps)
    if (step.count != 0)
      pairs.append({step.sem, step.count});
  return builder.getDenseI64ArrayAttr(pairs);
}

Operation *createInstruction(OpBuilder &builder, Location location,
                             const Instruction &inst) {
  assert(isa::verify(inst).ok() && "the instruction must be encodable");
  const InstInfo &info = inst.info();
  OperationState state(location, "isa." + std::string(info.mnemonic));
  for (auto [i, field] : llvm::enumerate(info.fields))
    if (!isDerivedField(info, field))
      state.addAttribute(field.name, builder.getI64IntegerAttr(inst.fields[i]));
  if (info.hasWaits)
    state.addAttribute("waits", getStepsAttr(builder, inst.waits));
  if (info.hasSignals)
    state.addAttribute("signals", getStepsAttr(builder, inst.signals));
  if (isLoop(info))
    state.addRegion()->emplaceBlock();
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Operation → instruction
//===----------------------------------------------------------------------===//

static int64_t countInstructions(Block &block) {
  int64_t count = 0;
  for (Operation &op : block) {
    ++count;
    if (Block *body = getLoopBody(&op))
      count += countInstructions(*body);
  }
  return count;
}

/// Takes as many pairs as there is room for; the verifier counts them.
static void getSteps(Operation *op, StringRef name,
                     llvm::MutableArrayRef<SemaphoreStep> steps) {
  auto pairs = op->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!pairs)
    return;
  for (int64_t i = 0; 2 * i + 1 < pairs.size() && i < int64_t(steps.size());
       ++i)
    steps[i] = {uint8_t(pairs[2 * i]), uint16_t(pairs[2 * i + 1])};
}

Instruction getInstruction(Operation *op) {
  const InstInfo &info = *getInstInfo(op);
  Instruction inst;
  inst.opcode = info.opcode;
  for (auto [i, field] : llvm::enumerate(info.fields)) {
    if (isDerivedField(info, field)) {
      if (Block *body = getLoopBody(op))
        inst.fields[i] = countInstructions(*body);
    } else if (auto attr = op->getAttrOfType<IntegerAttr>(field.name)) {
      inst.fields[i] = attr.getInt();
    }
  }
  getSteps(op, "waits", inst.waits);
  getSteps(op, "signals", inst.signals);
  return inst;
}

static void forEachInstruction(Block &block,
                               llvm::function_ref<void(Operation *)> visit) {
  for (Operation &op : block) {
    if (!getInstInfo(&op))
      continue;
    visit(&op);
    if (Block *body = getLoopBody(&op))
      forEachInstruction(*body, visit);
  }
}

void forEachInstruction(KernelOp kernel,
                        llvm::function_ref<void(Operation *)> visit) {
  forEachInstruction(kernel.getBody().front(), visit);
}

//===----------------------------------------------------------------------===//
// Verification of one operation
//===----------------------------------------------------------------------===//

/// Pairs of semaphore and count that an instruction has room for.
static LogicalResult verifySteps(Operation *op, StringRef name, size_t limit) {
  auto pairs = op->getAttrOfType<DenseI64ArrayAttr>(name);
  if (!pairs)
    return success();
  if (pairs.size() % 2 != 0 || pairs.size() / 2 > int64_t(limit))
    return op->emitOpError()
           << "has " << pairs.size() << " numbers in '" << name
           << "'; accepted: up to " << limit << " pairs of semaphore and count";
  for (int64_t i = 0; i < pairs.size(); i += 2)
    if (pairs[i] < 0 || pairs[i] >= maxSemaphores || pairs[i + 1] < 1 ||
        pairs[i + 1] > maxSemaphoreStep)
      return op->emitOpError()
             << "names semaphore " << pairs[i] << " with count " << pairs[i + 1]
             << " in '" << name << "'; accepted: semaphores 0 to "
             << maxSemaphores - 1 << ", counts 1 to " << maxSemaphoreStep;
  return success();
}

LogicalResult verifyInstruction(Operation *op) {
  if (failed(verifySteps(op, "waits", maxWaits)) ||
      failed(verifySteps(op, "signals", maxSignals)))
    return failure();
  Instruction inst = getInstruction(op);
  if (Status status = isa::verify(inst); !status.ok())
    return op->emitError() << status.message();
  if (Block *body = getLoopBody(op)) {
    if (body->empty())
      return op->emitOpError() << "has an empty body";
    if (body->getNumArguments() != 0)
      return op->emitOpError() << "has a body with arguments";
  }
  if (inst.opcode == Opcode::LOOP && inst.get(loop::count) == 0)
    return op->emitOpError() << "has the count 0; accepted: at least 1";
  return success();
}

} // namespace tessera::isa
