//===- AddressSpaceTest.cpp - Buffers and page tables ---------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeFixture.h"
#include <fmt/format.h>
#include <optional>

using namespace tessera;
using namespace tessera::runtime;
using isa::PhysicalSpace;

namespace {

class AddressSpaceTest : public RuntimeTest {
protected:
  /// Walks the tables as a device would; nothing where it would fault.
  std::optional<isa::PageEntry> walk(uint64_t address,
                                     unsigned *level = nullptr) {
    uint64_t table = space.root();
    for (unsigned l = isa::pageTableLevels; l-- > 0;) {
      uint64_t image = 0;
      EXPECT_OK(device.driver().readMemory(
          PhysicalSpace::Dram, table + 8 * isa::pageTableIndex(address, l),
          std::as_writable_bytes(std::span(&image, 1))));
      isa::PageEntry entry = isa::PageEntry::decode(image);
      if (!entry.valid)
        return std::nullopt;
      if (entry.leaf) {
        if (level)
          *level = l;
        return entry;
      }
      table = entry.address;
    }
    return std::nullopt;
  }
};

TEST_P(AddressSpaceTest, SmallBufferUsesSmallPages) {
  Buffer small = buffer(100'000, "small");
  unsigned level = 9;
  auto entry = walk(small.address(), &level);
  ASSERT_TRUE(entry);
  EXPECT_EQ(level, 0u);
  EXPECT_TRUE(entry->read && entry->write && !entry->execute);
  EXPECT_TRUE(walk(small.address() + 65536));
  EXPECT_FALSE(walk(small.address() + 2 * 65536)); // The page between ranges.

  // What the window writes lies where the table points.
  uint32_t word = 0x12345678, read = 0;
  EXPECT_OK(small.write(65536, std::as_bytes(std::span(&word, 1))));
  EXPECT_OK(device.driver().readMemory(
      PhysicalSpace::Dram, walk(small.address() + 65536)->address,
      std::as_writable_bytes(std::span(&read, 1))));
  EXPECT_EQ(read, word);
}

TEST_P(AddressSpaceTest, LargeBufferUsesLargePages) {
  Buffer large = buffer((4 << 20) + 1, "large");
  unsigned level = 9;
  ASSERT_TRUE(walk(large.address() + (3 << 20), &level));
  EXPECT_EQ(level, 1u);
  ASSERT_TRUE(walk(large.address() + (4 << 20), &level));
  EXPECT_EQ(level, 0u);
}

TEST_P(AddressSpaceTest, DroppedBufferIsUnmapped) {
  uint64_t before = device.bytesInUse(PhysicalSpace::Dram), address = 0;
  {
    Buffer first = buffer(4096);
    address = first.address();
    EXPECT_TRUE(walk(address));
  }
  EXPECT_FALSE(walk(address));
  // The table stays; its pages do not.
  EXPECT_LT(device.bytesInUse(PhysicalSpace::Dram), before + 65536);
  EXPECT_NE(buffer(4096).address(), address);
}

TEST_P(AddressSpaceTest, AccessRights) {
  BufferOptions options;
  options.access = {.read = true, .write = false, .execute = true};
  Result<Buffer> code = space.allocate(1, options);
  ASSERT_OK(code.status());
  auto entry = walk(code->address());
  ASSERT_TRUE(entry);
  EXPECT_TRUE(entry->read && !entry->write && entry->execute);
}

TEST_P(AddressSpaceTest, HostBufferIsHostMemory) {
  BufferOptions options;
  options.space = PhysicalSpace::Host;
  Result<Buffer> host = space.allocate(64, options);
  ASSERT_OK(host.status());
  std::byte value{42};
  EXPECT_OK(host->write(5, std::span(&value, 1)));
  auto entry = walk(host->address());
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->space, PhysicalSpace::Host);
  EXPECT_EQ(device.driver().hostMemory()[entry->address + 5], value);
}

TEST_P(AddressSpaceTest, MapAndUnmapOfOnesOwn) {
  Result<uint64_t> address = space.reserve(2 * 65536);
  ASSERT_OK(address.status());
  EXPECT_OK(space.map(*address, PhysicalSpace::Dram, 65536 * 64, 65536, {}));
  EXPECT_EQ(walk(*address)->address, 65536u * 64);
  EXPECT_ERROR(space.map(*address, PhysicalSpace::Dram, 0, 65536, {}),
               FailedPrecondition, "mapped already");
  EXPECT_ERROR(space.unmap(*address, 2 * 65536), FailedPrecondition,
               "not mapped");
  EXPECT_OK(space.unmap(*address, 65536));
  EXPECT_FALSE(walk(*address));
}

// What is mapped ahead of the addresses handed out is not handed out.
TEST_P(AddressSpaceTest, AddressesGoAroundWhatIsMapped) {
  Result<uint64_t> address = space.reserve(65536);
  ASSERT_OK(address.status());
  for (uint64_t pages : {3, 6, 7, 40})
    ASSERT_OK(space.map(*address + pages * 65536, PhysicalSpace::Dram,
                        pages * 65536, 65536, {}));
  std::vector<Buffer> kept;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(buffer(64));
    // With a page between that nobody has.
    for (uint64_t beside :
         {kept.back().address() - 65536, kept.back().address() + 65536})
      EXPECT_FALSE(walk(beside)) << beside;
  }
  Buffer large = buffer(4 << 20);
  EXPECT_EQ(large.address() % (2 << 20), 0u);
}

// Physical memory has one owner, or is mapped by hand as often as one likes.
TEST_P(AddressSpaceTest, MappedMemoryIsNobodyElses) {
  Buffer a = buffer(65536, "A");
  uint64_t used = device.bytesInUse(PhysicalSpace::Dram);
  Result<uint64_t> address = space.reserve(65 * 65536);
  ASSERT_OK(address.status());
  uint64_t taken = walk(a.address())->address;
  EXPECT_ERROR(space.map(*address, PhysicalSpace::Dram, taken, 65536, {}),
               FailedPrecondition,
               fmt::format("physical address {:#x} of DRAM is in use", taken));
  // What of a range is free is free again.
  EXPECT_ERROR(space.map(*address, PhysicalSpace::Dram, taken - 64 * 65536,
                         65 * 65536, {}),
               FailedPrecondition, "of DRAM is in use");
  EXPECT_EQ(device.bytesInUse(PhysicalSpace::Dram), used);
  Result<AddressSpace> other = AddressSpace::create(device, "other");
  ASSERT_OK(other.status());
  EXPECT_OK(space.map(*address, PhysicalSpace::Dram, 0, 65536, {}));
  EXPECT_OK(space.map(*address + 65536, PhysicalSpace::Dram, 0, 65536, {}));
  EXPECT_OK(other->map(*address, PhysicalSpace::Dram, 0, 65536, {}));
  std::vector<Buffer> kept;
  // All that is left is somebody else's now, and page 0 is not among it.
  for (uint64_t bytes = uint64_t(1) << 40; bytes >= 65536;) {
    Result<Buffer> rest = space.allocate(bytes);
    if (!rest) {
      bytes /= 2;
      continue;
    }
    EXPECT_NE(walk(rest->address())->address, 0u);
    kept.push_back(*rest);
  }
  kept.clear();
  EXPECT_OK(space.unmap(*address, 2 * 65536));
  EXPECT_ERROR(space.unmap(*address, 65536), FailedPrecondition, "not mapped");
  // Its last mapping goes with its space.
  uint64_t before = device.bytesInUse(PhysicalSpace::Dram);
  uint64_t tables = other->statistics().tableBytes;
  other = AddressSpace();
  EXPECT_EQ(device.bytesInUse(PhysicalSpace::Dram), before - tables - 65536);
}

TEST_P(AddressSpaceTest, MisuseIsNamed) {
  Buffer named = buffer(100, "weights");
  std::vector<std::byte> data(60);
  EXPECT_ERROR(named.write(50, data), InvalidArgument, "'weights'");
  EXPECT_ERROR(named.read(~0ull, data), InvalidArgument, "'weights'");
  EXPECT_ERROR(space.unmap(named.address(), 65536), FailedPrecondition,
               "'weights'");
  EXPECT_ERROR(space.map(1, PhysicalSpace::Dram, 0, 65536, {}), InvalidArgument,
               "context");
  EXPECT_ERROR(space.map(65536, PhysicalSpace::Dram, ~0ull << 16, 65536, {}),
               InvalidArgument, "reach beyond");
  EXPECT_ERROR(space.reserve(1).status(), InvalidArgument, "multiple of 65536");
  EXPECT_ERROR(space.allocate(0).status(), InvalidArgument, "0 bytes");
  BufferOptions options;
  options.label = "too large";
  EXPECT_ERROR(space.allocate(1ull << 46, options).status(), OutOfMemory,
               "'too large'");
  options.space = PhysicalSpace::Shared; // `tiny` has none.
  EXPECT_ERROR(space.allocate(64, options).status(), OutOfMemory,
               "shared SRAM");
  EXPECT_ERROR(Buffer().write(0, data), FailedPrecondition, "empty handle");
  EXPECT_ERROR(AddressSpace().allocate(1).status(), FailedPrecondition,
               "empty handle");
  EXPECT_ERROR(AddressSpace::create(Device()).status(), FailedPrecondition,
               "empty handle");
}

TEST_P(AddressSpaceTest, HandlesMayGoInAnyOrder) {
  Buffer kept = buffer(4096, "kept");
  space = AddressSpace();
  device = Device();
  std::byte value{7}, read{0};
  EXPECT_OK(kept.write(0, std::span(&value, 1)));
  EXPECT_OK(kept.read(0, std::span(&read, 1)));
  EXPECT_EQ(read, value);
}

TESSERA_ON_ALL_DRIVERS(AddressSpaceTest);

} // namespace
