//===- GenerateCommand.cpp - tessera generate -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "CompileFlags.h"
#include "DeviceDecoder.h"
#include "FileOutput.h"
#include "HostDecoder.h"
#include "Progress.h"
#include "TensorValues.h"
#include "tessera/Report/Bounds.h"
#include "tessera/Report/Mapping.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>

namespace tessera::tool {

namespace {
struct GenerateCommand {
  std::string path, prompt, promptNumbers, jsonFile;
  uint64_t count = 64;
  bool hasPrompt = false, verify = false;
  CompileFlags compile;

  int run();

private:
  Status readPrompt();
  Status compilePrograms();
  Status addProgram(CompileOptions options, uint64_t tokens);
  Status checkRequest() const;
  Status generate();
  Result<std::optional<std::string>> sequenceDimension() const;
  /// The program that takes `count` tokens at once, if there is one.
  std::optional<size_t> programFor(uint64_t tokens) const;
  std::string textOf(std::span<const int64_t> tokens) const;

  std::vector<int64_t> tokens; ///< Of the prompt.
  std::vector<CompiledModel> models;
  std::vector<DecoderSignature> signatures; ///< Of each model.
  Architecture arch;
  report::GenerationReport report;
};

/// The largest score, the first of equal ones, and its lead.
struct Choice {
  int64_t token = 0;
  double lead = 0;
};
} // namespace

static Result<Choice> choose(const HostTensor &scores) {
  TensorValues values(scores);
  size_t best = 0;
  double second = -INFINITY;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i]))
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("output '{}': the score of token {} is not a number",
                      scores.name, i));
    if (i == 0)
      continue;
    if (values[i] > values[best]) {
      second = values[best];
      best = i;
    } else {
      second = std::max(second, values[i]);
    }
  }
  double lead = values[best] - second;
  // Of infinite scores it would be no number.
  return Choice{int64_t(best), std::isnan(lead) ? 0 : lead};
}

static double largestDifference(const HostTensor &a, const HostTensor &b) {
  TensorValues x(a), y(b);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i)
    if (!x.equalBits(y, i) && x[i] != y[i])
      largest = std::max(largest, std::fabs(x[i] - y[i]));
  return largest;
}

Status GenerateCommand::readPrompt() {
  if (hasPrompt) {
    for (unsigned char byte : prompt)
      tokens.push_back(byte);
    return Status::success();
  }
  const char *at = promptNumbers.data(), *end = at + promptNumbers.size();
  while (true) {
    int64_t token = 0;
    auto [stop, error] = std::from_chars(at, end, token);
    if (error != std::errc() || token < 0 || (stop != end && *stop != ','))
      return Status(StatusCode::InvalidArgument,
                    fmt::format("--prompt-tokens {}: accepted are numbers from "
                                "0 on with commas between them",
                                promptNumbers));
    tokens.push_back(token);
    if (stop == end)
      return Status::success();
    at = stop + 1;
  }
}

/// The name of the last dimension of `input_ids`, if it is open.
Result<std::optional<std::string>> GenerateCommand::sequenceDimension() const {
  TESSERA_ASSIGN_OR_RETURN(ModelDescription description, describeModel(path));
  for (const ModelDescription::Tensor &input : description.inputs) {
    if (input.name != tokenInputName || input.shape.empty())
      continue;
    const std::string &extent = input.shape.back();
    bool isNumber = std::ranges::all_of(
        extent, [](char c) { return c >= '0' && c <= '9'; });
    bool isGiven = std::ranges::any_of(compile.dims, [&](const std::string &d) {
      return d.starts_with(extent + "=");
    });
    if (!isNumber && !isGiven && extent != "?")
      return std::optional(extent);
  }
  return std::optional<std::string>();
}

Status GenerateCommand::addProgram(CompileOptions options, uint64_t tokens) {
  TESSERA_ASSIGN_OR_RETURN(CompiledModel model, compileModel(path, options));
  if (compile.timing)
    fmt::print(stderr, "{}", model.timingText);
  Result<DecoderSignature> signature = DecoderSignature::of(model.object);
  TESSERA_RETURN_IF_ERROR(signature.status().withContext(path));
  if (tokens && signature->perCall != tokens)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: takes {} tokens, not {}; accepted are models "
                    "whose last dimension of input_ids is open or 1",
                    path, signature->perCall, tokens));
  models.push_back(std::move(model));
  signatures.push_back(*signature);
  return Status::success();
}

Status GenerateCommand::compilePrograms() {
  TESSERA_ASSIGN_OR_RETURN(CompileOptions options, compile.options());
  arch = options.architecture;
  TESSERA_ASSIGN_OR_RETURN(std::optional<std::string> open,
                           sequenceDimension());
  if (!open)
    return addProgram(std::move(options), 1);
  options.dims[*open] = 1;
  TESSERA_RETURN_IF_ERROR(addProgram(options, 1));
  // Before the other is compiled, which may take long.
  TESSERA_RETURN_IF_ERROR(checkRequest());
  if (tokens.size() == 1)
    return Status::success();
  options.dims[*open] = tokens.size();
  return addProgram(std::move(options), tokens.size());
}

Status GenerateCommand::checkRequest() const {
  const DecoderSignature &step = signatures.front();
  for (int64_t token : tokens)
    if (uint64_t(token) >= step.vocabulary)
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("{}: token {} of the prompt; accepted are those "
                      "from 0 to {}",
                      path, token, step.vocabulary - 1));
  if (hasPrompt && step.vocabulary > 256)
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: has {} tokens, which are no bytes; accepted "
                              "is --prompt-tokens",
                              path, step.vocabulary));
  // The last token that is written is not read again.
  if (step.context && tokens.size() + count - 1 > *step.context)
    return Status(
        StatusCode::InvalidArgument,
        fmt::format("{}: a prompt of {} tokens and {} more take {} positions; "
                    "the caches have room for {}",
                    path, tokens.size(), count, tokens.size() + count - 1,
                    *step.context));
  return Status::success();
}

std::optional<size_t> GenerateCommand::programFor(uint64_t tokens) const {
  for (size_t i = 0; i < signatures.size(); ++i)
    if (signatures[i].perCall == tokens)
      return i;
  return std::nullopt;
}

std::string GenerateCommand::textOf(std::span<const int64_t> tokens) const {
  std::string text;
  if (hasPrompt)
    for (int64_t token : tokens)
      text += char(token);
  return text;
}

Status GenerateCommand::generate() {
  std::vector<DeviceDecoder::Program> programs;
  HostDecoder host;
  for (size_t i = 0; i < models.size(); ++i) {
    if (verify)
      TESSERA_RETURN_IF_ERROR(host.add(models[i], signatures[i]));
    programs.push_back({models[i].object, signatures[i]});
  }
  TESSERA_ASSIGN_OR_RETURN(DeviceDecoder device,
                           DeviceDecoder::create(std::move(programs), arch));
  if (verify)
    report.check.emplace();
  bool equal = verify;
  Progress progress;
  std::vector<int64_t> next = tokens;
  // A prompt goes in one call if there is a program for it.
  size_t width = programFor(tokens.size()) ? tokens.size() : 1;
  for (uint64_t written = 0; written < count;) {
    std::vector<int64_t> fed(next.begin(), next.begin() + ptrdiff_t(width));
    next.erase(next.begin(), next.begin() + ptrdiff_t(width));
    size_t program = *programFor(width);
    TESSERA_ASSIGN_OR_RETURN(DeviceDecoder::Answer answer,
                             device.feed(program, fed));
    Choice choice;
    if (next.empty()) {
      TESSERA_ASSIGN_OR_RETURN(choice, choose(answer.scores));
      answer.call.token = choice.token;
      answer.call.lead = choice.lead;
      next.push_back(choice.token);
      width = 1;
      ++written;
    }
    if (equal) {
      TESSERA_ASSIGN_OR_RETURN(HostTensor scores, host.feed(program, fed));
      if (answer.call.token) {
        TESSERA_ASSIGN_OR_RETURN(Choice expected, choose(scores));
        equal = expected.token == choice.token;
        report.check->equalTokens += equal;
      }
      report.check->maxScoreDifference =
          std::max(report.check->maxScoreDifference,
                   largestDifference(answer.scores, scores));
    }
    report.calls.push_back(answer.call);
    if (progress.due())
      progress.draw("writing", written, count, "tokens");
  }
  return Status::success();
}

int GenerateCommand::run() {
  if (hasPrompt == !promptNumbers.empty())
    return failUsage("one of --prompt and --prompt-tokens is needed");
  if (hasPrompt && prompt.empty())
    return failUsage("--prompt is empty; at least one byte is needed");
  if (!jsonFile.empty())
    if (Status status = checkFileCanBe(jsonFile); !status.ok())
      return fail(status);
  auto all = [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(readPrompt());
    TESSERA_RETURN_IF_ERROR(compilePrograms());
    TESSERA_RETURN_IF_ERROR(checkRequest());
    const Object &step = models.front().object;
    TESSERA_ASSIGN_OR_RETURN(
        report::Bounds bounds,
        report::computeBounds(step.workload, step.compulsoryBytes, arch));
    report.model = path;
    report.arch = arch.name;
    report.clockGhz = arch.clockGhz;
    report.dramPeakGbps = arch.dram.peakBytesPerNs();
    report.boundStepCycles = bounds.bound.cycles();
    report.promptTokens = tokens.size();
    for (const DecoderSignature::State &state : signatures.front().states)
      report.stateBytes += state.bytes;
    TESSERA_RETURN_IF_ERROR(generate());
    report.prompt = textOf(tokens);
    report.text = textOf(report.tokens());
    if (!jsonFile.empty())
      TESSERA_RETURN_IF_ERROR(replaceFile(jsonFile, report::toJson(report)));
    return Status::success();
  };
  if (Status status = all(); !status.ok())
    return fail(status);
  if (hasPrompt)
    fmt::print("{}{}\n\n", report.prompt, report.text);
  else
    fmt::print("{}\n\n", fmt::join(report.tokens(), ","));
  fmt::print("{}", report::formatSummary(report));
  if (compile.explain)
    for (const CompiledModel &model : models) {
      Result<std::string> text =
          report::explainMapping(model.object, arch, nullptr);
      if (!text)
        return fail(text.status());
      fmt::print("\n{}", *text);
    }
  if (report.agrees())
    return exitGood;
  fmt::print(stderr, "error: token {} is {}; the reference chose another one\n",
             report.check->equalTokens + 1,
             report.tokens()[report.check->equalTokens]);
  return exitVerification;
}

void addGenerateCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand(
      "generate", "Lets a language model go on with a text, token by token");
  auto generate = std::make_shared<GenerateCommand>();
  command
      ->add_option("MODEL", generate->path,
                   "Model (.onnx, .mlir, .mlirbc) with input_ids, logits, and "
                   "states past… and present…")
      ->required();
  command->add_option_function<std::string>(
      "--prompt",
      [generate](const std::string &text) {
        generate->prompt = text;
        generate->hasPrompt = true;
      },
      "Text to go on with; each byte is a token");
  command->add_option("--prompt-tokens", generate->promptNumbers,
                      "The same as numbers: 5,17,3");
  command
      ->add_option("--tokens", generate->count,
                   "How many tokens to write (default: 64)")
      ->check(CLI::Validator(CompileFlags::checkCount, ""));
  command->add_option("--json", generate->jsonFile,
                      "File for the report as JSON");
  command->add_flag("--verify", generate->verify,
                    "Lets the host's reference write too, and compares");
  generate->compile.addTo(*command);
  command->callback(
      [&action, generate] { action = [generate] { return generate->run(); }; });
}

} // namespace tessera::tool
