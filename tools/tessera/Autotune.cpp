//===- Autotune.cpp - Plans chosen by simulation --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autotune.h"
#include "FileOutput.h"
#include "Inputs.h"
#include "Progress.h"
#include "Simulation.h"
#include "tessera/Report/RunReport.h"
#include "tessera/Transforms/PlanBook.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tessera::tool {

namespace {

/// Compiles and measures one model again and again.
class Tuner {
public:
  Tuner(const std::string &path, CompileOptions options, PlanBook book)
      : path(path), options(std::move(options)), known(std::move(book)) {
    this->options.progress = nullptr;
  }

  /// Tries `count` plans of each kernel and leaves the best ones in `best`.
  Status tune(uint64_t count);

  /// What was found, in a line.
  std::string summary() const;

  PlanBook best; ///< With the plans that were known.

private:
  /// The plan of a kernel that took the fewest cycles.
  struct Winner {
    std::string plan, remark;
    uint64_t cycles = 0;
    bool isFirst = false; ///< It is the mapper's own choice.
  };

  Result<report::RunReport> measure(const CompiledModel &model) const;
  /// One more round; whether it had any plan that none before it had.
  Result<bool> tryCandidate(unsigned candidate);
  void fillBook();

  const std::string &path;
  CompileOptions options;
  PlanBook known;
  std::map<uint64_t, Winner> winners;          ///< By problem.
  std::map<uint64_t, std::string> latestPlans; ///< Of the round before.
  unsigned rounds = 0;
  uint64_t firstCycles = 0, tunedCycles = 0; ///< Of the whole model.
  bool isKept = true; ///< The winners together are no slower.
};

} // namespace

Result<report::RunReport> Tuner::measure(const CompiledModel &model) const {
  TESSERA_ASSIGN_OR_RETURN(std::vector<HostTensor> inputs,
                           Inputs().match(model.object.inputs));
  SimulationOptions simulation;
  simulation.timingOnly = true;
  TESSERA_ASSIGN_OR_RETURN(
      SimulationResult result,
      simulate(model.object, options.architecture, inputs, simulation));
  report::RunFacts facts{
      model.object,  options.architecture, result.statistics, path, {}, {}, 0,
      result.seconds};
  return report::makeRunReport(facts);
}

Result<bool> Tuner::tryCandidate(unsigned candidate) {
  options.plans.candidate = candidate;
  TESSERA_ASSIGN_OR_RETURN(CompiledModel model, compileModel(path, options));
  struct Kernel {
    std::string plan, remark;
    uint64_t cycles = 0;
  };
  std::map<uint64_t, Kernel> kernels;
  std::map<uint64_t, std::string> plans;
  const std::vector<DispatchInfo> &dispatches = model.object.dispatches;
  for (size_t i = 0; i < dispatches.size(); ++i)
    if (uint64_t problem = model.problems[i]; problem && !known.find(problem))
      plans[problem] = dispatches[i].mapping.plan;
  if (candidate != 0 && plans == latestPlans)
    return false;
  latestPlans = plans;
  TESSERA_ASSIGN_OR_RETURN(report::RunReport report, measure(model));
  for (size_t i = 0; i < report.dispatches.size(); ++i) {
    uint64_t problem = model.problems[i];
    if (!plans.count(problem))
      continue;
    Kernel &kernel = kernels[problem];
    kernel.cycles += report.dispatches[i].cycles;
    if (kernel.remark.empty())
      kernel.remark = fmt::format("{}", fmt::join(dispatches[i].nodes, ", "));
  }
  for (auto &[problem, kernel] : kernels) {
    auto [place, isNew] = winners.try_emplace(problem);
    if (isNew || kernel.cycles < place->second.cycles)
      place->second = {plans[problem], kernel.remark, kernel.cycles,
                       candidate == 0};
  }
  if (candidate == 0)
    firstCycles = report.cycles;
  ++rounds;
  return true;
}

void Tuner::fillBook() {
  best = known;
  for (const auto &[problem, winner] : winners)
    best.set(problem, winner.plan,
             fmt::format("{} on {}", winner.remark, options.architecture.name));
}

Status Tuner::tune(uint64_t count) {
  options.plans.book = known.print();
  Progress progress;
  for (uint64_t candidate = 0; candidate < count; ++candidate) {
    progress.draw("tuning", candidate, count, path);
    TESSERA_ASSIGN_OR_RETURN(bool isOther, tryCandidate(unsigned(candidate)));
    if (!isOther || winners.empty())
      break;
  }
  fillBook();
  options.plans = {best.print(), 0};
  TESSERA_ASSIGN_OR_RETURN(CompiledModel model, compileModel(path, options));
  TESSERA_ASSIGN_OR_RETURN(report::RunReport report, measure(model));
  tunedCycles = report.cycles;
  isKept = tunedCycles <= firstCycles;
  if (!isKept)
    best = known;
  return Status::success();
}

std::string Tuner::summary() const {
  if (winners.empty())
    return "autotune: no kernel without a plan";
  size_t changed = 0;
  for (const auto &[problem, winner] : winners)
    changed += !winner.isFirst;
  std::string text = fmt::format(
      "autotune: {} plans of {} kernels tried; {} kernels take another than "
      "the mapper's choice: {} instead of {} cycles",
      rounds, winners.size(), changed, tunedCycles, firstCycles);
  return isKept ? text : text + ", so all keep theirs";
}

Result<CompiledModel> compileTuned(const std::string &path,
                                   const CompileOptions &options,
                                   const CompileFlags &flags) {
  CompileOptions chosen = options;
  if (flags.autotune != 0) {
    PlanBook book;
    if (!options.plans.book.empty()) {
      TESSERA_ASSIGN_OR_RETURN(book, PlanBook::parse(options.plans.book));
    }
    if (!flags.plansFile.empty())
      TESSERA_RETURN_IF_ERROR(checkFileCanBe(flags.plansFile));
    Tuner tuner(path, options, std::move(book));
    TESSERA_RETURN_IF_ERROR(tuner.tune(flags.autotune));
    chosen.plans.book = tuner.best.print();
    if (!flags.plansFile.empty())
      TESSERA_RETURN_IF_ERROR(
          replaceFile(flags.plansFile, std::string_view(chosen.plans.book)));
    fmt::print(stderr, "{}\n", tuner.summary());
  }
  return compileModel(path, chosen);
}

} // namespace tessera::tool
