//===- Diagnosis.cpp - Diagnosis as text ----------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Diagnosis.h"
#include <fmt/format.h>

namespace tessera::runtime {

std::string RaceReport::print() const {
  auto access = [](bool writes) { return writes ? "writes" : "reads"; };
  return fmt::format("race on bytes {} to {} of buffer '{}': {} {}, {} {}, and "
                     "nothing orders them ({} times): {}",
                     low, high, buffer, first, access(firstWrites), second,
                     access(secondWrites), occurrences, missing);
}

std::string UndeclaredAccess::print() const {
  return fmt::format("{}{} {} bytes {} to {} of buffer '{}', which is not "
                     "declared{}",
                     operation, kernel.empty() ? "" : ", " + kernel + ":",
                     writes ? "writes" : "reads", low, high, buffer,
                     occurrences > 1 ? fmt::format(" ({} times)", occurrences)
                                     : std::string());
}

std::string FaultReport::print() const {
  std::string text =
      fmt::format("queue '{}', packet {} '{}'", queue, packet, operation);
  if (command) {
    text += fmt::format(", command {}", *command);
    if (!commandName.empty())
      text += fmt::format(" '{}'", commandName);
  }
  text += fmt::format(": {} by the {}", isa::mmio::faultCauseName(cause), unit);
  if (unit.starts_with("core"))
    text += fmt::format(" at pc {}", pc);
  text += fmt::format(", address or value {:#x}", address);
  if (count > 1)
    text += fmt::format(" (first of {})", count);
  return text;
}

std::string FlightEvent::print() const {
  static constexpr std::string_view names[] = {"submitted", "completed",
                                               "faulted", "aborted"};
  return fmt::format("{} fs: '{}' {}, packets {} to {}", time, label,
                     names[size_t(kind) % 4], first, last);
}

static std::string printWait(const WaitState &wait) {
  std::string text =
      fmt::format("semaphore '{}' >= {} (it is {}), to be "
                  "signalled by {}",
                  wait.semaphore, wait.target, wait.value, wait.producer);
  if (!wait.failure.ok())
    text += "; it has failed: " + wait.failure.message();
  return text;
}

std::string HangDump::print() const {
  std::string text = fmt::format("device '{}' at {} fs{}\n", device, time,
                                 lost.ok() ? "" : ": " + lost.message());
  for (const QueueDump &queue : queues) {
    text += fmt::format(
        "queue '{}' ({}, {}): published {}, read {}, done {}, retired {}\n",
        queue.label,
        queue.slot ? fmt::format("slot {}", *queue.slot) : "no slot",
        queue.status, queue.published, queue.read, queue.done, queue.retired);
    if (!queue.failure.ok())
      text += "  stopped: " + queue.failure.message() + "\n";
    if (!queue.head.empty())
      text += "  head: " + queue.head + "\n";
    for (const OperationState &operation : queue.operations) {
      text += fmt::format(
          "  '{}', {}{}\n", operation.label,
          operation.published
              ? fmt::format("packets {} to {}", operation.first, operation.last)
              : std::string("not published"),
          operation.barrier ? ", barrier" : "");
      for (const WaitState &wait : operation.waits)
        text += "    waits for " + printWait(wait) + "\n";
    }
    if (queue.moreOperations)
      text += fmt::format("  and {} more\n", queue.moreOperations);
    for (const FlightEvent &event : queue.events)
      text += "  | " + event.print() + "\n";
  }
  for (const WaitState &wait : hostWaits)
    text += "a host thread waits for " + printWait(wait) + "\n";
  for (const std::string &wait : otherWaits)
    text += "a host thread waits for " + wait + "\n";
  for (const std::string &line : wayPoints)
    text += "device: " + line + "\n";
  return text;
}

} // namespace tessera::runtime
