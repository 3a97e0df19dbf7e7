// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "library.hpp"

namespace wsc::hdf5 {

namespace {

std::recursive_mutex& mutex() {
  static std::recursive_mutex m;
  return m;
}

template <herr_t (*close)(hid_t)>
Handle own(hid_t id) {
  return Handle(id, [](std::int64_t i) {
    const Lock lock;
    close(i);
  });
}

}  // namespace

Lock::Lock() : guard_(mutex()) {
  // Before the library's first call: it must not clean up at exit. All files are closed by their handles; after a failed write (full
  // disk) the library crashes when it tries to close the file once more (seen with 1.10.8).
  static const bool no_cleanup_at_exit = H5dont_atexit() >= 0;
  WSC_ASSERT(no_cleanup_at_exit);
  thread_local const bool silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  WSC_ASSERT(silent);
}

namespace {

/// The library's descriptions of failed system calls are long: "what: time = ..., errno = 28, error message = 'No space left', ...".
std::string shortened(const std::string& description) {
  const std::string mark = "error message = '";
  const std::size_t begin = description.find(mark);
  if (begin == std::string::npos) return description;
  const std::size_t text = begin + mark.size();
  return description.substr(0, description.find(':')) + ": " + description.substr(text, description.find('\'', text) - text);
}

}  // namespace

std::string reason() {
  std::string text;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        if (n == 0 && error->desc) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &text);
  return text.empty() ? "no reason given by HDF5" : shortened(text);
}

Handle own_file(hid_t id) { return own<H5Fclose>(id); }
Handle own_group(hid_t id) { return own<H5Gclose>(id); }
Handle own_dataset(hid_t id) { return own<H5Dclose>(id); }
Handle own_space(hid_t id) { return own<H5Sclose>(id); }
Handle own_type(hid_t id) { return own<H5Tclose>(id); }
Handle own_attribute(hid_t id) { return own<H5Aclose>(id); }
Handle own_properties(hid_t id) { return own<H5Pclose>(id); }

hid_t memory_type(Type type) {
  switch (type) {
    case Type::i8:
      return H5T_NATIVE_INT8;
    case Type::u8:
      return H5T_NATIVE_UINT8;
    case Type::i16:
      return H5T_NATIVE_INT16;
    case Type::u16:
      return H5T_NATIVE_UINT16;
    case Type::i32:
      return H5T_NATIVE_INT32;
    case Type::u32:
      return H5T_NATIVE_UINT32;
    case Type::i64:
      return H5T_NATIVE_INT64;
    case Type::u64:
      return H5T_NATIVE_UINT64;
    case Type::f32:
      return H5T_NATIVE_FLOAT;
    case Type::f64:
      return H5T_NATIVE_DOUBLE;
    default:
      break;
  }
  WSC_EXPECT(!"numeric type");
}

Type type_from_id(hid_t datatype) {
  const std::size_t bytes = H5Tget_size(datatype);
  switch (H5Tget_class(datatype)) {
    case H5T_STRING:
      return Type::string;
    case H5T_FLOAT:
      return bytes == 4 ? Type::f32 : bytes == 8 ? Type::f64 : Type::other;
    case H5T_INTEGER: {
      const bool is_signed = H5Tget_sign(datatype) == H5T_SGN_2;
      if (bytes == 1) return is_signed ? Type::i8 : Type::u8;
      if (bytes == 2) return is_signed ? Type::i16 : Type::u16;
      if (bytes == 4) return is_signed ? Type::i32 : Type::u32;
      if (bytes == 8) return is_signed ? Type::i64 : Type::u64;
      return Type::other;
    }
    default:
      return Type::other;
  }
}

Shape shape_of(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank <= 0) return {};
  std::vector<hsize_t> dims(rank);
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return Shape(dims.begin(), dims.end());
}

Handle string_type(std::size_t length) {
  const std::string what = "HDF5: cannot make a string type";
  Handle type = own_type(check(H5Tcopy(H5T_C_S1), what));
  check(H5Tset_size(type.id(), length == 0 ? H5T_VARIABLE : length), what);
  check(H5Tset_cset(type.id(), H5T_CSET_UTF8), what);
  if (length != 0) check(H5Tset_strpad(type.id(), H5T_STR_NULLPAD), what);
  return type;
}

}  // namespace wsc::hdf5
