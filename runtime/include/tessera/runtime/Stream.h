//===- Stream.h - A queue that runs in order --------------------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation of a stream starts when all earlier ones of it have
// completed. Where an operation would make an earlier one of the same stream
// wait for ever, since only it could signal what that one waits for, it is
// refused with Deadlock.
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_RUNTIME_STREAM_H
#define TESSERA_RUNTIME_STREAM_H

#include "tessera/runtime/Queue.h"

namespace tessera::runtime {

class Stream : public Queue {
public:
  Stream() = default;
  static Result<Stream> create(const AddressSpace &space,
                               QueueOptions options = {.label = "stream"}) {
    options.inOrder = true;
    TESSERA_ASSIGN_OR_RETURN(Queue queue, Queue::create(space, options));
    Stream stream;
    static_cast<Queue &>(stream) = std::move(queue);
    return stream;
  }
};

} // namespace tessera::runtime

#endif // TESSERA_RUNTIME_STREAM_H
