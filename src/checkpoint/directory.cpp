// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/directory.hpp"

#include <algorithm>
#include <charconv>

#include "advice.hpp"
#include "format.hpp"

#include "wsc/base/log.hpp"

namespace wsc::checkpoint {
namespace {

constexpr std::string_view prefix = "checkpoint_", suffix = ".h5";

bool is_partial(const std::filesystem::path& path) { return path.extension() == format::partial_suffix; }

Status status_of(const std::filesystem::path& path) {
  if (is_partial(path)) return Status::incomplete;
  try {
    const hdf5::File file = hdf5::File::open(path);
    return format::has_marker(file) ? Status::complete : Status::incomplete;
  } catch (const DataError&) {
    return Status::damaged;
  }
}

/// Files of the folder with a checkpoint's name, complete or partial, by step.
std::vector<CheckpointFile> named_files(const std::filesystem::path& where) {
  std::vector<CheckpointFile> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(where, error)) {
    if (entry.is_symlink(error) || !entry.is_regular_file(error)) continue;
    if (const auto step = step_of(entry.path())) files.push_back({entry.path(), *step, Status::incomplete});
  }
  std::sort(files.begin(), files.end(),
            [](const CheckpointFile& a, const CheckpointFile& b) { return std::pair(a.step, a.path) < std::pair(b.step, b.path); });
  return files;
}

}  // namespace

std::filesystem::path folder(const std::filesystem::path& run_dir) { return run_dir / "checkpoints"; }

std::filesystem::path file_path(const std::filesystem::path& run_dir, std::int64_t step) {
  return folder(run_dir) / (std::string(prefix) + std::to_string(step) + std::string(suffix));
}

std::optional<std::int64_t> step_of(const std::filesystem::path& path) {
  const std::string name = (is_partial(path) ? path.stem() : path.filename()).string();
  if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() <= prefix.size() + suffix.size()) return std::nullopt;
  const char *begin = name.data() + prefix.size(), *end = name.data() + name.size() - suffix.size();
  std::int64_t step = 0;
  const auto result = std::from_chars(begin, end, step);
  if (result.ec != std::errc() || result.ptr != end || step < 0 || std::to_string(step) != std::string(begin, end)) return std::nullopt;
  return step;
}

std::vector<CheckpointFile> list(const std::filesystem::path& run_dir) {
  std::vector<CheckpointFile> files = named_files(folder(run_dir));
  for (CheckpointFile& f : files) f.status = status_of(f.path);
  return files;
}

std::optional<CheckpointFile> newest_complete(const std::filesystem::path& run_dir) {
  std::vector<CheckpointFile> files = named_files(folder(run_dir));
  for (auto f = files.rbegin(); f != files.rend(); ++f) {
    f->status = status_of(f->path);
    if (f->status == Status::complete) return *f;
    if (f->status == Status::incomplete) {
      log::warning(f->path.string() + ": incomplete, passed over: its save was interrupted");
    } else {
      with_advice(f->path, [&] { format::open_complete(f->path); });
      throw DataError(f->path.string() + ": cannot be read now, but could a moment ago. Try again");
    }
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> remove_partials(const std::filesystem::path& run_dir) {
  std::vector<std::filesystem::path> removed;
  for (const CheckpointFile& f : named_files(folder(run_dir))) {
    std::error_code error;
    if (is_partial(f.path) && std::filesystem::remove(f.path, error)) removed.push_back(f.path);
  }
  return removed;
}

std::vector<std::filesystem::path> set_aside_newer(const std::filesystem::path& run_dir, std::int64_t step) {
  std::vector<std::filesystem::path> moved;
  for (const CheckpointFile& f : named_files(folder(run_dir))) {
    if (f.step <= step || is_partial(f.path)) continue;
    std::error_code error;
    std::filesystem::rename(f.path, f.path.string() + ".superseded", error);
    if (error) throw SystemError(f.path.string() + ": cannot be renamed (" + error.message() + ")");
    moved.push_back(f.path);
  }
  return moved;
}

}  // namespace wsc::checkpoint
