//===- MutantMain.cpp - The conformance scenarios with a planted bug ------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// conformance-mutants [--mutant=NAME] [--list] [--progress=FILE] [GoogleTest
// options]: runs the scenarios, built with all planted bugs, one of which is
// switched on. FILE gets a line as each begins and as it ends, so that whoever
// reads it knows in which one the program crashed. A scenario that hangs is a
// line, too, and ends the program at once.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "tessera/Support/Mutant.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>
#include <string>
#include <thread>

namespace {
/// Of the whole process.
std::chrono::duration<double> processorTime() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

/// Writes down where the run is, and ends it where a scenario hangs: it has
/// used more processor time than any that is sound, or stands still.
class Progress : public ::testing::EmptyTestEventListener {
public:
  explicit Progress(const std::string &path)
      : file(std::fopen(path.c_str(), "w")), watch([this] { look(); }) {}
  ~Progress() override {
    ended = true;
    watch.join();
    if (file)
      std::fclose(file);
  }
  explicit operator bool() const { return file != nullptr; }

  void OnTestStart(const ::testing::TestInfo &test) override {
    write("begin", test.name());
    begun = Clock::now().time_since_epoch().count();
    usedBefore = processorTime().count();
    running = true;
  }
  void OnTestEnd(const ::testing::TestInfo &test) override {
    running = false;
    write(test.result()->Skipped()  ? "skipped"
          : test.result()->Passed() ? "passed"
                                    : "failed",
          test.name());
  }

private:
  using Clock = std::chrono::steady_clock;
  /// Sound scenarios take well below a second, and a blocked thread looks again
  /// 50 times a second, which costs far less than a hundredth of a processor.
  static constexpr double mostProcessorSeconds = 10, standsStillSeconds = 3,
                          leastShare = 0.01;

  void write(const char *what, const char *name) {
    std::fprintf(file, "%s %s\n", what, name);
    std::fflush(file);
  }
  void look() {
    while (!ended) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (!running)
        continue;
      double used = processorTime().count() - usedBefore;
      double wall =
          std::chrono::duration<double>(Clock::now().time_since_epoch() -
                                        Clock::duration(begun.load()))
              .count();
      if (used > mostProcessorSeconds ||
          (wall > standsStillSeconds && used < leastShare * wall)) {
        write("hang", "-");
        std::_Exit(3);
      }
    }
  }

  std::FILE *file;
  std::atomic<bool> running = false, ended = false;
  std::atomic<Clock::rep> begun = 0;
  std::atomic<double> usedBefore = 0;
  std::thread watch;
};

/// Set before any test runs; the planted bugs have no other way to know.
std::string switchedOn;
} // namespace

bool tessera::mutants::active(std::string_view name) {
  return switchedOn == name;
}

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument == "--list") {
      for (const tessera::mutants::Mutant &mutant : tessera::mutants::all())
        std::printf("%s\t%s\t%s\n", mutant.name, mutant.killer,
                    mutant.description);
      return 0;
    }
    if (argument.substr(0, 11) == "--progress=") {
      auto *progress = new Progress(std::string(argument.substr(11)));
      if (!*progress) {
        std::fprintf(stderr, "error: '%s' cannot be written\n", argv[i] + 11);
        return 2;
      }
      // GoogleTest deletes it.
      ::testing::UnitTest::GetInstance()->listeners().Append(progress);
      continue;
    }
    if (argument.substr(0, 9) != "--mutant=") {
      std::fprintf(stderr, "error: unknown option '%s'\n", argv[i]);
      return 2;
    }
    switchedOn = argument.substr(9);
    bool known = false;
    for (const tessera::mutants::Mutant &mutant : tessera::mutants::all())
      known |= switchedOn == mutant.name;
    if (!known) {
      std::fprintf(stderr, "error: no mutant '%s'; --list lists them\n",
                   switchedOn.c_str());
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}
