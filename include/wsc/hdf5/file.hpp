// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "wsc/hdf5/dataset.hpp"
#include "wsc/hdf5/object.hpp"

namespace wsc::hdf5 {

/// How a file is made.
struct CreateOptions {
  /// The format of HDF5 1.10 (superblock 3), whose metadata carries checksums, so that a flipped byte in it is noticed when it is
  /// read. Off: the oldest format that does the job.
  bool checksummed_metadata = false;
  /// Datasets begin at multiples of this many bytes; 1 = anywhere.
  std::int64_t alignment_bytes = 1;
};

/// An HDF5 file; as an Object it is the root group. Paths are written with '/', the leading one is optional.
/// Files are opened without locks, so that they can be read from read-only mounts and from file systems that refuse locks.
/// Time stamps are not recorded: equal content gives equal bytes.
/// Errors: DataError for what is missing, damaged or of another kind; SystemError where writing fails (disk full, quota).
class File : public Object {
 public:
  struct Entry {
    std::string path;  ///< without leading '/'
    bool is_group;
  };

  File() = default;
  static File open(const std::filesystem::path& path);                                       ///< for reading
  static File open_writable(const std::filesystem::path& path);                              ///< for reading and writing
  static File create(const std::filesystem::path& path, const CreateOptions& options = {});  ///< replaces what is there

  bool exists(const std::string& path) const;
  /// Everything below a group, depth first, names in order.
  std::vector<Entry> list(const std::string& group = "/") const;

  /// With the groups above it; nothing happens where it exists.
  void create_group(const std::string& path);
  /// A group's attributes.
  class Group group(const std::string& path) const;
  Dataset dataset(const std::string& path) const;

  /// Contiguous, space allocated at once and not filled: see Dataset::offset_bytes.
  Dataset create_contiguous(const std::string& path, Type type, const Shape& shape);
  /// Chunked and extendible along the first dimension. `gzip`: 0 (off) … 9.
  Dataset create_chunked(const std::string& path, Type type, const Shape& shape, const Shape& chunk, int gzip);

  /// A text of any length, as a scalar string dataset (UTF-8).
  void write_text(const std::string& path, std::string_view text);
  std::string read_text(const std::string& path) const;

  void flush();
  /// Writes everything out and closes; reports what went wrong, as the destructor cannot. Datasets and groups of the file must be gone.
  void close();

 private:
  File(Handle handle, std::string file_name) : Object(std::move(handle), std::move(file_name), "/") {}
  Dataset create_dataset(const std::string& path, Type type, const Shape& shape, const Shape* chunk, int gzip);
};

class Group : public Object {
 public:
  Group() = default;

 private:
  friend class File;
  Group(Handle handle, std::string file_name, std::string path) : Object(std::move(handle), std::move(file_name), std::move(path)) {}
};

}  // namespace wsc::hdf5
