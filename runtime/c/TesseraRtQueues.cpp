//===- TesseraRtQueues.cpp - Queues and programs of the C interface ------===//
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
// Queues
//===----------------------------------------------------------------------===//

tessera_rt_status
tessera_rt_queue_create(tessera_rt_space *space,
                        const tessera_rt_queue_options *options,
                        tessera_rt_queue **queue, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(queue, "queue"));
    tessera_rt_queue_options o{};
    if (options)
      TESSERA_RETURN_IF_ERROR(readArguments(options, o, "queue options"));
    if (o.priority > 15)
      return invalid(fmt::format("queue options: priority {}; must be 0 to 15",
                                 o.priority));
    QueueOptions made;
    if (o.packets)
      made.packets = o.packets;
    made.priority = uint8_t(o.priority);
    made.inOrder = o.in_order != 0;
    made.label = text(o.label, "queue");
    TESSERA_ASSIGN_OR_RETURN(
        Queue result, Queue::create(handleOf<AddressSpace>(space), made));
    *queue = new tessera_rt_queue{std::move(result), space->device};
    return Status::success();
  });
}
void tessera_rt_queue_release(tessera_rt_queue *queue) { delete queue; }

tessera_rt_status tessera_rt_queue_copy(tessera_rt_queue *queue,
                                        tessera_rt_range destination,
                                        tessera_rt_range source,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).copy(rangeOf(destination), rangeOf(source),
                                       options);
  });
}

tessera_rt_status tessera_rt_queue_fill(tessera_rt_queue *queue,
                                        tessera_rt_range destination,
                                        uint32_t pattern,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).fill(rangeOf(destination), pattern, options);
  });
}

tessera_rt_status tessera_rt_queue_update(tessera_rt_queue *queue,
                                          tessera_rt_range destination,
                                          const void *data, uint64_t bytes,
                                          const tessera_rt_submit *submit,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(auto from, bytesOf(data, bytes));
    return handleOf<Queue>(queue).update(rangeOf(destination), from, options);
  });
}

tessera_rt_status tessera_rt_queue_read_back(
    tessera_rt_queue *queue, tessera_rt_range source, void *data,
    uint64_t bytes, const tessera_rt_submit *submit,
    const tessera_rt_deadline *deadline, tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(auto to, bytesOf(data, bytes));
    TESSERA_ASSIGN_OR_RETURN(
        Deadline until, deadlineOf(deadline, queue ? queue->device : Device(),
                                   Deadline::infinite()));
    return handleOf<Queue>(queue).readBack(rangeOf(source), to, options, until);
  });
}

tessera_rt_status tessera_rt_queue_barrier(tessera_rt_queue *queue,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).barrier(options);
  });
}

tessera_rt_status tessera_rt_queue_barrier_any(tessera_rt_queue *queue,
                                               const tessera_rt_submit *submit,
                                               tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).barrierAny(options);
  });
}

tessera_rt_status tessera_rt_queue_signal(tessera_rt_queue *queue,
                                          const tessera_rt_submit *submit,
                                          tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).signal(options);
  });
}

tessera_rt_status tessera_rt_queue_timestamp(tessera_rt_queue *queue,
                                             tessera_rt_range destination,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).timestamp(rangeOf(destination), options);
  });
}

tessera_rt_status tessera_rt_queue_host_call(tessera_rt_queue *queue,
                                             tessera_rt_host_function function,
                                             void *context,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    std::function<Status()> call;
    if (function)
      call = [function, context]() -> Status {
        tessera_rt_status status = function(context);
        if (status == TESSERA_RT_OK)
          return Status::success();
        bool known = status > 0 && status <= TESSERA_RT_INTERNAL;
        return Status(known ? static_cast<StatusCode>(status)
                            : StatusCode::Internal,
                      fmt::format("the function returned {}", int(status)));
      };
    return handleOf<Queue>(queue).hostCall(call, options);
  });
}

tessera_rt_status tessera_rt_queue_execute(tessera_rt_queue *queue,
                                           tessera_rt_commands *commands,
                                           tessera_rt_buffer *const *bindings,
                                           size_t binding_count,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    if (binding_count && !bindings)
      return invalid(
          fmt::format("execute: {} bindings at a null pointer", binding_count));
    std::vector<Buffer> buffers;
    for (size_t i = 0; i < binding_count; ++i)
      buffers.push_back(handleOf<Buffer>(bindings[i]));
    return handleOf<Queue>(queue).execute(handleOf<CommandBuffer>(commands),
                                          buffers, options);
  });
}

tessera_rt_status
tessera_rt_queue_wait_idle(tessera_rt_queue *queue,
                           const tessera_rt_deadline *deadline,
                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(
        Deadline until, deadlineOf(deadline, queue ? queue->device : Device(),
                                   Deadline::infinite()));
    return handleOf<Queue>(queue).waitIdle(until);
  });
}
tessera_rt_status tessera_rt_queue_reset(tessera_rt_queue *queue,
                                         tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Queue>(queue).reset(); });
}
tessera_rt_status tessera_rt_queue_status(tessera_rt_queue *queue,
                                          tessera_rt_error *error) {
  return guarded(error, [&] { return handleOf<Queue>(queue).status(); });
}
uint64_t tessera_rt_queue_submitted(const tessera_rt_queue *queue) {
  return queue ? queue->object.submitted() : 0;
}
uint64_t tessera_rt_queue_completed(const tessera_rt_queue *queue) {
  return queue ? queue->object.completed() : 0;
}

//===----------------------------------------------------------------------===//
// Command buffers and executables
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

tessera_rt_status tessera_rt_commands_finish(tessera_rt_commands *commands,
                                             tessera_rt_error *error) {
  return guarded(error,
                 [&] { return handleOf<CommandBuffer>(commands).finish(); });
}

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
uint64_t
tessera_rt_executable_tensor_bytes(const tessera_rt_executable *executable,
                                   size_t tensor) {
  if (!executable)
    return 0;
  auto inputs = executable->object.inputs();
  auto outputs = executable->object.outputs();
  if (tensor < inputs.size())
    return inputs[tensor].bytes;
  tensor -= inputs.size();
  return tensor < outputs.size() ? outputs[tensor].bytes : 0;
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
