// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/hdf5/dataset.hpp"

#include "library.hpp"

namespace wsc::hdf5 {

Dataset::Dataset(Handle handle, std::string file_name, std::string path)
    : Object(std::move(handle), std::move(file_name), std::move(path)) {
  const Handle type = own_type(check(H5Dget_type(id()), where()));
  const Handle space = own_space(check(H5Dget_space(id()), where()));
  type_ = type_from_id(type.id());
  shape_ = shape_of(space.id());
}

void Dataset::check_range(Type memory, std::int64_t first, std::int64_t count) const {
  const bool same_kind = is_integer(memory) ? is_integer(type_) : is_float(type_);
  if (!same_kind) {
    throw DataError(where() + " holds " + name(type_) + " elements, but " + (is_integer(memory) ? "integers" : "floating-point numbers") +
                    " are needed here");
  }
  if (first < 0 || count < 0 || first > rows() - count) {
    throw DataError(where() + " has " + std::to_string(rows()) + " rows; rows " + std::to_string(first) + " to " +
                    std::to_string(first + count - 1) + " were asked for");
  }
}

namespace {

struct Selection {
  Handle memory, file;
};

/// Rows first … first + count − 1 of a dataset, and a contiguous buffer of the same shape.
Selection select_rows(hid_t dataset, const Shape& shape, std::int64_t first, std::int64_t count, const std::string& what) {
  Selection s;
  s.file = own_space(check(H5Dget_space(dataset), what));
  if (shape.empty()) {
    s.memory = own_space(check(H5Screate(H5S_SCALAR), what));
    return s;
  }
  std::vector<hsize_t> start(shape.size(), 0), extent(shape.begin(), shape.end());
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  check(H5Sselect_hyperslab(s.file.id(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr), what);
  s.memory = own_space(check(H5Screate_simple(static_cast<int>(shape.size()), extent.data(), nullptr), what));
  return s;
}

}  // namespace

void Dataset::transfer_in(Type memory, std::int64_t first, std::int64_t count, void* out) const {
  const Lock lock;
  check_range(memory, first, count);
  if (count * row_elements() == 0) return;
  const std::string what = where() + " cannot be read (rows " + std::to_string(first) + " to " + std::to_string(first + count - 1) + ")";
  const Selection s = select_rows(id(), shape_, first, count, what);
  check(H5Dread(id(), memory_type(memory), s.memory.id(), s.file.id(), H5P_DEFAULT, out), what);
}

void Dataset::transfer_out(Type memory, std::int64_t first, std::int64_t count, const void* in) {
  const Lock lock;
  check_range(memory, first, count);
  if (count * row_elements() == 0) return;
  const std::string what = where() + " cannot be written";
  const Selection s = select_rows(id(), shape_, first, count, what);
  check_write(H5Dwrite(id(), memory_type(memory), s.memory.id(), s.file.id(), H5P_DEFAULT, in), what);
}

void Dataset::resize(std::int64_t rows) {
  const Lock lock;
  WSC_EXPECT(!shape_.empty() && rows >= 0);
  std::vector<hsize_t> dims(shape_.begin(), shape_.end());
  dims[0] = static_cast<hsize_t>(rows);
  check_write(H5Dset_extent(id(), dims.data()), where() + " cannot be resized");
  shape_[0] = rows;
}

std::int64_t Dataset::offset_bytes() const {
  const Lock lock;
  const Handle properties = own_properties(check(H5Dget_create_plist(id()), where()));
  if (H5Pget_layout(properties.id()) != H5D_CONTIGUOUS) throw DataError(where() + " is not stored contiguously");
  if (elements(shape_) == 0) return -1;
  const haddr_t offset = H5Dget_offset(id());
  if (offset == HADDR_UNDEF) throw DataError(where() + " has no space allocated in the file");
  return static_cast<std::int64_t>(offset);
}

}  // namespace wsc::hdf5
