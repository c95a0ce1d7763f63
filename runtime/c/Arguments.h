//===- Arguments.h - Handles and arguments of the C interface ---*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_C_ARGUMENTS_H
#define TESSERA_RUNTIME_C_ARGUMENTS_H

#include "tessera/runtime/Executable.h"
#include "tessera/runtime/MemoryPool.h"
#include "tessera_rt.h"
#include <algorithm>
#include <cstring>
#include <string>

// A handle is the C++ handle, and the device where deadlines need its clock.
struct tessera_rt_device {
  tessera::runtime::Device object;
};
struct tessera_rt_space {
  tessera::runtime::AddressSpace object;
  tessera::runtime::Device device;
};
struct tessera_rt_buffer {
  tessera::runtime::Buffer object;
};
struct tessera_rt_semaphore {
  tessera::runtime::Semaphore object;
  tessera::runtime::Device device;
};
struct tessera_rt_queue {
  tessera::runtime::Queue object;
  tessera::runtime::Device device;
};
struct tessera_rt_commands {
  tessera::runtime::CommandBuffer object;
};
struct tessera_rt_executable {
  tessera::runtime::Executable object;
};
struct tessera_rt_pool {
  tessera::runtime::MemoryPool object;
  tessera::runtime::Device device;
};

namespace tessera::c {

inline Status invalid(std::string message) {
  return Status(StatusCode::InvalidArgument, std::move(message));
}
inline Status empty(const char *what) {
  return Status(StatusCode::FailedPrecondition,
                std::string(what) + ": a null handle");
}

/// Runs the call and writes its status for the caller.
template <typename Call>
tessera_rt_status guarded(tessera_rt_error *error, Call call) {
  Status status = call();
  auto code = static_cast<tessera_rt_status>(status.code());
  if (error) {
    error->code = code;
    size_t bytes =
        std::min(status.message().size(), sizeof(error->message) - 1);
    std::memcpy(error->message, status.message().data(), bytes);
    error->message[bytes] = 0;
  }
  return code;
}

/// A null handle is an empty one of the C++ interface, which says so itself.
template <typename Object, typename Handle>
Object handleOf(const Handle *handle) {
  return handle ? Object(handle->object) : Object();
}

template <typename T> Status checkOutput(T *output, const char *what) {
  return output ? Status::success()
                : invalid(std::string(what) + ": nowhere to put the result");
}

inline std::string text(const char *given, const char *otherwise) {
  return given ? given : otherwise;
}

/// Copies a struct of the caller's version over one of ours.
template <typename T>
Status readArguments(const T *given, T &result, const char *what) {
  result = T{};
  if (!given)
    return invalid(std::string(what) + ": a null pointer");
  size_t size = given->struct_size;
  if (size < sizeof(size_t))
    return invalid(std::string(what) + ": struct_size " + std::to_string(size) +
                   " is not set; sizeof is " + std::to_string(sizeof(T)));
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  for (size_t i = sizeof(T); i < size && i < sizeof(T) + 4096; ++i)
    if (bytes[i])
      return Status(StatusCode::Unsupported,
                    std::string(what) + ": byte " + std::to_string(i) +
                        " is set, which this version does not know");
  std::memcpy(&result, given, std::min(size, sizeof(T)));
  return Status::success();
}

Result<isa::PhysicalSpace> spaceOf(tessera_rt_memory memory);
Result<runtime::Access> accessOf(uint32_t flags);
Result<runtime::Deadline> deadlineOf(const tessera_rt_deadline *given,
                                     const runtime::Device &device,
                                     runtime::Deadline otherwise);
/// Null: no waits, no signals.
Result<runtime::SubmitOptions> submitOf(const tessera_rt_submit *given);
runtime::BufferRange rangeOf(const tessera_rt_range &range);
Result<std::span<const std::byte>> bytesOf(const void *data, uint64_t bytes);
Result<std::span<std::byte>> bytesOf(void *data, uint64_t bytes);

} // namespace tessera::c

#endif // TESSERA_RUNTIME_C_ARGUMENTS_H
