//===- Contents.cpp - What is in the sections -----------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Strings are a u32 length and their bytes; lists are a u32 count and their
// elements. A decoder checks that it can read everything and that nothing is
// left over; verifyObject checks what the values mean.
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "fmt/format.h"
#include "tessera/ISA/Packet.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/Hash.h"

namespace tessera::object {

static Status invalid(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

uint64_t computeChecksum(std::span<const uint8_t> file) {
  return hashBytes(file.subspan(checksumOffset + 8),
                   hashBytes(file.first(checksumOffset)));
}

/// A list: its count, then each element by `write`.
template <typename T, typename Write>
static void writeList(ByteWriter &out, const std::vector<T> &list,
                      Write write) {
  out.write(uint32_t(list.size()));
  for (const T &element : list)
    write(element);
}

/// Stops at the first element that is not there, so that a wrong count costs
/// nothing.
template <typename T, typename Read>
static void readList(ByteReader &in, std::vector<T> &list, Read read) {
  uint32_t count = in.read<uint32_t>();
  for (uint32_t i = 0; i < count && in.ok(); ++i)
    list.push_back(read());
}

template <typename T>
static void writeNumbers(ByteWriter &out, const std::vector<T> &numbers) {
  writeList(out, numbers, [&](T number) { out.write(number); });
}
template <typename T>
static void readNumbers(ByteReader &in, std::vector<T> &numbers) {
  readList(in, numbers, [&] { return in.read<T>(); });
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

static void writeNote(ByteWriter &out, uint32_t type, ByteWriter description) {
  out.write(uint32_t(noteOwner.size()));
  out.write(uint32_t(description.size()));
  out.write(type);
  for (char c : noteOwner)
    out.write(c);
  out.writeBytes(std::as_const(description).bytes());
  out.align(4);
}

static ByteWriter encodeSignature(const std::vector<TensorSignature> &tensors) {
  ByteWriter out;
  writeList(out, tensors, [&](const TensorSignature &tensor) {
    out.writeString(tensor.name);
    out.writeString(tensor.type);
    writeNumbers(out, tensor.shape);
    out.write(tensor.bytes);
  });
  return out;
}

static void decodeSignature(ByteReader &in,
                            std::vector<TensorSignature> &tensors) {
  readList(in, tensors, [&] {
    TensorSignature tensor;
    tensor.name = in.readString();
    tensor.type = in.readString();
    readNumbers(in, tensor.shape);
    in.read(tensor.bytes);
    return tensor;
  });
}

std::vector<uint8_t> encodeNotes(const Object &object, uint64_t checksum) {
  ByteWriter out, sum, versions, build;
  sum.write(checksum);
  versions.write(objectVersion);
  versions.write(isaVersion);
  build.writeString(object.toolVersion);
  build.writeString(object.architectureName);
  build.writeString(object.sourceName);
  build.writeString(object.isaKeys);
  build.write(object.timingHash);
  writeNote(out, noteChecksum, sum);
  writeNote(out, noteVersions, versions);
  writeNote(out, noteBuild, build);
  writeNote(out, noteInputs, encodeSignature(object.inputs));
  writeNote(out, noteOutputs, encodeSignature(object.outputs));
  return out.take();
}

static Status decodeNote(uint32_t type, std::span<const uint8_t> description,
                         Object &object) {
  ByteReader in(description);
  switch (type) {
  case noteChecksum:
    in.skip(8);
    break;
  case noteVersions: {
    uint32_t version = in.read<uint32_t>(), isa = in.read<uint32_t>();
    if (in.ok() && (version != objectVersion || isa != isaVersion))
      return {StatusCode::FailedPrecondition,
              fmt::format("object version {}, ISA version {}; accepted: {} and "
                          "{}",
                          version, isa, objectVersion, isaVersion)};
    break;
  }
  case noteBuild:
    object.toolVersion = in.readString();
    object.architectureName = in.readString();
    object.sourceName = in.readString();
    object.isaKeys = in.readString();
    in.read(object.timingHash);
    break;
  case noteInputs:
    decodeSignature(in, object.inputs);
    break;
  case noteOutputs:
    decodeSignature(in, object.outputs);
    break;
  default:
    return invalid(fmt::format("unknown note {}", type));
  }
  return in.finish();
}

Status decodeNotes(std::span<const uint8_t> bytes, Object &object) {
  ByteReader in(bytes);
  for (uint32_t expected = noteChecksum; expected <= noteOutputs; ++expected) {
    uint32_t nameSize = in.read<uint32_t>();
    uint32_t size = in.read<uint32_t>();
    uint32_t type = in.read<uint32_t>();
    if (!in.ok() || nameSize != noteOwner.size() || type != expected)
      return invalid(fmt::format("note {} is missing", expected));
    in.skip(nameSize);
    std::span<const uint8_t> description = in.readBytes(size);
    in.align(4);
    TESSERA_RETURN_IF_ERROR(in.status());
    TESSERA_RETURN_IF_ERROR(decodeNote(type, description, object));
  }
  return in.finish();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

std::vector<uint8_t> encodeDescriptors(const KernelCode &kernel) {
  std::vector<uint8_t> bytes(kernel.descriptors.size() * isa::descriptorBytes);
  for (size_t i = 0; i < kernel.descriptors.size(); ++i)
    isa::encode(kernel.descriptors[i], std::span(bytes)
                                           .subspan(i * isa::descriptorBytes)
                                           .first<isa::descriptorBytes>());
  return bytes;
}

Status decodeDescriptors(std::span<const uint8_t> bytes, KernelCode &kernel) {
  while (!bytes.empty()) {
    Result<isa::Descriptor> td = isa::decodeDescriptor(bytes);
    if (!td.ok())
      return td.status().withContext(
          fmt::format("number {}", kernel.descriptors.size()));
    kernel.descriptors.push_back(*td);
    bytes = bytes.subspan(isa::descriptorBytes);
  }
  return Status::success();
}

std::vector<uint8_t> encodeLocations(const KernelCode &kernel) {
  ByteWriter out;
  writeList(out, kernel.locations, [&](const LocationEntry &entry) {
    out.write(entry.firstInstruction);
    out.writeString(entry.location);
  });
  return out.take();
}

Status decodeLocations(std::span<const uint8_t> bytes, KernelCode &kernel) {
  ByteReader in(bytes);
  readList(in, kernel.locations, [&] {
    LocationEntry entry;
    in.read(entry.firstInstruction);
    entry.location = in.readString();
    return entry;
  });
  return in.finish();
}

std::vector<uint8_t> encodeRecords(const Object &object) {
  ByteWriter out;
  for (const KernelCode &kernel : object.kernels) {
    isa::KernelRecord record;
    record.textBytes = uint32_t(kernel.text.size());
    record.numDescriptors = uint32_t(kernel.descriptors.size());
    record.mapBytes = uint32_t(object.mapPrograms.size());
    record.numArguments = kernel.numArguments;
    out.writeBytes(std::span<const uint8_t>(isa::encode(record)));
  }
  return out.take();
}

Status decodeRecords(std::span<const uint8_t> bytes, Object &object) {
  for (KernelCode &kernel : object.kernels) {
    Result<isa::KernelRecord> record = isa::decodeKernelRecord(bytes);
    if (!record.ok())
      return record.status().withContext(kernel.name);
    kernel.numArguments = record->numArguments;
    bytes = bytes.subspan(isa::kernelRecordBytes);
  }
  if (!bytes.empty())
    return invalid("there are more records than kernels");
  return Status::success();
}

//===----------------------------------------------------------------------===//
// For reports
//===----------------------------------------------------------------------===//

std::vector<uint8_t> encodeDispatches(const Object &object) {
  ByteWriter out;
  writeList(out, object.dispatches, [&](const DispatchInfo &dispatch) {
    out.writeString(dispatch.name);
    writeList(out, dispatch.nodes,
              [&](const std::string &node) { out.writeString(node); });
    out.write(dispatch.packet);
    writeNumbers(out, dispatch.operators);
    for (const MappingInfo *mapping : {&dispatch.mapping, &dispatch.runnerUp}) {
      out.writeString(mapping->plan);
      out.write(mapping->cycles);
    }
    out.write(dispatch.liveBytes);
  });
  return out.take();
}

Status decodeDispatches(std::span<const uint8_t> bytes, Object &object) {
  ByteReader in(bytes);
  readList(in, object.dispatches, [&] {
    DispatchInfo dispatch;
    dispatch.name = in.readString();
    readList(in, dispatch.nodes, [&] { return in.readString(); });
    in.read(dispatch.packet);
    readNumbers(in, dispatch.operators);
    for (MappingInfo *mapping : {&dispatch.mapping, &dispatch.runnerUp}) {
      mapping->plan = in.readString();
      in.read(mapping->cycles);
    }
    in.read(dispatch.liveBytes);
    return dispatch;
  });
  return in.finish();
}

/// Calls `visit` with each number of a record, in the order of the file.
template <typename Record, typename Visit>
static void visitNumbers(Record &record, Visit visit) {
  visit(record.m), visit(record.k), visit(record.n), visit(record.batch);
  visit(record.elements), visit(record.aluOps), visit(record.sfuOps);
  visit(record.format), visit(record.eitherEngine);
}

std::vector<uint8_t> encodeWorkload(const Object &object) {
  ByteWriter out;
  out.write(object.compulsoryBytes);
  writeList(out, object.workload, [&](const OperatorRecord &record) {
    out.writeString(record.name);
    out.writeString(record.kind);
    visitNumbers(record, [&](auto value) { out.write(value); });
    writeNumbers(out, record.producers);
  });
  return out.take();
}

Status decodeWorkload(std::span<const uint8_t> bytes, Object &object) {
  ByteReader in(bytes);
  in.read(object.compulsoryBytes);
  readList(in, object.workload, [&] {
    OperatorRecord record;
    record.name = in.readString();
    record.kind = in.readString();
    visitNumbers(record, [&](auto &value) { in.read(value); });
    readNumbers(in, record.producers);
    return record;
  });
  return in.finish();
}

} // namespace tessera::object
