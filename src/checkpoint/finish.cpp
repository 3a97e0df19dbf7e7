// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"
#include "posix_file.hpp"
#include <fcntl.h>

#include "wsc/base/checksum.hpp"
#include "wsc/base/log.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/save.hpp"

namespace wsc::checkpoint {
namespace {

/// The array's dataset in the file, by its place in the table.
hdf5::Dataset dataset_at(const hdf5::File& file, const Graph& graph, const std::vector<std::string>& groups, std::size_t at) {
  const std::size_t parameters = graph.params.size();
  return file.dataset(format::dataset_name(groups[at / parameters], graph.params[at % parameters].name));
}

/// Returns the names of the array groups.
std::vector<std::string> write_checksums(const std::filesystem::path& path, const Graph& graph, const format::Combined& all) {
  hdf5::File file = hdf5::File::open_writable(path);
  const std::vector<std::string> groups = format::array_groups(format::read_state(file).state_names);
  for (std::size_t at = 0; at < all.crc.size(); ++at) {
    WSC_EXPECT(all.covered[at]);
    hdf5::Dataset d = dataset_at(file, graph, groups, at);
    format::write_crc(d, all.crc[at]);
  }
  file.close();
  return groups;
}

/// Without HDF5, which serves one thread at a time: a csx may be reading its samples through it.
void read_back(const SaveFile& saved, const Graph& graph, const std::vector<std::uint32_t>& crc, const std::vector<std::string>& groups) {
  const std::size_t parameters = graph.params.size();
  const PosixFile file(saved.path, O_RDONLY);
  std::vector<std::byte> buffer(1 << 20);
  for (std::size_t at = 0; at < crc.size(); ++at) {
    const Param& param = graph.params[at % parameters];
    std::int64_t place = saved.offsets[at], left = param.elements() * static_cast<std::int64_t>(sizeof(float));
    Checksum sum;
    while (left > 0) {
      const std::span<std::byte> part = std::span(buffer).first(std::min<std::size_t>(buffer.size(), static_cast<std::size_t>(left)));
      file.read_at(part.data(), part.size(), place);
      sum.add(part.data(), part.size());
      place += static_cast<std::int64_t>(part.size());
      left -= static_cast<std::int64_t>(part.size());
    }
    if (sum.value() != crc[at])
      format::refuse_crc(saved.path.string(), format::dataset_name(groups[at / parameters], param.name), crc[at], sum.value());
  }
}

void mark_complete(const std::filesystem::path& path) {
  hdf5::File file = hdf5::File::open_writable(path);
  format::write_marker(file, true);
  file.close();
}

/// A pointer for people; readers look into the folder. A failure here costs nothing.
void point_latest(const std::filesystem::path& path) {
  const std::filesystem::path latest = path.parent_path() / "latest", made = path.parent_path() / "latest.new";
  std::error_code error;
  std::filesystem::remove(made, error);
  std::filesystem::create_symlink(path.filename(), made, error);
  if (!error) std::filesystem::rename(made, latest, error);
  if (error)
    log::warning(latest.string() + " cannot be updated (" + error.message() +
                 "). Nothing is lost: a run finds its newest checkpoint without it");
}

/// Only complete checkpoints up to this step count and go; what a run that went back has left at later steps stays.
void remove_older(const std::filesystem::path& path, std::int64_t keep) {
  if (keep <= 0) return;
  const std::int64_t step = step_of(path).value();
  std::vector<CheckpointFile> complete;
  for (const CheckpointFile& c : list(path.parent_path().parent_path()))
    if (c.status == Status::complete && c.step <= step) complete.push_back(c);
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < complete.size(); ++i) {
    std::error_code error;
    std::filesystem::remove(complete[i].path, error);
    if (error) log::warning(complete[i].path.string() + ": cannot be removed (" + error.message() + ")");
  }
}

}  // namespace

std::filesystem::path finish(const SaveFile& file, const Graph& graph, std::span<const PieceChecksum> checksums,
                             const FinishOptions& options) {
  const std::filesystem::path done = std::filesystem::path(file.path).replace_extension();
  try {
    const format::Combined all = format::combine(graph, file.offsets.size() / graph.params.size(), checksums);
    const std::vector<std::string> groups = write_checksums(file.path, graph, all);
    if (options.read_back) read_back(file, graph, all.crc, groups);
    sync_file(file.path);
    mark_complete(file.path);
    sync_file(file.path);
  } catch (const DataError& e) {  // what was just written does not read back
    throw SystemError(std::string("A checkpoint cannot be saved, the file system lost or changed what was written: ") + e.what() +
                      ". Earlier checkpoints are intact");
  }
  rename_over(file.path, done);
  sync_folder(done.parent_path());
  point_latest(done);
  remove_older(done, options.keep);
  return done;
}

}  // namespace wsc::checkpoint
