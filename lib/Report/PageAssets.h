//===- PageAssets.h - The parts of the page ---------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_LIB_REPORT_PAGEASSETS_H
#define TESSERA_LIB_REPORT_PAGEASSETS_H

#include <string_view>

namespace tessera::report::assets {

extern const std::string_view page, style, script, plotStyle, plotScript;

} // namespace tessera::report::assets

#endif // TESSERA_LIB_REPORT_PAGEASSETS_H
