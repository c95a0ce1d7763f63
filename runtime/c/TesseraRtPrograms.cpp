//===- TesseraRtPrograms.cpp - Command buffers and kernels for C ----------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "tessera/Object/Object.h"
#include <fmt/format.h>

using namespace tessera;
using namespace tessera::runtime;
using namespace tessera::c;

//===----------------------------------------------------------------------===//
// Command buffers
//===----------------------------------------------------------------------===//

static Operand operandOf(const tessera_rt_operand &operand) {
  if (operand.range.buffer)
    return rangeOf(operand.range);
  return Binding{operand.binding, operand.range.offset};
}

tessera_rt_status tessera_rt_commands_create(tessera_rt_space *space,
                                             const char *label,
                                             tessera_rt_commands **commands,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(commands, "commands"));
    TESSERA_ASSIGN_OR_RETURN(
        CommandBuffer made,
        CommandBuffer::create(handleOf<AddressSpace>(space),
                              text(label, "command buffer")));
    *commands = new tessera_rt_commands{std::move(made)};
    return Status::success();
  });
}
void tessera_rt_commands_release(tessera_rt_commands *commands) {
  delete commands;
}

tessera_rt_status tessera_rt_commands_copy(tessera_rt_commands *commands,
                                           tessera_rt_operand destination,
                                           tessera_rt_operand source,
                                           uint64_t bytes, int barrier,
                                           tessera_rt_error *error) {
  return guarded(error, [&] {
    return handleOf<CommandBuffer>(commands).copy(
        operandOf(destination), operandOf(source), bytes, barrier != 0);
  });
}

tessera_rt_status tessera_rt_commands_fill(tessera_rt_commands *commands,
                                           tessera_rt_operand destination,
                                           uint64_t bytes, uint32_t pattern,
                                           int barrier,
                                           tessera_rt_error *error) {
  return guarded(error, [&] {
    return handleOf<CommandBuffer>(commands).fill(operandOf(destination), bytes,
                                                  pattern, barrier != 0);
  });
}

tessera_rt_status tessera_rt_commands_dispatch(tessera_rt_commands *commands,
                                               const tessera_rt_kernel *kernel,
                                               tessera_rt_operand arguments,
                                               tessera_rt_cores cores,
                                               int barrier,
                                               tessera_rt_error *error) {
  return guarded(error, [&] {
    // Else a null buffer would mean a binding.
    bool takesAny = kernel && kernel->object.numArguments;
    return handleOf<CommandBuffer>(commands).dispatch(
        handleOf<Kernel>(kernel),
        takesAny ? operandOf(arguments) : Operand(BufferRange()),
        coresOf(cores), barrier != 0);
  });
}

tessera_rt_status
tessera_rt_commands_append(tessera_rt_commands *commands, const void *packets,
                           uint64_t bytes, const tessera_rt_patch *patches,
                           size_t patch_count, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(auto images, octetsOf(packets, bytes));
    if (patch_count && !patches)
      return invalid(
          fmt::format("append: {} patches at a null pointer", patch_count));
    std::vector<CommandBuffer::Patch> made;
    for (size_t i = 0; i < patch_count; ++i)
      made.push_back({handleOf<Buffer>(patches[i].target), patches[i].offset,
                      Binding{patches[i].binding, patches[i].binding_offset}});
    return handleOf<CommandBuffer>(commands).append(images, made);
  });
}

tessera_rt_status
tessera_rt_commands_require(tessera_rt_commands *commands,
                            const tessera_rt_requirement *bindings,
                            size_t binding_count, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (binding_count && !bindings)
      return invalid(
          fmt::format("require: {} bindings at a null pointer", binding_count));
    std::vector<BindingRequirement> made;
    for (size_t i = 0; i < binding_count; ++i) {
      TESSERA_ASSIGN_OR_RETURN(Use use, useOf(bindings[i].use, "require"));
      made.push_back({text(bindings[i].name, ""), bindings[i].bytes, use});
    }
    return handleOf<CommandBuffer>(commands).require(std::move(made));
  });
}

tessera_rt_status tessera_rt_commands_uses(tessera_rt_commands *commands,
                                           const tessera_rt_use *use,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!use)
      return invalid("uses: a null pointer");
    TESSERA_ASSIGN_OR_RETURN(Use how, useOf(use->use, "uses"));
    return handleOf<CommandBuffer>(commands).uses(rangeOf(use->range), how);
  });
}

tessera_rt_status tessera_rt_commands_name(tessera_rt_commands *commands,
                                           uint32_t index, const char *name,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!commands)
      return empty("commands");
    if (!name)
      return invalid("command name: a null pointer");
    commands->object.nameCommand(index, name);
    return Status::success();
  });
}

uint32_t tessera_rt_commands_count(const tessera_rt_commands *commands) {
  return commands ? commands->object.numCommands() : 0;
}
uint32_t tessera_rt_commands_bindings(const tessera_rt_commands *commands) {
  return commands ? commands->object.numBindings() : 0;
}
const char *tessera_rt_commands_label(const tessera_rt_commands *commands) {
  return labelOf(commands);
}

tessera_rt_status tessera_rt_commands_finish(tessera_rt_commands *commands,
                                             tessera_rt_error *error) {
  return guarded(error,
                 [&] { return handleOf<CommandBuffer>(commands).finish(); });
}

//===----------------------------------------------------------------------===//
// Executables and kernels
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_executable_load(tessera_rt_space *space,
                                             const void *object, uint64_t bytes,
                                             const char *label,
                                             tessera_rt_executable **executable,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(executable, "executable"));
    TESSERA_RETURN_IF_ERROR(bytesOf(object, bytes).status());
    std::string name = text(label, "executable");
    TESSERA_ASSIGN_OR_RETURN(
        Object read, readObject(std::span(static_cast<const uint8_t *>(object),
                                          size_t(bytes)),
                                name));
    TESSERA_ASSIGN_OR_RETURN(
        Executable made,
        Executable::load(handleOf<AddressSpace>(space), read, name));
    *executable = new tessera_rt_executable{std::move(made)};
    return Status::success();
  });
}
void tessera_rt_executable_release(tessera_rt_executable *executable) {
  delete executable;
}
size_t tessera_rt_executable_inputs(const tessera_rt_executable *executable) {
  return executable ? executable->object.inputs().size() : 0;
}
size_t tessera_rt_executable_outputs(const tessera_rt_executable *executable) {
  return executable ? executable->object.outputs().size() : 0;
}

/// Inputs first, then outputs; null beyond them.
static const TensorSignature *tensorOf(const tessera_rt_executable *executable,
                                       size_t tensor) {
  if (!executable)
    return nullptr;
  auto inputs = executable->object.inputs();
  auto outputs = executable->object.outputs();
  if (tensor < inputs.size())
    return &inputs[tensor];
  tensor -= inputs.size();
  return tensor < outputs.size() ? &outputs[tensor] : nullptr;
}

uint64_t
tessera_rt_executable_tensor_bytes(const tessera_rt_executable *executable,
                                   size_t tensor) {
  const TensorSignature *found = tensorOf(executable, tensor);
  return found ? found->bytes : 0;
}
const char *
tessera_rt_executable_tensor_name(const tessera_rt_executable *executable,
                                  size_t tensor) {
  const TensorSignature *found = tensorOf(executable, tensor);
  return found ? found->name.c_str() : nullptr;
}
const char *
tessera_rt_executable_tensor_type(const tessera_rt_executable *executable,
                                  size_t tensor) {
  const TensorSignature *found = tensorOf(executable, tensor);
  return found ? found->type.c_str() : nullptr;
}
size_t
tessera_rt_executable_tensor_shape(const tessera_rt_executable *executable,
                                   size_t tensor, uint64_t *shape,
                                   size_t capacity) {
  const TensorSignature *found = tensorOf(executable, tensor);
  if (!found)
    return 0;
  for (size_t i = 0; shape && i < std::min(capacity, found->shape.size()); ++i)
    shape[i] = found->shape[i];
  return found->shape.size();
}
const char *
tessera_rt_executable_label(const tessera_rt_executable *executable) {
  return labelOf(executable);
}

tessera_rt_status
tessera_rt_executable_kernel(const tessera_rt_executable *executable,
                             const char *name, tessera_rt_kernel **kernel,
                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(kernel, "kernel"));
    if (!executable)
      return empty("executable");
    TESSERA_ASSIGN_OR_RETURN(Kernel found,
                             executable->object.kernel(text(name, "")));
    *kernel = new tessera_rt_kernel{std::move(found)};
    return Status::success();
  });
}

tessera_rt_status
tessera_rt_kernel_create(const tessera_rt_kernel_options *options,
                         tessera_rt_kernel **kernel, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(kernel, "kernel"));
    tessera_rt_kernel_options o;
    TESSERA_RETURN_IF_ERROR(readArguments(options, o, "kernel options"));
    std::string name = text(o.name, "kernel");
    if (!o.record)
      return invalid(fmt::format("kernel options: '{}': a null record", name));
    *kernel = new tessera_rt_kernel{{name, o.record, o.arguments, nullptr}};
    return Status::success();
  });
}
void tessera_rt_kernel_release(tessera_rt_kernel *kernel) { delete kernel; }
const char *tessera_rt_kernel_name(const tessera_rt_kernel *kernel) {
  return kernel ? kernel->object.name.c_str() : "";
}
uint32_t tessera_rt_kernel_arguments(const tessera_rt_kernel *kernel) {
  return kernel ? kernel->object.numArguments : 0;
}
tessera_rt_status
tessera_rt_executable_commands(tessera_rt_executable *executable,
                               tessera_rt_commands **commands,
                               tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(commands, "commands"));
    if (!executable)
      return empty("executable");
    *commands = new tessera_rt_commands{executable->object.commands()};
    return Status::success();
  });
}
