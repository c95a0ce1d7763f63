/*===- tessera_rt.h - The device runtime for C --------------------*- C -*-===*\
|*
|* Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* The objects of the C++ runtime (tessera/runtime) behind opaque handles; what
|* each call does, checks and returns is documented there and in docs/runtime.
|*
|* Handles: every create gives one reference; release drops it, in any order, at
|* any time, also of NULL. Calls may come from any thread.
|*
|* Structs begin with struct_size, to be set to sizeof of the struct as the
|* caller was compiled with it. A smaller size than the library's leaves the
|* newer members at 0; a larger one is accepted while what the library does not
|* know is 0. A missing struct_size is InvalidArgument.
|*
|* Errors: every call returns a tessera_rt_status and, if `error` is not NULL,
|* writes code and message there, also on success. Outputs are written on
|* success only.
|*
\*===----------------------------------------------------------------------===*/

#ifndef TESSERA_RT_H
#define TESSERA_RT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_RT_VERSION 4

typedef enum tessera_rt_status {
  TESSERA_RT_OK = 0,
  TESSERA_RT_INVALID_ARGUMENT = 1,
  TESSERA_RT_FAILED_PRECONDITION = 2,
  TESSERA_RT_RESOURCE_EXHAUSTED = 3,
  TESSERA_RT_OUT_OF_MEMORY = 4,
  TESSERA_RT_DEADLINE_EXCEEDED = 5,
  TESSERA_RT_CANCELLED = 6,
  TESSERA_RT_ABORTED = 7,
  TESSERA_RT_PAGE_FAULT = 8,
  TESSERA_RT_BUS_ERROR = 9,
  TESSERA_RT_TIMEOUT = 10,
  TESSERA_RT_DEVICE_LOST = 11,
  TESSERA_RT_DEADLOCK = 12,
  TESSERA_RT_UNSUPPORTED = 13,
  TESSERA_RT_INTERNAL = 14
} tessera_rt_status;

/** Filled in by the callee; needs no initialisation. Longer messages are cut.
 */
typedef struct tessera_rt_error {
  tessera_rt_status code;
  char message[1024];
} tessera_rt_error;

/** The code's name, e.g. "PageFault"; "Unknown" for any other number. */
const char *tessera_rt_status_name(tessera_rt_status status);

typedef struct tessera_rt_device tessera_rt_device;
typedef struct tessera_rt_space tessera_rt_space;
typedef struct tessera_rt_buffer tessera_rt_buffer;
typedef struct tessera_rt_semaphore tessera_rt_semaphore;
typedef struct tessera_rt_queue tessera_rt_queue;
typedef struct tessera_rt_commands tessera_rt_commands;
typedef struct tessera_rt_executable tessera_rt_executable;
typedef struct tessera_rt_kernel tessera_rt_kernel;
typedef struct tessera_rt_pool tessera_rt_pool;
typedef struct tessera_rt_reservation tessera_rt_reservation;
typedef struct tessera_rt_snapshot tessera_rt_snapshot;
typedef struct tessera_rt_trace tessera_rt_trace;

/*===----------------------------------------------------------------------===*/
/* Devices                                                                    */
/*===----------------------------------------------------------------------===*/

typedef enum tessera_rt_back_end {
  TESSERA_RT_SIMULATOR = 0, /**< The cycle-level simulator. */
  TESSERA_RT_NULL = 1       /**< No engines: tests, host costs. */
} tessera_rt_back_end;

/** What the host takes, nanoseconds of device time; see HostCosts. */
typedef struct tessera_rt_host_costs {
  uint64_t submit_ns, access_ns, wake_ns, host_call_ns;
} tessera_rt_host_costs;

typedef struct tessera_rt_device_options {
  size_t struct_size;
  const char *architecture; /**< Preset or file; NULL: "tiny". */
  tessera_rt_back_end back_end;
  uint64_t host_memory_bytes; /**< 0: the back end's default. */
  const char *label;          /**< NULL: "device". */
  /* Of the simulator. */
  uint64_t seed;   /**< Which schedule is explored. */
  int explore;     /**< Permutes by `seed` what the memory model leaves open. */
  int timing_only; /**< Computes nothing and moves no tensor data. */
  tessera_rt_host_costs host_costs;
} tessera_rt_device_options;

tessera_rt_status
tessera_rt_device_create(const tessera_rt_device_options *options,
                         tessera_rt_device **device, tessera_rt_error *error);
void tessera_rt_device_release(tessera_rt_device *device);
/** Cancels everything; see Device::close(). */
tessera_rt_status tessera_rt_device_close(tessera_rt_device *device,
                                          tessera_rt_error *error);
/** Device time and the length of a core cycle, femtoseconds. */
tessera_rt_status tessera_rt_device_time(tessera_rt_device *device,
                                         uint64_t *now, uint64_t *cycle,
                                         tessera_rt_error *error);

/** Brings a lost device back; see Device::reset(). */
tessera_rt_status tessera_rt_device_reset(tessera_rt_device *device,
                                          tessera_rt_error *error);
/** Looks for races from now on; see docs/diagnosis.md. */
tessera_rt_status tessera_rt_device_detect_races(tessera_rt_device *device,
                                                 tessera_rt_error *error);

/** The same with what kernels really touch; see Device::observeKernels(). */
tessera_rt_status tessera_rt_device_observe_kernels(tessera_rt_device *device,
                                                    tessera_rt_error *error);

typedef enum tessera_rt_report {
  TESSERA_RT_HANG_DUMP = 0, /**< Why nothing moves. */
  TESSERA_RT_FAULTS = 1,    /**< A line each, oldest first; none: "". */
  TESSERA_RT_RACES = 2,     /**< The same. */
  TESSERA_RT_UNDECLARED = 3 /**< What kernels touch beyond what is declared. */
} tessera_rt_report;

/** A report as text, ended by 0 and cut to `capacity` bytes. `needed`, which
 *  may be NULL, is the capacity that takes all of it; `text` may be NULL if
 *  `capacity` is 0. */
tessera_rt_status tessera_rt_device_report(tessera_rt_device *device,
                                           tessera_rt_report report, char *text,
                                           size_t capacity, size_t *needed,
                                           tessera_rt_error *error);

/** Internal if the engines did not do what the operations reported complete
 *  ask for. */
tessera_rt_status tessera_rt_device_check_work(tessera_rt_device *device,
                                               tessera_rt_error *error);
/** "" for NULL; valid until the handle is released, as of every label. */
const char *tessera_rt_device_label(const tessera_rt_device *device);

/** Counts since the device was created; see DeviceStatistics. */
typedef struct tessera_rt_device_statistics {
  size_t struct_size;
  uint64_t operations_accepted, operations_completed, operations_cancelled;
  uint64_t operations_parked; /**< Now. */
  uint64_t slot_switches;
  uint64_t notifications, notification_overflows;
  uint64_t host_time; /**< That the host's work took, femtoseconds. */
} tessera_rt_device_statistics;
/** `statistics->struct_size` is the caller's; what a newer library counts
 *  beyond it is left out, and so it is in all that is written into structs. */
tessera_rt_status
tessera_rt_device_read_statistics(tessera_rt_device *device,
                                  tessera_rt_device_statistics *statistics,
                                  tessera_rt_error *error);

/** The device's state at rest; see Device::snapshot(). */
tessera_rt_status tessera_rt_device_snapshot(tessera_rt_device *device,
                                             tessera_rt_snapshot **snapshot,
                                             tessera_rt_error *error);
tessera_rt_status tessera_rt_device_restore(tessera_rt_device *device,
                                            const tessera_rt_snapshot *snapshot,
                                            tessera_rt_error *error);
/** What was saved; NULL and 0 for NULL. */
const void *tessera_rt_snapshot_data(const tessera_rt_snapshot *snapshot);
uint64_t tessera_rt_snapshot_size(const tessera_rt_snapshot *snapshot);
void tessera_rt_snapshot_release(tessera_rt_snapshot *snapshot);

/** Everything that the device and the host do from now on, for a file whose
 * name ends in .pftrace; see Trace. */
tessera_rt_status tessera_rt_trace_begin(tessera_rt_device *device,
                                         const char *path,
                                         tessera_rt_trace **trace,
                                         tessera_rt_error *error);
/** Puts the file in its place. */
tessera_rt_status tessera_rt_trace_finish(tessera_rt_trace *trace,
                                          tessera_rt_error *error);
/** Without tessera_rt_trace_finish() before, no file appears. */
void tessera_rt_trace_release(tessera_rt_trace *trace);

/** A thread of a program that takes turns with others. */
typedef struct tessera_rt_virtual_thread {
  void (*body)(void *context);
  void *context;
} tessera_rt_virtual_thread;
/** Runs all threads to their end, interleaved by device time and the seed; see
 *  VirtualThreads. `turns`, which may be NULL, is part of what must be equal in
 *  equal runs. */
tessera_rt_status
tessera_rt_run_virtual_threads(tessera_rt_device *device, uint64_t seed,
                               const tessera_rt_virtual_thread *threads,
                               size_t thread_count, uint64_t *turns,
                               tessera_rt_error *error);

/*===----------------------------------------------------------------------===*/
/* Waiting                                                                    */
/*===----------------------------------------------------------------------===*/

typedef enum tessera_rt_deadline_kind {
  TESSERA_RT_INFINITE = 0,
  TESSERA_RT_POLL = 1,
  TESSERA_RT_AT_TIME = 2,      /**< value: device time, femtoseconds. */
  TESSERA_RT_AFTER_CYCLES = 3, /**< value: core cycles from now. */
  TESSERA_RT_AFTER_HOST_NS = 4 /**< value: nanoseconds of the host's clock. */
} tessera_rt_deadline_kind;

typedef struct tessera_rt_deadline {
  size_t struct_size;
  tessera_rt_deadline_kind kind;
  uint64_t value;
} tessera_rt_deadline;

/*===----------------------------------------------------------------------===*/
/* Memory                                                                     */
/*===----------------------------------------------------------------------===*/

typedef enum tessera_rt_memory {
  TESSERA_RT_DRAM = 0,
  TESSERA_RT_SHARED = 1,
  TESSERA_RT_HOST = 2
} tessera_rt_memory;

enum { /* Of tessera_rt_buffer_options::access; READ and WRITE also of uses. */
       TESSERA_RT_READ = 1,
       TESSERA_RT_WRITE = 2,
       TESSERA_RT_EXECUTE = 4
};

typedef struct tessera_rt_buffer_options {
  size_t struct_size;
  uint64_t bytes;
  tessera_rt_memory memory;
  uint32_t access;   /**< 0: read and write. */
  const char *label; /**< NULL: "buffer". */
} tessera_rt_buffer_options;

typedef enum tessera_rt_when_in_use {
  TESSERA_RT_REFUSE = 0,
  TESSERA_RT_DEFER = 1,
  TESSERA_RT_FORCE = 2
} tessera_rt_when_in_use;

tessera_rt_status tessera_rt_space_create(tessera_rt_device *device,
                                          const char *label,
                                          tessera_rt_space **space,
                                          tessera_rt_error *error);
void tessera_rt_space_release(tessera_rt_space *space);

const char *tessera_rt_space_label(const tessera_rt_space *space);
/** Physical address of the level-3 page table. */
uint64_t tessera_rt_space_root(const tessera_rt_space *space);

/** The parts of a buffer's creation, for layouts of one's own. Bytes and
 *  addresses are multiples of 64 KiB; access 0 means read and write. */
tessera_rt_status tessera_rt_space_reserve(tessera_rt_space *space,
                                           uint64_t bytes, uint64_t *address,
                                           tessera_rt_error *error);
tessera_rt_status
tessera_rt_space_map(tessera_rt_space *space, uint64_t address,
                     tessera_rt_memory memory, uint64_t physical,
                     uint64_t bytes, uint32_t access, tessera_rt_error *error);
tessera_rt_status tessera_rt_space_unmap(tessera_rt_space *space,
                                         uint64_t address, uint64_t bytes,
                                         tessera_rt_error *error);
tessera_rt_status tessera_rt_space_protect(tessera_rt_space *space,
                                           uint64_t address, uint64_t bytes,
                                           uint32_t access,
                                           tessera_rt_error *error);

/** See AddressSpaceStatistics. */
typedef struct tessera_rt_space_statistics {
  size_t struct_size;
  uint64_t buffers, small_pages, large_pages, table_bytes, reserved_bytes;
} tessera_rt_space_statistics;
tessera_rt_status
tessera_rt_space_read_statistics(const tessera_rt_space *space,
                                 tessera_rt_space_statistics *statistics,
                                 tessera_rt_error *error);

/** Of one physical space, bytes; see MemoryStatistics. */
typedef struct tessera_rt_memory_statistics {
  size_t struct_size;
  uint64_t total, used, peak_used, largest_free, allocations, failures;
} tessera_rt_memory_statistics;
tessera_rt_status tessera_rt_memory_read_statistics(
    const tessera_rt_device *device, tessera_rt_memory memory,
    tessera_rt_memory_statistics *statistics, tessera_rt_error *error);

tessera_rt_status
tessera_rt_buffer_create(tessera_rt_space *space,
                         const tessera_rt_buffer_options *options,
                         tessera_rt_buffer **buffer, tessera_rt_error *error);
void tessera_rt_buffer_release(tessera_rt_buffer *buffer);
uint64_t tessera_rt_buffer_address(const tessera_rt_buffer *buffer);
uint64_t tessera_rt_buffer_size(const tessera_rt_buffer *buffer);
tessera_rt_memory tessera_rt_buffer_memory(const tessera_rt_buffer *buffer);
const char *tessera_rt_buffer_label(const tessera_rt_buffer *buffer);
/** Through the memory window: no device time. */
tessera_rt_status tessera_rt_buffer_write(tessera_rt_buffer *buffer,
                                          uint64_t offset, const void *data,
                                          uint64_t bytes,
                                          tessera_rt_error *error);
tessera_rt_status tessera_rt_buffer_read(const tessera_rt_buffer *buffer,
                                         uint64_t offset, void *data,
                                         uint64_t bytes,
                                         tessera_rt_error *error);
tessera_rt_status tessera_rt_buffer_unmap(tessera_rt_space *space,
                                          tessera_rt_buffer *buffer,
                                          tessera_rt_when_in_use when,
                                          tessera_rt_error *error);

/*===----------------------------------------------------------------------===*/
/* Semaphores                                                                 */
/*===----------------------------------------------------------------------===*/

typedef struct tessera_rt_semaphore_options {
  size_t struct_size;
  int host_may_signal;
  const char *label; /**< NULL: "semaphore". */
} tessera_rt_semaphore_options;

/** `options` may be NULL. */
tessera_rt_status tessera_rt_semaphore_create(
    tessera_rt_device *device, const tessera_rt_semaphore_options *options,
    tessera_rt_semaphore **semaphore, tessera_rt_error *error);
void tessera_rt_semaphore_release(tessera_rt_semaphore *semaphore);
const char *tessera_rt_semaphore_label(const tessera_rt_semaphore *semaphore);
/** In the device's table, for packets of one's own; 0 for NULL. */
uint32_t tessera_rt_semaphore_index(const tessera_rt_semaphore *semaphore);
tessera_rt_status tessera_rt_semaphore_value(tessera_rt_semaphore *semaphore,
                                             uint64_t *value,
                                             tessera_rt_error *error);
tessera_rt_status tessera_rt_semaphore_signal(tessera_rt_semaphore *semaphore,
                                              uint64_t value,
                                              tessera_rt_error *error);
/** `deadline` NULL: infinite. */
tessera_rt_status tessera_rt_semaphore_wait(tessera_rt_semaphore *semaphore,
                                            uint64_t value,
                                            const tessera_rt_deadline *deadline,
                                            tessera_rt_error *error);

/*===----------------------------------------------------------------------===*/
/* Queues                                                                     */
/*===----------------------------------------------------------------------===*/

typedef struct tessera_rt_queue_options {
  size_t struct_size;
  uint32_t packets;     /**< Slots of the ring; 0: 256. */
  uint32_t priority;    /**< 0 lowest … 15. */
  int in_order;         /**< A stream. */
  const char *label;    /**< NULL: "queue". */
  uint32_t first_id;    /**< Id of the first packet; ids wrap at 2^32. */
  uint64_t first_index; /**< Of the first packet; indices wrap at 2^64. */
} tessera_rt_queue_options;

/** Bytes of a buffer; size UINT64_MAX: to its end. */
typedef struct tessera_rt_range {
  tessera_rt_buffer *buffer;
  uint64_t offset;
  uint64_t size;
} tessera_rt_range;

/** What kernels do with bytes, which packets do not tell: for the race
 *  detector, and kept alive like operands. */
typedef struct tessera_rt_use {
  tessera_rt_range range;
  uint32_t use; /**< TESSERA_RT_READ, TESSERA_RT_WRITE, both; 0: not known. */
} tessera_rt_use;

typedef struct tessera_rt_point {
  tessera_rt_semaphore *semaphore; /**< NULL counts as satisfied. */
  uint64_t value;
} tessera_rt_point;

typedef struct tessera_rt_submit {
  size_t struct_size;
  const tessera_rt_point *waits;
  size_t wait_count;
  const tessera_rt_point *signals;
  size_t signal_count;
  int barrier;
  int fail_when_full;
  const char *label; /**< NULL: the operation's name. */
  /** Not 0: the signals release to operations of the device, not to the host.
   */
  int device_scope;
  const tessera_rt_use *uses; /**< Beyond what the packet says. */
  size_t use_count;
} tessera_rt_submit;

/** Cores of a dispatch; all 0: one core at (0, 0). */
typedef struct tessera_rt_cores {
  uint8_t x, y, width, height;
} tessera_rt_cores;

/** `options` may be NULL, here and as every tessera_rt_submit. */
tessera_rt_status
tessera_rt_queue_create(tessera_rt_space *space,
                        const tessera_rt_queue_options *options,
                        tessera_rt_queue **queue, tessera_rt_error *error);
void tessera_rt_queue_release(tessera_rt_queue *queue);

tessera_rt_status tessera_rt_queue_copy(tessera_rt_queue *queue,
                                        tessera_rt_range destination,
                                        tessera_rt_range source,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_fill(tessera_rt_queue *queue,
                                        tessera_rt_range destination,
                                        uint32_t pattern,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_error *error);
/** Captures the data at the call. */
tessera_rt_status tessera_rt_queue_update(tessera_rt_queue *queue,
                                          tessera_rt_range destination,
                                          const void *data, uint64_t bytes,
                                          const tessera_rt_submit *submit,
                                          tessera_rt_error *error);
/** Waits for the data. */
tessera_rt_status tessera_rt_queue_read_back(
    tessera_rt_queue *queue, tessera_rt_range source, void *data,
    uint64_t bytes, const tessera_rt_submit *submit,
    const tessera_rt_deadline *deadline, tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_barrier(tessera_rt_queue *queue,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_barrier_any(tessera_rt_queue *queue,
                                               const tessera_rt_submit *submit,
                                               tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_signal(tessera_rt_queue *queue,
                                          const tessera_rt_submit *submit,
                                          tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_timestamp(tessera_rt_queue *queue,
                                             tessera_rt_range destination,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error);
/** Anything but TESSERA_RT_OK becomes the failure of the signals. */
typedef tessera_rt_status (*tessera_rt_host_function)(void *context);
tessera_rt_status tessera_rt_queue_host_call(tessera_rt_queue *queue,
                                             tessera_rt_host_function function,
                                             void *context,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error);
/** `arguments` is looked at if the kernel takes any. */
tessera_rt_status tessera_rt_queue_dispatch(tessera_rt_queue *queue,
                                            const tessera_rt_kernel *kernel,
                                            tessera_rt_range arguments,
                                            tessera_rt_cores cores,
                                            const tessera_rt_submit *submit,
                                            tessera_rt_error *error);
/** One packet of 64 bytes as it is. */
tessera_rt_status tessera_rt_queue_submit_raw(tessera_rt_queue *queue,
                                              const void *packet,
                                              uint64_t bytes,
                                              const tessera_rt_submit *submit,
                                              tessera_rt_error *error);
/** The next `count` slots, for packets written later by any thread; released
 *  unpublished they do nothing. What `submit` names must be in the packets. */
tessera_rt_status tessera_rt_queue_reserve(tessera_rt_queue *queue,
                                           uint32_t count,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_reservation **reservation,
                                           tessera_rt_error *error);
/** The 64 bytes of one slot. */
tessera_rt_status
tessera_rt_reservation_write(tessera_rt_reservation *reservation, uint32_t slot,
                             const void *packet, uint64_t bytes,
                             tessera_rt_error *error);
/** Once; Aborted if the queue stopped meanwhile: then nothing was. */
tessera_rt_status
tessera_rt_reservation_publish(tessera_rt_reservation *reservation,
                               tessera_rt_error *error);
uint32_t
tessera_rt_reservation_count(const tessera_rt_reservation *reservation);
void tessera_rt_reservation_release(tessera_rt_reservation *reservation);
tessera_rt_status tessera_rt_queue_execute(tessera_rt_queue *queue,
                                           tessera_rt_commands *commands,
                                           tessera_rt_buffer *const *bindings,
                                           size_t binding_count,
                                           const tessera_rt_submit *submit,
                                           tessera_rt_error *error);
tessera_rt_status
tessera_rt_queue_wait_idle(tessera_rt_queue *queue,
                           const tessera_rt_deadline *deadline,
                           tessera_rt_error *error);
tessera_rt_status tessera_rt_queue_reset(tessera_rt_queue *queue,
                                         tessera_rt_error *error);
/** Why the queue stopped, or the failure that wait_idle would tell. */
tessera_rt_status tessera_rt_queue_status(tessera_rt_queue *queue,
                                          tessera_rt_error *error);
uint64_t tessera_rt_queue_submitted(const tessera_rt_queue *queue);
uint64_t tessera_rt_queue_completed(const tessera_rt_queue *queue);
const char *tessera_rt_queue_label(const tessera_rt_queue *queue);
uint32_t tessera_rt_queue_priority(const tessera_rt_queue *queue);

/*===----------------------------------------------------------------------===*/
/* Command buffers and executables                                            */
/*===----------------------------------------------------------------------===*/

/** A buffer, or, where `range.buffer` is NULL, binding number `binding` from
 *  `range.offset` on. */
typedef struct tessera_rt_operand {
  tessera_rt_range range;
  uint32_t binding;
} tessera_rt_operand;

tessera_rt_status tessera_rt_commands_create(tessera_rt_space *space,
                                             const char *label,
                                             tessera_rt_commands **commands,
                                             tessera_rt_error *error);
void tessera_rt_commands_release(tessera_rt_commands *commands);
tessera_rt_status tessera_rt_commands_copy(tessera_rt_commands *commands,
                                           tessera_rt_operand destination,
                                           tessera_rt_operand source,
                                           uint64_t bytes, int barrier,
                                           tessera_rt_error *error);
tessera_rt_status tessera_rt_commands_fill(tessera_rt_commands *commands,
                                           tessera_rt_operand destination,
                                           uint64_t bytes, uint32_t pattern,
                                           int barrier,
                                           tessera_rt_error *error);
/** `arguments` is looked at if the kernel takes any. */
tessera_rt_status tessera_rt_commands_dispatch(tessera_rt_commands *commands,
                                               const tessera_rt_kernel *kernel,
                                               tessera_rt_operand arguments,
                                               tessera_rt_cores cores,
                                               int barrier,
                                               tessera_rt_error *error);

/** An 8-byte slot that takes the address of a binding: `offset` bytes into
 *  `target`, or into the packets where that is NULL. */
typedef struct tessera_rt_patch {
  tessera_rt_buffer *target;
  uint64_t offset;
  uint32_t binding;
  uint64_t binding_offset; /**< Bytes into the buffer bound. */
} tessera_rt_patch;
/** Packets that exist already. */
tessera_rt_status
tessera_rt_commands_append(tessera_rt_commands *commands, const void *packets,
                           uint64_t bytes, const tessera_rt_patch *patches,
                           size_t patch_count, tessera_rt_error *error);

/** What a binding needs. */
typedef struct tessera_rt_requirement {
  const char *name; /**< NULL: "". */
  uint64_t bytes;   /**< Least size of the buffer. */
  uint32_t use;     /**< As tessera_rt_use::use, of these bytes. */
} tessera_rt_requirement;
tessera_rt_status
tessera_rt_commands_require(tessera_rt_commands *commands,
                            const tessera_rt_requirement *bindings,
                            size_t binding_count, tessera_rt_error *error);
/** Kernels touch these bytes at every execution. */
tessera_rt_status tessera_rt_commands_uses(tessera_rt_commands *commands,
                                           const tessera_rt_use *use,
                                           tessera_rt_error *error);
/** Name of packet `index` in fault reports. */
tessera_rt_status tessera_rt_commands_name(tessera_rt_commands *commands,
                                           uint32_t index, const char *name,
                                           tessera_rt_error *error);
uint32_t tessera_rt_commands_count(const tessera_rt_commands *commands);
uint32_t tessera_rt_commands_bindings(const tessera_rt_commands *commands);
const char *tessera_rt_commands_label(const tessera_rt_commands *commands);
tessera_rt_status tessera_rt_commands_finish(tessera_rt_commands *commands,
                                             tessera_rt_error *error);

/** `object` holds the bytes of a compiled object file. */
tessera_rt_status tessera_rt_executable_load(tessera_rt_space *space,
                                             const void *object, uint64_t bytes,
                                             const char *label,
                                             tessera_rt_executable **executable,
                                             tessera_rt_error *error);
void tessera_rt_executable_release(tessera_rt_executable *executable);
size_t tessera_rt_executable_inputs(const tessera_rt_executable *executable);
size_t tessera_rt_executable_outputs(const tessera_rt_executable *executable);
/** Bytes of a tensor: inputs first, then outputs; 0 beyond them. */
uint64_t
tessera_rt_executable_tensor_bytes(const tessera_rt_executable *executable,
                                   size_t tensor);
/** Inputs first, then outputs; NULL beyond them. The type is the model's, e.g.
 *  "f32". */
const char *
tessera_rt_executable_tensor_name(const tessera_rt_executable *executable,
                                  size_t tensor);
const char *
tessera_rt_executable_tensor_type(const tessera_rt_executable *executable,
                                  size_t tensor);
/** The number of dimensions, of which up to `capacity` are written to `shape`,
 *  which may be NULL then. */
size_t
tessera_rt_executable_tensor_shape(const tessera_rt_executable *executable,
                                   size_t tensor, uint64_t *shape,
                                   size_t capacity);
const char *
tessera_rt_executable_label(const tessera_rt_executable *executable);
/** A single kernel of the object; it keeps the code mapped. */
tessera_rt_status
tessera_rt_executable_kernel(const tessera_rt_executable *executable,
                             const char *name, tessera_rt_kernel **kernel,
                             tessera_rt_error *error);

/** A kernel whose record lies at `record` in memory that the caller keeps. */
typedef struct tessera_rt_kernel_options {
  size_t struct_size;
  const char *name; /**< NULL: "kernel". */
  uint64_t record;  /**< Device virtual address. */
  uint32_t arguments;
} tessera_rt_kernel_options;
tessera_rt_status
tessera_rt_kernel_create(const tessera_rt_kernel_options *options,
                         tessera_rt_kernel **kernel, tessera_rt_error *error);
void tessera_rt_kernel_release(tessera_rt_kernel *kernel);
const char *tessera_rt_kernel_name(const tessera_rt_kernel *kernel);
/** Arguments of 8 bytes that it takes. */
uint32_t tessera_rt_kernel_arguments(const tessera_rt_kernel *kernel);

/** One more reference to the program; execute it with inputs, then outputs. */
tessera_rt_status
tessera_rt_executable_commands(tessera_rt_executable *executable,
                               tessera_rt_commands **commands,
                               tessera_rt_error *error);

/*===----------------------------------------------------------------------===*/
/* Pools                                                                      */
/*===----------------------------------------------------------------------===*/

typedef struct tessera_rt_pool_options {
  size_t struct_size;
  tessera_rt_memory memory;
  uint32_t access;       /**< 0: read and write. */
  uint64_t budget_bytes; /**< 0: none. */
  uint64_t chunk_bytes;  /**< 0: 2 MiB. */
  const char *label;     /**< NULL: "pool". */
} tessera_rt_pool_options;

typedef enum tessera_rt_pool_outcome {
  TESSERA_RT_REUSED = 0,
  TESSERA_RT_FRESH = 1,
  TESSERA_RT_NEEDS_WAIT = 2,
  /* Of queries; allocations fail instead. */
  TESSERA_RT_EXHAUSTED = 3,
  TESSERA_RT_OVER_BUDGET = 4,
  TESSERA_RT_FRAGMENTED = 5
} tessera_rt_pool_outcome;
/** "reused", …; "Unknown" for any other number. */
const char *tessera_rt_pool_outcome_name(tessera_rt_pool_outcome outcome);

tessera_rt_status tessera_rt_pool_create(tessera_rt_space *space,
                                         const tessera_rt_pool_options *options,
                                         tessera_rt_pool **pool,
                                         tessera_rt_error *error);
void tessera_rt_pool_release(tessera_rt_pool *pool);
/** `deadline` NULL: poll. `outcome` may be NULL. */
tessera_rt_status tessera_rt_pool_allocate(
    tessera_rt_pool *pool, tessera_rt_queue *queue, uint64_t bytes,
    const tessera_rt_submit *submit, const tessera_rt_deadline *deadline,
    tessera_rt_buffer **buffer, tessera_rt_pool_outcome *outcome,
    tessera_rt_error *error);
tessera_rt_status tessera_rt_pool_deallocate(tessera_rt_pool *pool,
                                             tessera_rt_queue *queue,
                                             tessera_rt_buffer *buffer,
                                             const tessera_rt_submit *submit,
                                             tessera_rt_error *error);
/** `bytes` may be NULL. */
tessera_rt_status tessera_rt_pool_trim(tessera_rt_pool *pool, uint64_t *bytes,
                                       tessera_rt_error *error);

/** What an allocation would do now; changes nothing. */
tessera_rt_status tessera_rt_pool_query(tessera_rt_pool *pool,
                                        tessera_rt_queue *queue, uint64_t bytes,
                                        const tessera_rt_submit *submit,
                                        tessera_rt_pool_outcome *outcome,
                                        tessera_rt_error *error);
const char *tessera_rt_pool_label(const tessera_rt_pool *pool);

/** See PoolStatistics. */
typedef struct tessera_rt_pool_statistics {
  size_t struct_size;
  uint64_t held_bytes, live_bytes, dying_bytes, peak_live_bytes, largest_free;
  uint64_t reused, fresh, needed_wait, exhausted, over_budget, fragmented;
  uint64_t retries;
} tessera_rt_pool_statistics;
tessera_rt_status
tessera_rt_pool_read_statistics(const tessera_rt_pool *pool,
                                tessera_rt_pool_statistics *statistics,
                                tessera_rt_error *error);

#ifdef __cplusplus
}
#endif

#endif /* TESSERA_RT_H */
