//===- Statistics.h - What the simulator counts ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One typed record of everything counted during a simulation. JSON, tables and
// bounds are made of this record alone. All cycles are core clock cycles since
// reset; docs/timing.md says when each cause is charged.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SIM_STATISTICS_H
#define TESSERA_SIM_STATISTICS_H

#include "tessera/ISA/Instruction.h"
#include "tessera/Support/NumericFormat.h"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::sim {

/// The units of a core whose cycles are accounted, in the order of the queues
/// (isa::Queue); `Matrix` is the first matrix engine.
enum class Engine : uint8_t {
  Sequencer,
  Load,
  Store,
  Matrix,
  Vector,
  Matrix1,
  Matrix2,
  Matrix3,
  Matrix4,
  Matrix5,
  Matrix6,
  Matrix7
};
/// Of a core with one matrix engine; of a core with the most.
inline constexpr unsigned numEngines = 5, maxEngines = isa::numQueues;
constexpr Engine engineOf(isa::Queue queue) { return Engine(unsigned(queue)); }
/// Matrix engine 0 .. 7.
constexpr Engine matrixEngine(unsigned number) {
  return engineOf(isa::matrixQueue(number));
}
/// Its number; nullopt if it is no matrix engine.
constexpr std::optional<unsigned> matrixNumber(Engine engine) {
  return isa::matrixEngineOf(isa::Queue(unsigned(engine)));
}
/// "sequencer", "load", "store", "matrix", "vector", "matrix1" … "matrix7".
std::string_view engineName(Engine engine);

/// What an engine did in a cycle. Every engine-cycle has exactly one cause.
enum class StallCause : uint8_t {
  Busy,          ///< Did its own work.
  FillDrain,     ///< Results on their way out, or rows waiting for the ACC.
  WeightLoad,    ///< Matrix: the load of a weight block that nothing hides.
  WaitSequencer, ///< Waited for a semaphore that this engine signals; for the
  WaitLoad,      ///< sequencer also for a free place in that engine's queue.
  WaitStore,
  WaitMatrix, ///< Any of the matrix engines.
  WaitVector,
  BankConflict,     ///< Conflicts in banks of the core's memories.
  BackPressure,     ///< DMA or NoC cannot take more.
  Dram,             ///< Transfers in flight, nothing to issue meanwhile.
  Tlb,              ///< Address translation.
  InstructionFetch, ///< The kernel's code is being loaded.
  Barrier,          ///< Waited for other cores.
  QueueEmpty,       ///< Nothing to do: its queue was empty.
  NoKernel,         ///< No kernel on this core.
};
inline constexpr unsigned numStallCauses = 16;
/// Lower case with underscores, e.g. "wait_load".
std::string_view stallCauseName(StallCause cause);

struct EngineCycles {
  std::array<uint64_t, numStallCauses> byCause{};

  uint64_t operator[](StallCause cause) const { return byCause[size_t(cause)]; }
  uint64_t total() const;
  EngineCycles &operator+=(const EngineCycles &other);
  EngineCycles &operator-=(const EngineCycles &other);
  bool operator==(const EngineCycles &) const = default;
};

/// The cycles of each unit of a core, or of several cores together.
class EngineTable {
public:
  EngineTable() : EngineTable(1) {}
  explicit EngineTable(unsigned matrixEngines)
      : rows(numEngines + matrixEngines - 1) {}

  size_t size() const { return rows.size(); }
  EngineCycles &operator[](size_t engine) { return rows[engine]; }
  const EngineCycles &operator[](size_t engine) const { return rows[engine]; }
  auto begin() const { return rows.begin(); }
  auto end() const { return rows.end(); }
  /// Of all its matrix engines.
  EngineCycles matrix() const;
  /// Takes the other's further engines too.
  EngineTable &operator+=(const EngineTable &other);
  EngineTable &operator-=(const EngineTable &other);
  bool operator==(const EngineTable &) const = default;

private:
  std::vector<EngineCycles> rows; ///< By Engine.
};
using MacCounts = std::array<uint64_t, numNumericFormats>;

struct CoreStatistics {
  EngineTable engines; ///< Each sums to the cycles simulated.
  MacCounts macs{};    ///< M·N·K of every mma, by the format of its `a`.
  uint64_t instructions = 0;
  /// Highest byte of the scratchpad ever written, plus one.
  uint64_t spmPeakBytes = 0;
  uint64_t spmBytesRead = 0, spmBytesWritten = 0;
  uint64_t accBytesRead = 0, accBytesWritten = 0;
  uint64_t dramBytesRead = 0, dramBytesWritten = 0; ///< Whole atoms.
  /// Vector lane operations executed (elements × operations), and elements.
  uint64_t vectorAluOps = 0, vectorSfuOps = 0, vectorElements = 0;
  /// Indices of gathers and scatters that were drawn by lot, because a run
  /// without data does not know them.
  uint64_t drawnIndices = 0;

  uint64_t totalMacs() const;
};

/// What became of one instruction, over all its executions and all cores.
struct InstructionStatistics {
  uint64_t count = 0;
  /// The sequencer's cycles: to issue it, and its own if it has no queue.
  EngineCycles issue;
  /// The engine's: its work, and the stalls before its work was done.
  EngineCycles execution;
  bool operator==(const InstructionStatistics &) const = default;
};
struct KernelStatistics {
  uint64_t kernel = 0; ///< Virtual address of the kernel record.
  std::vector<InstructionStatistics> instructions;
};

/// One executed dispatch packet, in order of completion.
struct DispatchRecord {
  uint32_t queue = 0;
  uint64_t ringIndex = 0; ///< Of the packet, or of the `indirect` that ran it.
  /// Index in the command buffer; nullopt for a packet of the ring itself.
  std::optional<uint32_t> commandIndex;
  uint32_t packetId = 0;
  uint64_t kernel = 0; ///< Virtual address of the kernel record.
  uint8_t x = 0, y = 0, width = 1, height = 1;
  uint64_t fetchCycle = 0; ///< The CP began to fetch the packet.
  uint64_t startCycle = 0; ///< Waits satisfied, cores taken.
  uint64_t runCycle = 0;   ///< First instruction on the first core.
  uint64_t haltCycle = 0;  ///< Last core done, stores acknowledged.
  uint64_t endCycle = 0;   ///< Completion signalled.
  uint64_t macs = 0;
  /// Highest byte of a scratchpad that it wrote, plus one; of any of its cores.
  uint64_t spmPeakBytes = 0;
  uint64_t dramBytesRead = 0, dramBytesWritten = 0;
  /// Engine-cycles of its cores from start to halt, summed over the cores.
  EngineTable engines;

  uint64_t cycles() const { return endCycle - startCycle; }
};

/// One executed `indirect` packet: a whole command buffer.
struct CommandBufferRecord {
  uint32_t queue = 0;
  uint64_t ringIndex = 0;
  uint32_t packetId = 0;
  uint64_t firstFetchCycle = 0; ///< The CP began to fetch its first packet.
  uint64_t endCycle = 0;        ///< Its completion was signalled.
  uint64_t dramBytesRead = 0, dramBytesWritten = 0; ///< Device-wide, meanwhile.

  /// The cycles of a run as the report counts them.
  uint64_t cycles() const { return endCycle - firstFetchCycle; }
};

struct Statistics {
  uint64_t cycles = 0; ///< Core cycles since reset.
  uint64_t timeFs = 0; ///< The same moment in femtoseconds.
  uint64_t events = 0; ///< Executed by the event kernel.
  std::vector<CoreStatistics> cores;
  /// Bytes moved on the DRAM data buses (whole atoms), all requesters.
  uint64_t dramBytesRead = 0, dramBytesWritten = 0;
  /// Bytes that the data buses have moved so far, by channel and in all; those
  /// above count requests when they are sent.
  std::vector<uint64_t> channelBytes;
  uint64_t busBytesRead = 0, busBytesWritten = 0;
  /// Column accesses to an open row, and all; absent where the memory model
  /// has no rows.
  std::optional<uint64_t> dramRowHits, dramColumnAccesses;
  uint64_t sharedBytesRead = 0, sharedBytesWritten = 0;
  uint64_t hostBytesRead = 0, hostBytesWritten = 0;
  uint64_t nocByteHops = 0;
  uint64_t tlbHits = 0, tlbMisses = 0, pageWalks = 0;
  uint64_t packets = 0; ///< Completed by the command processor.
  std::vector<DispatchRecord> dispatches;
  std::vector<CommandBufferRecord> commandBuffers;
  /// By address; empty unless DeviceOptions::profile is set.
  std::vector<KernelStatistics> kernels;

  /// Engine-cycles summed over the cores.
  EngineTable engineTotals() const;
  MacCounts macs() const;
  uint64_t totalMacs() const;
  uint64_t spmPeakBytes() const; ///< Largest of the cores.
  /// Busy cycles summed over the cores; of `Matrix`: of all matrix engines.
  uint64_t busy(Engine engine) const;
};

} // namespace tessera::sim

#endif // TESSERA_SIM_STATISTICS_H
