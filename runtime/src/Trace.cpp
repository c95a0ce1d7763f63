//===- Trace.cpp - What a device did, as a file -------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/runtime/Trace.h"
#include "Hardware.h"
#include <algorithm>
#include <fmt/format.h>

namespace tessera::runtime {

struct Trace::State {
  ~State() { (void)end(false); }
  Status end(bool keep) {
    Hardware &hardware = *device->hardware;
    Hardware::Lock lock = hardware.lock();
    if (!open)
      return Status(StatusCode::FailedPrecondition,
                    fmt::format("trace '{}': finished already", path));
    open = hardware.traced = false;
    return hardware.driver->endTrace(keep);
  }

  std::shared_ptr<DeviceState> device;
  std::string path;
  bool open = false;
};

Result<Trace> Trace::begin(const Device &device, const std::string &path) {
  if (!device)
    return Status(
        StatusCode::FailedPrecondition,
        fmt::format("trace '{}': the device is an empty handle", path));
  Hardware &hardware = *device.state->hardware;
  Hardware::Lock lock = hardware.lock();
  if (Status begun = hardware.driver->beginTrace(path); !begun.ok())
    return begun.withContext(fmt::format("device '{}': trace", hardware.label));
  Trace trace;
  trace.state = std::make_shared<State>();
  trace.state->device = device.state;
  trace.state->path = path;
  trace.state->open = hardware.traced = true;
  return trace;
}

Status Trace::finish() {
  return state ? state->end(true)
               : Status(StatusCode::FailedPrecondition, "trace: empty handle");
}

const std::string &Trace::path() const {
  static const std::string none;
  return state ? state->path : none;
}

HostSlice::HostSlice(Hardware &hardware, driver::HostActivity activity)
    : hardware(hardware), activity(activity), traced(hardware.traced) {
  if (!traced)
    return;
  std::vector<std::thread::id> &known = hardware.tracedThreads;
  thread = uint32_t(std::ranges::find(known, std::this_thread::get_id()) -
                    known.begin());
  if (thread == known.size())
    known.push_back(std::this_thread::get_id());
  hardware.driver->traceHost(thread, activity, true);
}

HostSlice::~HostSlice() {
  if (traced)
    hardware.driver->traceHost(thread, activity, false);
}

} // namespace tessera::runtime
