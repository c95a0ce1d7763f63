//===- Page.h - The report as a page ---------------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One HTML file that needs nothing else: style, scripts, the plotting library
// and the data are in it. docs/report.md, "The page".
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_REPORT_PAGE_H
#define TESSERA_REPORT_PAGE_H

#include "tessera/Report/Activity.h"
#include "tessera/Report/RunReport.h"
#include <span>
#include <string>
#include <string_view>

namespace tessera::report {

/// What the page shows of a run beside its record.
struct PageDetails {
  const RunFacts &facts;
  const Activity &activity;
  std::string_view command; ///< That made the page.
};

/// The page's data of one run, JSON.
std::string pageEntry(const RunReport &report, const PageDetails &details);
/// The same of a document of `--json`, which knows neither what happened when
/// nor the architecture file.
std::string pageEntry(std::string_view name, std::string_view document);

/// The page of one run, or of several beside each other.
std::string makePage(std::string_view title,
                     std::span<const std::string> entries);

} // namespace tessera::report

#endif // TESSERA_REPORT_PAGE_H
