//===- ModuleRunner.cpp - Compile and run tile modules --------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModuleRunner.h"
#include "dialects/Device/DeviceDialect.h"
#include "dialects/ISA/ISADialect.h"
#include "dialects/Tile/Tile.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tessera/Conversion/BuildObject.h"
#include "tessera/Conversion/Passes.h"
#include "tessera/driver/SimDriver.h"
#include "tessera/runtime/Executable.h"
#include "tessera/runtime/Queue.h"
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace tessera;

Result<Object> test::compile(const std::string &text, const std::string &arch) {
  mlir::DialectRegistry registry;
  registry.insert<mlir::affine::AffineDialect, mlir::arith::ArithDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, device::DeviceDialect, isa::ISADialect,
                  tile::TileDialect>();
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string message;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          if (message.empty())
                                            message = diagnostic.str();
                                          return mlir::success();
                                        });
  auto failure = [&](StatusCode code) { return Status(code, message); };

  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return failure(StatusCode::InvalidArgument);
  mlir::PassManager manager(&context);
  addLowerToIsaPasses(manager, arch);
  addDevicePasses(manager, arch);
  if (failed(manager.run(*module)))
    return failure(StatusCode::Unsupported);
  TESSERA_ASSIGN_OR_RETURN(Architecture architecture, loadArchitecture(arch));
  return buildObject(*module, architecture);
}

std::string test::withProgram(const std::string &kernel,
                              const std::vector<uint64_t> &inputElements,
                              const std::vector<uint64_t> &outputElements,
                              unsigned cores) {
  std::string inputs, outputs, blockArguments, operands, types;
  unsigned number = 0;
  auto add = [&](uint64_t elements, std::string &tensors) {
    tensors += fmt::format("{}#device.tensor<\"t{}\" : \"f32\", [{}]>",
                           tensors.empty() ? "" : ", ", number, elements);
    const char *comma = number == 0 ? "" : ", ";
    std::string type = fmt::format("!device.buffer<{}>", 4 * elements);
    blockArguments += fmt::format("{}%b{}: {}", comma, number, type);
    operands += fmt::format("{}%b{}", comma, number);
    types += comma + type;
    ++number;
  };
  for (uint64_t elements : inputElements)
    add(elements, inputs);
  for (uint64_t elements : outputElements)
    add(elements, outputs);
  return kernel + fmt::format(R"(
device.program @main inputs [{}] outputs [{}] {{
^bb0({}):
  device.dispatch @kernel({}) cores = [{}, 1] nodes = ["kernel"] : {}
  device.return
}})",
                              inputs, outputs, blockArguments, operands, cores,
                              types);
}

Result<std::vector<std::vector<float>>>
test::run(const Object &object, const std::string &arch,
          const std::vector<std::vector<float>> &inputs) {
  TESSERA_ASSIGN_OR_RETURN(Architecture architecture, loadArchitecture(arch));
  TESSERA_ASSIGN_OR_RETURN(
      runtime::Device device,
      runtime::Device::create(
          std::make_unique<driver::SimDriver>(architecture)));
  TESSERA_ASSIGN_OR_RETURN(runtime::AddressSpace space,
                           runtime::AddressSpace::create(device));
  TESSERA_ASSIGN_OR_RETURN(runtime::Queue queue, runtime::Queue::create(space));
  TESSERA_ASSIGN_OR_RETURN(runtime::Executable executable,
                           runtime::Executable::load(space, object));
  std::vector<runtime::Buffer> bindings;
  for (size_t i = 0; i < object.inputs.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(runtime::Buffer buffer,
                             space.allocate(object.inputs[i].bytes));
    TESSERA_RETURN_IF_ERROR(
        buffer.write(0, std::as_bytes(std::span(inputs.at(i)))));
    bindings.push_back(buffer);
  }
  for (const TensorSignature &output : object.outputs) {
    TESSERA_ASSIGN_OR_RETURN(runtime::Buffer buffer,
                             space.allocate(output.bytes));
    bindings.push_back(buffer);
  }
  TESSERA_RETURN_IF_ERROR(queue.execute(executable.commands(), bindings));
  TESSERA_RETURN_IF_ERROR(queue.waitIdle());
  std::vector<std::vector<float>> outputs;
  for (size_t i = 0; i < object.outputs.size(); ++i) {
    std::vector<float> data(object.outputs[i].bytes / sizeof(float));
    TESSERA_RETURN_IF_ERROR(bindings[object.inputs.size() + i].read(
        0, std::as_writable_bytes(std::span(data))));
    outputs.push_back(std::move(data));
  }
  return outputs;
}

std::vector<std::vector<float>>
test::compileAndRun(const std::string &text, const std::string &arch,
                    const std::vector<std::vector<float>> &inputs) {
  Result<Object> object = compile(text, arch);
  if (!object) {
    ADD_FAILURE() << "compile: " << object.status().message();
    return {};
  }
  auto outputs = run(*object, arch, inputs);
  if (!outputs) {
    ADD_FAILURE() << "run: " << outputs.status().message();
    return {};
  }
  return std::move(*outputs);
}

std::vector<float> test::randomTensor(size_t elements, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(elements);
  for (float &value : values)
    value = float(int(random() % 17) - 8);
  return values;
}
