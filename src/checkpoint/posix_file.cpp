// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "posix_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "wsc/base/error.hpp"

namespace wsc::checkpoint {
namespace {

constexpr std::size_t move_at_once = 64u << 20;  ///< below the 2 GiB that one call may take

std::string megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

bool is_space_error(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }

}  // namespace

PosixFile::PosixFile(const std::filesystem::path& path, int flags) : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (fd_ >= 0) return;
  const bool absent = errno == ENOENT;
  throw SystemError(with_errno(path.string() + ": cannot be opened for the save") +
                    (absent ? ". Do all nodes see the same runconfig.model_dir?" : ""));
}

PosixFile::~PosixFile() {
  if (fd_ >= 0) ::close(fd_);
}

void PosixFile::write_at(const void* data, std::size_t bytes, std::int64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pwrite(fd_, from, std::min(bytes, move_at_once), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const int error = done < 0 ? errno : EIO;
      errno = error;
      const std::string what = with_errno(path_.string() + ": cannot be written");
      throw SystemError(is_space_error(error) ? what + ": " + space_text(path_.parent_path(), bytes) : what);
    }
    from += done;
    offset += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void PosixFile::read_at(void* data, std::size_t bytes, std::int64_t offset) const {
  char* to = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t done = ::pread(fd_, to, std::min(bytes, move_at_once), offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) throw SystemError(with_errno(path_.string() + ": cannot be read back"));
    if (done == 0) throw SystemError(path_.string() + ": is shorter than what was written into it");
    to += done;
    offset += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

void PosixFile::sync() {
  while (::fdatasync(fd_) != 0)
    if (errno != EINTR) throw SystemError(with_errno(path_.string() + ": cannot be written to disk"));
}

void PosixFile::close() {
  const int fd = fd_;
  fd_ = -1;
  if (fd >= 0 && ::close(fd) != 0 && errno != EINTR) throw SystemError(with_errno(path_.string() + ": cannot be written to its end"));
}

std::string space_text(const std::filesystem::path& folder, std::uint64_t needed) {
  struct statvfs fs {};
  std::string text = megabytes(needed) + " are needed";
  if (::statvfs(folder.c_str(), &fs) == 0) {
    text += ", " + megabytes(std::uint64_t{fs.f_bavail} * fs.f_frsize) + " are available in " + folder.string();
    if (fs.f_files > 0 && fs.f_favail == 0) text += " (and no further file can be made there)";
  }
  return text + ". Make room, or set a smaller runconfig.keep_checkpoints; earlier checkpoints are intact";
}

void check_space(const std::filesystem::path& folder, std::uint64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
    throw SystemError("A checkpoint cannot be saved: it needs a file of " + megabytes(bytes) + ", files are limited to " +
                      megabytes(limit.rlim_cur) + " here (ulimit -f). Raise the limit; earlier checkpoints are intact");
  struct statvfs fs {};
  if (::statvfs(folder.c_str(), &fs) != 0 || fs.f_blocks == 0) return;  // some network file systems do not say
  if (std::uint64_t{fs.f_bavail} * fs.f_frsize < bytes)
    throw SystemError("A checkpoint cannot be saved: the disk is full: " + space_text(folder, bytes));
}

void reserve(const std::filesystem::path& path) {
  PosixFile file(path, O_RDWR);
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0) throw SystemError(with_errno(path.string() + ": cannot be examined"));
  int error = 0;
  do error = ::posix_fallocate(file.fd(), 0, info.st_size);
  while (error == EINTR);
  errno = error;
  if (is_space_error(error))
    throw SystemError(with_errno("A checkpoint cannot be saved") + ": " +
                      space_text(path.parent_path(), static_cast<std::uint64_t>(info.st_size)));
  // A file system that cannot reserve is no reason to stop: all writes are checked.
  if (error != 0 && error != EOPNOTSUPP && error != EINVAL && error != ENOSYS)
    throw SystemError(with_errno(path.string() + ": space cannot be reserved"));
  file.close();
}

void sync_file(const std::filesystem::path& path) {
  PosixFile file(path, O_RDWR);
  file.sync();
  file.close();
}

void sync_folder(const std::filesystem::path& path) {
  const PosixFile folder(path, O_RDONLY | O_DIRECTORY);
  if (::fsync(folder.fd()) != 0 && errno != EINVAL && errno != ENOTSUP)  // not all file systems can
    throw SystemError(with_errno(path.string() + ": cannot be written to disk"));
}

void rename_over(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw SystemError(with_errno(from.string() + ": cannot be renamed to " + to.filename().string()));
}

}  // namespace wsc::checkpoint
