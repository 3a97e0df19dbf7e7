// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// The only header that includes the library's own. Everything here runs under Lock.
#include <mutex>
#include <string>

#include <hdf5.h>

#include "wsc/base/error.hpp"
#include "wsc/hdf5/object.hpp"
#include "wsc/hdf5/types.hpp"

namespace wsc::hdf5 {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "HDF5 1.10 or later is needed");

/// Held around all calls of the library; recursive, so that functions here may call one another. Also switches off the library's own
/// error printing (a setting per thread in thread-safe builds).
class Lock {
 public:
  Lock();

 private:
  std::unique_lock<std::recursive_mutex> guard_;
};

/// What the library says about the call that has just failed: the innermost description of its error stack.
std::string reason();

/// Results of calls: negative is failure. `what` is "<file>: cannot ..."; the library's reason is added.
template <class R>
R check(R result, const std::string& what) {
  if (result < 0) throw DataError(what + ": " + reason());
  return result;
}
template <class R>
R check_write(R result, const std::string& what) {
  if (result < 0) throw SystemError(what + ": " + reason() + ". Is the disk full, or a quota reached?");
  return result;
}

/// Owners of the library's kinds of identifiers.
Handle own_file(hid_t id);
Handle own_group(hid_t id);
Handle own_dataset(hid_t id);
Handle own_space(hid_t id);
Handle own_type(hid_t id);
Handle own_attribute(hid_t id);
Handle own_properties(hid_t id);

hid_t memory_type(Type type);       ///< the library's constant for a C++ type of this machine
Type type_from_id(hid_t datatype);  ///< of any datatype
Shape shape_of(hid_t space);

/// A UTF-8 string type: of fixed length, or of variable length (0).
Handle string_type(std::size_t length);
/// The string that an attribute or dataset of string type holds; `read(type, buffer)` does the reading.
template <class Read>
std::string read_string_value(hid_t file_type, const std::string& what, Read read);

}  // namespace wsc::hdf5

template <class Read>
std::string wsc::hdf5::read_string_value(hid_t file_type, const std::string& what, Read read) {
  if (check(H5Tis_variable_str(file_type), what) > 0) {
    char* text = nullptr;
    const Handle type = own_type(check(H5Tcopy(file_type), what));
    check(read(static_cast<hid_t>(type.id()), static_cast<void*>(&text)), what);
    std::string value = text ? text : "";
    H5free_memory(text);
    return value;
  }
  std::string value(H5Tget_size(file_type), '\0');
  const Handle type = own_type(check(H5Tcopy(file_type), what));
  check(read(static_cast<hid_t>(type.id()), static_cast<void*>(value.data())), what);
  if (H5Tget_strpad(file_type) == H5T_STR_NULLTERM) return value.c_str();
  while (!value.empty() && value.back() == (H5Tget_strpad(file_type) == H5T_STR_SPACEPAD ? ' ' : '\0')) value.pop_back();
  return value;
}
