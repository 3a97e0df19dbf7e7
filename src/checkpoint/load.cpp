// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/load.hpp"

#include <map>

#include "advice.hpp"
#include "format.hpp"

#include "wsc/base/checksum.hpp"

namespace wsc::checkpoint {
namespace {

constexpr std::size_t table_rows = 20;

/// Rows [first, last) of the parameter that hold a run of its elements. Shards own whole rows; vectors may be cut anywhere.
void read_elements(const hdf5::Dataset& d, std::int64_t begin, std::span<float> out) {
  const std::int64_t row = d.row_elements(), count = static_cast<std::int64_t>(out.size());
  WSC_EXPECT(begin % row == 0 && count % row == 0);
  d.read_rows(begin / row, count / row, out.data());
}

struct Difference {
  std::string name, stored = "-", wanted = "-";
};

std::vector<Difference> differences(const std::vector<format::StoredParameter>& stored, const Graph& graph) {
  std::map<std::string, Difference> all;
  for (const auto& p : stored) all[p.name] = {p.name, format::text_of(p.shape), "-"};
  for (const Param& p : graph.params) {
    Difference& d = all[p.name];
    d.name = p.name;
    d.wanted = format::text_of(format::shape_of(p));
  }
  std::vector<Difference> found;
  for (auto& [name, d] : all)
    if (d.stored != d.wanted) found.push_back(std::move(d));
  return found;
}

std::string table_of(const std::vector<Difference>& rows) {
  std::size_t name = 9, stored = 10;
  const std::size_t shown = std::min(rows.size(), table_rows);
  for (std::size_t i = 0; i < shown; ++i) name = std::max(name, rows[i].name.size()), stored = std::max(stored, rows[i].stored.size());
  const auto line = [&](const std::string& a, const std::string& b, const std::string& c) {
    return "\n  " + a + std::string(name + 2 - a.size(), ' ') + b + std::string(stored + 2 - b.size(), ' ') + c;
  };
  std::string text = line("parameter", "checkpoint", "this run");
  for (std::size_t i = 0; i < shown; ++i) text += line(rows[i].name, rows[i].stored, rows[i].wanted);
  if (shown < rows.size()) text += "\n  … and " + std::to_string(rows.size() - shown) + " more";
  return text;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& n : names) text += (text.empty() ? "" : ", ") + n;
  return text.empty() ? "none" : text;
}

}  // namespace

RunState read_run_state(const std::filesystem::path& path) {
  return with_advice(path, [&] { return format::read_state(format::open_complete(path)); });
}

void check_model(const std::filesystem::path& path, const Graph& graph) {
  const auto stored = with_advice(path, [&] { return format::stored_parameters(format::open_complete(path), format::model_group); });
  const std::vector<Difference> rows = differences(stored, graph);
  if (rows.empty()) return;
  throw DataError(path.string() + ": is a checkpoint of another model: " + std::to_string(rows.size()) +
                  " parameters differ. Use the model settings it was made with (`wsc checkpoint info` shows them), or another checkpoint." +
                  table_of(rows));
}

void check_states(const std::filesystem::path& path, const std::vector<std::string>& state_names) {
  const RunState state = read_run_state(path);
  if (state.state_names == state_names) return;
  throw DataError(path.string() + ": holds the optimizer states " + listed(state.state_names) +
                  "; optimizer.optimizer_type of this run needs " + listed(state_names) +
                  ". Use the optimizer it was made with, or take the weights only: runconfig.load_checkpoint_states=model");
}

std::vector<PieceChecksum> load_pieces(const std::filesystem::path& path, const Graph& graph, const std::vector<std::string>& state_names,
                                       std::vector<Piece>& pieces, What what) {
  return with_advice(path, [&] {
    const hdf5::File file = format::open_complete(path);
    const std::vector<std::string> groups = format::array_groups(what == What::all ? state_names : std::vector<std::string>{});
    std::vector<PieceChecksum> sums;
    for (Piece& piece : pieces) {
      for (std::size_t array = 0; array < groups.size(); ++array) {
        const std::span<float> values = array == 0 ? piece.weight : piece.states.at(array - 1);
        WSC_EXPECT(static_cast<std::int64_t>(values.size()) == piece.end - piece.begin);
        if (values.empty()) continue;
        const hdf5::Dataset d = file.dataset(format::dataset_name(groups[array], graph[piece.param].name));
        if (d.type() != hdf5::Type::f32 || d.shape() != format::shape_of(graph[piece.param]))
          throw DataError(path.string() + ": dataset '" + d.path() + "' has another shape or type than this model needs");
        read_elements(d, piece.begin, values);
        if (!format::all_finite(values)) throw DataError(path.string() + ": dataset '" + d.path() + "' has values that are not finite");
        Checksum sum;
        sum.add(values.data(), values.size_bytes());
        sums.push_back({static_cast<std::int32_t>(array), piece.param, piece.begin, piece.end, sum.value()});
      }
    }
    return sums;
  });
}

void check_loaded(const std::filesystem::path& path, const Graph& graph, std::span<const PieceChecksum> checksums) {
  with_advice(path, [&] {
    const hdf5::File file = format::open_complete(path);
    const std::vector<std::string> groups = format::array_groups(format::read_state(file).state_names);
    const format::Combined all = format::combine(graph, groups.size(), checksums);
    for (std::size_t at = 0; at < all.crc.size(); ++at) {
      if (!all.covered[at]) continue;
      const std::string& group = groups[at / graph.params.size()];
      format::check_crc(file.dataset(format::dataset_name(group, graph.params[at % graph.params.size()].name)), all.crc[at]);
    }
  });
}

}  // namespace wsc::checkpoint
