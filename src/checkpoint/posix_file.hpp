// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

/// POSIX files with every call checked: the part of a save that does not go through HDF5. Failures are SystemError.
namespace wsc::checkpoint {

/// An open file; closes itself.
class PosixFile {
 public:
  PosixFile(const std::filesystem::path& path, int flags);
  PosixFile(const PosixFile&) = delete;
  PosixFile& operator=(const PosixFile&) = delete;
  ~PosixFile();

  int fd() const { return fd_; }
  void write_at(const void* data, std::size_t bytes, std::int64_t offset);
  void read_at(void* data, std::size_t bytes, std::int64_t offset) const;
  void sync();   ///< contents (and what is needed to find them) are on disk afterwards
  void close();  ///< reports late errors, as network file systems have them; the destructor cannot

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

/// Throws where fewer than `bytes` are free, or more than `ulimit -f` allows: before anything is written.
void check_space(const std::filesystem::path& folder, std::uint64_t bytes);
/// Reserves the blocks of the whole file, which keeps its size.
void reserve(const std::filesystem::path& path);
/// "42.0 MB are needed, 1.5 MB are available in <folder>".
std::string space_text(const std::filesystem::path& folder, std::uint64_t needed);

void sync_file(const std::filesystem::path& path);
void sync_folder(const std::filesystem::path& path);
void rename_over(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace wsc::checkpoint
