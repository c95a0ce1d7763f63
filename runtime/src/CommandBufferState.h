//===- CommandBufferState.h - State behind CommandBuffer --------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_SRC_COMMANDBUFFERSTATE_H
#define TESSERA_RUNTIME_SRC_COMMANDBUFFERSTATE_H

#include "MemoryState.h"
#include "tessera/runtime/CommandBuffer.h"
#include <map>

namespace tessera::runtime {

/// What the device's engines must have done for an operation.
struct EngineWork {
  uint64_t copiedBytes = 0, coresRun = 0;
};

/// Bytes that kernels touch, as declared.
struct KernelUse {
  std::shared_ptr<BufferState> buffer;
  uint64_t offset = 0, bytes = 0;
  Use use = Use::Unknown;
};

struct CommandBufferState {
  std::shared_ptr<AddressSpaceState> space;
  std::string label;
  /// As recorded; bindings are 0 until the first execution.
  std::vector<uint8_t> packets;
  struct PatchSite {
    std::shared_ptr<BufferState> target; ///< Null: the packets.
    uint64_t offset = 0;
    Binding binding;
    uint64_t bytes = 0; ///< Touched from the binding's offset on, if known.
  };
  std::vector<PatchSite> sites;
  std::vector<BindingRequirement> requirements;
  /// The sites in the packets, small: every execution with new bindings goes
  /// through all of them. Set by finish(), as is the rest.
  struct PacketSite {
    uint32_t offset = 0, binding = 0;
    uint64_t add = 0; ///< To the binding's address.
  };
  std::vector<PacketSite> packetSites;
  std::vector<PatchSite> otherSites;
  /// Of the packets, the bytes from the first site to the end of the last.
  uint64_t firstPatched = 0, endPatched = 0;
  /// Of each binding, the site that reaches farthest.
  struct Reach {
    uint64_t offset = 0, bytes = 0;
  };
  std::vector<Reach> reach;
  /// What kernels touch beyond the bindings.
  std::vector<KernelUse> kernelUses;
  EngineWork work; ///< Of one execution; set by finish().
  // For fault reports: names given to commands, and those of kernels by record.
  std::map<uint32_t, std::string> names;
  std::map<uint64_t, std::string> kernelNames;
  uint64_t lastKernel = 0;
  /// Of recorded packets.
  std::vector<std::shared_ptr<BufferState>> operands;
  std::vector<std::shared_ptr<const void>> keepAlive; ///< Anything else.
  std::shared_ptr<BufferState> memory; ///< The packets; set by finish().
  uint32_t numBindings = 0;
  uint32_t executionsInFlight = 0;
  /// What the sites hold now.
  std::vector<uint64_t> bound;
  uint64_t boundAfter = 0;  ///< Hardware::restores then.
  uint64_t usableAfter = 0; ///< Hardware::buffersGone when it was looked at.

  uint32_t numCommands() const { return packets.size() / isa::packetBytes; }
  /// What a command is called, or "".
  std::string nameOf(uint32_t command) const;
  /// Checks the buffers and writes their addresses to the patch sites.
  Status bind(std::span<const std::shared_ptr<BufferState>> buffers);
  /// Whether it touches the memory other than by a binding.
  bool touches(const BufferState *memory) const;

private:
  /// FailedPrecondition naming a buffer that was recorded and is gone.
  Status checkUsable();
  Status checkBinding(size_t index, const BufferState *buffer) const;
};

/// Its packets with the bindings in place, up to Return.
/// InvalidArgument for a kernel of another address space, with more arguments
/// than a dispatch passes, or on cores that are not all in the mesh.
Status checkDispatch(const Kernel &kernel, CoreRectangle cores,
                     const AddressSpaceState &space);

std::vector<isa::Packet> commandsOf(const CommandBufferState &commands);
EngineWork engineWorkOf(const CommandBufferState &commands);

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_SRC_COMMANDBUFFERSTATE_H
