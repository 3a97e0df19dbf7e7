// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "wsc/base/error.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/load.hpp"
#include "wsc/checkpoint/save.hpp"
#include "wsc/checkpoint/shard_writer.hpp"

/// A small model without a memoryx: hand-made shards that save and load.
namespace wsc::checkpoint::testing {

namespace fs = std::filesystem;

class TempDir : public ::testing::Test {
 protected:
  TempDir() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    dir = fs::temp_directory_path() / ("wsc-checkpoint-" + std::to_string(getpid()) + "-" + test->name());
    fs::create_directories(dir);
  }
  ~TempDir() override {
    if (mounted_) ::umount2(dir.c_str(), MNT_DETACH);
    fs::remove_all(dir);
  }
  /// A small file system at `dir`; false where this user may not mount.
  bool mount_tmpfs(const char* options) {
    mounted_ = ::mount("tmpfs", dir.c_str(), "tmpfs", 0, options) == 0;
    return mounted_;
  }
  fs::path dir;

 private:
  bool mounted_ = false;
};

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "(nothing was thrown)";
}

inline std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

inline void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Vectors and matrices, some with fewer rows than there are shards, one (`large_rows` × 64) of any size.
inline Graph small_graph(std::int64_t large_rows = 11) {
  Graph g;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns, bool is_vector) {
    Param p;
    p.name = name;
    p.rows = rows;
    p.columns = columns;
    p.is_vector = is_vector;
    g.params.push_back(p);
  };
  add("embedding_layer/word_embeddings/weight", large_rows, 64, false);
  add("transformer_decoder/layers/0/norm1/weight", 6, 1, true);
  for (const char* name : {"q", "k", "v", "output"}) {
    const std::string projection = std::string("transformer_decoder/layers/0/self_attn/proj_") + name + "_dense_layer";
    add(projection + "/weight", 6, 5, false);
    add(projection + "/bias", 6, 1, true);
  }
  add("transformer_decoder/layers/10/norm1/weight", 1, 1, true);
  add("lm_head/weight", 2, 7, false);
  return g;
}

inline const std::vector<std::string> adam_states{"exp_avg", "exp_avg_sq"};

/// All arrays of a model: values[array][parameter][element].
struct Arrays {
  std::vector<std::vector<std::vector<float>>> values;
  bool operator==(const Arrays&) const = default;

  Arrays(const Graph& g, std::size_t arrays) : values(arrays) {
    for (auto& array : values)
      for (const Param& p : g.params) array.emplace_back(static_cast<std::size_t>(p.elements()), 0.0f);
  }
  /// Values that tell array, parameter and element.
  static Arrays numbered(const Graph& g, std::size_t arrays, std::int64_t seed) {
    Arrays a(g, arrays);
    float n = static_cast<float>(seed);
    for (auto& array : a.values)
      for (auto& parameter : array)
        for (float& v : parameter) v = std::sin(n += 1.0f) * 3.0f;
    return a;
  }
  /// What shard m of M owns: of every parameter the rows nearest to the m-th of M equal parts.
  std::vector<Piece> pieces(const Graph& g, int m, int shards) {
    std::vector<Piece> out;
    for (std::size_t p = 0; p < g.params.size(); ++p) {
      const std::int64_t rows = g.params[p].rows, columns = g.params[p].columns;
      const std::int64_t begin = rows * m / shards * columns, end = rows * (m + 1) / shards * columns;
      if (begin == end) continue;
      const auto part = [&](std::size_t array) { return std::span(values[array][p]).subspan(begin, end - begin); };
      Piece piece{ParamId(p), begin, end, part(0), {}};
      for (std::size_t s = 1; s < values.size(); ++s) piece.states.push_back(part(s));
      out.push_back(std::move(piece));
    }
    return out;
  }
};

inline RunState state_at(std::int64_t step, const std::vector<std::string>& state_names = adam_states) {
  RunState s;
  s.step = step;
  s.samples = 8 * step;
  s.loss_scale = {0x1.8p20, 17, 2};
  s.schedule_step = step - 1;
  s.optimizer_step = step - 1;
  s.skipped_in_a_row = 1;
  s.skipped_total = 1;
  s.memoryx = 2;
  s.csx = 3;
  s.state_names = state_names;
  s.wsc_version = "0.1.0";
  s.deck = "[model]\nhidden_size = 64\n";
  s.tokenizer = "bytes: größe\n";
  s.tokenizer_hash = "0123456789abcdef";
  return s;
}

/// What a shard whose values are all there does.
inline std::vector<PieceChecksum> write_pieces(const SaveFile& file, const Graph& g, const std::vector<Piece>& pieces) {
  ShardWriter writer(file, g, pieces);
  for (const Piece& p : pieces) writer.readable(p.param, p.begin, p.end);
  return writer.finish();
}

inline fs::path save(const fs::path& run_dir, const Graph& g, Arrays& arrays, const RunState& state, int shards = 1,
                     FinishOptions options = {}) {
  const SaveFile file = create_partial(run_dir, g, state);
  std::vector<PieceChecksum> all;
  for (int m = shards - 1; m >= 0; --m) {  // in any order
    const auto sums = write_pieces(file, g, arrays.pieces(g, m, shards));
    all.insert(all.end(), sums.begin(), sums.end());
  }
  return finish(file, g, all, options);
}

inline Arrays load(const fs::path& path, const Graph& g, const std::vector<std::string>& states, int shards, What what = What::all) {
  Arrays arrays(g, 1 + states.size());
  std::vector<PieceChecksum> all;
  for (int m = 0; m < shards; ++m) {
    auto pieces = arrays.pieces(g, m, shards);
    const auto sums = load_pieces(path, g, states, pieces, what);
    all.insert(all.end(), sums.begin(), sums.end());
  }
  check_loaded(path, g, all);
  return arrays;
}

}  // namespace wsc::checkpoint::testing
