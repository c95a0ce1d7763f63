//===- CommandBuffer.h - Recorded packets for replay ------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packets recorded once into device memory and run by one Indirect packet.
// Operands are buffers, or bindings: numbered slots that every execution fills
// with buffers of its own. Record, in one thread at a time, then finish(), then
// execute any number of times. While an execution is in flight the bindings
// cannot change.
//
// Recorded packets run in the order and with the overlap of a queue: one
// recorded with `barrier` starts when all before it have completed.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_COMMANDBUFFER_H
#define TESSERA_RUNTIME_COMMANDBUFFER_H

#include "tessera/ISA/Packet.h"
#include "tessera/runtime/AddressSpace.h"
#include <span>
#include <variant>
#include <vector>

namespace tessera::runtime {

struct AddressSpaceState;
struct CommandBufferState;

/// Bindings of one command buffer.
inline constexpr uint32_t maxBindings = 1 << 16;

/// A slot that is filled at execution.
struct Binding {
  uint32_t index = 0;  ///< Below maxBindings.
  uint64_t offset = 0; ///< Bytes into the buffer bound.
};
/// An operand of a recorded packet.
using Operand = std::variant<BufferRange, Binding>;

/// What kernels do with memory: packets do not tell. For the race detector.
enum class Use : uint8_t { Unknown, Read, Write, ReadWrite };

/// What a binding needs.
struct BindingRequirement {
  std::string name;
  uint64_t bytes = 0;     ///< Least size of the buffer.
  Use use = Use::Unknown; ///< What the kernels do with these bytes.
};

/// A kernel in device memory (Executable::kernel()).
struct Kernel {
  std::string name;
  uint64_t record = 0; ///< Address of the isa::KernelRecord.
  uint32_t numArguments = 0;
  std::shared_ptr<const void> owner{}; ///< Keeps the code mapped.
  /// Of its code; empty: the caller knows.
  std::shared_ptr<const AddressSpaceState> space{};
};

struct CoreRectangle {
  uint8_t x = 0, y = 0, width = 1, height = 1;
};

class CommandBuffer {
public:
  CommandBuffer() = default;
  static Result<CommandBuffer> create(const AddressSpace &space,
                                      std::string label = "command buffer");

  /// Records; FailedPrecondition after finish(). Returns InvalidArgument for a
  /// range outside its buffer.
  Status copy(const Operand &destination, const Operand &source, uint64_t bytes,
              bool barrier = false);
  Status fill(const Operand &destination, uint64_t bytes, uint32_t pattern,
              bool barrier = false);
  /// `arguments` may be an empty range if the kernel takes none.
  /// InvalidArgument for a kernel of another address space and for cores
  /// outside the mesh.
  Status dispatch(const Kernel &kernel, const Operand &arguments,
                  CoreRectangle cores, bool barrier = false);
  /// Packets that exist already, as in an object, with 8-byte slots that take
  /// the address of a binding: `offset` bytes into `target`, or into the
  /// packets where `target` is empty.
  struct Patch {
    Buffer target;
    uint64_t offset = 0;
    Binding binding;
  };
  Status append(std::span<const uint8_t> packets,
                std::span<const Patch> patches);
  /// Checks each binding at execution; by default only its number is known.
  Status require(std::vector<BindingRequirement> bindings);
  /// Kernels of the command buffer touch these bytes at every execution; kept
  /// alive. InvalidArgument for a range outside its buffer or one of another
  /// address space.
  Status uses(const BufferRange &range, Use use);
  /// Keeps `owner` alive as long as the command buffer.
  void keepAlive(std::shared_ptr<const void> owner);
  /// Name of packet `index` in fault reports.
  void nameCommand(uint32_t index, std::string name);

  /// Writes the packets to device memory; no more recording.
  Status finish();

  uint32_t numCommands() const;
  uint32_t numBindings() const;
  const std::string &label() const;
  explicit operator bool() const { return state != nullptr; }

private:
  friend class Queue;
  std::shared_ptr<CommandBufferState> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_COMMANDBUFFER_H
