//===- RuntimeFixture.h - A device of each kind for tests -------*- C++ -*-===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TESSERA_TEST_CONFORMANCE_RUNTIMEFIXTURE_H
#define TESSERA_TEST_CONFORMANCE_RUNTIMEFIXTURE_H

#include "tessera/driver/NullDriver.h"
#include "tessera/runtime/AddressSpace.h"
#include "tessera/runtime/Queue.h"
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

/// Fails the test with the status' message.
#define EXPECT_OK(expr)                                                        \
  do {                                                                         \
    ::tessera::Status testStatus = (expr);                                     \
    EXPECT_TRUE(testStatus.ok()) << testStatus.message();                      \
  } while (false)
#define ASSERT_OK(expr)                                                        \
  do {                                                                         \
    ::tessera::Status testStatus = (expr);                                     \
    ASSERT_TRUE(testStatus.ok()) << testStatus.message();                      \
  } while (false)
#define ASSERT_ERROR(expr, expectedCode, text)                                 \
  do {                                                                         \
    ::tessera::Status testStatus = (expr);                                     \
    ASSERT_EQ(testStatus.code(), ::tessera::StatusCode::expectedCode)          \
        << testStatus.message();                                               \
    ASSERT_THAT(testStatus.message(), ::testing::HasSubstr(text));             \
  } while (false)
/// A code, and a message that contains the text.
#define EXPECT_ERROR(expr, expectedCode, text)                                 \
  do {                                                                         \
    ::tessera::Status testStatus = (expr);                                     \
    EXPECT_EQ(testStatus.code(), ::tessera::StatusCode::expectedCode)          \
        << testStatus.message();                                               \
    EXPECT_THAT(testStatus.message(), ::testing::HasSubstr(text));             \
  } while (false)

namespace tessera::runtime {

inline Architecture tinyArchitecture() {
  Result<Architecture> arch = loadArchitecture("tiny");
  EXPECT_TRUE(arch.ok()) << arch.status().message();
  return arch ? *arch : Architecture();
}

/// A device that tests run on.
struct BackEnd {
  std::string name;
  std::function<std::unique_ptr<driver::Driver>(const Architecture &)> make;
};
/// All of them; a decorated driver is one of its own.
const std::vector<BackEnd> &backEnds();
/// By name, as test parameters are.
std::unique_ptr<driver::Driver> makeDriver(const std::string &kind,
                                           const Architecture &arch);

class RuntimeTest : public ::testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    Result<Device> made =
        Device::create(makeDriver(GetParam(), tinyArchitecture()));
    ASSERT_OK(made.status());
    device = *made;
    Result<AddressSpace> madeSpace = AddressSpace::create(device, "context");
    ASSERT_OK(madeSpace.status());
    space = *madeSpace;
  }

  Buffer buffer(uint64_t bytes, std::string label = "buffer") {
    BufferOptions options;
    options.label = std::move(label);
    Result<Buffer> made = space.allocate(bytes, options);
    EXPECT_OK(made.status());
    return made ? *made : Buffer();
  }
  Queue queue(std::string label = "queue", uint32_t packets = 64) {
    QueueOptions options;
    options.packets = packets;
    options.label = std::move(label);
    Result<Queue> made = Queue::create(space, options);
    EXPECT_OK(made.status());
    return made ? *made : Queue();
  }
  Semaphore semaphore(std::string label = "S", bool hostMaySignal = false) {
    Result<Semaphore> made = Semaphore::create(device, {hostMaySignal, label});
    EXPECT_OK(made.status());
    return made ? *made : Semaphore();
  }
  std::vector<uint32_t> contents(const Buffer &buffer) {
    std::vector<uint32_t> words(buffer.size() / 4);
    EXPECT_OK(buffer.read(0, std::as_writable_bytes(std::span(words))));
    return words;
  }
  /// Fills through the memory window with a pattern no right answer contains.
  void dope(Buffer &buffer) {
    std::vector<uint32_t> words(buffer.size() / 4, 0xdeadbeef);
    EXPECT_OK(buffer.write(0, std::as_bytes(std::span(words))));
  }

  Device device;
  AddressSpace space;
};

std::vector<std::string> driverKinds();

#define TESSERA_ON_ALL_DRIVERS(Suite)                                          \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Drivers, Suite, ::testing::ValuesIn(driverKinds()),                      \
      [](const ::testing::TestParamInfo<std::string> &info) {                  \
        return info.param;                                                     \
      })

} // namespace tessera::runtime

#endif // TESSERA_TEST_CONFORMANCE_RUNTIMEFIXTURE_H
