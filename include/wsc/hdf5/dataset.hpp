// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/hdf5/object.hpp"
#include "wsc/hdf5/types.hpp"

namespace wsc::hdf5 {

/// An array in a file. A *row* is all elements with one first index: a dataset of shape (n, 3, T) has n rows of 3·T elements.
/// Memory is row-major and contiguous. Integers convert between widths, clamped to the range of the C++ type as HDF5 does (read into
/// a type at least as wide as type() where that matters); integer and floating point never mix (DataError).
class Dataset : public Object {
 public:
  Dataset() = default;

  Type type() const { return type_; }
  const Shape& shape() const { return shape_; }
  std::int64_t rows() const { return shape_.empty() ? 1 : shape_.front(); }
  std::int64_t row_elements() const { return shape_.empty() ? 1 : elements(Shape(shape_.begin() + 1, shape_.end())); }

  /// Whole array; `out` holds elements(shape()).
  template <class T>
  void read(T* out) const {
    read_rows(0, rows(), out);
  }
  template <class T>
  void write(const T* in) {
    write_rows(0, rows(), in);
  }

  /// Rows first … first + count − 1. DataError where they reach past the end or cannot be read.
  template <class T>
  void read_rows(std::int64_t first, std::int64_t count, T* out) const {
    transfer_in(type_of<T>(), first, count, out);
  }
  template <class T>
  void write_rows(std::int64_t first, std::int64_t count, const T* in) {
    transfer_out(type_of<T>(), first, count, in);
  }

  /// Grows a dataset made by File::create_chunked to `rows` rows.
  void resize(std::int64_t rows);

  /// Bytes from the start of the file at which the elements of a contiguous, allocated dataset lie, row-major and in the machine's
  /// byte order: for pwrite and pread by others. −1 for an empty dataset. DataError for other layouts.
  std::int64_t offset_bytes() const;

 private:
  friend class File;
  Dataset(Handle handle, std::string file_name, std::string path);
  void transfer_in(Type memory, std::int64_t first, std::int64_t count, void* out) const;
  void transfer_out(Type memory, std::int64_t first, std::int64_t count, const void* in);
  void check_range(Type memory, std::int64_t first, std::int64_t count) const;

  Shape shape_;
  Type type_ = Type::other;
};

}  // namespace wsc::hdf5
