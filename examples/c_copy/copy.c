/*===- copy.c - The runtime from C --------------------------------*- C -*-===*\
|*
|* Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Two queues, ordered by a timeline semaphore: one fills a buffer, the other
|* copies it to a buffer from a pool; a host call in between looks at the time.
|*
|*   c_copy [ARCHITECTURE]
|*
\*===----------------------------------------------------------------------===*/

#include "tessera_rt.h"
#include <stdio.h>
#include <stdlib.h>

#define WORDS 4096u
#define BYTES (WORDS * 4u)
#define PATTERN 0x600dcafeu

static tessera_rt_error error;

/* One line and exit status 1, as every program of the project. */
static void check(tessera_rt_status status) {
  if (status == TESSERA_RT_OK)
    return;
  fprintf(stderr, "error: %s: %s\n", tessera_rt_status_name(status),
          error.message);
  exit(1);
}

struct looked {
  tessera_rt_device *device;
  uint64_t time;
};

static tessera_rt_status look(void *context) {
  struct looked *looked = context;
  return tessera_rt_device_time(looked->device, &looked->time, NULL, NULL);
}

int main(int argc, char **argv) {
  tessera_rt_device_options device_options = {
      .struct_size = sizeof device_options,
      .architecture = argc > 1 ? argv[1] : "tiny",
      .label = "accelerator",
  };
  tessera_rt_device *device = NULL;
  tessera_rt_space *space = NULL;
  tessera_rt_queue *filler = NULL, *copier = NULL;
  tessera_rt_semaphore *timeline = NULL;
  tessera_rt_pool *pool = NULL;
  tessera_rt_buffer *source = NULL, *target = NULL;
  static uint32_t words[WORDS];
  struct looked looked = {NULL, 0};
  uint64_t end = 0, cycle = 0;

  check(tessera_rt_device_create(&device_options, &device, &error));
  check(tessera_rt_space_create(device, "context", &space, &error));
  check(tessera_rt_queue_create(space, NULL, &filler, &error));
  check(tessera_rt_queue_create(space, NULL, &copier, &error));
  check(tessera_rt_semaphore_create(device, NULL, &timeline, &error));
  check(tessera_rt_pool_create(space, NULL, &pool, &error));

  tessera_rt_buffer_options buffer_options = {
      .struct_size = sizeof buffer_options, .bytes = BYTES, .label = "source"};
  check(tessera_rt_buffer_create(space, &buffer_options, &source, &error));

  /* 1: the target is there; 2: the source is filled; 3: the host has looked;
     4: copied. */
  tessera_rt_point at[5];
  for (unsigned i = 0; i < 5; ++i)
    at[i] = (tessera_rt_point){.semaphore = timeline, .value = i};
  tessera_rt_submit allocate = {.struct_size = sizeof allocate,
                                .signals = &at[1],
                                .signal_count = 1,
                                .label = "target"};
  check(tessera_rt_pool_allocate(pool, copier, BYTES, &allocate, NULL, &target,
                                 NULL, &error));
  tessera_rt_submit fill = {.struct_size = sizeof fill,
                            .waits = &at[1],
                            .wait_count = 1,
                            .signals = &at[2],
                            .signal_count = 1};
  tessera_rt_range whole_source = {source, 0, UINT64_MAX};
  tessera_rt_range whole_target = {target, 0, UINT64_MAX};
  check(tessera_rt_queue_fill(filler, whole_source, PATTERN, &fill, &error));
  tessera_rt_submit call = {.struct_size = sizeof call,
                            .waits = &at[2],
                            .wait_count = 1,
                            .signals = &at[3],
                            .signal_count = 1};
  looked.device = device;
  check(tessera_rt_queue_host_call(filler, look, &looked, &call, &error));
  tessera_rt_submit copy = {.struct_size = sizeof copy,
                            .waits = &at[3],
                            .wait_count = 1,
                            .signals = &at[4],
                            .signal_count = 1};
  check(
      tessera_rt_queue_copy(copier, whole_target, whole_source, &copy, &error));
  check(tessera_rt_semaphore_wait(timeline, 4, NULL, &error));
  check(tessera_rt_device_time(device, &end, &cycle, &error));

  check(tessera_rt_buffer_read(target, 0, words, BYTES, &error));
  for (unsigned i = 0; i < WORDS; ++i)
    if (words[i] != PATTERN) {
      fprintf(stderr, "error: word %u is %#x, expected %#x\n", i, words[i],
              PATTERN);
      return 1;
    }
  printf("filled after %llu cycles, copied after %llu\n",
         (unsigned long long)(looked.time / cycle),
         (unsigned long long)(end / cycle));

  /* A mistake is told, not made. */
  tessera_rt_range beyond = {source, BYTES - 4, 8};
  if (tessera_rt_queue_fill(filler, beyond, 0, NULL, &error) !=
      TESSERA_RT_INVALID_ARGUMENT) {
    fprintf(stderr, "error: a fill beyond its buffer was accepted\n");
    return 1;
  }
  printf("refused: %s\n", error.message);

  check(tessera_rt_pool_deallocate(pool, copier, target, NULL, &error));
  check(tessera_rt_queue_wait_idle(copier, NULL, &error));
  tessera_rt_buffer_release(target);
  tessera_rt_buffer_release(source);
  tessera_rt_pool_release(pool);
  tessera_rt_semaphore_release(timeline);
  tessera_rt_queue_release(copier);
  tessera_rt_queue_release(filler);
  tessera_rt_space_release(space);
  tessera_rt_device_release(device);
  return 0;
}
