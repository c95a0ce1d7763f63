//===- Comparison.h - Runs beside each other -------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_COMPARISON_H
#define TESSERA_REPORT_COMPARISON_H

#include "tessera/Support/Status.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::report {

/// What a comparison needs of a document of `--json`.
struct RunDocument {
  struct Part {
    std::string name;
    double cycles = 0;
  };
  std::string name; ///< Of the file.
  std::string text; ///< The whole document.
  std::vector<double> figures;
  std::vector<Part> dispatches; ///< Named by the nodes that they compute.
  std::vector<Part> nodes;
};

/// InvalidArgument, naming the file and the field, if `text` is no report of
/// schema 1 with all that tables and page show.
Result<RunDocument> readRunDocument(std::string_view name,
                                    std::string_view text);

/// The same figures of all runs, and the speed-up of every dispatch and node
/// against the first run; an aligned table for terminals.
std::string formatComparison(std::span<const RunDocument> runs);

} // namespace tessera::report

#endif // TESSERA_REPORT_COMPARISON_H
