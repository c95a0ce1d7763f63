//===- Trial.cpp ----------------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Trial.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tessera;

/// Bytes of address space that this process has.
static uint64_t addressSpace() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

static void lower(int resource, rlim_t value) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0)
    return;
  limit.rlim_cur = std::min(value, limit.rlim_max);
  setrlimit(resource, &limit);
}

static void writeAll(int file, const std::string &text) {
  for (size_t done = 0; done < text.size();) {
    ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR)
      return;
    done += std::max<ssize_t>(written, 0);
  }
}

static std::string readAll(int file) {
  std::string text;
  char block[4096];
  for (;;) {
    ssize_t got = read(file, block, sizeof(block));
    if (got == 0 || (got < 0 && errno != EINTR))
      return text;
    text.append(block, std::max<ssize_t>(got, 0));
  }
}

/// The copy's part: writes the message of an error, after the digit of its
/// code.
[[noreturn]] static void runCopy(llvm::function_ref<void()> prepare,
                                 llvm::function_ref<Status()> action,
                                 TrialLimits limits, int result) {
  for (int signal :
       {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGPROF})
    std::signal(signal, SIG_DFL);
  int null = open("/dev/null", O_RDWR);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
  lower(RLIMIT_CORE, 0);
  prepare();
  rlimit stack;
  constexpr rlim_t mostStack = 8 << 20; // If it has no limit.
  if (getrlimit(RLIMIT_STACK, &stack) == 0)
    lower(RLIMIT_STACK, std::min(stack.rlim_cur, mostStack) / 2);
  lower(RLIMIT_AS, addressSpace() + limits.bytes);
  itimerval timer = {};
  timer.it_value.tv_sec = limits.microseconds / 1000000;
  timer.it_value.tv_usec = limits.microseconds % 1000000;
  setitimer(ITIMER_PROF, &timer, nullptr);
  Status status = action();
  if (!status.ok())
    writeAll(result,
             std::string(1, char('0' + int(status.code()))) + status.message());
  _exit(status.ok() ? 0 : 1);
}

Status tessera::runTrial(llvm::function_ref<void()> prepare,
                         llvm::function_ref<Status()> action,
                         TrialLimits limits) {
  int ends[2];
  if (pipe(ends) != 0)
    return {StatusCode::ResourceExhausted,
            fmt::format("no pipe: {}", std::strerror(errno))};
  pid_t copy = fork();
  if (copy == 0) {
    close(ends[0]);
    runCopy(prepare, action, limits, ends[1]);
  }
  int failure = errno;
  close(ends[1]);
  std::string text = copy < 0 ? "" : readAll(ends[0]);
  close(ends[0]);
  if (copy < 0)
    return {StatusCode::ResourceExhausted,
            fmt::format("no process: {}", std::strerror(failure))};
  int ending = 0;
  while (waitpid(copy, &ending, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(ending) && WEXITSTATUS(ending) == 0)
    return Status::success();
  if (WIFEXITED(ending) && !text.empty())
    return {StatusCode(text[0] - '0'), text.substr(1)};
  std::string how = !WIFSIGNALED(ending) ? "without a result"
                    : WTERMSIG(ending) == SIGPROF
                        ? "as it takes too long"
                        : fmt::format("with '{}'", strsignal(WTERMSIG(ending)));
  return {
      StatusCode::ResourceExhausted,
      fmt::format("ends {}; accepted are {} ms, {} MB and half of the stack",
                  how, limits.microseconds / 1000, limits.bytes >> 20)};
}
