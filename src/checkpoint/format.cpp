// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "format.hpp"

#include <bit>

#include "wsc/base/checksum.hpp"

namespace wsc::checkpoint::format {
namespace {

constexpr const char* version_attribute = "format_version";
constexpr const char* crc_attribute = "crc32";
constexpr const char* marker_attribute = "complete";

/// The counters of a run with their names in the file.
template <class State, class F>
void for_each_counter(State& s, F f) {
  f("step", s.step);
  f("samples", s.samples);
  f("schedule_step", s.schedule_step);
  f("optimizer_step", s.optimizer_step);
  f("skipped_in_a_row", s.skipped_in_a_row);
  f("skipped_total", s.skipped_total);
  f("memoryx", s.memoryx);
  f("csx", s.csx);
}

template <class State, class F>
void for_each_text(State& s, F f) {
  f("wsc_version", s.wsc_version);
  f("deck", s.deck);
  f("tokenizer", s.tokenizer);
  f("tokenizer_hash", s.tokenizer_hash);
}

// Names as in the Model Zoo (grad_scaler). A run without dynamic loss scaling, or of an earlier wsc, has none of them.
constexpr const char* scale_attribute = "loss_scale";

void write_loss_scale(hdf5::Group& run, const optimizer::LossScaleState& s) {
  if (s == optimizer::LossScaleState{}) return;
  run.write_double(scale_attribute, s.scale);
  run.write_int("steps_since_rescale", s.steps_since_rescale);
  run.write_int("overflows_since_rescale", s.overflows_since_rescale);
}

optimizer::LossScaleState read_loss_scale(const hdf5::Group& run) {
  if (!run.has_attribute(scale_attribute)) return {};
  return {run.read_double(scale_attribute), run.read_int("steps_since_rescale"), run.read_int("overflows_since_rescale")};
}

std::string run_path(const char* name) { return std::string(run_group) + "/" + name; }

void write_text(hdf5::File& file, const char* name, const std::string& text) {
  WSC_EXPECT(text.empty() || text.back() != '\0');  // the file pads with zero bytes
  file.write_text(run_path(name), text);
  Checksum sum;
  sum.add(text);
  hdf5::Dataset stored = file.dataset(run_path(name));
  write_crc(stored, sum.value());
}

std::string read_text(const hdf5::File& file, const char* name) {
  std::string text = file.read_text(run_path(name));
  Checksum sum;
  sum.add(text);
  check_crc(file.dataset(run_path(name)), sum.value());
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) {
    WSC_EXPECT(!w.empty() && w.find(' ') == std::string::npos);
    text += (text.empty() ? "" : " ") + w;
  }
  return text;
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::vector<std::string> array_groups(const std::vector<std::string>& state_names) {
  std::vector<std::string> groups{model_group};
  for (const std::string& s : state_names) groups.push_back(std::string(optimizer_group) + "/" + s);
  return groups;
}

hdf5::Shape shape_of(const Param& p) { return p.is_vector ? hdf5::Shape{p.rows} : hdf5::Shape{p.rows, p.columns}; }

std::string text_of(const hdf5::Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text += ")";
}

void write_state(hdf5::File& file, const RunState& state, std::int64_t parameters) {
  file.create_group(run_group);
  {
    hdf5::Group run = file.group(run_group);
    run.write_int(version_attribute, state.format);
    run.write_int("parameters", parameters);
    for_each_counter(state, [&](const char* name, std::int64_t value) { run.write_int(name, value); });
    write_loss_scale(run, state.loss_scale);
  }
  for_each_text(state, [&](const char* name, const std::string& text) { write_text(file, name, text); });
  write_text(file, "state_names", joined(state.state_names));
}

RunState read_state(const hdf5::File& file) {
  RunState state;
  const hdf5::Group run = file.group(run_group);
  state.format = run.read_int(version_attribute);
  for_each_counter(state, [&](const char* name, std::int64_t& value) { value = run.read_int(name); });
  state.loss_scale = read_loss_scale(run);
  for_each_text(state, [&](const char* name, std::string& text) { text = read_text(file, name); });
  state.state_names = words_of(read_text(file, "state_names"));
  return state;
}

void write_crc(hdf5::Object& object, std::uint32_t crc) { object.write_int(crc_attribute, crc); }

void refuse_crc(const std::string& file, const std::string& dataset, std::int64_t stored, std::uint32_t found) {
  char sums[64];
  std::snprintf(sums, sizeof sums, "CRC-32 %08llx, stored %08llx", static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(stored));
  throw DataError(file + ": dataset '" + dataset + "' is damaged (" + sums + ")");
}

void check_crc(const hdf5::Object& dataset, std::uint32_t found) {
  const std::int64_t stored = dataset.read_int(crc_attribute);
  if (stored != std::int64_t{found}) refuse_crc(dataset.file_name(), dataset.path(), stored, found);
}

void write_marker(hdf5::File& file, bool complete) { file.write_int(marker_attribute, complete ? 1 : 0); }
bool has_marker(const hdf5::File& file) { return file.read_int(marker_attribute) == 1; }

void check_version(const hdf5::File& file) {
  if (!file.exists(run_group)) throw Refusal(file.file_name() + ": is not a wsc checkpoint (it has no group /run)");
  const std::int64_t version = file.group(run_group).read_int(version_attribute);
  if (version <= format_version) return;
  throw Refusal(file.file_name() + ": has checkpoint format " + std::to_string(version) + "; this wsc (" + WSC_VERSION +
                ") reads formats up to " + std::to_string(format_version) + ". Use the wsc that wrote it, or a newer one");
}

hdf5::File open_complete(const std::filesystem::path& path) {
  const std::string unfinished = path.string() + ": is incomplete: the save was interrupted before its end, so it is never loaded";
  if (path.extension() == partial_suffix) throw DataError(unfinished);
  hdf5::File file = hdf5::File::open(path);
  check_version(file);
  if (!has_marker(file)) throw DataError(unfinished);
  return file;
}

std::vector<StoredParameter> stored_parameters(const hdf5::File& file, const std::string& group) {
  std::vector<StoredParameter> found;
  for (const hdf5::File::Entry& entry : file.list(group)) {
    if (entry.is_group) continue;
    const hdf5::Dataset d = file.dataset(entry.path);
    if (d.type() != hdf5::Type::f32)
      throw DataError(file.file_name() + ": dataset '" + entry.path + "' holds " + hdf5::name(d.type()) + " elements, not float32");
    found.push_back({entry.path.substr(group.size() + 1), d.shape()});
  }
  std::sort(found.begin(), found.end());
  return found;
}

Combined combine(const Graph& graph, std::size_t arrays, std::span<const PieceChecksum> pieces) {
  const std::size_t parameters = graph.params.size();
  std::vector<PieceChecksum> sorted(pieces.begin(), pieces.end());
  const auto place = [&](const PieceChecksum& p) { return static_cast<std::size_t>(p.array) * parameters + p.param.index; };
  std::sort(sorted.begin(), sorted.end(),
            [&](const PieceChecksum& a, const PieceChecksum& b) { return std::pair(place(a), a.begin) < std::pair(place(b), b.begin); });
  Combined all{std::vector<std::uint32_t>(arrays * parameters), std::vector<bool>(arrays * parameters)};
  for (std::size_t i = 0; i < sorted.size();) {
    const std::size_t at = place(sorted[i]);
    WSC_EXPECT(sorted[i].array >= 0 && at < all.crc.size());
    Checksum sum;
    std::int64_t end = 0;
    for (; i < sorted.size() && place(sorted[i]) == at; ++i) {
      WSC_EXPECT(sorted[i].begin == end);  // shards neither overlap nor leave gaps
      sum.append(sorted[i].crc, static_cast<std::size_t>(sorted[i].end - sorted[i].begin) * sizeof(float));
      end = sorted[i].end;
    }
    WSC_EXPECT(end == graph.params[at % parameters].elements());
    all.crc[at] = sum.value();
    all.covered[at] = true;
  }
  return all;
}

bool all_finite(std::span<const float> values) {
  std::uint32_t bad = 0;
  for (const float v : values) bad |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(v) & 0x7f800000u) == 0x7f800000u);
  return bad == 0;
}

}  // namespace wsc::checkpoint::format
