// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/run_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "lock_owner.hpp"
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"

namespace wsc::checkpoint {
namespace {

constexpr std::int64_t stale_at_start_s = 600, least_stale_s = 120;
constexpr int pauses_until_stale = 4;

/// Takes flock() on the file if nobody has it and the file system has locks.
bool try_flock(int fd, const RunLock::Options& options) {
  if (options.use_flock) return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
  errno = ENOTSUP;
  return false;
}

/// A file descriptor that closes itself.
struct Descriptor {
  int fd = -1;
  explicit Descriptor(int f = -1) : fd(f) {}
  Descriptor(Descriptor&& o) noexcept : fd(std::exchange(o.fd, -1)) {}
  Descriptor& operator=(Descriptor&& o) noexcept {
    std::swap(fd, o.fd);
    return *this;
  }
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  explicit operator bool() const { return fd >= 0; }
};

std::string content(int fd) {
  char buffer[4096];
  const ssize_t n = ::pread(fd, buffer, sizeof buffer, 0);
  return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
}

double modified_s(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 ? static_cast<double>(info.st_mtim.tv_sec) + 1e-9 * static_cast<double>(info.st_mtim.tv_nsec) : 0;
}

/// Does the path still lead to the open file?
bool is_file_at(const std::filesystem::path& path, int fd) {
  struct stat a {
  }, b{};
  return ::stat(path.c_str(), &a) == 0 && ::fstat(fd, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

void write_text(int fd, const std::string& text, const std::filesystem::path& path) {
  if (::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw SystemError(with_errno(path.string() + ": cannot be written"));
}

DataError cannot_write(const std::filesystem::path& run_dir, const std::string& why) {
  return DataError(run_dir.string() + ": the run directory cannot be written (" + why +
                   "). Make it writable, or choose another runconfig.model_dir");
}

}  // namespace

struct RunLock::Impl {
  LockOwner self = LockOwner::self();         // first: a name below is made of it
  std::filesystem::path run_dir, path, made;  ///< the lock, and the file that becomes it
  Options options;
  Descriptor file;
  Stopwatch since_touch;
  double longest_pause_s = 0;

  Impl(const std::filesystem::path& dir, const Options& o)
      : run_dir(dir), path(dir / "lock"), made(dir / ("lock.new." + self.token)), options(o) {}
  ~Impl() { release(); }

  void prepare();
  bool take();
  bool look(double& remaining_s, double& modified, std::string& whose);
  void remove_stale(const std::string& token) const;
  void acquire();
  void sweep() const;
  void touch();
  void release();
  [[noreturn]] void refuse(const std::string& whose, double remaining_s) const;
};

/// Writes our text beside the lock, so that the lock appears with its content at once.
void RunLock::Impl::prepare() {
  file = Descriptor(::open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file) throw cannot_write(run_dir, std::strerror(errno));
  self.stale_after_s = stale_at_start_s;
  self.flocked = try_flock(file.fd, options);
  write_text(file.fd, self.text(), made);
}

/// Makes the prepared file the lock; false where there is one.
bool RunLock::Impl::take() {
  const int error = ::link(made.c_str(), path.c_str()) == 0 ? 0 : errno;
  if (error == 0 || is_file_at(path, file.fd)) {  // NFS may report failure of a link that was made
    ::unlink(made.c_str());
    return true;
  }
  if (error == EEXIST) return false;
  if (error != EPERM && error != ENOTSUP && error != ENOSYS && error != EMLINK) throw cannot_write(run_dir, std::strerror(error));
  Descriptor exclusive(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));  // no hard links here
  if (!exclusive) {
    if (errno == EEXIST) return false;
    throw cannot_write(run_dir, std::strerror(errno));
  }
  self.flocked = try_flock(exclusive.fd, options);
  write_text(exclusive.fd, self.text(), path);
  file = std::move(exclusive);
  ::unlink(made.c_str());
  return true;
}

/// Looks at the lock of somebody else; true where it is gone or was stale and has been removed. Otherwise the seconds until it becomes
/// stale (infinite: its owner lives), when it was last touched, and whose it is.
bool RunLock::Impl::look(double& remaining_s, double& modified, std::string& whose) {
  const Descriptor other(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!other) {
    if (errno == ENOENT) return true;
    throw cannot_write(run_dir, std::string("its lock: ") + std::strerror(errno));
  }
  const bool got = try_flock(other.fd, options), is_held = !got && errno == EWOULDBLOCK;
  if (!is_file_at(path, other.fd)) return true;  // it changed hands meanwhile: look again
  const auto owner = LockOwner::parse(content(other.fd));
  whose = owner ? owner->description() : "an unknown process";
  const Liveness state = is_held ? Liveness::alive : owner ? liveness(*owner, self, got) : Liveness::unknown;
  ::futimens(file.fd, nullptr);  // now, by the clock of the file system
  modified = modified_s(other.fd);
  remaining_s = static_cast<double>(owner ? owner->stale_after_s : stale_at_start_s) - (modified_s(file.fd) - modified);
  if (state == Liveness::alive) remaining_s = INFINITY;
  if (state == Liveness::alive || (state == Liveness::unknown && remaining_s > 0)) return false;
  remove_stale(owner ? owner->token : "");
  if (!is_file_at(path, other.fd)) log::warning(path.string() + ": was left behind by " + whose + "; taken over");
  return true;
}

/// Removes the lock if it still has this token. Of several runs that find it stale only one at a time gets here, so that none removes what
/// another has just made.
void RunLock::Impl::remove_stale(const std::string& token) const {
  const std::filesystem::path turn = run_dir / "lock.breaking";
  const Descriptor mine(::open(turn.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!mine) {
    if (errno != EEXIST) throw cannot_write(run_dir, std::strerror(errno));
    const Descriptor other(::open(turn.c_str(), O_RDONLY | O_CLOEXEC));
    if (other && modified_s(file.fd) - modified_s(other.fd) > least_stale_s) ::unlink(turn.c_str());  // killed in the middle of it
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return;
  }
  {
    const Descriptor lock(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto owner = lock ? LockOwner::parse(content(lock.fd)) : std::nullopt;
    if (lock && (owner ? owner->token : "") == token) ::unlink(path.c_str());
  }
  ::unlink(turn.c_str());
}

void RunLock::Impl::refuse(const std::string& whose, double remaining_s) const {
  std::string text =
      run_dir.string() + ": another run uses this directory: " + whose + ". Let it end or stop it, or choose another runconfig.model_dir";
  if (std::isfinite(remaining_s))
    text += ". If it has died, its lock expires in " + std::to_string(static_cast<int>(std::ceil(remaining_s))) +
            " s; start again then, or remove " + path.string();
  throw DataError(text);
}

void RunLock::Impl::acquire() {
  std::error_code error;
  std::filesystem::create_directories(run_dir, error);
  if (error) throw cannot_write(run_dir, error.message());
  prepare();
  const Stopwatch waited;
  double first_modified = -1;
  while (!take()) {
    double remaining_s = 0, modified = 0;
    std::string whose;
    if (look(remaining_s, modified, whose)) continue;
    const bool touched = first_modified >= 0 && modified != first_modified;
    if (touched || waited.seconds() + remaining_s > options.wait_s) refuse(whose, touched ? INFINITY : remaining_s);
    if (first_modified < 0)
      log::info(path.string() + ": held by " + whose + "; waiting " + std::to_string(static_cast<int>(std::ceil(remaining_s))) +
                " s for a sign of life");
    first_modified = modified;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::clamp(remaining_s, 0.01, 0.5)));
  }
  since_touch.restart();
  sweep();
}

/// Removes what runs that were killed while they took the lock have left; waiting ones keep their files young.
void RunLock::Impl::sweep() const {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("lock.new.")) continue;
    const Descriptor other(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (other && modified_s(file.fd) - modified_s(other.fd) > stale_at_start_s) ::unlink(entry.path().c_str());
  }
}

void RunLock::Impl::touch() {
  const double pause = since_touch.seconds();
  if (pause < options.touch_every_s) return;
  since_touch.restart();
  longest_pause_s = std::max(longest_pause_s, pause);
  if (!is_file_at(path, file.fd)) {
    const Descriptor other(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto owner = other ? LockOwner::parse(content(other.fd)) : std::nullopt;
    if (other)
      throw DataError(run_dir.string() + ": another run has taken this directory over (" +
                      (owner ? owner->description() : "its lock is not readable") + "). This run stops, its checkpoints stay");
    log::warning(path.string() + ": was removed; made again");
    prepare();
    if (!take()) refuse("one that began just now", INFINITY);
  }
  const std::int64_t stale = std::max(least_stale_s, static_cast<std::int64_t>(pauses_until_stale * longest_pause_s));
  if (stale != self.stale_after_s) {
    self.stale_after_s = stale;
    write_text(file.fd, self.text(), path);
  }
  ::futimens(file.fd, nullptr);
}

void RunLock::Impl::release() {
  if (!file) return;
  ::unlink(made.c_str());
  if (is_file_at(path, file.fd)) ::unlink(path.c_str());
  file = Descriptor();
}

RunLock::RunLock(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RunLock::RunLock(RunLock&&) noexcept = default;
RunLock& RunLock::operator=(RunLock&&) noexcept = default;
RunLock::~RunLock() = default;

RunLock RunLock::acquire(const std::filesystem::path& run_dir, const Options& options) {
  auto impl = std::make_unique<Impl>(run_dir, options);
  impl->acquire();
  return RunLock(std::move(impl));
}

void RunLock::touch() {
  WSC_EXPECT(impl_);
  impl_->touch();
}

void RunLock::release() { impl_.reset(); }

}  // namespace wsc::checkpoint
