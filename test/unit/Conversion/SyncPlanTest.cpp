//===- SyncPlanTest.cpp ---------------------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Conversion/SyncPlan.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;
using isa::Queue;
using testing::HasSubstr;

namespace {

/// Builds the tree in program order.
class ProblemBuilder {
public:
  ProblemBuilder() { addNode(loopNode(false)); }

  uint32_t loop(uint32_t parent, bool mayBeEmpty = false) {
    return add(parent, loopNode(mayBeEmpty));
  }
  uint32_t inst(uint32_t parent, Queue queue, std::vector<uint32_t> buffers) {
    SyncPlanProblem::Node node;
    node.queue = queue;
    node.buffers = std::move(buffers);
    return add(parent, std::move(node));
  }
  uint32_t buffer(uint32_t home, uint32_t depth = 1) {
    problem.buffers.push_back({home, depth});
    return problem.buffers.size() - 1;
  }
  SyncPlanSolution plan() {
    auto solution = planSynchronization(problem);
    EXPECT_TRUE(solution.ok()) << solution.status().message();
    for (unsigned iterations = 0; iterations < 5; ++iterations) {
      Status status = solution->verify(problem, iterations);
      EXPECT_TRUE(status.ok())
          << status.message() << ", " << iterations << " iterations";
    }
    return std::move(*solution);
  }
  SyncPlanProblem problem;

private:
  static SyncPlanProblem::Node loopNode(bool mayBeEmpty) {
    SyncPlanProblem::Node node;
    node.isLoop = true;
    node.mayBeEmpty = mayBeEmpty;
    return node;
  }
  void addNode(SyncPlanProblem::Node node) {
    problem.nodes.push_back(std::move(node));
  }
  uint32_t add(uint32_t parent, SyncPlanProblem::Node node) {
    addNode(std::move(node));
    problem.nodes[parent].body.push_back(problem.nodes.size() - 1);
    return problem.nodes.size() - 1;
  }
};

} // namespace

TEST(SyncPlan, OneQueueNeedsNoSemaphore) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2);
  b.inst(loop, Queue::Vx, {x});
  b.inst(loop, Queue::Vx, {x});
  EXPECT_EQ(b.plan().semaphores.size(), 0u);
}

TEST(SyncPlan, SharedBufferHasASemaphoreForEachSlot) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2), y = b.buffer(loop, 2);
  b.problem.buffers[x].shared = true;
  uint32_t load = b.inst(loop, Queue::Ld, {x});
  b.inst(loop, Queue::Ld, {y});
  uint32_t mma = b.inst(loop, Queue::Mx, {x, y});
  auto plan = b.plan();
  ASSERT_EQ(plan.sharedFills.size(), 1u);
  const auto &fill = plan.sharedFills[0];
  EXPECT_EQ(fill.load, load);
  EXPECT_EQ(fill.first, mma);
  EXPECT_EQ(fill.last, mma);
  ASSERT_EQ(fill.data.size(), 2u);
  EXPECT_NE(fill.data[0], fill.data[1]);
  EXPECT_EQ(plan.semaphores[fill.data[1]].waiter, Queue::Mx);
  EXPECT_EQ(plan.semaphores[fill.free].waiter, Queue::Ld);
  // Another core's load says nothing about this one's: y keeps both of its own.
  EXPECT_EQ(plan.semaphores.size(), 5u);
}

TEST(SyncPlan, SharedPanelIsReadByAWholeLoop) {
  ProblemBuilder b;
  uint32_t outer = b.loop(0), x = b.buffer(outer, 2);
  b.problem.buffers[x].shared = true;
  b.inst(outer, Queue::Ld, {x});
  uint32_t inner = b.loop(outer), y = b.buffer(inner, 2);
  b.inst(inner, Queue::Ld, {y});
  b.inst(inner, Queue::Mx, {x, y});
  auto plan = b.plan();
  ASSERT_EQ(plan.sharedFills.size(), 1u);
  EXPECT_EQ(plan.sharedFills[0].first, inner);
  EXPECT_EQ(plan.sharedFills[0].last, inner);
}

TEST(SyncPlan, SharedBufferWithAFillIsRefused) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2);
  b.problem.buffers[x].shared = true;
  b.inst(loop, Queue::Ld, {x});
  b.inst(loop, Queue::Ld, {x});
  b.inst(loop, Queue::Mx, {x});
  auto plan = planSynchronization(b.problem);
  EXPECT_THAT(plan.status().message(), HasSubstr("one load, and then readers"));
}

TEST(SyncPlan, DoubleBufferIsHandedOverAndGivenBack) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2);
  uint32_t load = b.inst(loop, Queue::Ld, {x});
  uint32_t mma = b.inst(loop, Queue::Mx, {x});
  auto plan = b.plan();
  ASSERT_EQ(plan.semaphores.size(), 2u);
  EXPECT_EQ(plan.semaphores[0].waiter, Queue::Mx);
  EXPECT_EQ(plan.semaphores[0].initial, 0u);
  EXPECT_EQ(plan.semaphores[1].waiter, Queue::Ld);
  EXPECT_EQ(plan.semaphores[1].initial, 2u);
  EXPECT_EQ(plan.before[load].size(), 1u);
  EXPECT_EQ(plan.after[load].size(), 1u);
  EXPECT_EQ(plan.before[mma].size(), 1u);
  EXPECT_EQ(plan.after[mma].size(), 1u);
}

TEST(SyncPlan, BodyRunOnceNeedsNoFreeSemaphore) {
  ProblemBuilder b;
  uint32_t w = b.buffer(0);
  b.inst(0, Queue::Ld, {w});
  uint32_t loop = b.loop(0);
  b.inst(loop, Queue::Mx, {w});
  auto plan = b.plan();
  ASSERT_EQ(plan.semaphores.size(), 1u);
  // The wait stands before the whole loop.
  ASSERT_EQ(plan.before[loop].size(), 1u);
  EXPECT_EQ(plan.before[loop][0].queue, Queue::Mx);
}

TEST(SyncPlan, BuffersWithTheSamePhasesShareSemaphores) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2), y = b.buffer(loop, 2);
  uint32_t first = b.inst(loop, Queue::Ld, {x});
  uint32_t second = b.inst(loop, Queue::Ld, {y});
  b.inst(loop, Queue::Mx, {x, y});
  auto plan = b.plan();
  EXPECT_EQ(plan.semaphores.size(), 2u);
  EXPECT_EQ(plan.before[first].size(), 1u);
  EXPECT_EQ(plan.after[first].size(), 0u);
  EXPECT_EQ(plan.after[second].size(), 1u);
}

TEST(SyncPlan, HandOversOfTheSameQueuesShareASemaphore) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop), y = b.buffer(loop);
  b.inst(loop, Queue::Ld, {x});
  b.inst(loop, Queue::Mx, {x});
  b.inst(loop, Queue::Ld, {y});
  b.inst(loop, Queue::Mx, {y});
  auto plan = b.plan();
  ASSERT_EQ(plan.semaphores.size(), 2u);
  EXPECT_EQ(plan.semaphores[0].initial + plan.semaphores[1].initial, 2u);
}

TEST(SyncPlan, CrossedHandOversKeepTheStricter) {
  // x: 0 → 3, y: 1 → 2. Waiting for y at 2 implies x at 3.
  ProblemBuilder b;
  uint32_t x = b.buffer(0), y = b.buffer(0);
  b.inst(0, Queue::Ld, {x});
  b.inst(0, Queue::Ld, {y});
  b.inst(0, Queue::Mx, {y});
  uint32_t last = b.inst(0, Queue::Mx, {x});
  auto plan = b.plan();
  EXPECT_EQ(plan.semaphores.size(), 1u);
  EXPECT_TRUE(plan.before[last].empty());
}

TEST(SyncPlan, TwoQueuesInALoopOverAnOuterBuffer) {
  // As in streamed attention: the vector engine rescales what the matrix engine
  // accumulates, in every iteration.
  ProblemBuilder b;
  uint32_t outer = b.loop(0), acc = b.buffer(outer, 2);
  b.inst(outer, Queue::Vx, {acc});
  uint32_t loop = b.loop(outer);
  b.inst(loop, Queue::Vx, {acc});
  b.inst(loop, Queue::Mx, {acc});
  b.inst(outer, Queue::St, {acc});
  auto plan = b.plan();
  EXPECT_EQ(plan.semaphores.size(), 4u);
}

TEST(SyncPlan, LoopThatMayBeEmptyPassesTheOrderOn) {
  ProblemBuilder b;
  uint32_t outer = b.loop(0), x = b.buffer(outer);
  b.inst(outer, Queue::Ld, {x});
  uint32_t loop = b.loop(outer, /*mayBeEmpty=*/true);
  b.inst(loop, Queue::Vx, {x});
  b.inst(loop, Queue::Mx, {x});
  b.inst(outer, Queue::St, {x});
  b.plan();
}

TEST(SyncPlan, VerifyFindsAMissingWait) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop, 2);
  b.inst(loop, Queue::Ld, {x});
  uint32_t mma = b.inst(loop, Queue::Mx, {x});
  auto plan = b.plan();
  auto broken = plan;
  broken.before[mma].clear();
  EXPECT_THAT(broken.verify(b.problem, 3).message(), HasSubstr("not ordered"));
  broken = plan;
  broken.after[mma].clear();
  EXPECT_THAT(broken.verify(b.problem, 3).message(),
              HasSubstr("not satisfied"));
  EXPECT_THAT(broken.verify(b.problem, 2).message(),
              HasSubstr("ends at another"));
  broken = plan;
  broken.semaphores[1].initial = 3;
  EXPECT_THAT(broken.verify(b.problem, 4).message(), HasSubstr("not ordered"));
}

TEST(SyncPlan, CheckRefusesNonsense) {
  ProblemBuilder b;
  uint32_t loop = b.loop(0), x = b.buffer(loop);
  b.inst(0, Queue::Ld, {x});
  EXPECT_THAT(b.problem.check().message(), HasSubstr("outside of its home"));
  EXPECT_THAT(SyncPlanProblem{}.check().message(), HasSubstr("node 0"));
}

TEST(SyncPlan, RandomProgramsVerify) {
  std::mt19937_64 random(23);
  const Queue queues[] = {Queue::Ld, Queue::St, Queue::Mx, Queue::Vx};
  for (int round = 0; round < 2000; ++round) {
    ProblemBuilder b;
    std::vector<std::vector<uint32_t>> visible(1); // Buffers, at each depth.
    std::vector<uint32_t> open{0};
    for (uint64_t i = 0, n = 1 + random() % 25; i < n; ++i) {
      switch (random() % 6) {
      case 0:
        if (open.size() < 4) {
          open.push_back(b.loop(open.back(), random() % 4 == 0));
          visible.emplace_back();
        }
        break;
      case 1:
        if (open.size() > 1) {
          open.pop_back();
          visible.pop_back();
        }
        break;
      case 2:
        visible.back().push_back(b.buffer(open.back(), 1 + random() % 3));
        break;
      default: {
        std::vector<uint32_t> buffers;
        for (const auto &level : visible)
          for (uint32_t buffer : level)
            if (random() % 3 == 0)
              buffers.push_back(buffer);
        b.inst(open.back(), queues[random() % 4], std::move(buffers));
      }
      }
    }
    b.plan();
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}
