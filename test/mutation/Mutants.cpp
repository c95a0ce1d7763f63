//===- Mutants.cpp - The planted bugs -------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"

namespace tessera::mutants {

std::span<const Mutant> all() {
  static constexpr Mutant list[] = {
      // The command processor.
      {"wait-one-too-low", "fan_out_values",
       "a wait is satisfied by the value below"},
      {"any-wait-as-all", "barrier_or_any", "of alternatives all must be met"},
      {"all-waits-as-any", "barrier_and_all", "of all waits one is enough"},
      {"barrier-sees-last-only", "barrier_orders_both_sides",
       "a barrier waits for the packet right before it and for no other"},
      {"barrier-holds-nothing-back", "barrier_orders_both_sides",
       "packets behind a barrier start before it does"},
      {"barrier-dropped", "fifo_same_queue",
       "a packet with the barrier flag does not wait"},
      {"completed-without-running", "silent_misexecution",
       "a copy is completed and never run"},
      {"dispatch-not-run", "silent_misexecution",
       "a dispatch is completed and its cores never begin"},
      {"completion-before-data", "wait_before_signal",
       "a copy signals as it starts"},
      {"wake-up-lost", "wait_before_signal",
       "a completion does not look for what it lets start"},
      {"done-counts-twice", "fifo_same_queue",
       "the done index runs ahead of the packets"},
      {"decreasing-signal-taken", "signals_must_grow",
       "a signal that does not raise its semaphore is no fault"},
      {"unpublished-skipped", "publication_order",
       "an unpublished slot is stepped over"},
      {"wrap-one-late", "wrap_everything",
       "the ring's index is masked wrongly"},
      {"prepared-outlives-mapping", "unmap_prepared",
       "what was read ahead for a dispatch is used after it was unmapped"},
      {"watchdog-late", "hang_watchdog", "the watchdog allows a cycle more"},
      {"parked-start-after-fault", "head_fault_abort_rest",
       "packets that were parked when their queue faulted start afterwards"},
      {"others-aborted", "bad_packet_isolated",
       "a fault drops the parked packets of all queues"},
      {"fault-address-of-page", "memory_fault_kinds",
       "a fault reports the page's address instead of the byte's"},
      {"reset-keeps-semaphores", "reset_starts_afresh",
       "a reset leaves the timelines where they were"},
      {"poison-ignored", "fault_storm", "a poisoned page is used"},
      {"observer-takes-time", "profiler_inert",
       "an observed device is a cycle slower"},
      // The runtime.
      {"doorbell-one-short", "fifo_same_queue",
       "the doorbell leaves the last packet out"},
      {"lost-doorbell-stays-lost", "doorbell_lost",
       "an idle device with unread packets is left alone"},
      {"stopped-queue-takes-work", "bad_packet_isolated",
       "a stopped queue accepts operations"},
      {"barrier-flag-forgotten", "head_fault_abort_rest",
       "the barrier option does not get into the packet"},
      {"freed-at-submit", "drop_handles_in_flight",
       "memory is kept alive until the submission only"},
      {"completed-one-early", "bad_packet_isolated",
       "an operation counts as complete before its packet"},
      {"wrong-queue-aborted", "bad_packet_isolated",
       "a fault cancels what is parked of every queue"},
      {"bindings-after-publication", "kernarg_visibility",
       "a command buffer's bindings are written after it is published"},
      {"death-frontier-ignored", "dealloca_alloca_reuse",
       "a block is used again before its deallocation has happened"},
      {"order-by-address", "bit_identical",
       "queues are served in the order of their objects' addresses"},
      {"failure-not-passed-on", "failure_propagates",
       "a failed semaphore does not say so"},
      {"deadlock-not-proved", "deadlock_cycle",
       "a cycle of waits ends as a timeout"},
      {"deadline-late", "wait_timeout_exact",
       "a deadline passes a femtosecond late"},
      {"host-costs-nothing", "host_costs",
       "what the host's calls cost is not spent"},
      // Diagnosis and drivers.
      {"storm-not-coalesced", "fault_storm",
       "each fault of a storm is a report"},
      {"work-not-checked", "silent_misexecution",
       "the engines' counters are not compared"},
      {"races-without-the-host", "host_races",
       "accesses of the host are not looked at"},
      {"undeclared-not-told", "observed_kernels",
       "what kernels touch is not compared with what is declared"},
      {"dump-without-waits", "hang_dump", "a dump has no waits"},
      {"recorder-misses-host-stores", "record_replay",
       "stores of the host are not recorded"},
      {"replay-ignores-results", "record_replay",
       "a replay does not compare what was read"},
  };
  return list;
}

} // namespace tessera::mutants
