// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"
#include "posix_file.hpp"

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

void write_checksums(const std::filesystem::path& path, const Graph& graph, std::span<const PieceChecksum> pieces) {
  hdf5::File file = hdf5::File::open_writable(path);
  const std::vector<std::string> groups = format::array_groups(format::read_state(file).state_names);
  const format::Combined all = format::combine(graph, groups.size(), pieces);
  for (std::size_t at = 0; at < all.crc.size(); ++at) {
    WSC_EXPECT(all.covered[at]);
    hdf5::Dataset d = dataset_at(file, graph, groups, at);
    format::write_crc(d, all.crc[at]);
  }
  file.close();
}

void read_back(const std::filesystem::path& path, const Graph& graph) {
  const hdf5::File file = hdf5::File::open(path);
  const std::vector<std::string> groups = format::array_groups(format::read_state(file).state_names);
  for (std::size_t at = 0; at < groups.size() * graph.params.size(); ++at) {
    const hdf5::Dataset d = dataset_at(file, graph, groups, at);
    Checksum sum;
    format::scan(d, [&](std::span<const float> values) { sum.add(values.data(), values.size_bytes()); });
    format::check_crc(d, sum.value());
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
    write_checksums(file.path, graph, checksums);
    if (options.read_back) read_back(file.path, graph);
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
