//===- HostScheduler.cpp - Host threads that take turns -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostScheduler.h"
#include <algorithm>

namespace tessera::runtime {

size_t HostScheduler::add() {
  Lock lock(mutex);
  members.emplace_back();
  return members.size() - 1;
}

size_t HostScheduler::self() const {
  std::thread::id me = std::this_thread::get_id();
  for (size_t i = 0; i < members.size(); ++i)
    if (members[i].thread == me && members[i].state != State::Ended)
      return i;
  return none;
}

bool HostScheduler::isMember() const {
  Lock lock(mutex);
  return self() != none;
}

bool HostScheduler::choose() {
  std::vector<size_t> ready;
  for (size_t i = 0; i < members.size(); ++i)
    if (members[i].state == State::Ready)
      ready.push_back(i);
  if (ready.empty())
    return false;
  current = ready[random.below(ready.size())];
  ++turnCount;
  turn.notify_all();
  return true;
}

void HostScheduler::waitForTurn(Lock &lock, size_t number) {
  turn.wait(lock, [&] { return current == number; });
}

void HostScheduler::begin(size_t number) {
  Lock lock(mutex);
  members[number].thread = std::this_thread::get_id();
  waitForTurn(lock, number);
}

void HostScheduler::end(size_t number) {
  Lock lock(mutex);
  members[number].state = State::Ended;
  // What it did may be what others wait for.
  for (Member &member : members)
    if (member.state == State::Blocked || member.state == State::HostBlocked)
      member.state = State::Ready;
  current = none;
  (void)choose();
  turn.notify_all();
}

void HostScheduler::run() {
  Lock lock(mutex);
  (void)choose();
  turn.wait(lock, [&] {
    return std::all_of(members.begin(), members.end(),
                       [](const Member &m) { return m.state == State::Ended; });
  });
}

void HostScheduler::point() {
  Lock lock(mutex);
  size_t me = self();
  if (me == none)
    return;
  // What this thread did until now may be what others wait for.
  for (Member &member : members)
    if (member.state == State::Blocked || member.state == State::HostBlocked)
      member.state = State::Ready;
  (void)choose();
  waitForTurn(lock, me);
}

bool HostScheduler::blockUntil(driver::Time deadline, bool works) {
  Lock lock(mutex);
  size_t me = self();
  members[me].state = State::Blocked;
  members[me].works = works;
  members[me].deadline = deadline;
  if (!choose()) {
    members[me].state = State::Ready;
    return false;
  }
  waitForTurn(lock, me);
  members[me].state = State::Ready;
  return true;
}

bool HostScheduler::blockForHost() {
  Lock lock(mutex);
  size_t me = self();
  members[me].state = State::HostBlocked;
  members[me].deadline = driver::timeInfinite;
  if (!choose()) {
    members[me].state = State::Ready;
    return false;
  }
  waitForTurn(lock, me);
  members[me].state = State::Ready;
  return true;
}

driver::Time HostScheduler::earliestDeadline() const {
  Lock lock(mutex);
  driver::Time earliest = driver::timeInfinite;
  for (const Member &member : members)
    if (member.state == State::Blocked)
      earliest = std::min(earliest, member.deadline);
  return earliest;
}

driver::Time HostScheduler::earliestWork() const {
  Lock lock(mutex);
  driver::Time earliest = driver::timeInfinite;
  for (const Member &member : members)
    if (member.state == State::Blocked && member.works)
      earliest = std::min(earliest, member.deadline);
  return earliest;
}

void HostScheduler::wakeAll() {
  Lock lock(mutex);
  for (Member &member : members)
    if (member.state == State::Blocked || member.state == State::HostBlocked)
      member.state = State::Ready;
}

uint64_t HostScheduler::turns() const {
  Lock lock(mutex);
  return turnCount;
}

} // namespace tessera::runtime
