// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/hdf5/object.hpp"

#include <utility>

#include "library.hpp"

namespace wsc::hdf5 {

Handle::Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}

Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    reset();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}

void Handle::reset() {
  if (id_ >= 0) close_(std::exchange(id_, -1));
}

std::int64_t Handle::release() { return std::exchange(id_, -1); }

std::string Object::where() const { return file_name_ + ": '" + path_ + "'"; }

namespace {

std::string attribute_of(const std::string& object, const std::string& attribute) { return object + ": attribute " + attribute; }

struct OpenAttribute {
  Handle attribute, type;
  std::int64_t count;
  std::string what;
};

OpenAttribute open_attribute(hid_t object, const std::string& where, const std::string& name) {
  OpenAttribute a;
  a.what = attribute_of(where, name);
  if (check(H5Aexists(object, name.c_str()), a.what) == 0) throw DataError(a.what + " is missing");
  a.attribute = own_attribute(check(H5Aopen(object, name.c_str(), H5P_DEFAULT), a.what + " cannot be opened"));
  a.type = own_type(check(H5Aget_type(a.attribute.id()), a.what));
  const Handle space = own_space(check(H5Aget_space(a.attribute.id()), a.what));
  a.count = check(H5Sget_simple_extent_npoints(space.id()), a.what);
  return a;
}

template <class T>
std::vector<T> read_numbers(hid_t object, const std::string& where, const std::string& name) {
  const OpenAttribute a = open_attribute(object, where, name);
  const Type type = type_from_id(a.type.id());
  const bool fits = is_integer(type) || (is_float(type) && std::is_floating_point_v<T>);
  if (!fits)
    throw DataError(a.what + " should hold " + (std::is_floating_point_v<T> ? "numbers" : "integers") + ", not " + hdf5::name(type));
  std::vector<T> values(a.count);
  if (a.count > 0) check(H5Aread(a.attribute.id(), memory_type(type_of<T>()), values.data()), a.what + " cannot be read");
  return values;
}

template <class T>
T read_number(hid_t object, const std::string& where, const std::string& name) {
  const std::vector<T> values = read_numbers<T>(object, where, name);
  if (values.size() != 1) {
    throw DataError(attribute_of(where, name) + " should hold one number, not " + std::to_string(values.size()));
  }
  return values[0];
}

/// Writes an attribute that is there with the same type and extent in place, so that the file keeps its size; false where it is not.
bool rewrite_attribute(hid_t object, const std::string& what, const std::string& name, hid_t type, hid_t space, const void* value) {
  const Handle a = own_attribute(check_write(H5Aopen(object, name.c_str(), H5P_DEFAULT), what));
  const Handle old_type = own_type(check_write(H5Aget_type(a.id()), what)), old_space = own_space(check_write(H5Aget_space(a.id()), what));
  if (H5Tequal(old_type.id(), type) <= 0 || H5Sextent_equal(old_space.id(), space) <= 0) return false;
  check_write(H5Awrite(a.id(), type, value), what);
  return true;
}

void write_attribute(hid_t object, const std::string& where, const std::string& name, hid_t type, hid_t space, const void* value) {
  const std::string what = attribute_of(where, name) + " cannot be written";
  if (check_write(H5Aexists(object, name.c_str()), what) > 0) {
    if (rewrite_attribute(object, what, name, type, space, value)) return;
    check_write(H5Adelete(object, name.c_str()), what);
  }
  const Handle a = own_attribute(check_write(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), what));
  check_write(H5Awrite(a.id(), type, value), what);
}

template <class T>
void write_numbers(hid_t object, const std::string& where, const std::string& name, const std::vector<T>& values) {
  const hsize_t count = values.size();
  const Handle space = own_space(check_write(count == 0 ? H5Screate(H5S_NULL) : H5Screate_simple(1, &count, nullptr), where));
  const T none{};
  write_attribute(object, where, name, memory_type(type_of<T>()), space.id(), count == 0 ? &none : values.data());
}

template <class T>
void write_number(hid_t object, const std::string& where, const std::string& name, T value) {
  const Handle space = own_space(check_write(H5Screate(H5S_SCALAR), where));
  write_attribute(object, where, name, memory_type(type_of<T>()), space.id(), &value);
}

}  // namespace

bool Object::has_attribute(const std::string& attribute) const {
  const Lock lock;
  return check(H5Aexists(id(), attribute.c_str()), attribute_of(where(), attribute)) > 0;
}

std::vector<std::string> Object::attributes() const {
  const Lock lock;
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5A_info_t*, void* out) -> herr_t {
    static_cast<std::vector<std::string>*>(out)->push_back(name);
    return 0;
  };
  check(H5Aiterate2(id(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names), where() + ": cannot list attributes");
  return names;
}

std::int64_t Object::read_int(const std::string& attribute) const {
  const Lock lock;
  return read_number<std::int64_t>(id(), where(), attribute);
}

double Object::read_double(const std::string& attribute) const {
  const Lock lock;
  return read_number<double>(id(), where(), attribute);
}

std::string Object::read_string(const std::string& attribute) const {
  const Lock lock;
  const OpenAttribute a = open_attribute(id(), where(), attribute);
  if (type_from_id(a.type.id()) != Type::string || a.count != 1) throw DataError(a.what + " should hold a string");
  return read_string_value(a.type.id(), a.what + " cannot be read",
                           [&](hid_t type, void* buffer) { return H5Aread(a.attribute.id(), type, buffer); });
}

std::vector<std::int64_t> Object::read_ints(const std::string& attribute) const {
  const Lock lock;
  return read_numbers<std::int64_t>(id(), where(), attribute);
}

std::vector<double> Object::read_doubles(const std::string& attribute) const {
  const Lock lock;
  return read_numbers<double>(id(), where(), attribute);
}

void Object::write_int(const std::string& attribute, std::int64_t value) {
  const Lock lock;
  write_number(id(), where(), attribute, value);
}

void Object::write_double(const std::string& attribute, double value) {
  const Lock lock;
  write_number(id(), where(), attribute, value);
}

void Object::write_string(const std::string& attribute, std::string_view value) {
  const Lock lock;
  // Variable length: h5py shows it as str. (A text with a zero byte would be cut; those go to File::write_text.)
  WSC_EXPECT(value.find('\0') == std::string_view::npos);
  const std::string text(value);
  const char* pointer = text.c_str();
  const Handle type = string_type(0), space = own_space(check_write(H5Screate(H5S_SCALAR), where()));
  write_attribute(id(), where(), attribute, type.id(), space.id(), &pointer);
}

void Object::write_ints(const std::string& attribute, const std::vector<std::int64_t>& values) {
  const Lock lock;
  write_numbers(id(), where(), attribute, values);
}

void Object::write_doubles(const std::string& attribute, const std::vector<double>& values) {
  const Lock lock;
  write_numbers(id(), where(), attribute, values);
}

}  // namespace wsc::hdf5
