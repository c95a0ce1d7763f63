//===- Executable.h - A loaded object ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading places code, descriptors, lane programs, constants, kernel records,
// argument blocks and the arena in device memory, and applies the relocations.
// Inputs and outputs stay bindings of the command buffer: inputs first, then
// outputs, in signature order. Loading writes through the memory window: the
// timed work starts with everything in place.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_EXECUTABLE_H
#define TESSERA_RUNTIME_EXECUTABLE_H

#include "tessera/Object/Object.h"
#include "tessera/runtime/CommandBuffer.h"

namespace tessera::runtime {

struct ExecutableState;

class Executable {
public:
  Executable() = default;
  /// FailedPrecondition if the object was built for another architecture,
  /// OutOfMemory naming the section that does not fit.
  static Result<Executable> load(const AddressSpace &space,
                                 const Object &object,
                                 std::string label = "executable");

  /// The whole program; execute it with inputs and outputs bound.
  const CommandBuffer &commands() const;
  std::span<const TensorSignature> inputs() const;
  std::span<const TensorSignature> outputs() const;
  /// A single kernel, for command buffers and dispatches of one's own.
  Result<Kernel> kernel(std::string_view name) const;

  /// Whether intermediate results that were meant for shared SRAM are in DRAM,
  /// because others had taken the room: the program takes longer.
  bool missesSharedMemory() const;

  const std::string &label() const;
  explicit operator bool() const { return state != nullptr; }

private:
  std::shared_ptr<ExecutableState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_EXECUTABLE_H
