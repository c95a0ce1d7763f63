//===- Trace.h - What a device did, as a file -----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From begin() to finish() everything that the device's units and the host's
// threads do goes to a Perfetto trace (docs/trace.md): dispatches by queue and
// their parts, instructions by engine, timelines, rates of memory and network,
// submissions and waits of the host. Observing changes no cycle.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_TRACE_H
#define TESSERA_RUNTIME_TRACE_H

#include "tessera/runtime/Device.h"

namespace tessera::runtime {

class Trace {
public:
  Trace() = default;
  /// InvalidArgument unless the name ends in .pftrace; what is wrong with the
  /// place; Unsupported by devices that do not tell; FailedPrecondition while
  /// the device has a trace.
  static Result<Trace> begin(const Device &device, const std::string &path);

  /// Puts the file in its place. Without it, no file appears: the last handle
  /// drops the trace. FailedPrecondition the second time.
  Status finish();

  const std::string &path() const;
  explicit operator bool() const { return state != nullptr; }

private:
  struct State;
  std::shared_ptr<State> state;
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_TRACE_H
