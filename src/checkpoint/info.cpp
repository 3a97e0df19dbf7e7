// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <sstream>

#include "advice.hpp"
#include "format.hpp"

#include "wsc/base/format.hpp"
#include "wsc/checkpoint/report.hpp"

namespace wsc::checkpoint {
namespace {

struct Statistics {
  double mean = 0, standard_deviation = 0;
  float least = std::numeric_limits<float>::infinity(), greatest = -least;
};

/// Mean and standard deviation (of the whole population) in two passes, so that a large mean costs no digits.
Statistics statistics(const hdf5::Dataset& d) {
  Statistics s;
  std::int64_t n = 0;
  format::scan(d, [&](std::span<const float> values) {
    for (const float v : values) {
      s.mean += v;
      s.least = std::min(s.least, v);
      s.greatest = std::max(s.greatest, v);
    }
    n += static_cast<std::int64_t>(values.size());
  });
  s.mean /= static_cast<double>(n);
  double squares = 0;
  format::scan(d, [&](std::span<const float> values) {
    for (const float v : values) squares += (v - s.mean) * (v - s.mean);
  });
  s.standard_deviation = std::sqrt(squares / static_cast<double>(n));
  return s;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& w : words) text += (text.empty() ? "" : ", ") + w;
  return text.empty() ? "none" : text;
}

/// The deck's lines, indented; comments and empty lines left out.
std::string settings_of(const std::string& deck) {
  std::istringstream lines(deck);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line[0] != '#') text += "  " + line + "\n";
  return text;
}

std::string head(const std::filesystem::path& path, const RunState& s, std::int64_t parameters, std::size_t tensors) {
  std::ostringstream out;
  out << path.string() << "\n";
  const auto line = [&](const char* what, const auto& value) {
    out << "  " << what << std::string(20 - std::string_view(what).size(), ' ') << value << "\n";
  };
  line("step", s.step);
  line("samples", s.samples);
  line("parameters", std::to_string(parameters) + " in " + std::to_string(tensors) + " tensors");
  line("optimizer states", joined(s.state_names));
  line("optimizer step", s.optimizer_step);
  line("schedule step", s.schedule_step);
  line("skipped steps", std::to_string(s.skipped_total) + ", the last " + std::to_string(s.skipped_in_a_row) + " in a row");
  if (s.loss_scale.scale != 0)
    line("loss scale", printf_text("%.10g, %lld steps old", s.loss_scale.scale, static_cast<long long>(s.loss_scale.steps_since_rescale)));
  line("written by", "wsc " + s.wsc_version + ", format " + std::to_string(s.format) + ", on " + std::to_string(s.memoryx) +
                         " memoryx and " + std::to_string(s.csx) + " csx");
  line("tokenizer", s.tokenizer_hash.empty() ? "none recorded" : s.tokenizer_hash);
  return out.str();
}

}  // namespace

std::string info(const std::filesystem::path& path) {
  return with_advice(path, [&] {
    const hdf5::File file = format::open_complete(path);
    const RunState state = format::read_state(file);
    const auto parameters = format::stored_parameters(file, format::model_group);
    std::size_t name = 9, shape = 5;
    std::int64_t total = 0;
    for (const auto& p : parameters) {
      name = std::max(name, p.name.size());
      shape = std::max(shape, format::text_of(p.shape).size());
      total += hdf5::elements(p.shape);
    }
    std::ostringstream out;
    out << head(path, state, total, parameters.size()) << "\nSettings\n" << settings_of(state.deck) << "\n";
    const auto row = [&](const std::string& a, const std::string& b, const std::string& numbers) {
      out << "  " << a << std::string(name + 2 - a.size(), ' ') << b << std::string(shape - b.size(), ' ') << numbers << "\n";
    };
    row("parameter", "shape", "         mean           sd          min          max");
    for (const auto& p : parameters) {
      const Statistics s = statistics(file.dataset(format::dataset_name(format::model_group, p.name)));
      char numbers[80];
      std::snprintf(numbers, sizeof numbers, " %12.5g %12.5g %12.5g %12.5g", s.mean, s.standard_deviation, s.least, s.greatest);
      row(p.name, format::text_of(p.shape), numbers);
    }
    return out.str();
  });
}

}  // namespace wsc::checkpoint
