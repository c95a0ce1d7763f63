//===- TesseraRtQueues.cpp - Queues of the C interface -------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
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
    made.firstId = o.first_id;
    made.firstIndex = o.first_index;
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
        tessera_rt_status returned = function(context);
        auto code = numberOf(returned);
        if (code == TESSERA_RT_OK)
          return Status::success();
        return Status(code <= TESSERA_RT_INTERNAL
                          ? static_cast<StatusCode>(code)
                          : StatusCode::Internal,
                      fmt::format("the function returned {}", code));
      };
    return handleOf<Queue>(queue).hostCall(call, options);
  });
}

tessera_rt_status tessera_rt_queue_dispatch(tessera_rt_queue *queue,
                                            const tessera_rt_kernel *kernel,
                                            tessera_rt_range arguments,
                                            tessera_rt_cores cores,
                                            const tessera_rt_submit *submit,
                                            tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    return handleOf<Queue>(queue).dispatch(
        handleOf<Kernel>(kernel), rangeOf(arguments), coresOf(cores), options);
  });
}

tessera_rt_status tessera_rt_queue_submit_raw(tessera_rt_queue *queue,
                                              const void *packet,
                                              uint64_t bytes,
                                              const tessera_rt_submit *submit,
                                              tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(auto image, octetsOf(packet, bytes));
    return handleOf<Queue>(queue).submitRaw(image, options);
  });
}

//===----------------------------------------------------------------------===//
// Reservations
//===----------------------------------------------------------------------===//

tessera_rt_status tessera_rt_queue_reserve(tessera_rt_queue *queue,
                                           uint32_t count,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_reservation **reservation,
                                           tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    TESSERA_RETURN_IF_ERROR(checkOutput(reservation, "reservation"));
    TESSERA_ASSIGN_OR_RETURN(SubmitOptions options, submitOf(submit));
    TESSERA_ASSIGN_OR_RETURN(Reservation made,
                             handleOf<Queue>(queue).reserve(count, options));
    *reservation = new tessera_rt_reservation{std::move(made)};
    return Status::success();
  });
}
tessera_rt_status
tessera_rt_reservation_write(tessera_rt_reservation *reservation, uint32_t slot,
                             const void *packet, uint64_t bytes,
                             tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    if (!reservation)
      return empty("reservation");
    TESSERA_ASSIGN_OR_RETURN(auto image, octetsOf(packet, bytes));
    return reservation->object.write(slot, image);
  });
}
tessera_rt_status
tessera_rt_reservation_publish(tessera_rt_reservation *reservation,
                               tessera_rt_error *error) {
  return guarded(error, [&]() -> Status {
    return reservation ? reservation->object.publish() : empty("reservation");
  });
}
uint32_t
tessera_rt_reservation_count(const tessera_rt_reservation *reservation) {
  return reservation ? reservation->object.count() : 0;
}
void tessera_rt_reservation_release(tessera_rt_reservation *reservation) {
  delete reservation;
}

//===----------------------------------------------------------------------===//
// Execution, waiting, state
//===----------------------------------------------------------------------===//

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
const char *tessera_rt_queue_label(const tessera_rt_queue *queue) {
  return labelOf(queue);
}
uint32_t tessera_rt_queue_priority(const tessera_rt_queue *queue) {
  return queue ? queue->object.priority() : 0;
}
