//===- FuzzTest.cpp - Damaged architecture files --------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/Arch/Architecture.h"
#include "tessera/Support/Random.h"
#include <gtest/gtest.h>

using namespace tessera;

/// One random edit: a byte, a deletion, a copy of a part, or a token that YAML
/// or the schema treats in a special way.
static void mutate(std::string &text, Random &random) {
  static constexpr std::string_view tokens[] = {":",
                                                "\n",
                                                "  ",
                                                "{",
                                                "}",
                                                "[",
                                                "]",
                                                "*a",
                                                "&a ",
                                                "<<: ",
                                                "!!",
                                                "|",
                                                ">",
                                                "\"",
                                                "'",
                                                "#",
                                                "-1",
                                                "0",
                                                "1e9",
                                                "~",
                                                ".nan",
                                                "---\n",
                                                "\t",
                                                "? ",
                                                "- ",
                                                "KiB",
                                                "18446744073709551616",
                                                "preset: HBM3-6400\n"};
  size_t at = random.below(text.size() + 1);
  switch (random.below(4)) {
  case 0:
    if (at < text.size())
      text[at] = char(random.next());
    break;
  case 1:
    text.erase(at, random.below(20));
    break;
  case 2:
    text.insert(at,
                text.substr(random.below(text.size() + 1), random.below(60)));
    break;
  default:
    text.insert(at, tokens[random.below(std::size(tokens))]);
  }
}

TEST(ArchitectureFuzz, MutationsNeverCrash) {
  Random random(2024);
  unsigned accepted = 0;
  for (std::string_view name : architecturePresets()) {
    const std::string original(*architecturePresetText(name));
    const std::string printed = printArchitecture(*loadArchitecture(name));
    for (int i = 0; i < 1000; ++i) {
      std::string text = i % 2 ? original : printed;
      for (uint64_t n = random.below(5) + 1; n > 0; --n)
        mutate(text, random);
      Result<Architecture> arch = parseArchitecture(text, "fuzz.yaml");
      if (!arch.ok()) {
        EXPECT_EQ(arch.status().message().find("fuzz.yaml:"), 0u);
        continue;
      }
      ++accepted;
      Result<Architecture> back =
          parseArchitecture(printArchitecture(*arch), "printed");
      ASSERT_TRUE(back.ok()) << back.status().message() << "\n" << text;
      EXPECT_EQ(*back, *arch) << text;
    }
  }
  EXPECT_GT(accepted, 100u) << "the mutations must not all be refused";
}

TEST(ArchitectureFuzz, DeepNestingIsRefused) {
  for (std::string_view open : {"[", "{a: ", "- ", "? "}) {
    std::string text = "name: ";
    for (int i = 0; i < 20000; ++i)
      text += open;
    EXPECT_FALSE(parseArchitecture(text, "deep.yaml").ok());
  }
}
