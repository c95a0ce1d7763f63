//===- RandomKernelTest.cpp - Random kernels against an interpreter -------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random kernels of nested loops, rotating buffers and all four queues, written
// as text for the compiler and interpreted here in program order. What the
// device gives must be the same bits, however its queues overlap.
//
//===----------------------------------------------------------------------===//

#include "ModuleRunner.h"
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <regex>

using namespace tessera;
using namespace tessera::test;

namespace {

constexpr int side = 8, tileElements = side * side, inputTiles = 64;
using Tile = std::array<float, tileElements>;

struct Step {
  enum Kind { Loop, Alloc, Load, Fill, Average, Mma, Store } kind = Loop;
  int count = 0, depth = 1;        ///< Loop: iterations. Alloc: slots.
  bool isAcc = false;              ///< Alloc.
  bool accumulates = false;        ///< Mma.
  int target = -1, a = -1, b = -1; ///< Buffers.
  int tile = 0; ///< Load, store: tile number where all loops are at 0.
  std::vector<int> strides; ///< Tiles for each loop around, outermost first.
  std::vector<Step> body;
};

class KernelGenerator {
public:
  explicit KernelGenerator(uint64_t seed) : random(seed) {}

  std::vector<Step> generate() {
    std::vector<Step> body;
    fill(body, {}, {});
    return body;
  }
  int outputTiles() const { return std::max(nextOutput, 1); }

private:
  int pick(int limit) { return int(random() % limit); }

  /// `visible`: buffers that may be used here, and whether each is in ACC.
  void fill(std::vector<Step> &body, std::vector<std::pair<int, bool>> visible,
            std::vector<int> loops) {
    for (int i = 0, n = 3 + pick(5); i < n; ++i) {
      int choice = pick(10);
      if (choice < 2 && loops.size() < 3 && numLoops < 5) {
        Step loop;
        loop.kind = Step::Loop;
        loop.count = 1 + pick(4);
        ++numLoops;
        auto inner = loops;
        inner.push_back(loop.count);
        fill(loop.body, visible, inner);
        body.push_back(std::move(loop));
      } else if (choice < 5 && numBuffers < 12) {
        Step alloc;
        alloc.kind = Step::Alloc;
        alloc.target = numBuffers++;
        alloc.depth = 1 + pick(3);
        alloc.isAcc = pick(3) == 0;
        body.push_back(alloc);
        // Contents are unspecified until written.
        Step init;
        init.kind = alloc.isAcc ? Step::Average
                    : pick(3)   ? Step::Load
                                : Step::Fill;
        init.target = alloc.target;
        if (init.kind == Step::Load)
          place(init, loops, /*isInput=*/true);
        if (init.kind == Step::Average) {
          init.a = init.b = anyBuffer(visible, false);
          if (init.a < 0) {
            body.pop_back(); // Nothing to initialise it from.
            continue;
          }
        }
        body.push_back(init);
        visible.push_back({alloc.target, alloc.isAcc});
      } else if (!visible.empty()) {
        Step step;
        step.target = visible[pick(int(visible.size()))].first;
        int acc = anyBuffer(visible, true);
        step.a = anyBuffer(visible, false);
        step.b = anyBuffer(visible, false);
        if (choice == 5 && step.a >= 0) {
          step.kind = Step::Load;
          step.target = step.a;
          place(step, loops, true);
        } else if (choice < 8 && acc >= 0 && step.a >= 0) {
          step.kind = Step::Mma;
          step.target = acc;
          step.accumulates = pick(2) == 0;
        } else if (choice == 9) {
          step.kind = Step::Store;
          place(step, loops, false);
        } else {
          step.kind = Step::Average;
          step.a = visible[pick(int(visible.size()))].first;
          step.b = visible[pick(int(visible.size()))].first;
        }
        body.push_back(step);
      }
    }
    if (visible.empty())
      return;
    Step store;
    store.kind = Step::Store;
    store.target = visible[pick(int(visible.size()))].first;
    place(store, loops, false);
    body.push_back(store);
  }

  int anyBuffer(const std::vector<std::pair<int, bool>> &visible, bool isAcc) {
    std::vector<int> candidates;
    for (auto [buffer, inAcc] : visible)
      if (inAcc == isAcc)
        candidates.push_back(buffer);
    return candidates.empty() ? -1 : candidates[pick(int(candidates.size()))];
  }

  /// Inputs are anywhere; every store has output tiles of its own.
  void place(Step &step, const std::vector<int> &loops, bool isInput) {
    int total = 1;
    step.strides.resize(loops.size());
    for (size_t i = loops.size(); i-- > 0;) {
      step.strides[i] = total;
      total *= loops[i];
    }
    if (isInput) {
      step.tile = pick(inputTiles - total + 1 > 0 ? inputTiles - total + 1 : 1);
      for (int &stride : step.strides)
        stride = pick(4) == 0 ? 0 : stride;
    } else {
      step.tile = nextOutput;
      nextOutput += total;
    }
  }

  std::mt19937_64 random;
  int numBuffers = 0, numLoops = 0, nextOutput = 0;
};

class KernelPrinter {
public:
  std::string print(const std::vector<Step> &body, int outputTiles) {
    this->outputTiles = outputTiles;
    text = "#id = affine_map<(i, j) -> (i, j)>\n";
    text += fmt::format("tile.kernel @kernel(%x: {}, %y: {}) {{\n",
                        dram(inputTiles), dram(outputTiles));
    for (int i = 0; i <= 4; ++i)
      text += fmt::format("  %c{0} = arith.constant {0} : index\n", i);
    printBody(body);
    text += "  tile.return\n}\n";
    return text;
  }

private:
  static std::string dram(int tiles) {
    return fmt::format("memref<{}x8x8xf32, #tile.space<dram>>", tiles);
  }
  std::string typeOf(int buffer) const {
    return fmt::format("memref<8x8xf32, #tile.space<{}>>",
                       isAcc.at(buffer) ? "acc" : "spm");
  }
  std::string view(const Step &step, const char *root, int tiles) {
    std::string expr = std::to_string(step.tile), dims, values;
    for (size_t i = 0; i < step.strides.size(); ++i) {
      expr += fmt::format(" + d{} * {}", i, step.strides[i]);
      dims += fmt::format("{}d{}", i ? ", " : "", i);
      values += fmt::format("{}%i{}", i ? ", " : "", loopNames[i]);
    }
    int number = next++;
    const char *type =
        "memref<8x8xf32, strided<[8, 1], offset: ?>, #tile.space<dram>>";
    text += fmt::format("  %p{} = affine.apply affine_map<({}) -> ({})>({})\n",
                        number, dims, expr, values);
    text += fmt::format(
        "  %v{} = memref.subview {}[%p{}, 0, 0][1, 8, 8][1, 1, 1] : {} "
        "to {}\n",
        number, root, number, dram(tiles), type);
    return fmt::format("%v{} {}", number, type);
  }
  static std::string nameOf(const std::string &view) {
    return view.substr(0, view.find(' '));
  }
  static std::string typeOf(const std::string &view) {
    return view.substr(view.find(' ') + 1);
  }

  void printBody(const std::vector<Step> &body) {
    for (const Step &step : body)
      switch (step.kind) {
      case Step::Loop: {
        int name = next++;
        loopNames.push_back(name);
        text += fmt::format("  scf.for %i{} = %c0 to %c{} step %c1 {{\n", name,
                            step.count);
        printBody(step.body);
        text += "  }\n";
        loopNames.pop_back();
        break;
      }
      case Step::Alloc:
        isAcc[step.target] = step.isAcc;
        text += fmt::format("  %b{} = tile.alloc {{depth = {}}} : {}\n",
                            step.target, step.depth, typeOf(step.target));
        break;
      case Step::Load: {
        std::string source = view(step, "%x", inputTiles);
        text +=
            fmt::format("  tile.load {} to %b{} : {} to {}\n", nameOf(source),
                        step.target, typeOf(source), typeOf(step.target));
        break;
      }
      case Step::Fill:
        text += fmt::format("  tile.fill %b{}, 3.0 : f32 : {}\n", step.target,
                            typeOf(step.target));
        break;
      case Step::Average:
        text += fmt::format(
            "  tile.map ins(%b{}, %b{} : {}, {}) outs(%b{} : {}) bounds = [8, "
            "8] iterators "
            "= [\"parallel\", \"parallel\"] maps = [#id, #id, #id] reduce = "
            "none {{\n"
            "  ^bb0(%a: f32, %b: f32):\n"
            "    %h = arith.constant 0.375 : f32\n    %s = arith.addf %a, %b : "
            "f32\n"
            "    %r = arith.mulf %s, %h : f32\n    tile.yield %r : f32\n  }}\n",
            step.a, step.b, typeOf(step.a), typeOf(step.b), step.target,
            typeOf(step.target));
        break;
      case Step::Mma:
        text += fmt::format(
            "  tile.mma ins(%b{}, %b{}) outs(%b{}) bounds = [8, 8, 8] "
            "iterators = "
            "[\"parallel\", \"parallel\", \"reduction\"] maps = "
            "[affine_map<(m, n, k) -> (m, "
            "k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, "
            "n)>] {} : {}, "
            "{} -> {}\n",
            step.a, step.b, step.target, step.accumulates ? "accumulate" : "",
            typeOf(step.a), typeOf(step.b), typeOf(step.target));
        break;
      case Step::Store: {
        std::string target = view(step, "%y", outputTiles);
        text +=
            fmt::format("  tile.store %b{} to {} : {} to {}\n", step.target,
                        nameOf(target), typeOf(step.target), typeOf(target));
        break;
      }
      }
  }

  std::string text;
  std::vector<int> loopNames;
  std::map<int, bool> isAcc;
  int next = 0, outputTiles = 1;
};

class Interpreter {
public:
  Interpreter(const std::vector<float> &input, std::vector<float> &output)
      : input(input), output(output) {}

  void run(const std::vector<Step> &body) {
    for (const Step &step : body)
      switch (step.kind) {
      case Step::Loop:
        loops.push_back(0);
        for (int i = 0; i < step.count; ++i) {
          loops.back() = i;
          run(step.body);
        }
        loops.pop_back();
        break;
      case Step::Alloc:
        break;
      case Step::Load:
        std::copy_n(&input[tileOf(step) * tileElements], tileElements,
                    buffers[step.target].begin());
        break;
      case Step::Fill:
        buffers[step.target].fill(3);
        break;
      case Step::Average:
        for (int i = 0; i < tileElements; ++i)
          buffers[step.target][i] =
              (buffers[step.a][i] + buffers[step.b][i]) * 0.375f;
        break;
      case Step::Mma: {
        Tile result = step.accumulates ? buffers[step.target] : Tile{};
        for (int m = 0; m < side; ++m)
          for (int n = 0; n < side; ++n)
            for (int k = 0; k < side; ++k)
              result[m * side + n] =
                  std::fma(buffers[step.a][m * side + k],
                           buffers[step.b][k * side + n], result[m * side + n]);
        buffers[step.target] = result;
        break;
      }
      case Step::Store:
        std::copy_n(buffers[step.target].begin(), tileElements,
                    &output[tileOf(step) * tileElements]);
        break;
      }
  }

private:
  int tileOf(const Step &step) const {
    int tile = step.tile;
    for (size_t i = 0; i < step.strides.size(); ++i)
      tile += step.strides[i] * loops[i];
    return tile;
  }
  const std::vector<float> &input;
  std::vector<float> &output;
  std::vector<int> loops;
  std::map<int, Tile> buffers;
};

} // namespace

TEST(RandomKernel, GivesTheBitsOfProgramOrder) {
  int kernelsRun = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    KernelGenerator generator(seed);
    std::vector<Step> body = generator.generate();
    int outputTiles = generator.outputTiles();
    std::string kernel = KernelPrinter().print(body, outputTiles);
    auto x = randomTensor(inputTiles * tileElements, unsigned(seed));
    // Every output tile is written, except if there is no buffer at all.
    std::vector<float> expected(outputTiles * tileElements);
    Interpreter(x, expected).run(body);

    std::string text = withProgram(kernel, {x.size()}, {expected.size()});
    Result<Object> object = compile(text, "tiny");
    // There is no spilling: a kernel may need more than a core has.
    if (!object && std::regex_search(object.status().message(),
                                     std::regex("out of scalar registers|"
                                                "semaphores are needed")))
      continue;
    ASSERT_TRUE(object.ok())
        << "seed " << seed << ": " << object.status().message() << "\n"
        << kernel;
    auto outputs = run(*object, "tiny", {x});
    ASSERT_TRUE(outputs.ok())
        << "seed " << seed << ": " << outputs.status().message() << "\n"
        << kernel;
    ++kernelsRun;
    for (size_t i = 0; i < expected.size(); ++i) {
      uint32_t want, got;
      std::memcpy(&want, &expected[i], 4);
      std::memcpy(&got, &(*outputs)[0][i], 4);
      bool bothNan = std::isnan(expected[i]) && std::isnan((*outputs)[0][i]);
      ASSERT_TRUE(want == got || bothNan)
          << "seed " << seed << ", element " << i << ": " << (*outputs)[0][i]
          << " instead of " << expected[i] << "\n"
          << kernel;
    }
  }
  EXPECT_GT(kernelsRun, 200);
}
