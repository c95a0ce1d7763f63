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
#include "tessera/runtime/Trace.h"
#include "tessera_rt.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <type_traits>

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
struct tessera_rt_kernel {
  tessera::runtime::Kernel object;
};
struct tessera_rt_reservation {
  tessera::runtime::Reservation object;
};
struct tessera_rt_snapshot {
  tessera::runtime::Snapshot object;
};
struct tessera_rt_trace {
  tessera::runtime::Trace object;
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

/// Runs the call and writes its status for the caller. No exception crosses the
/// interface.
template <typename Call>
tessera_rt_status guarded(tessera_rt_error *error, Call call) {
  Status status;
  try {
    status = call();
  } catch (const std::bad_alloc &) {
    status = Status(StatusCode::OutOfMemory, "the host has no more memory");
  } catch (const std::exception &thrown) { // Sizes of 2^63, no more threads.
    status = Status(StatusCode::ResourceExhausted,
                    std::string("the host refuses: ") + thrown.what());
  }
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

/// An enumeration as a number: C may put anything into one.
template <typename E> auto numberOf(const E &value) {
  std::underlying_type_t<E> number;
  static_assert(sizeof(number) == sizeof(value));
  std::memcpy(&number, &value, sizeof(number));
  return number;
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
  // Whatever a newer version adds; more is a size that nobody has set.
  if (size > sizeof(T) + 4096)
    return invalid(std::string(what) + ": struct_size " + std::to_string(size) +
                   "; sizeof is " + std::to_string(sizeof(T)));
  const auto *bytes = reinterpret_cast<const unsigned char *>(given);
  for (size_t i = sizeof(T); i < size; ++i)
    if (bytes[i])
      return Status(StatusCode::Unsupported,
                    std::string(what) + ": byte " + std::to_string(i) +
                        " is set, which this version does not know");
  std::memcpy(&result, given, std::min(size, sizeof(T)));
  return Status::success();
}

/// Copies a struct of ours into one of the caller's version, whose struct_size
/// stays.
template <typename T>
Status writeResult(const T &result, T *given, const char *what) {
  TESSERA_RETURN_IF_ERROR(checkOutput(given, what));
  size_t size = given->struct_size;
  if (size < sizeof(size_t))
    return invalid(std::string(what) + ": struct_size " + std::to_string(size) +
                   " is not set; sizeof is " + std::to_string(sizeof(T)));
  std::memcpy(reinterpret_cast<unsigned char *>(given) + sizeof(size_t),
              reinterpret_cast<const unsigned char *>(&result) + sizeof(size_t),
              std::min(size, sizeof(T)) - sizeof(size_t));
  return Status::success();
}

/// Of an object with a label; "" for a null handle.
template <typename Handle> const char *labelOf(const Handle *handle) {
  return handle ? handle->object.label().c_str() : "";
}

/// Packets and the like.
Result<std::span<const uint8_t>> octetsOf(const void *data, uint64_t bytes);
Result<isa::PhysicalSpace> spaceOf(const tessera_rt_memory &memory);
Result<runtime::Access> accessOf(uint32_t flags);
Result<runtime::Deadline> deadlineOf(const tessera_rt_deadline *given,
                                     const runtime::Device &device,
                                     runtime::Deadline otherwise);
/// Null: no waits, no signals.
Result<runtime::SubmitOptions> submitOf(const tessera_rt_submit *given);
runtime::BufferRange rangeOf(const tessera_rt_range &range);
Result<runtime::Use> useOf(uint32_t use, const char *what);
runtime::CoreRectangle coresOf(const tessera_rt_cores &cores);
Result<std::span<const std::byte>> bytesOf(const void *data, uint64_t bytes);
Result<std::span<std::byte>> bytesOf(void *data, uint64_t bytes);

} // namespace tessera::c

#endif // TESSERA_RUNTIME_C_ARGUMENTS_H
