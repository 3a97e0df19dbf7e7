// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/hdf5/types.hpp"

#include "wsc/base/error.hpp"

namespace wsc::hdf5 {

const char* name(Type type) {
  switch (type) {
    case Type::i8:
      return "int8";
    case Type::u8:
      return "uint8";
    case Type::i16:
      return "int16";
    case Type::u16:
      return "uint16";
    case Type::i32:
      return "int32";
    case Type::u32:
      return "uint32";
    case Type::i64:
      return "int64";
    case Type::u64:
      return "uint64";
    case Type::f32:
      return "float32";
    case Type::f64:
      return "float64";
    case Type::string:
      return "string";
    case Type::other:
      break;
  }
  return "an unsupported type";
}

std::size_t size_bytes(Type type) {
  switch (type) {
    case Type::i8:
    case Type::u8:
      return 1;
    case Type::i16:
    case Type::u16:
      return 2;
    case Type::i32:
    case Type::u32:
    case Type::f32:
      return 4;
    case Type::i64:
    case Type::u64:
    case Type::f64:
      return 8;
    default:
      break;
  }
  WSC_EXPECT(!"type with elements of fixed size");
}

bool is_float(Type type) { return type == Type::f32 || type == Type::f64; }
bool is_integer(Type type) { return !is_float(type) && type != Type::string && type != Type::other; }

std::int64_t elements(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

}  // namespace wsc::hdf5
