//===- Npy.cpp - NumPy array files ----------------------------------------===//
//
// Part of Tessera, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//===----------------------------------------------------------------------===//

#include "tessera/Support/Npy.h"
#include "tessera/Support/Bytes.h"
#include "tessera/Support/File.h"
#include <cassert>
#include <fmt/format.h>
#include <optional>

using namespace tessera;

namespace {
struct TypeInfo {
  std::string_view descr; ///< Without the byte order.
  std::string_view name;
  unsigned bytes;
};

struct Header {
  NpyType type;
  std::vector<uint64_t> shape;
};

/// A recursive-descent parser of the header: a Python dictionary with the keys
/// descr, fortran_order and shape.
class HeaderParser {
public:
  HeaderParser(std::string_view text, std::string_view name)
      : text(text), name(name) {}
  Result<Header> parse();

private:
  Status error(std::string_view what) const {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: bad .npy header: {}", name, what));
  }
  void skipSpace() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n'))
      ++at;
  }
  bool consume(char c) {
    skipSpace();
    if (at >= text.size() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  bool consumeWord(std::string_view word) {
    skipSpace();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  std::optional<std::string_view> string();
  Status parseShape();
  Status parseType();

  std::string_view text, name;
  size_t at = 0;
  std::optional<NpyType> type;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<uint64_t>> shape;
};
} // namespace

static constexpr unsigned numTypes = 12;
/// Indexed by the enum's value.
static constexpr TypeInfo typeTable[numTypes] = {
    {"b1", "bool", 1},    {"i1", "int8", 1},    {"u1", "uint8", 1},
    {"i2", "int16", 2},   {"u2", "uint16", 2},  {"i4", "int32", 4},
    {"u4", "uint32", 4},  {"i8", "int64", 8},   {"u8", "uint64", 8},
    {"f2", "float16", 2}, {"f4", "float32", 4}, {"f8", "float64", 8},
};
static constexpr std::string_view magic = "\x93NUMPY";
/// NumPy's own limit is 10,000 characters unless told otherwise.
static constexpr uint64_t maxHeaderBytes = 65536;

unsigned tessera::npyTypeBytes(NpyType type) {
  return typeTable[unsigned(type)].bytes;
}
std::string_view tessera::npyTypeName(NpyType type) {
  return typeTable[unsigned(type)].name;
}

/// Bytes of all elements; nothing if that overflows 64 bits.
static std::optional<uint64_t> dataBytes(NpyType type,
                                         std::span<const uint64_t> shape) {
  for (uint64_t extent : shape)
    if (extent == 0)
      return 0;
  uint64_t bytes = npyTypeBytes(type);
  for (uint64_t extent : shape)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      return std::nullopt;
  return bytes;
}

std::optional<std::string_view> HeaderParser::string() {
  skipSpace();
  if (at >= text.size() || (text[at] != '\'' && text[at] != '"'))
    return std::nullopt;
  size_t end = text.find(text[at], at + 1);
  if (end == std::string_view::npos)
    return std::nullopt;
  std::string_view result = text.substr(at + 1, end - at - 1);
  at = end + 1;
  return result;
}

Status HeaderParser::parseType() {
  std::optional<std::string_view> descr = string();
  if (!descr || descr->empty())
    return error("descr is not a string (structured types are unsupported)");
  std::string_view base = *descr;
  char order = '=';
  if (std::string_view("<>|=").find(base[0]) != std::string_view::npos) {
    order = base[0];
    base.remove_prefix(1);
  }
  for (unsigned i = 0; i < numTypes; ++i)
    if (typeTable[i].descr == base)
      type = NpyType(i);
  if (base == "V2")
    type = NpyType::U16;
  else if (base == "V1" || base == "f1")
    type = NpyType::U8;
  if (!type)
    return Status(StatusCode::Unsupported,
                  fmt::format("{}: unsupported dtype '{}'; accepted are bool, "
                              "int8 to int64, uint8 to uint64, float16, "
                              "float32 and float64",
                              name, *descr));
  if (order == '>' && npyTypeBytes(*type) > 1)
    return Status(StatusCode::Unsupported,
                  fmt::format("{}: big-endian dtype '{}'; accepted is little "
                              "endian ('<{}')",
                              name, *descr, base));
  return Status::success();
}

Status HeaderParser::parseShape() {
  if (!consume('('))
    return error("shape is not a tuple");
  shape.emplace();
  while (!consume(')')) {
    skipSpace();
    size_t first = at;
    uint64_t extent = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (__builtin_mul_overflow(extent, uint64_t(10), &extent) ||
          __builtin_add_overflow(extent, uint64_t(text[at] - '0'), &extent))
        return error("a shape extent overflows 64 bits");
    if (at == first)
      return error("a shape extent is not a number ≥ 0");
    shape->push_back(extent);
    if (!consume(',')) {
      if (!consume(')'))
        return error("shape is not a tuple of numbers");
      break;
    }
  }
  return Status::success();
}

Result<Header> HeaderParser::parse() {
  if (!consume('{'))
    return error("not a dictionary");
  while (!consume('}')) {
    std::optional<std::string_view> key = string();
    if (!key || !consume(':'))
      return error("a key is missing");
    bool repeated = (*key == "descr" && type) ||
                    (*key == "fortran_order" && fortranOrder) ||
                    (*key == "shape" && shape);
    if (repeated)
      return error(fmt::format("key '{}' repeated", *key));
    if (*key == "descr") {
      TESSERA_RETURN_IF_ERROR(parseType());
    } else if (*key == "fortran_order") {
      if (consumeWord("False"))
        fortranOrder = false;
      else if (consumeWord("True"))
        fortranOrder = true;
      else
        return error("fortran_order is neither True nor False");
    } else if (*key == "shape") {
      TESSERA_RETURN_IF_ERROR(parseShape());
    } else {
      return error(fmt::format("unknown key '{}'", *key));
    }
    if (!consume(',')) {
      if (!consume('}'))
        return error("the dictionary does not end");
      break;
    }
  }
  skipSpace();
  if (at != text.size())
    return error("text after the dictionary");
  if (!type || !fortranOrder || !shape)
    return error("descr, fortran_order or shape is missing");
  // With one dimension both orders are the same bytes.
  if (*fortranOrder && shape->size() > 1)
    return Status(StatusCode::Unsupported,
                  fmt::format("{}: Fortran order; accepted is C order "
                              "(numpy.ascontiguousarray)",
                              name));
  return Header{*type, std::move(*shape)};
}

Result<NpyArray> tessera::parseNpy(std::span<const uint8_t> bytes,
                                   std::string_view name) {
  auto error = [&](std::string text) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{}: {}", name, text));
  };
  ByteReader reader(bytes);
  std::span<const uint8_t> start = reader.readBytes(magic.size());
  if (start.size() != magic.size() ||
      std::memcmp(start.data(), magic.data(), magic.size()) != 0)
    return error("not a .npy file (no \\x93NUMPY at its start)");
  uint8_t major = reader.read<uint8_t>();
  uint8_t minor = reader.read<uint8_t>();
  if (reader.ok() && (major < 1 || major > 3 || minor != 0))
    return error(fmt::format(
        ".npy version {}.{}; accepted are 1.0, 2.0 and 3.0", major, minor));
  uint64_t headerBytes =
      major == 1 ? reader.read<uint16_t>() : reader.read<uint32_t>();
  if (headerBytes > maxHeaderBytes)
    return error(fmt::format(".npy header of {} bytes; accepted are {}",
                             headerBytes, maxHeaderBytes));
  std::span<const uint8_t> header = reader.readBytes(headerBytes);
  if (!reader.ok())
    return reader.status().withContext(fmt::format("{}: .npy header", name));
  HeaderParser parser(
      std::string_view(reinterpret_cast<const char *>(header.data()),
                       header.size()),
      name);
  TESSERA_ASSIGN_OR_RETURN(Header parsed, parser.parse());

  std::optional<uint64_t> size = dataBytes(parsed.type, parsed.shape);
  if (!size)
    return error(fmt::format("shape ({}) overflows 64 bits",
                             fmt::join(parsed.shape, ", ")));
  if (*size != reader.remaining())
    return error(fmt::format(
        "{}: {} of shape ({}) needs {} bytes of data, the file has {}",
        *size > reader.remaining() ? "truncated" : "too long",
        npyTypeName(parsed.type), fmt::join(parsed.shape, ", "), *size,
        reader.remaining()));
  NpyArray array{parsed.type, std::move(parsed.shape), {}};
  std::span<const uint8_t> data = reader.readBytes(*size);
  array.data.assign(data.begin(), data.end());
  return array;
}

std::vector<uint8_t> tessera::formatNpy(const NpyArray &array) {
  assert(dataBytes(array.type, array.shape) == array.data.size() &&
         "data and shape disagree");
  const TypeInfo &type = typeTable[unsigned(array.type)];
  std::string header = fmt::format(
      "{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}",
      type.bytes == 1 ? '|' : '<', type.descr, fmt::join(array.shape, ", "),
      array.shape.size() == 1 ? "," : "");
  // Data starts at a multiple of 64, and the header ends with a line feed.
  constexpr size_t prefix = 10;
  size_t padded = (prefix + header.size() + 1 + 63) / 64 * 64 - prefix;
  assert(padded <= 0xffff && "rank too high for version 1");
  header.resize(padded - 1, ' ');
  header += '\n';

  ByteWriter writer;
  writer.writeBytes(
      std::span(reinterpret_cast<const uint8_t *>(magic.data()), magic.size()));
  writer.write<uint8_t>(1);
  writer.write<uint8_t>(0);
  writer.write<uint16_t>(uint16_t(padded));
  writer.writeBytes(std::span(reinterpret_cast<const uint8_t *>(header.data()),
                              header.size()));
  writer.writeBytes(std::span<const uint8_t>(array.data));
  return writer.take();
}

Result<NpyArray> tessera::readNpy(const std::string &path) {
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, readFile(path));
  return parseNpy(bytes, path);
}

Status tessera::writeNpy(const std::string &path, const NpyArray &array) {
  return writeFile(path, formatNpy(array));
}
