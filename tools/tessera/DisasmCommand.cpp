//===- DisasmCommand.cpp - tessera disasm ---------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Command.h"
#include "ObjectFile.h"
#include "tessera/Object/Print.h"
#include <fmt/format.h>

namespace tessera::tool {

void addDisasmCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      app.add_subcommand("disasm", "Prints all that an object holds");
  auto path = std::make_shared<std::string>();
  command->add_option("OBJECT", *path, "Object file (.tsr)")->required();
  command->callback([&action, path] {
    action = [path]() -> int {
      Result<Object> object = readObjectFile(*path);
      if (!object)
        return fail(object.status());
      fmt::print("{}", disassembleObject(*object));
      return exitGood;
    };
  });
}

} // namespace tessera::tool
