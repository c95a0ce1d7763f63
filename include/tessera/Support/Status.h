//===- Status.h - Errors as values ------------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Status and Result<T>: how every LLVM-free layer reports errors. No exception
// crosses a library boundary.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_SUPPORT_STATUS_H
#define TESSERA_SUPPORT_STATUS_H

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tessera {

enum class StatusCode : uint8_t {
  Ok,
  InvalidArgument,
  FailedPrecondition,
  ResourceExhausted,
  OutOfMemory,
  DeadlineExceeded,
  Cancelled,
  Aborted,
  PageFault,
  BusError,
  Timeout,
  DeviceLost,
  Deadlock,
  Unsupported,
  Internal,
};

/// The code's name as it is spelled above, e.g. "PageFault".
std::string_view statusCodeName(StatusCode code);

/// Success, or a code with a one-line message that names the object and the
/// offending value.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(StatusCode code, std::string message)
      : code_(code), message_(std::move(message)) {
    assert(code != StatusCode::Ok && "an error needs an error code");
  }

  static Status success() { return {}; }
  bool ok() const { return code_ == StatusCode::Ok; }
  StatusCode code() const { return code_; }
  const std::string &message() const { return message_; }

  /// The same error with `context` and ": " put before its message.
  Status withContext(std::string_view context) const;

private:
  StatusCode code_ = StatusCode::Ok;
  std::string message_;
};

/// A value, or the Status that says why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : storage(std::move(value)) {}
  Result(Status status) : storage(std::move(status)) {
    assert(!std::get<Status>(storage).ok() && "a Result needs a value or an error");
  }

  bool ok() const { return std::holds_alternative<T>(storage); }
  explicit operator bool() const { return ok(); }
  T &operator*() { return std::get<T>(storage); }
  const T &operator*() const { return std::get<T>(storage); }
  T *operator->() { return &std::get<T>(storage); }
  const T *operator->() const { return &std::get<T>(storage); }
  /// The error; success when a value is held.
  Status status() const {
    return ok() ? Status::success() : std::get<Status>(storage);
  }

private:
  std::variant<T, Status> storage;
};

} // namespace tessera

/// Returns the error of a Status expression from the enclosing function.
#define TESSERA_RETURN_IF_ERROR(expr)                                          \
  do {                                                                         \
    if (::tessera::Status tesseraStatus_ = (expr); !tesseraStatus_.ok())       \
      return tesseraStatus_;                                                   \
  } while (false)

/// Declares `var` with the value of a Result expression, or returns its error.
#define TESSERA_ASSIGN_OR_RETURN(var, expr)                                    \
  TESSERA_ASSIGN_OR_RETURN_IMPL(TESSERA_CONCAT(tesseraResult_, __LINE__), var, \
                                expr)
#define TESSERA_ASSIGN_OR_RETURN_IMPL(tmp, var, expr)                          \
  auto tmp = (expr);                                                           \
  if (!tmp.ok())                                                               \
    return tmp.status();                                                       \
  var = std::move(*tmp)
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_IMPL(a, b)
#define TESSERA_CONCAT_IMPL(a, b) a##b

#endif // TESSERA_SUPPORT_STATUS_H
