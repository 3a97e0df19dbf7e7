// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wsc::hdf5 {

/// An HDF5 identifier that closes itself. Move-only. The library's calls are serialised by one lock inside this folder (the usual
/// builds of HDF5 are not thread-safe), so handles may live on any thread.
class Handle {
 public:
  using Close = void (*)(std::int64_t);

  Handle() = default;
  Handle(std::int64_t id, Close close) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  ~Handle() { reset(); }

  std::int64_t id() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  void reset();            ///< closes now; errors are ignored
  std::int64_t release();  ///< gives the identifier away

 private:
  std::int64_t id_ = -1;
  Close close_ = nullptr;
};

/// A file's root, a group or a dataset, with its attributes. Reading throws DataError where the attribute is absent or of another
/// kind, naming file, object and attribute; a failed write throws SystemError. Writing replaces an attribute that is there.
/// Attributes are for small things: the file format limits one to 64 KiB (long texts: File::write_text).
class Object {
 public:
  const std::string& file_name() const { return file_name_; }
  const std::string& path() const { return path_; }
  std::int64_t id() const { return handle_.id(); }

  bool has_attribute(const std::string& attribute) const;
  std::vector<std::string> attributes() const;  ///< names, sorted

  std::int64_t read_int(const std::string& attribute) const;
  double read_double(const std::string& attribute) const;  ///< integers are taken too
  std::string read_string(const std::string& attribute) const;
  std::vector<std::int64_t> read_ints(const std::string& attribute) const;
  std::vector<double> read_doubles(const std::string& attribute) const;

  void write_int(const std::string& attribute, std::int64_t value);
  void write_double(const std::string& attribute, double value);
  void write_string(const std::string& attribute, std::string_view value);
  void write_ints(const std::string& attribute, const std::vector<std::int64_t>& values);
  void write_doubles(const std::string& attribute, const std::vector<double>& values);

 protected:
  Object() = default;
  Object(Handle handle, std::string file_name, std::string path)
      : handle_(std::move(handle)), file_name_(std::move(file_name)), path_(std::move(path)) {}

  /// "<file>: dataset '<path>'", to begin a message.
  std::string where() const;

  Handle handle_;
  std::string file_name_, path_;
};

}  // namespace wsc::hdf5
