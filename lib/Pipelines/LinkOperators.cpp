//===- LinkOperators.cpp - Which dispatch does an operator's work ---------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImportedModel.h"
#include "tessera/ISA/Instruction.h"
#include "tessera/ISA/Packet.h"
#include <algorithm>
#include <optional>

using namespace tessera;

/// Whether `nodes` holds `name`, or each part of it between '+' signs.
static bool covers(const std::vector<std::string> &nodes,
                   const std::string &name) {
  auto has = [&](const std::string &part) {
    return std::find(nodes.begin(), nodes.end(), part) != nodes.end();
  };
  if (has(name))
    return true;
  size_t begin = 0;
  for (size_t end; (end = name.find('+', begin)) != std::string::npos;
       begin = end + 1)
    if (!has(name.substr(begin, end - begin)))
      return false;
  return begin != 0 && has(name.substr(begin));
}

/// By packet: whether the kernel of a dispatch multiplies matrices.
static std::vector<bool> packetsWithMatrixWork(const Object &object) {
  std::vector<bool> multiplies;
  for (const KernelCode &kernel : object.kernels) {
    Result<std::vector<isa::Instruction>> program =
        isa::decodeProgram(kernel.text);
    multiplies.push_back(program.ok() &&
                         std::any_of(program->begin(), program->end(),
                                     [](const isa::Instruction &inst) {
                                       return inst.opcode == isa::Opcode::MMA;
                                     }));
  }
  std::vector<bool> packets(object.commands.size() / isa::packetBytes);
  for (const Relocation &relocation : object.relocations)
    if (relocation.section == Relocation::Section::Commands &&
        relocation.target.kind == SymbolKind::Kernel)
      packets[relocation.offset / isa::packetBytes] =
          multiplies[relocation.target.index];
  return packets;
}

void tessera::linkDispatchesToOperators(Object &object) {
  std::vector<bool> matrixWork = packetsWithMatrixWork(object);
  for (DispatchInfo &dispatch : object.dispatches)
    dispatch.operators.clear();
  for (uint32_t i = 0; i < object.workload.size(); ++i) {
    const OperatorRecord &op = object.workload[i];
    auto worth = [&](const DispatchInfo &dispatch) {
      return std::pair(op.macs() != 0 && matrixWork[dispatch.packet],
                       dispatch.mapping.cycles);
    };
    DispatchInfo *best = nullptr;
    for (DispatchInfo &dispatch : object.dispatches)
      if (covers(dispatch.nodes, op.name) &&
          (!best || worth(dispatch) > worth(*best)))
        best = &dispatch;
    if (best)
      best->operators.push_back(i);
  }
}
