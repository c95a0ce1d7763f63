//===- RunCommand.cpp - tessera run ---------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Autotune.h"
#include "Command.h"
#include "CompileFlags.h"
#include "ConcurrentRun.h"
#include "Expectations.h"
#include "Explore.h"
#include "FileOutput.h"
#include "Inputs.h"
#include "ObjectFile.h"
#include "Simulation.h"
#include "TensorFiles.h"
#include "TraceFile.h"
#include "Verification.h"
#include "tessera/Report/Mapping.h"
#include "tessera/Report/Page.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <unistd.h>

namespace tessera::tool {

namespace {
struct RunCommand {
  std::string path, outputFolder, jsonFile, traceFile, reportFolder;
  std::string annotationFile, checkModes, programFile;
  std::string commandLine;         ///< As the user gave it.
  std::string verification;        ///< Empty: none.
  std::vector<std::string> others; ///< Models to run at the same time.
  std::vector<std::vector<std::string>> otherDims; ///< Of each; see compile.
  bool timingOnly = false, verbose = false;
  uint64_t explored = 0; ///< Schedules besides the ordinary one.
  CompileFlags compile;
  Inputs inputs;

  int run();

private:
  /// What there is to run, and where it came from.
  struct Program {
    CompiledModel compiled; ///< Of an object: the object alone.
    Architecture arch;
    bool fromModel = false;
  };
  bool verifies() const { return !verification.empty(); }
  std::string usageError() const;
  Status checkFiles() const;
  Result<Program> prepare();
  /// Leaves each model the `--dim`s that it has, of several models; an error if
  /// none has one.
  Status distributeDims();
  Result<Program> prepareOther(size_t number) const;
  Status runWithOthers(Program &program);
  Result<Program> loadObject() const;
  /// Puts the object of `--program` in the place of the compiled one.
  Status takeProgram(Program &program) const;
  Status runProgram(Program &program);
  Status check(const Program &program, std::span<const HostTensor> given,
               SimulationResult &result);
  /// Says which dispatch departs first from the reference, and takes what
  /// belongs to dispatches out of the outputs and checks.
  void judgeDispatches(const Program &program, SimulationResult &result);
  Status write(const SimulationResult &result, const report::RunReport &report,
               const report::RunFacts &facts) const;

  std::vector<report::OutputCheck> checks;
  std::vector<std::string> findings; ///< Of the checking modes.
  std::optional<report::Accuracy> accuracy;
  std::string agreement;    ///< Predictions against the reference's.
  std::string dispatchText; ///< How the dispatches compare.
  /// Those of the model's expectations that do not hold.
  std::vector<std::string> unmet;
  bool departs = false; ///< One of them does.
};
} // namespace

std::string RunCommand::usageError() const {
  if (!traceFile.empty() && !isTraceName(traceFile))
    return fmt::format(
        "--trace {}: .pftrace (Perfetto) and .json (Chrome) are accepted",
        traceFile);
  if (timingOnly && verifies())
    return "--timing-only computes no values that --verify could compare";
  if (timingOnly && !outputFolder.empty())
    return "--timing-only computes no values that --outputs could write";
  if (!others.empty()) {
    const std::pair<const char *, bool> given[] = {
        {"--verify", verifies()},
        {"--outputs", !outputFolder.empty()},
        {"--trace", !traceFile.empty()},
        {"--report", !reportFolder.empty()},
        {"--annotate", !annotationFile.empty()},
        {"--explore", explored != 0},
        {"--explain", compile.explain},
        {"--verbose", verbose},
        {"--program", !programFile.empty()},
        {"--sanitize", !checkModes.empty()}};
    for (auto [name, set] : given)
      if (set)
        return fmt::format("{} is of one model; with --concurrent, --json, "
                           "--timing-only, --inputs and --seed are accepted",
                           name);
  }
  return "";
}

Status RunCommand::checkFiles() const {
  // Two outputs in one file would leave one of them.
  std::map<std::filesystem::path, const char *> places;
  const std::pair<const char *, const std::string &> given[] = {
      {"--outputs", outputFolder},
      {"--report", reportFolder},
      {"--json", jsonFile},
      {"--trace", traceFile},
      {"--annotate", annotationFile}};
  for (auto [option, path] : given) {
    std::error_code error;
    if (path.empty() || std::filesystem::is_character_file(path, error))
      continue;
    auto place = std::filesystem::weakly_canonical(
        std::filesystem::absolute(path, error), error);
    if (!place.has_filename())
      place = place.parent_path();
    if (auto [other, isNew] = places.try_emplace(place, option); !isNew)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{} and {}: both are to be written to {}",
                                other->second, option, path));
  }
  if (!outputFolder.empty())
    TESSERA_RETURN_IF_ERROR(checkFolderCanBe(outputFolder));
  if (!reportFolder.empty())
    TESSERA_RETURN_IF_ERROR(checkFolderCanBe(reportFolder));
  for (const std::string &file : {jsonFile, traceFile, annotationFile})
    if (!file.empty())
      TESSERA_RETURN_IF_ERROR(checkFileCanBe(file));
  return Status::success();
}

Result<RunCommand::Program> RunCommand::loadObject() const {
  Program program;
  TESSERA_ASSIGN_OR_RETURN(program.compiled.object, readObjectFile(path));
  TESSERA_ASSIGN_OR_RETURN(
      program.arch,
      architectureFor(program.compiled.object, path, compile.arch));
  return program;
}

static bool sameTensors(std::span<const TensorSignature> a,
                        std::span<const TensorSignature> b) {
  return std::ranges::equal(
      a, b, [](const TensorSignature &x, const TensorSignature &y) {
        return x.name == y.name && x.type == y.type && x.shape == y.shape;
      });
}

Status RunCommand::takeProgram(Program &program) const {
  TESSERA_ASSIGN_OR_RETURN(Object given, readObjectFile(programFile));
  const Object &compiled = program.compiled.object;
  if (!sameTensors(given.inputs, compiled.inputs) ||
      !sameTensors(given.outputs, compiled.outputs))
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: has other inputs or outputs than {}; accepted is an "
                    "object of that model and its dimensions, compiled {} "
                    "--dispatch-outputs",
                    programFile, path,
                    verification == "each" ? "with" : "without"));
  program.compiled.object = std::move(given);
  return Status::success();
}

Result<RunCommand::Program> RunCommand::prepare() {
  TESSERA_ASSIGN_OR_RETURN(bool isObject, isObjectFile(path));
  TESSERA_RETURN_IF_ERROR(checkFiles());
  TESSERA_RETURN_IF_ERROR(inputs.read());
  if (isObject) {
    if (verifies())
      return Status(StatusCode::InvalidArgument,
                    path +
                        ": an object holds no model to compare with; --verify "
                        "accepts .onnx, .mlir and .mlirbc");
    TESSERA_RETURN_IF_ERROR(compile.checkForObject(path));
    if (!programFile.empty())
      return Status(StatusCode::InvalidArgument,
                    path + ": is an object; --program accepts a model, whose "
                           "object it names");
    return loadObject();
  }
  Program program;
  TESSERA_ASSIGN_OR_RETURN(CompileOptions options, compile.options());
  inputs.describeTo(options);
  options.exposeDispatches = verification == "each";
  TESSERA_ASSIGN_OR_RETURN(program.compiled,
                           compileTuned(path, options, compile));
  program.arch = std::move(options.architecture);
  program.fromModel = true;
  if (!programFile.empty())
    TESSERA_RETURN_IF_ERROR(takeProgram(program));
  if (compile.timing)
    fmt::print(stderr, "{}", program.compiled.timingText);
  return program;
}

/// Names of a model's symbolic dimensions; an object has none any more.
static Result<std::set<std::string>> symbolsOf(const std::string &path) {
  std::set<std::string> symbols;
  TESSERA_ASSIGN_OR_RETURN(bool isObject, isObjectFile(path));
  if (isObject)
    return symbols;
  TESSERA_ASSIGN_OR_RETURN(ModelDescription model, describeModel(path));
  for (const ModelDescription::Tensor &input : model.inputs)
    for (const std::string &dimension : input.shape)
      if (dimension != "?" && !std::isdigit(uint8_t(dimension[0])))
        symbols.insert(dimension);
  return symbols;
}

Status RunCommand::distributeDims() {
  otherDims.resize(others.size());
  if (compile.dims.empty() || others.empty())
    return Status::success();
  std::vector<std::string> given = std::exchange(compile.dims, {});
  std::set<std::string> known;
  std::vector<bool> used(given.size());
  for (size_t model = 0; model <= others.size(); ++model) {
    TESSERA_ASSIGN_OR_RETURN(std::set<std::string> symbols,
                             symbolsOf(model ? others[model - 1] : path));
    for (size_t i = 0; i < given.size(); ++i)
      if (symbols.contains(given[i].substr(0, given[i].find('=')))) {
        (model ? otherDims[model - 1] : compile.dims).push_back(given[i]);
        used[i] = true;
      }
    known.merge(symbols);
  }
  for (size_t i = 0; i < given.size(); ++i)
    if (!used[i])
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("--dim {}: no model has such a dimension; {}", given[i],
                      known.empty() ? "none has a symbolic one"
                                    : fmt::format("they have {}",
                                                  fmt::join(known, ", "))));
  return Status::success();
}

Result<RunCommand::Program> RunCommand::prepareOther(size_t number) const {
  RunCommand run;
  run.path = others[number];
  run.compile = compile;
  run.compile.dims = otherDims[number];
  run.inputs = Inputs::random(inputs.seedValue());
  return run.prepare();
}

Status RunCommand::runWithOthers(Program &program) {
  std::vector<Program> programs;
  programs.push_back(std::move(program));
  std::vector<std::string> names = {path};
  for (size_t i = 0; i < others.size(); ++i) {
    const std::string &other = others[i];
    TESSERA_ASSIGN_OR_RETURN(Program more, prepareOther(i));
    if (more.arch != programs.front().arch)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{}: is for architecture {}, {} for {}; models "
                                "that share a device need one",
                                other, more.arch.name, path,
                                programs.front().arch.name));
    programs.push_back(std::move(more));
    names.push_back(other);
  }
  std::vector<ConcurrentModel> models;
  for (size_t i = 0; i < programs.size(); ++i) {
    const Object &object = programs[i].compiled.object;
    TESSERA_ASSIGN_OR_RETURN(
        std::vector<HostTensor> given,
        i == 0 ? inputs.match(object.inputs)
               : Inputs::random(inputs.seedValue()).match(object.inputs));
    models.push_back({names[i], object, std::move(given)});
  }
  TESSERA_ASSIGN_OR_RETURN(
      report::InterferenceReport report,
      runConcurrently(models, programs.front().arch, timingOnly));
  if (!jsonFile.empty())
    TESSERA_RETURN_IF_ERROR(replaceFile(jsonFile, report::toJson(report)));
  fmt::print("{}", report::formatSummary(report));
  return Status::success();
}

Status RunCommand::check(const Program &program,
                         std::span<const HostTensor> given,
                         SimulationResult &result) {
  const Object &object = program.compiled.object;
  std::optional<std::vector<int64_t>> predicted;
  if (!result.outputs.empty())
    predicted = predictions(result.outputs.front());
  if (predicted) {
    TESSERA_ASSIGN_OR_RETURN(auto labels, inputs.labels());
    if (labels && labels->size() == predicted->size())
      accuracy =
          report::Accuracy{countEqual(*predicted, *labels), labels->size()};
  }
  if (!verifies())
    return Status::success();
  TESSERA_ASSIGN_OR_RETURN(ReferenceModel model,
                           ReferenceModel::compile(program.compiled));
  TESSERA_ASSIGN_OR_RETURN(std::vector<HostTensor> reference, model.run(given));
  TESSERA_ASSIGN_OR_RETURN(checks,
                           compareOutputs(object, result.outputs, reference));
  if (!std::ranges::all_of(checks, &report::OutputCheck::ok)) {
    // Is the model so sensitive that the reference itself is not sure?
    std::vector<std::vector<HostTensor>> rounded;
    for (HostRounding rounding : {HostRounding::Up, HostRounding::Down}) {
      TESSERA_ASSIGN_OR_RETURN(rounded.emplace_back(),
                               model.run(given, rounding));
    }
    TESSERA_ASSIGN_OR_RETURN(
        checks, compareOutputs(object, result.outputs, reference, rounded));
  }
  if (verification == "each")
    judgeDispatches(program, result);
  if (predicted && accuracy)
    if (auto expected = predictions(reference.front()))
      agreement =
          fmt::format("{} of {} predictions are those of the reference",
                      countEqual(*predicted, *expected), expected->size());
  return Status::success();
}

void RunCommand::judgeDispatches(const Program &program,
                                 SimulationResult &result) {
  size_t count = program.compiled.outputCount;
  size_t dispatches = checks.size() - count, good = 0;
  for (size_t i = count; i < checks.size(); ++i) {
    const report::OutputCheck &one = checks[i];
    good += one.ok;
    if (one.ok || departs)
      continue;
    departs = true;
    dispatchText = fmt::format(
        "The first dispatch that departs is of {}: {} of {} elements, by "
        "{:.3g} "
        "at most, relative {:.3g}, RMS {:.3g}; accepted is {:.3g} ({}).",
        one.name, one.departing, one.elements, one.maxAbsError, one.maxRelError,
        one.rmsError, one.tolerance, one.reason);
  }
  dispatchText =
      fmt::format("{} of {} dispatches compared agree with the "
                  "reference.{}{}",
                  good, dispatches, departs ? "\n" : "", dispatchText);
  checks.resize(count);
  result.outputs.resize(count);
}

Status RunCommand::write(const SimulationResult &result,
                         const report::RunReport &report,
                         const report::RunFacts &facts) const {
  if (!outputFolder.empty()) {
    std::map<std::string, std::vector<uint8_t>> files;
    for (size_t i = 0; i < result.outputs.size(); ++i) {
      TESSERA_ASSIGN_OR_RETURN(files[fmt::format("{}.npy", i)],
                               formatTensor(result.outputs[i]));
    }
    std::string list = describeTensors(result.outputs);
    files["outputs.json"].assign(list.begin(), list.end());
    TESSERA_RETURN_IF_ERROR(replaceFilesIn(outputFolder, files));
  }
  if (!jsonFile.empty())
    TESSERA_RETURN_IF_ERROR(replaceFile(jsonFile, report::toJson(report)));
  if (!annotationFile.empty()) {
    TESSERA_ASSIGN_OR_RETURN(std::string annotation,
                             annotatedDisassembly(facts.object, result.kernels,
                                                  result.statistics.kernels));
    TESSERA_RETURN_IF_ERROR(replaceFile(annotationFile, annotation));
  }
  if (!reportFolder.empty()) {
    std::string entry =
        report::pageEntry(report, {facts, result.activity, commandLine});
    std::string page = report::makePage(
        fmt::format("{} on {}", report.model, report.arch), {&entry, 1});
    TESSERA_RETURN_IF_ERROR(replaceFilesIn(
        reportFolder, {{"index.html", {page.begin(), page.end()}}}));
  }
  return Status::success();
}

Status RunCommand::runProgram(Program &program) {
  const Object &object = program.compiled.object;
  TESSERA_ASSIGN_OR_RETURN(std::vector<HostTensor> given,
                           inputs.match(object.inputs));
  SimulationOptions options;
  options.timingOnly = timingOnly;
  std::unique_ptr<TraceFile> trace;
  if (!traceFile.empty()) {
    TESSERA_ASSIGN_OR_RETURN(trace, openTrace(traceFile, object, program.arch));
    options.observer = &trace->observer();
  }
  options.seed = inputs.seedValue();
  options.activity = !reportFolder.empty();
  options.profile = !annotationFile.empty();
  options.findings = &findings;
  if (!checkModes.empty()) {
    TESSERA_ASSIGN_OR_RETURN(options.checks, parseChecks(checkModes));
  }
  TESSERA_ASSIGN_OR_RETURN(SimulationResult result,
                           simulate(object, program.arch, given, options));
  if (explored) {
    TESSERA_RETURN_IF_ERROR(exploreSchedules(object, program.arch, given,
                                             options, result, explored));
    fmt::print("Explored {} schedules: the same outputs in all\n\n", explored);
  }
  TESSERA_RETURN_IF_ERROR(check(program, given, result));
  const std::vector<Expectation> &expectations = program.compiled.expectations;
  if (!timingOnly)
    unmet = takeUnmet(expectations, result.outputs);
  report::RunFacts facts{
      object, program.arch, result.statistics,        path,
      checks, accuracy,     program.compiled.seconds, result.seconds};
  TESSERA_ASSIGN_OR_RETURN(report::RunReport report,
                           report::makeRunReport(facts));
  report.memory = result.memory;
  if (trace)
    TESSERA_RETURN_IF_ERROR(trace->finish());
  TESSERA_RETURN_IF_ERROR(write(result, report, facts));
  report::SummaryOptions summary;
  summary.color = isatty(STDOUT_FILENO);
  summary.verbose = verbose;
  fmt::print("{}", report::formatSummary(report, summary));
  if (compile.explain) {
    TESSERA_ASSIGN_OR_RETURN(
        std::string mapping,
        report::explainMapping(object, program.arch, &report));
    fmt::print("\n{}", mapping);
  }
  if (verifies())
    fmt::print("\nThe reference is the imported model, lowered by other passes "
               "and run "
               "on the host; it checks\nall that follows the import.{}{}\n",
               agreement.empty() ? "" : " ", agreement);
  if (!dispatchText.empty())
    fmt::print("{}\n", dispatchText);
  if (!expectations.empty() && !timingOnly)
    fmt::print("\n{} of {} expectations of the model hold.\n",
               expectations.size() - unmet.size(), expectations.size());
  return Status::success();
}

int RunCommand::run() {
  if (std::string message = usageError(); !message.empty())
    return failUsage(message);
  if (Status status = distributeDims(); !status.ok())
    return fail(status);
  Result<Program> program = prepare();
  if (!program)
    return fail(program.status());
  Status status =
      others.empty() ? runProgram(*program) : runWithOthers(*program);
  for (const std::string &finding : findings)
    fmt::print(stderr, "error: {}", finding);
  if (!status.ok())
    return fail(status);
  if (!findings.empty())
    return exitFindings;
  for (const std::string &one : unmet)
    fmt::print(stderr, "error: {}: {}\n", path, one);
  if (!unmet.empty())
    return exitVerification;
  for (const report::OutputCheck &output : checks)
    if (!output.ok) {
      fmt::print(
          stderr,
          "error: output '{}': differs from the reference by {:.3g}; accepted "
          "is {:.3g} ({})\n",
          output.name, output.maxAbsError, output.tolerance, output.reason);
      return exitVerification;
    }
  if (departs) {
    fmt::print(stderr, "error: {}\n", dispatchText);
    return exitVerification;
  }
  return exitGood;
}

void addRunCommand(CLI::App &app, Action &action,
                   const std::string &commandLine) {
  CLI::App *command = app.add_subcommand(
      "run", "Compiles a model if need be, simulates it and reports");
  auto run = std::make_shared<RunCommand>();
  run->commandLine = commandLine;
  command
      ->add_option("MODEL", run->path,
                   "Model (.onnx, .mlir, .mlirbc) or object (.tsr)")
      ->required();
  run->compile.addTo(*command);
  run->compile.addAutotuneTo(*command);
  run->inputs.addTo(*command);
  command->add_option("--outputs", run->outputFolder,
                      "Folder for 0.npy, 1.npy, … and outputs.json");
  command->add_option("--json", run->jsonFile, "File for the report as JSON");
  command->add_option("--report", run->reportFolder,
                      "Folder for the report as a page, index.html");
  command->add_option(
      "--trace", run->traceFile,
      "File for a trace of what each engine did (.pftrace: Perfetto, "
      ".json: Chrome)");
  command->add_option("--program", run->programFile,
                      "Object to run in place of what the model compiles to, "
                      "and to verify against the model");
  command
      ->add_option("--sanitize", run->checkModes,
                   "Checks the program while it runs: race,memory,sync or some "
                   "of them")
      ->check(CLI::Validator(
          [](std::string &modes) {
            return parseChecks(modes).status().message();
          },
          ""));
  command
      ->add_option("--explore", run->explored,
                   "Runs that many more schedules, seeds from --seed on; stops "
                   "at the first that ends differently")
      ->check(CLI::Validator(CompileFlags::checkCount, ""));
  command->add_option("--annotate", run->annotationFile,
                      "File for the disassembly with count, cycles and stalls "
                      "of each instruction");
  command->add_flag("--timing-only", run->timingOnly,
                    "Counts cycles without moving data");
  command->add_flag("-v,--verbose", run->verbose,
                    "Prints every dispatch and what the memory side did");
  // A flag, so that it never swallows the model's name; it takes a value only
  // as `--verify=each`.
  command
      ->add_flag("--verify{all}", run->verification,
                 "Compares the outputs with a run of the model on the host; "
                 "--verify=each also the result of every dispatch, and names "
                 "the first that departs")
      ->check(CLI::Validator(
          [](std::string &mode) -> std::string {
            if (mode == "all" || mode == "each")
              return "";
            return "'" + mode + "' is unknown; it takes no value or each";
          },
          ""));
  command
      ->add_option("--concurrent", run->others,
                   "More models to run at the same time on the same device, "
                   "with random inputs; shows what each takes alone and "
                   "together")
      ->expected(1, 16);
  command->callback([&action, run] { action = [run] { return run->run(); }; });
}

} // namespace tessera::tool
