//===- Diagnostics.cpp - Diagnostics as a Status ----------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnostics.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include <algorithm>

using namespace mlir;
using namespace tessera;

/// The place that a user knows: the model node's name, or file:line.
static std::string describe(Location location) {
  std::string text;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part)) {
      text = name.getName().str();
      return WalkResult::interrupt();
    }
    if (auto file = dyn_cast<FileLineColLoc>(part)) {
      text = file.getFilename().str() + ":" + std::to_string(file.getLine());
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return text;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext *context)
    : handler(context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
          return success();
        std::string place = describe(diagnostic.getLocation());
        std::string line =
            (place.empty() ? "" : place + ": ") + diagnostic.str();
        // Passes run on many functions may say the same of the same place.
        if (std::find(errors.begin(), errors.end(), line) == errors.end())
          errors.push_back(std::move(line));
        return success();
      }) {}

Status DiagnosticCollector::status(StatusCode code,
                                   const std::string &fallback) const {
  if (errors.empty())
    return Status(code, fallback);
  std::string message = errors.front();
  for (size_t i = 1; i < errors.size(); ++i)
    message += "\n" + errors[i];
  return Status(code, std::move(message));
}
