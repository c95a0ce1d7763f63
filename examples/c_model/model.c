/*===- model.c - A compiled model from C --------------------------*- C -*-===*\
|*
|* Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
|*===----------------------------------------------------------------------===*|
|*
|* Loads an object that `tessera compile` made, runs it with the bytes of the
|* input files, and writes the bytes of the outputs to one file. The program is
|* timed by two timestamps of the device's.
|*
|*   c_model ARCHITECTURE OBJECT OUTPUT INPUT...
|*
\*===----------------------------------------------------------------------===*/

#include "tessera_rt.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { most_tensors = 64, most_dimensions = 8 };

static tessera_rt_error error;

/* One line and exit status 1, as every program of the project. */
static void check(tessera_rt_status status) {
  if (status == TESSERA_RT_OK)
    return;
  fprintf(stderr, "error: %s: %s\n", tessera_rt_status_name(status),
          error.message);
  exit(1);
}

static void *read_file(const char *path, uint64_t *bytes) {
  FILE *file = fopen(path, "rb");
  void *data = NULL;
  long size = -1;
  if (file && fseek(file, 0, SEEK_END) == 0)
    size = ftell(file);
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0)
    data = malloc(size ? (size_t)size : 1);
  if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) {
    fprintf(stderr, "error: %s cannot be read\n", path);
    exit(1);
  }
  fclose(file);
  *bytes = (uint64_t)size;
  return data;
}

static void describe(const tessera_rt_executable *executable, size_t tensor,
                     const char *kind) {
  uint64_t shape[most_dimensions];
  size_t rank = tessera_rt_executable_tensor_shape(executable, tensor, shape,
                                                   most_dimensions);
  printf("%s %s: %s [", kind,
         tessera_rt_executable_tensor_name(executable, tensor),
         tessera_rt_executable_tensor_type(executable, tensor));
  for (size_t i = 0; i < rank && i < most_dimensions; ++i)
    printf("%s%" PRIu64, i ? ", " : "", shape[i]);
  printf("], %" PRIu64 " bytes\n",
         tessera_rt_executable_tensor_bytes(executable, tensor));
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr,
            "error: usage: c_model ARCHITECTURE OBJECT OUTPUT INPUT...\n");
    return 1;
  }
  tessera_rt_device_options device_options = {
      .struct_size = sizeof device_options, .architecture = argv[1]};
  tessera_rt_device *device = NULL;
  tessera_rt_space *space = NULL;
  tessera_rt_queue *stream = NULL;
  tessera_rt_executable *executable = NULL;
  tessera_rt_commands *program = NULL;
  tessera_rt_buffer *tensors[most_tensors], *times = NULL;
  check(tessera_rt_device_create(&device_options, &device, &error));
  check(tessera_rt_device_observe_kernels(device, &error));
  check(tessera_rt_space_create(device, "model", &space, &error));
  tessera_rt_queue_options in_order = {.struct_size = sizeof in_order,
                                       .in_order = 1};
  check(tessera_rt_queue_create(space, &in_order, &stream, &error));

  uint64_t object_bytes = 0;
  void *object = read_file(argv[2], &object_bytes);
  check(tessera_rt_executable_load(space, object, object_bytes, argv[2],
                                   &executable, &error));
  free(object);
  size_t inputs = tessera_rt_executable_inputs(executable);
  size_t count = inputs + tessera_rt_executable_outputs(executable);
  if ((size_t)argc - 4 != inputs || count > most_tensors) {
    fprintf(stderr,
            "error: the model has %zu inputs, %d files are given; it may have "
            "%d tensors\n",
            inputs, argc - 4, (int)most_tensors);
    return 1;
  }
  for (size_t i = 0; i < count; ++i) {
    describe(executable, i, i < inputs ? "input" : "output");
    tessera_rt_buffer_options options = {
        .struct_size = sizeof options,
        .bytes = tessera_rt_executable_tensor_bytes(executable, i),
        .label = tessera_rt_executable_tensor_name(executable, i)};
    check(tessera_rt_buffer_create(space, &options, &tensors[i], &error));
    if (i >= inputs)
      continue;
    uint64_t bytes = 0;
    void *data = read_file(argv[4 + i], &bytes);
    /* All of it: another number of bytes is refused. */
    tessera_rt_range whole = {tensors[i], 0,
                              tessera_rt_buffer_size(tensors[i])};
    check(tessera_rt_queue_update(stream, whole, data, bytes, NULL, &error));
    free(data);
  }

  tessera_rt_buffer_options two_times = {
      .struct_size = sizeof two_times, .bytes = 16, .label = "times"};
  check(tessera_rt_buffer_create(space, &two_times, &times, &error));
  check(tessera_rt_executable_commands(executable, &program, &error));
  check(tessera_rt_queue_timestamp(stream, (tessera_rt_range){times, 0, 8},
                                   NULL, &error));
  check(
      tessera_rt_queue_execute(stream, program, tensors, count, NULL, &error));
  check(tessera_rt_queue_timestamp(stream, (tessera_rt_range){times, 8, 8},
                                   NULL, &error));
  check(tessera_rt_queue_wait_idle(stream, NULL, &error));

  uint64_t stamps[2] = {0, 0}, cycle = 1;
  check(tessera_rt_buffer_read(times, 0, stamps, sizeof stamps, &error));
  check(tessera_rt_device_time(device, NULL, &cycle, &error));
  printf("ran for %" PRIu64 " cycles\n", (stamps[1] - stamps[0]) / cycle);

  FILE *output = fopen(argv[3], "wb");
  for (size_t i = inputs; i < count && output; ++i) {
    uint64_t bytes = tessera_rt_executable_tensor_bytes(executable, i);
    void *data = malloc(bytes ? bytes : 1);
    tessera_rt_range whole = {tensors[i], 0, UINT64_MAX};
    if (data)
      check(tessera_rt_queue_read_back(stream, whole, data, bytes, NULL, NULL,
                                       &error));
    if (!data || fwrite(data, 1, bytes, output) != bytes) {
      fclose(output);
      output = NULL;
    }
    free(data);
  }
  if (!output || fclose(output) != 0) {
    fprintf(stderr, "error: %s cannot be written\n", argv[3]);
    return 1;
  }
  char races[2048];
  check(tessera_rt_device_report(device, TESSERA_RT_RACES, races, sizeof races,
                                 NULL, &error));
  printf("races: %s\n", races[0] ? races : "none");
  check(tessera_rt_device_report(device, TESSERA_RT_UNDECLARED, races,
                                 sizeof races, NULL, &error));
  printf("undeclared accesses: %s\n", races[0] ? races : "none");

  tessera_rt_commands_release(program);
  for (size_t i = 0; i < count; ++i)
    tessera_rt_buffer_release(tensors[i]);
  tessera_rt_buffer_release(times);
  tessera_rt_executable_release(executable);
  tessera_rt_queue_release(stream);
  tessera_rt_space_release(space);
  tessera_rt_device_release(device);
  return 0;
}
