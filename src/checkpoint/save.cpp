// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/save.hpp"

#include <cstring>

#include "format.hpp"
#include "posix_file.hpp"
#include <unistd.h>

#include "wsc/checkpoint/directory.hpp"

namespace wsc::checkpoint {
namespace {

/// Large arrays begin at pages, so that shards write whole ones.
constexpr std::int64_t alignment_bytes = 4096;

void make_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error || ::access(path.c_str(), W_OK | X_OK) != 0) {
    const std::string why = error ? error.message() : std::strerror(errno);
    throw DataError("A checkpoint cannot be saved: " + path.string() + " cannot be written (" + why +
                    "). Make it writable, or choose another runconfig.model_dir");
  }
}

/// An upper bound of the file's size. (Its exact size is known, and reserved, once it has been laid out.)
std::uint64_t estimated_bytes(const Graph& graph, const RunState& state) {
  constexpr std::uint64_t header_bytes = 1024, other_bytes = 64 << 10;
  const std::uint64_t arrays = 1 + state.state_names.size();
  return arrays *
             (static_cast<std::uint64_t>(graph.parameters()) * sizeof(float) + graph.params.size() * (alignment_bytes + header_bytes)) +
         state.deck.size() + state.tokenizer.size() + other_bytes;
}

/// Everything but values; places for checksums and marker are there already, so that finishing the file does not make it grow.
std::vector<std::int64_t> write_skeleton(const std::filesystem::path& path, const Graph& graph, const RunState& state) {
  hdf5::File file = hdf5::File::create(path, {.checksummed_metadata = true, .alignment_bytes = alignment_bytes});
  format::write_marker(file, false);
  format::write_state(file, state, graph.parameters());
  std::vector<std::int64_t> offsets;
  for (const std::string& group : format::array_groups(state.state_names)) {
    for (const Param& p : graph.params) {
      hdf5::Dataset d = file.create_contiguous(format::dataset_name(group, p.name), hdf5::Type::f32, format::shape_of(p));
      format::write_crc(d, 0);
      offsets.push_back(d.offset_bytes());
    }
  }
  file.close();
  return offsets;
}

}  // namespace

SaveFile create_partial(const std::filesystem::path& run_dir, const Graph& graph, const RunState& state) {
  const std::filesystem::path where = folder(run_dir);
  make_folder(where);
  SaveFile file{file_path(run_dir, state.step).string() + format::partial_suffix, {}};
  check_space(where, estimated_bytes(graph, state));
  try {
    file.offsets = write_skeleton(file.path, graph, state);
    reserve(file.path);
  } catch (...) {
    discard(file.path);
    throw;
  }
  return file;
}

void discard(const std::filesystem::path& partial) noexcept {
  std::error_code error;
  std::filesystem::remove(partial, error);
}

}  // namespace wsc::checkpoint
