// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "advice.hpp"
#include "format.hpp"

#include "wsc/base/format.hpp"
#include "wsc/checkpoint/report.hpp"

namespace wsc::checkpoint {
namespace {

struct Sums {
  double difference = 0, reference = 0;  ///< Σ (a − b)², Σ b²
};

struct Side {
  const std::filesystem::path& path;
  hdf5::File file;
  RunState state;
};

Side open_side(const std::filesystem::path& path) {
  return with_advice(path, [&] {
    hdf5::File file = format::open_complete(path);
    RunState state = format::read_state(file);
    return Side{path, std::move(file), std::move(state)};
  });
}

/// Every array of a side with its shape.
std::map<std::string, hdf5::Shape> arrays_of(const Side& side) {
  return with_advice(side.path, [&] {
    std::map<std::string, hdf5::Shape> arrays;
    for (const std::string& group : format::array_groups(side.state.state_names))
      for (const auto& p : format::stored_parameters(side.file, group)) arrays[format::dataset_name(group, p.name)] = p.shape;
    return arrays;
  });
}

Sums compare(const hdf5::Dataset& a, const hdf5::Dataset& b, ArrayDifference& out) {
  const std::int64_t row = std::max<std::int64_t>(1, b.row_elements());
  std::vector<float> buffer;
  std::int64_t first = 0;
  Sums sums;
  out.bitwise_equal = true;
  format::scan(b, [&](std::span<const float> theirs) {
    const std::int64_t rows = static_cast<std::int64_t>(theirs.size()) / row;
    buffer.resize(theirs.size());
    a.read_rows(first, rows, buffer.data());
    first += rows;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      const double x = buffer[i], y = theirs[i];
      out.bitwise_equal = out.bitwise_equal && std::bit_cast<std::uint32_t>(buffer[i]) == std::bit_cast<std::uint32_t>(theirs[i]);
      if (!(std::abs(x - y) <= out.largest)) out.largest = std::abs(x - y);  // also where it is not a number
      sums.difference += (x - y) * (x - y);
      sums.reference += y * y;
    }
  });
  return sums;
}

double relative(const Sums& s) {
  if (s.difference == 0) return 0;
  return s.reference == 0 ? std::numeric_limits<double>::infinity() : std::sqrt(s.difference / s.reference);
}

/// "field: a | b" of every field of the run state that differs, and whether the counters are equal.
bool compare_states(const RunState& a, const RunState& b, std::vector<std::string>& lines) {
  bool counters_equal = true;
  const auto field = [&](const char* name, std::int64_t x, std::int64_t y, bool is_counter) {
    if (x == y) return;
    lines.push_back(std::string(name) + ": " + std::to_string(x) + " | " + std::to_string(y));
    counters_equal = counters_equal && !is_counter;
  };
  field("step", a.step, b.step, true);
  field("samples", a.samples, b.samples, true);
  field("schedule_step", a.schedule_step, b.schedule_step, true);
  field("optimizer_step", a.optimizer_step, b.optimizer_step, true);
  field("skipped_in_a_row", a.skipped_in_a_row, b.skipped_in_a_row, true);
  field("skipped_total", a.skipped_total, b.skipped_total, true);
  if (a.loss_scale != b.loss_scale) {
    lines.push_back(printf_text("loss_scale: %.10g | %.10g", a.loss_scale.scale, b.loss_scale.scale));
    counters_equal = false;
  }
  field("memoryx", a.memoryx, b.memoryx, false);
  field("csx", a.csx, b.csx, false);
  if (a.wsc_version != b.wsc_version) lines.push_back("wsc_version: " + a.wsc_version + " | " + b.wsc_version);
  if (a.tokenizer_hash != b.tokenizer_hash) lines.push_back("tokenizer: " + a.tokenizer_hash + " | " + b.tokenizer_hash);
  if (a.deck != b.deck) lines.push_back("deck: differs");
  return counters_equal;
}

std::string text_of(const DiffReport& r, const std::filesystem::path& a, const std::filesystem::path& b) {
  std::ostringstream out;
  out << "a = " << a.string() << "\nb = " << b.string() << "\n";
  for (const auto& line : r.run_state) out << "  " << line << "\n";
  std::size_t name = 5, equal = 0;
  for (const auto& d : r.arrays) name = std::max(name, d.dataset.size());
  for (const auto& d : r.arrays) {
    if (d.bitwise_equal) {
      ++equal;
      continue;
    }
    out << "  " << d.dataset << std::string(name + 2 - d.dataset.size(), ' ');
    char numbers[80];
    std::snprintf(numbers, sizeof numbers, "max |a-b| %.6g, norm(a-b)/norm(b) %.6g", d.largest, d.relative_norm);
    out << (!d.in_a ? "only in b" : !d.in_b ? "only in a" : !d.same_shape ? "shapes differ" : numbers) << "\n";
  }
  out << equal << " of " << r.arrays.size() << " arrays are bitwise equal. ";
  char norm[32];
  std::snprintf(norm, sizeof norm, "%.6g", r.model_relative_norm);
  if (r.equal)
    out << "The checkpoints hold the same state.\n";
  else
    out << (r.model_equal ? "The weights are the same.\n" : std::string("Weights as one vector: norm(a-b)/norm(b) = ") + norm + "\n");
  return out.str();
}

}  // namespace

DiffReport diff(const std::filesystem::path& path_a, const std::filesystem::path& path_b) {
  const Side a = open_side(path_a), b = open_side(path_b);
  const auto in_a = arrays_of(a), in_b = arrays_of(b);
  auto names = in_a;
  names.insert(in_b.begin(), in_b.end());
  DiffReport report;
  const bool counters_equal = compare_states(a.state, b.state, report.run_state);
  bool model_comparable = true, states_equal = true;
  Sums model;
  report.model_equal = true;
  for (const auto& [name, shape] : names) {
    ArrayDifference d{name, in_a.contains(name), in_b.contains(name)};
    const bool is_weight = name.starts_with(std::string(format::model_group) + "/");
    d.same_shape = d.in_a && d.in_b && in_a.at(name) == in_b.at(name);
    if (d.same_shape) {
      const Sums sums = compare(a.file.dataset(name), b.file.dataset(name), d);
      d.relative_norm = relative(sums);
      if (is_weight) model.difference += sums.difference, model.reference += sums.reference;
    } else {
      model_comparable = model_comparable && !is_weight;
    }
    (is_weight ? report.model_equal : states_equal) &= d.bitwise_equal;
    report.arrays.push_back(std::move(d));
  }
  report.equal = report.model_equal && states_equal && counters_equal;
  report.model_relative_norm = model_comparable ? relative(model) : std::numeric_limits<double>::infinity();
  report.text = text_of(report, path_a, path_b);
  return report;
}

}  // namespace wsc::checkpoint
