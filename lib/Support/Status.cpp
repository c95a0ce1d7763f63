//===- Status.cpp - Errors as values --------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Status.h"

using namespace tessera;

std::string_view tessera::statusCodeName(StatusCode code) {
  switch (code) {
  case StatusCode::Ok:
    return "Ok";
  case StatusCode::InvalidArgument:
    return "InvalidArgument";
  case StatusCode::FailedPrecondition:
    return "FailedPrecondition";
  case StatusCode::ResourceExhausted:
    return "ResourceExhausted";
  case StatusCode::OutOfMemory:
    return "OutOfMemory";
  case StatusCode::DeadlineExceeded:
    return "DeadlineExceeded";
  case StatusCode::Cancelled:
    return "Cancelled";
  case StatusCode::Aborted:
    return "Aborted";
  case StatusCode::PageFault:
    return "PageFault";
  case StatusCode::BusError:
    return "BusError";
  case StatusCode::Timeout:
    return "Timeout";
  case StatusCode::DeviceLost:
    return "DeviceLost";
  case StatusCode::Deadlock:
    return "Deadlock";
  case StatusCode::Unsupported:
    return "Unsupported";
  case StatusCode::Internal:
    return "Internal";
  }
  return "unknown";
}

Status Status::withContext(std::string_view context) const {
  if (ok())
    return *this;
  return Status(code_, std::string(context) + ": " + message_);
}
