// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "wsc/config/deck.hpp"
#include "wsc/csx/csx.hpp"
#include "wsc/data/batch.hpp"
#include "wsc/hdf5/file.hpp"
#include "wsc/memoryx/shard.hpp"
#include "wsc/models/gpt.hpp"
#include "wsc/plan/split.hpp"
#include "wsc/train/step.hpp"

namespace wsc::train {

/// A golden file (tests/golden/README.md): model, weights, batches and what PyTorch computed in double precision.
class GoldenModel {
 public:
  explicit GoldenModel(const std::string& name)
      : file_(hdf5::File::open(std::string(WSC_SOURCE_DIR) + "/tests/golden/" + name)),
        settings_(read_settings()),
        graph_(models::build(settings_.model)) {}

  const hdf5::File& file() const { return file_; }
  const Settings& settings() const { return settings_; }
  const Graph& graph() const { return graph_; }

  std::vector<double> doubles(const std::string& path) const {
    const auto set = file_.dataset(path);
    std::vector<double> values(static_cast<std::size_t>(hdf5::elements(set.shape())));
    set.read(values.data());
    return values;
  }

  /// Samples of a (B, rows, T) dataset, or of entry `step` of a (steps, B, rows, T) one.
  data::Batch batch(const std::string& path, int step = -1) const {
    const auto set = file_.dataset(path);
    const hdf5::Shape shape = set.shape();
    const std::size_t first = step < 0 ? 0 : 1;
    const std::int64_t B = shape[first], rows = shape[first + 1], T = shape[first + 2];
    std::vector<std::int32_t> raw(static_cast<std::size_t>(B * rows * T));
    if (step < 0)
      set.read(raw.data());
    else
      set.read_rows(step, 1, raw.data());
    data::Batch batch(B, T, rows == 5, rows == 5);
    for (std::int64_t s = 0; s < B; ++s) {
      batch.global_index[s] = s;
      for (std::int64_t t = 0; t < T; ++t) {
        const auto at = [&](std::int64_t row) { return raw[(s * rows + row) * T + t]; };
        batch.input_ids[s * T + t] = at(0);
        batch.loss_mask[s * T + t] = static_cast<std::uint8_t>(at(1));
        batch.labels[s * T + t] = at(2);
        if (rows == 5) {
          batch.span[s * T + t] = at(3);
          batch.position[s * T + t] = at(4);
        }
      }
    }
    return batch;
  }

  void load_weights(memoryx::Shard& shard) const {
    for (auto& piece : shard.pieces()) {
      std::vector<float> all(static_cast<std::size_t>(graph_[piece.param].elements()));
      file_.dataset("model/" + graph_[piece.param].name).read(all.data());
      std::copy(all.begin() + piece.begin, all.begin() + piece.end, piece.weight.begin());
    }
  }

 private:
  Settings read_settings() const {
    std::string deck = "[model]\n";
    for (const char* key : {"hidden_size", "num_hidden_layers", "num_heads", "filter_size", "vocab_size", "max_position_embeddings"})
      deck += std::string(key) + "=" + std::to_string(file_.read_int(key)) + "\n";
    deck += "position_embedding_type=" + file_.read_string("position_embedding_type") + "\n";
    deck += "nonlinearity=" + file_.read_string("nonlinearity") + "\n";
    deck += std::string("share_embedding_weights=") + (file_.read_int("share_embedding_weights") ? "true" : "false") + "\n";
    deck += "[train_input]\nbatch_size=6\n[runconfig]\nmodel_dir=unused\nmax_steps=10\n";
    Settings settings = parse_settings(deck, "golden file");
    settings.model.layer_norm_epsilon = file_.read_double("layer_norm_epsilon");
    return settings;
  }

  hdf5::File file_;
  Settings settings_;
  Graph graph_;
};

inline double norm(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

}  // namespace wsc::train
