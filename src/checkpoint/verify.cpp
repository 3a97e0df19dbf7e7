// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "advice.hpp"

#include "wsc/base/checksum.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/load.hpp"

namespace wsc::checkpoint {
namespace {

/// Complete checkpoints beside `path`, newest first; only older ones where its name tells its step.
std::vector<std::filesystem::path> older_ones(const std::filesystem::path& path) {
  const auto step = step_of(path);
  std::vector<std::filesystem::path> found;
  std::vector<std::pair<std::int64_t, std::filesystem::path>> candidates;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path.has_parent_path() ? path.parent_path() : ".", error)) {
    const auto other = step_of(entry.path());
    if (!other || entry.is_symlink(error) || entry.path().extension() == format::partial_suffix) continue;
    if (!step || *other < *step) candidates.push_back({*other, path.has_parent_path() ? entry.path() : entry.path().filename()});
  }
  std::sort(candidates.rbegin(), candidates.rend());
  for (auto& c : candidates) found.push_back(std::move(c.second));
  return found;
}

void check_array(const hdf5::Dataset& d) {
  Checksum sum;
  bool finite = true;
  format::scan(d, [&](std::span<const float> values) {
    sum.add(values.data(), values.size_bytes());
    finite = finite && format::all_finite(values);
  });
  format::check_crc(d, sum.value());
  if (!finite) throw DataError(d.file_name() + ": dataset '" + d.path() + "' has values that are not finite");
}

}  // namespace

std::string advice(const std::filesystem::path& path) {
  for (const std::filesystem::path& older : older_ones(path)) {
    try {
      verify_file(older);
      return "The newest older checkpoint that is whole is " + older.string() +
             "; start from it with --runconfig.checkpoint_path=" + older.string();
    } catch (const DataError&) {
      continue;
    }
  }
  return "There is no older checkpoint beside it that is whole: restore a copy, or start a new run";
}

void verify_file(const std::filesystem::path& path) {
  const hdf5::File file = format::open_complete(path);
  const RunState state = format::read_state(file);
  const std::vector<format::StoredParameter> parameters = format::stored_parameters(file, format::model_group);
  std::int64_t elements = 0;
  for (const auto& p : parameters) elements += hdf5::elements(p.shape);
  if (elements != file.group(format::run_group).read_int("parameters"))
    throw DataError(path.string() + ": is damaged: /model holds " + std::to_string(elements) + " numbers, " +
                    std::to_string(file.group(format::run_group).read_int("parameters")) + " were saved");
  for (const std::string& group : format::array_groups(state.state_names)) {
    if (format::stored_parameters(file, group) != parameters)
      throw DataError(path.string() + ": is damaged: '" + group + "' and 'model' do not hold the same parameters");
    for (const auto& p : parameters) check_array(file.dataset(format::dataset_name(group, p.name)));
  }
}

void verify(const std::filesystem::path& path) {
  with_advice(path, [&] { verify_file(path); });
}

}  // namespace wsc::checkpoint
