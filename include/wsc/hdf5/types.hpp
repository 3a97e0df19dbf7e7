// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace wsc::hdf5 {

/// Rows first: (n, 3, T) is {n, 3, T}; a scalar is {}.
using Shape = std::vector<std::int64_t>;

/// Element type of a dataset as it lies in the file. `other` is anything that wsc does not read (compounds, enumerations, ...).
enum class Type { i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, string, other };

const char* name(Type type);        ///< "int32", as numpy calls it
std::size_t size_bytes(Type type);  ///< bytes of an element; not for string and other
bool is_integer(Type type);
bool is_float(Type type);

std::int64_t elements(const Shape& shape);  ///< product of the extents; 1 for a scalar

/// The file type that holds a C++ type exactly.
template <class T>
constexpr Type type_of() {
  if constexpr (std::is_same_v<T, float>) {
    return Type::f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return Type::f64;
  } else {
    static_assert(std::is_integral_v<T> && !std::is_same_v<T, bool>, "HDF5 elements are integers or floating-point numbers");
    constexpr bool s = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return s ? Type::i8 : Type::u8;
    if constexpr (sizeof(T) == 2) return s ? Type::i16 : Type::u16;
    if constexpr (sizeof(T) == 4) return s ? Type::i32 : Type::u32;
    if constexpr (sizeof(T) == 8) return s ? Type::i64 : Type::u64;
  }
}

}  // namespace wsc::hdf5
