//===- ModuleRunner.h - Compile and run tile modules ----------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_UNIT_EXECUTION_MODULERUNNER_H
#define TESSERA_TEST_UNIT_EXECUTION_MODULERUNNER_H

#include "tessera/Object/Object.h"
#include "tessera/Support/Status.h"
#include <string>
#include <vector>

namespace tessera::test {

/// Lowers a module of tile.kernels and a device.program to an object. Errors
/// are the first diagnostic's text.
Result<Object> compile(const std::string &text, const std::string &arch);

/// A module whose program only dispatches @kernel; all buffers are f32. Inputs
/// come before outputs, as in the kernel.
std::string withProgram(const std::string &kernel,
                        const std::vector<uint64_t> &inputElements,
                        const std::vector<uint64_t> &outputElements,
                        unsigned cores = 1);

/// Runs the object through the runtime on a simulated device.
Result<std::vector<std::vector<float>>>
run(const Object &object, const std::string &arch,
    const std::vector<std::vector<float>> &inputs);

/// Both, failing the test on errors.
std::vector<std::vector<float>>
compileAndRun(const std::string &text, const std::string &arch,
              const std::vector<std::vector<float>> &inputs);

/// Small integers, so that sums are exact in any order.
std::vector<float> randomTensor(size_t elements, unsigned seed);

} // namespace tessera::test

#endif // TESSERA_TEST_UNIT_EXECUTION_MODULERUNNER_H
