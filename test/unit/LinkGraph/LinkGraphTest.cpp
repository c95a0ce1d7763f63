//===- LinkGraphTest.cpp - Who may link whom ------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds CMake's link graph, written at configuration, against the layers of
// docs/architecture.md.
//
//===----------------------------------------------------------------------===//

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <regex>
#include <set>
#include <vector>

namespace {

using Names = std::set<std::string>;

/// The LLVM-free libraries, each with all that it may link of the project.
const std::map<std::string, Names> layers = {
    {"tessera_support", {}},
    {"tessera_arch", {"tessera_support"}},
    {"tessera_isa", {"tessera_support", "tessera_arch"}},
    {"tessera_object", {"tessera_support", "tessera_arch", "tessera_isa"}},
    {"tessera_driver", {"tessera_support", "tessera_arch", "tessera_isa"}},
    {"tessera_driver_null",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_driver"}},
    {"tessera_driver_fault",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_driver"}},
    {"tessera_driver_record",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_driver"}},
    {"tessera_dram", {"tessera_support", "tessera_arch"}},
    {"tessera_noc", {"tessera_support", "tessera_arch"}},
    {"tessera_sim",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_dram",
      "tessera_noc"}},
    {"tessera_driver_sim",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_driver",
      "tessera_dram", "tessera_noc", "tessera_sim"}},
    {"tessera_runtime",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_object",
      "tessera_driver"}},
    {"tessera_runtime_c",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_object",
      "tessera_driver", "tessera_driver_null", "tessera_driver_sim",
      "tessera_dram", "tessera_noc", "tessera_sim", "tessera_runtime"}},
    {"tessera_report",
     {"tessera_support", "tessera_arch", "tessera_isa", "tessera_object",
      "tessera_dram", "tessera_noc", "tessera_sim"}},
};
/// What the compiler, which is all the rest, may use of them: it knows the
/// runtime and the simulator only through the object.
const Names compilerMayUse = {"tessera_support", "tessera_arch", "tessera_isa",
                              "tessera_object"};

std::map<std::string, Names> readGraph() {
  std::map<std::string, Names> graph;
  std::ifstream file(TESSERA_LINK_GRAPH);
  std::string line;
  const std::regex name("[A-Za-z0-9_.:+-]+");
  while (std::getline(file, line)) {
    size_t colon = line.find(": ");
    if (colon == std::string::npos)
      continue;
    Names &links = graph[line.substr(0, colon)];
    // Names inside generator expressions count as well.
    std::string rest = line.substr(colon + 2);
    for (std::sregex_iterator it(rest.begin(), rest.end(), name), end;
         it != end; ++it) {
      std::string text = it->str();
      if (size_t last = text.rfind(':');
          last != std::string::npos && text.find("::") == std::string::npos)
        text = text.substr(last + 1); // `LINK_ONLY:target`
      links.insert(text);
    }
  }
  return graph;
}

Names reachable(const std::map<std::string, Names> &graph,
                const std::string &from) {
  Names seen;
  std::vector<std::string> open{from};
  while (!open.empty()) {
    std::string target = open.back();
    open.pop_back();
    if (auto it = graph.find(target); it != graph.end())
      for (const std::string &next : it->second)
        if (seen.insert(next).second)
          open.push_back(next);
  }
  return seen;
}

bool isLlvm(const std::string &target) {
  return target.find("MLIR") != std::string::npos ||
         target.find("LLVM") != std::string::npos ||
         target.find("mlir") != std::string::npos;
}

TEST(LinkGraph, EveryLayerIsThere) {
  auto graph = readGraph();
  for (const auto &[library, allowed] : layers)
    EXPECT_TRUE(graph.count(library)) << library;
}

/// Every dependency that the layers do not allow, as a sentence.
std::vector<std::string> violations(const std::map<std::string, Names> &graph) {
  std::vector<std::string> found;
  for (const auto &[library, links] : graph) {
    auto layer = layers.find(library);
    for (const std::string &used : reachable(graph, library)) {
      bool allowed = true;
      if (layer != layers.end())
        allowed = !isLlvm(used) &&
                  (used.rfind("tessera_", 0) != 0 || layer->second.count(used));
      else if (layers.count(used))
        allowed = compilerMayUse.count(used);
      if (!allowed)
        found.push_back(library + " must not use " + used);
    }
  }
  return found;
}

TEST(LinkGraph, OnlyAllowedDependencies) {
  EXPECT_THAT(violations(readGraph()), ::testing::IsEmpty());
}

// The check itself finds what it is for, also behind other libraries.
TEST(LinkGraph, ForbiddenDependenciesAreFound) {
  using ::testing::ElementsAre;
  auto with = [](const std::string &library, const std::string &uses) {
    std::map<std::string, Names> graph = {
        {"tessera_driver_sim", {"tessera_driver", "tessera_sim"}},
        {"tessera_pipelines", {"tessera_object", "tessera_mlir_headers"}},
        {"tessera_runtime", {"tessera_driver", "tessera_object"}},
    };
    graph[library].insert(uses);
    return violations(graph);
  };
  EXPECT_THAT(with("tessera_pipelines", "tessera_isa"), ElementsAre());
  EXPECT_THAT(with("tessera_pipelines", "tessera_sim"),
              ElementsAre("tessera_pipelines must not use tessera_sim"));
  EXPECT_THAT(with("tessera_sim", "MLIR"),
              ElementsAre("tessera_driver_sim must not use MLIR",
                          "tessera_sim must not use MLIR"));
  EXPECT_THAT(with("tessera_runtime", "tessera_sim"),
              ElementsAre("tessera_runtime must not use tessera_sim"));
}

// The graph cannot show a header that is used without a link.
TEST(LinkGraph, LlvmFreeSourcesIncludeNoLlvm) {
  namespace fs = std::filesystem;
  const std::regex include("^\\s*#\\s*include\\s*[<\"](llvm|mlir)");
  size_t files = 0;
  for (const char *folder :
       {"include/tessera/Support", "include/tessera/Arch",
        "include/tessera/ISA", "include/tessera/Object",
        "include/tessera/Report", "lib/Support", "lib/Arch", "lib/ISA",
        "lib/Object", "lib/Report", "runtime", "sim", "examples"})
    for (fs::recursive_directory_iterator
             it(fs::path(TESSERA_SOURCE_DIR) / folder,
                fs::directory_options::skip_permission_denied),
         end;
         it != end; ++it) {
      std::string extension = it->path().extension();
      if (extension != ".h" && extension != ".cpp")
        continue;
      ++files;
      std::ifstream file(it->path());
      std::string line;
      while (std::getline(file, line))
        EXPECT_FALSE(std::regex_search(line, include))
            << it->path() << ": " << line;
    }
  EXPECT_GT(files, 50u);
}

#ifdef TESSERA_RUNTIME_PROGRAM
TEST(LinkGraph, RuntimeProgramLoadsNoLlvm) {
  FILE *pipe = popen("ldd '" TESSERA_RUNTIME_PROGRAM "'", "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  std::array<char, 4096> chunk;
  while (size_t count = fread(chunk.data(), 1, chunk.size(), pipe))
    text.append(chunk.data(), count);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_NE(text.find("libstdc++"), std::string::npos) << text;
  EXPECT_EQ(text.find("LLVM"), std::string::npos) << text;
  EXPECT_EQ(text.find("MLIR"), std::string::npos) << text;
}
#endif

} // namespace
