//===- RecordDriverTest.cpp - Recording and replay ------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tessera/driver/RecordDriver.h"
#include "RuntimeFixture.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"
#include "tessera/Support/Random.h"
#include <thread>

using namespace tessera;
using namespace tessera::runtime;
using driver::RecordDriver;
using driver::RecordedOperation;
using driver::Recording;

namespace {

class RecordDriverTest : public RuntimeTest {
protected:
  void SetUp() override {
    auto made = std::make_unique<RecordDriver>(
        makeDriver(GetParam(), tinyArchitecture()));
    recorder = made.get();
    Result<Device> created = Device::create(std::move(made));
    ASSERT_OK(created.status());
    device = *created;
    Result<AddressSpace> madeSpace = AddressSpace::create(device, "context");
    ASSERT_OK(madeSpace.status());
    space = *madeSpace;
  }
  void work() {
    Queue q = queue("Q", 16);
    Buffer a = buffer(4096), b = buffer(4096);
    std::vector<uint32_t> data(1024);
    for (uint32_t i = 0; i < data.size(); ++i)
      data[i] = i * i;
    for (uint32_t i = 1; i <= 10; ++i) {
      ASSERT_OK(q.update(a, std::as_bytes(std::span(data))));
      ASSERT_OK(q.copy(b, a, {.barrier = true}));
      std::vector<uint32_t> back(1024);
      ASSERT_OK(q.readBack(b, std::as_writable_bytes(std::span(back)),
                           {.barrier = true}));
      ASSERT_EQ(back, data);
      data[0] = i;
    }
  }
  Result<driver::ReplayReport> again(const Recording &recording) {
    return driver::replay(recording,
                          *makeDriver(GetParam(), tinyArchitecture()));
  }

  RecordDriver *recorder = nullptr;
};

TEST_P(RecordDriverTest, ReplaysToTheSameTimesAndHashes) {
  work();
  Recording recording = recorder->recording();
  ASSERT_GT(recording.operations.size(), 100u);
  Result<driver::ReplayReport> report = again(recording);
  ASSERT_OK(report.status());
  EXPECT_FALSE(report->divergence) << report->divergence->print();
  EXPECT_EQ(report->operations, recording.operations.size());
  EXPECT_EQ(report->end, device.now());
}

TEST_P(RecordDriverTest, LocatesTheFirstDivergence) {
  work();
  Recording recording = recorder->recording();
  size_t at = recording.operations.size() / 2;
  while (recording.operations[at].kind != RecordedOperation::Kind::Advance)
    ++at;
  // As if the device had been one femtosecond faster.
  --recording.operations[at].time;
  Result<driver::ReplayReport> report = again(recording);
  ASSERT_OK(report.status());
  ASSERT_TRUE(report->divergence);
  EXPECT_EQ(report->divergence->operation, at);
  EXPECT_THAT(report->divergence->print(),
              ::testing::HasSubstr("operation " + std::to_string(at)));
}

// A packet changed by the host leads elsewhere: to the next thing observed.
TEST_P(RecordDriverTest, LocatesTheEffectOfAChangedPacket) {
  work();
  Recording recording = recorder->recording();
  bool changed = false;
  size_t at = 0;
  for (RecordedOperation &operation : recording.operations)
    if (++at; operation.kind == RecordedOperation::Kind::HostWrite &&
              operation.data.size() > 30 && at > 50) {
      operation.data[10] ^= 0x10;
      changed = true;
      break;
    }
  ASSERT_TRUE(changed);
  Result<driver::ReplayReport> report = again(recording);
  ASSERT_OK(report.status());
  ASSERT_TRUE(report->divergence);
  EXPECT_GE(report->divergence->operation, at - 1);
}

TEST_P(RecordDriverTest, RefusesWhatCannotBeReplayed) {
  EXPECT_EQ(recorder->save().status().code(), StatusCode::Unsupported);
  EXPECT_EQ(recorder->restore({}).code(), StatusCode::Unsupported);
  std::thread other([&] {
    EXPECT_ERROR(recorder->mmioRead(0).status(), FailedPrecondition,
                 "second free-running thread");
  });
  other.join();
  EXPECT_OK(recorder->mmioRead(0).status());
}

TEST_P(RecordDriverTest, RefusesAnotherDevice) {
  work();
  Recording recording = recorder->recording();
  Recording wrong = recording;
  ++wrong.timingHash;
  EXPECT_ERROR(again(wrong).status(), FailedPrecondition, "architecture");
  wrong = recording;
  wrong.hostBytes /= 2;
  EXPECT_ERROR(again(wrong).status(), FailedPrecondition, "host memory");
}

TEST_P(RecordDriverTest, FileRoundTripAndDamage) {
  work();
  Recording recording = recorder->recording();
  recording.operations.resize(60);
  std::vector<uint8_t> file = encodeRecording(recording);
  Result<Recording> read = driver::decodeRecording(file);
  ASSERT_OK(read.status());
  EXPECT_EQ(*read, recording);
  EXPECT_EQ(encodeRecording(*read), file);

  std::vector<uint8_t> damaged = file;
  damaged[20] ^= 1;
  EXPECT_ERROR(driver::decodeRecording(damaged).status(), InvalidArgument,
               "checksum");
  damaged = file;
  damaged[8] = 9;
  EXPECT_ERROR(driver::decodeRecording(damaged).status(), InvalidArgument,
               "version 9");
  // With the checksum made right again, damage is a clean error or a recording
  // of which this is the file.
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    damaged = file;
    damaged.resize(random.below(4) ? file.size()
                                   : 16 + random.below(file.size() - 16));
    for (uint64_t n = random.below(4); n-- > 0;)
      damaged[12 + random.below(damaged.size() - 12)] = random.next();
    std::span<const uint8_t> body(damaged.data(), damaged.size() - 8);
    storeLittleEndian(damaged.data() + body.size(), hashBytes(body));
    Result<Recording> result = driver::decodeRecording(damaged);
    if (result)
      ASSERT_EQ(encodeRecording(*result), damaged);
    else
      ASSERT_EQ(result.status().code(), StatusCode::InvalidArgument);
  }
}

TESSERA_ON_ALL_DRIVERS(RecordDriverTest);

} // namespace
