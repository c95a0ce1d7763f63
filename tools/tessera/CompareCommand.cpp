//===- CompareCommand.cpp - tessera compare -------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "FileOutput.h"
#include "tessera/Report/Comparison.h"
#include "tessera/Report/Page.h"
#include "tessera/Support/File.h"
#include <fmt/format.h>

namespace tessera::tool {

static Status compare(const std::vector<std::string> &files,
                      const std::string &folder) {
  if (!folder.empty())
    TESSERA_RETURN_IF_ERROR(checkFolderCanBe(folder));
  std::vector<report::RunDocument> runs;
  std::vector<std::string> entries;
  for (const std::string &file : files) {
    TESSERA_ASSIGN_OR_RETURN(std::string text, readTextFile(file));
    TESSERA_ASSIGN_OR_RETURN(report::RunDocument run,
                             report::readRunDocument(file, text));
    runs.push_back(std::move(run));
    entries.push_back(report::pageEntry(file, text));
  }
  if (!folder.empty()) {
    std::string page = report::makePage("Comparison", entries);
    TESSERA_RETURN_IF_ERROR(
        replaceFilesIn(folder, {{"index.html", {page.begin(), page.end()}}}));
  }
  fmt::print("{}", report::formatComparison(runs));
  return Status::success();
}

void addCompareCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand(
      "compare", "Puts the reports of runs beside each other");
  auto files = std::make_shared<std::vector<std::string>>();
  auto folder = std::make_shared<std::string>();
  command->add_option("FILES", *files, "Reports that run --json wrote")
      ->required()
      ->expected(2, 64);
  command->add_option("--report", *folder,
                      "Folder for the comparison as a page, index.html");
  command->callback([&action, files, folder] {
    action = [files, folder] {
      Status status = compare(*files, *folder);
      return status.ok() ? int(exitGood) : fail(status);
    };
  });
}

} // namespace tessera::tool
