// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/graph/builder.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"

namespace wsc {
namespace {

constexpr std::int64_t alignment = 64 / sizeof(float);  // elements: every matrix starts on a cache line

std::int64_t aligned(std::int64_t elements) { return (elements + alignment - 1) / alignment * alignment; }

std::vector<std::string> with_suffix(const std::vector<std::string>& names, const std::string& suffix) {
  std::vector<std::string> out;
  for (const auto& n : names) out.push_back(n + suffix);
  return out;
}

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

}  // namespace

Init zeros() { return {}; }
Init ones() { return {Init::Kind::ones, 0}; }
Init truncated_normal(double standard_deviation) { return {Init::Kind::truncated_normal, standard_deviation}; }

// --- ops ---

TensorId StageBuilder::tensor(const std::string& what, std::int64_t width, Dtype dtype) {
  builder_.graph_.tensors.push_back({name_ + "/" + what, width, id_, {}, dtype});
  return TensorId(builder_.graph_.tensors.size() - 1);
}

void StageBuilder::record(Op op) { builder_.graph_.stages[id_.index].ops.push_back(std::move(op)); }

TensorId StageBuilder::embedding(WeightId table) {
  const std::int64_t width = builder_.graph_[table].columns;
  const TensorId y = tensor("embedded", width);
  record(Embedding{y, table, width});
  return y;
}

TensorId StageBuilder::add_positions(TensorId x, WeightId table) {
  const std::int64_t width = builder_.graph_[x].width;
  const TensorId y = tensor("positioned", width);
  record(Positions{x, y, table, width});
  return y;
}

TensorId StageBuilder::add_sinusoids(TensorId x) { return add_positions(x, WeightId()); }

TensorId StageBuilder::dropout(TensorId x, double rate, const std::string& name) {
  if (rate == 0) return x;
  const std::int64_t width = builder_.graph_[x].width;
  const TensorId y = tensor("dropped", width);
  record(Dropout{x, y, rate, width, name});
  return y;
}

TensorId StageBuilder::layer_norm(TensorId x, const std::string& name, double epsilon) {
  const std::int64_t width = builder_.graph_[x].width;
  const WeightId gain = builder_.vectors({name + "/weight"}, width, ones()), bias = builder_.vectors({name + "/bias"}, width, zeros());
  const TensorId y = tensor("normed", width), mean = tensor("mean", 1, Dtype::fp32), inverse_sd = tensor("inverse_sd", 1, Dtype::fp32);
  record(LayerNorm{x, y, mean, inverse_sd, gain, bias, width, epsilon});
  return y;
}

TensorId StageBuilder::residual_linear(TensorId residual, TensorId x, const std::string& name, std::int64_t out, Init init, double rate,
                                       const std::string& drop) {
  const std::int64_t in = builder_.graph_[x].width;
  WSC_EXPECT(x != residual && builder_.graph_[residual].width == out);
  const WeightId weight = builder_.matrices({name + "/weight"}, out, in, init), bias = builder_.vectors({name + "/bias"}, out, zeros());
  const TensorId y = tensor(rate > 0 ? "projected" : "sum", out);
  record(Linear{x, y, weight, bias, in, out, rate > 0 ? TensorId() : residual});
  return rate > 0 ? add(residual, dropout(y, rate, drop)) : y;
}

TensorId StageBuilder::linear_activation(TensorId x, const std::string& name, std::int64_t out, Init init, Nonlinearity function) {
  const std::int64_t in = builder_.graph_[x].width;
  const WeightId weight = builder_.matrices({name + "/weight"}, out, in, init), bias = builder_.vectors({name + "/bias"}, out, zeros());
  const TensorId product = tensor("product", out), y = tensor("activated", out);
  record(Linear{x, product, weight, WeightId(), in, out});
  record(Activation{product, y, bias, function, out});
  return y;
}

TensorId StageBuilder::linears(TensorId x, const std::vector<std::string>& names, std::int64_t out_each, Init init) {
  const std::int64_t in = builder_.graph_[x].width, out = out_each * static_cast<std::int64_t>(names.size());
  const WeightId weight = builder_.matrices(with_suffix(names, "/weight"), out_each, in, init);
  const WeightId bias = builder_.vectors(with_suffix(names, "/bias"), out_each, zeros());
  const TensorId y = tensor("projected", out);
  record(Linear{x, y, weight, bias, in, out});
  return y;
}

TensorId StageBuilder::attention(TensorId qkv, std::int64_t heads, double dropout_rate, const std::string& name) {
  const std::int64_t width = builder_.graph_[qkv].width / 3;
  WSC_EXPECT(width % heads == 0);
  const TensorId y = tensor("attended", width), log_sum = tensor("log_sum", heads, Dtype::fp32);
  record(Attention{qkv, y, log_sum, width, heads, dropout_rate, name});
  return y;
}

TensorId StageBuilder::add(TensorId a, TensorId b) {
  const std::int64_t width = builder_.graph_[a].width;
  WSC_EXPECT(a != b && builder_.graph_[b].width == width);
  const TensorId y = tensor("sum", width);
  record(Add{a, b, y, width});
  return y;
}

TensorId StageBuilder::cross_entropy(TensorId x, WeightId table) {
  const Weight& w = builder_.graph_[table];
  WSC_EXPECT(builder_.graph_[x].width == w.columns);
  const std::int64_t width = w.columns, vocab = w.rows;
  const TensorId logits = tensor("logits", vocab);
  record(CrossEntropy{x, logits, table, width, vocab});
  return logits;
}

// --- parameters ---

WeightId Builder::weight(const std::vector<std::string>& names, std::int64_t rows_each, std::int64_t columns, bool is_vector,
                         bool sparsifiable, Init init) {
  const WeightId id(graph_.weights.size());
  Weight w{rows_each * static_cast<std::int64_t>(names.size()), columns, BlockId(), 0, {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    WSC_EXPECT(!graph_.find(names[i]).valid());
    w.params.push_back(ParamId(graph_.params.size()));
    graph_.params.push_back(
        {names[i], rows_each, columns, is_vector, !is_vector, sparsifiable, init, id, rows_each * static_cast<std::int64_t>(i)});
  }
  graph_.weights.push_back(std::move(w));
  return id;
}

WeightId Builder::matrix(const std::string& name, std::int64_t rows, std::int64_t columns, Init init, bool sparsifiable) {
  return weight({name}, rows, columns, false, sparsifiable, init);
}

WeightId Builder::matrices(const std::vector<std::string>& names, std::int64_t rows_each, std::int64_t columns, Init init) {
  return weight(names, rows_each, columns, false, true, init);
}

WeightId Builder::vectors(const std::vector<std::string>& names, std::int64_t length_each, Init init) {
  return weight(names, length_each, 1, true, false, init);
}

TensorId Builder::stage(const std::string& name, const std::function<TensorId(StageBuilder&)>& record) {
  const StageId id(graph_.stages.size());
  graph_.stages.push_back({name, {}, {}, {}, {}, Coupling::rows});
  StageBuilder s(*this, id, name);
  return record(s);
}

// --- resolution ---

void Builder::place_weights() {
  std::vector<std::vector<StageId>> users(graph_.weights.size());
  std::vector<bool> alone(graph_.weights.size(), false);
  for (std::size_t s = 0; s < graph_.stages.size(); ++s)
    for (const Op& op : graph_.stages[s].ops)
      for (const WeightId w : op_weights(op)) {
        add_once(users[w.index], StageId(s));
        if (std::holds_alternative<Embedding>(op)) alone[w.index] = true;  // a part of it may travel without the rest
      }

  std::vector<BlockId> own(graph_.stages.size());
  for (std::size_t i = 0; i < graph_.weights.size(); ++i) {
    Weight& w = graph_.weights[i];
    WSC_ASSERT(!users[i].empty());
    const bool apart = users[i].size() > 1 || alone[i];
    BlockId& block = own[users[i].front().index];
    if (apart || !block.valid()) {
      const BlockId made(graph_.blocks.size());
      graph_.blocks.push_back({apart ? graph_[w.params.front()].name : graph_[users[i].front()].name, {}, 0});
      w.block = made;
      if (!apart) block = made;
    } else {
      w.block = block;
    }
    Block& b = graph_.blocks[w.block.index];
    w.offset = b.elements;
    b.weights.push_back(WeightId(i));
    b.elements += aligned(w.elements());
  }
  for (Stage& stage : graph_.stages)
    for (const Op& op : stage.ops)
      for (const WeightId w : op_weights(op)) {
        add_once(stage.blocks, graph_[w].block);
        if (op_backward_reads_weights(op)) add_once(stage.backward_blocks, graph_[w].block);
      }
}

void Builder::connect_tensors() {
  for (std::size_t s = 0; s < graph_.stages.size(); ++s) {
    Stage& stage = graph_.stages[s];
    for (const Op& op : stage.ops) {
      if (op_coupling(op) == Coupling::sample) stage.coupling = Coupling::sample;
      for (const TensorId t : op_inputs(op)) {
        if (graph_[t].producer == StageId(s)) continue;
        add_once(stage.inputs, t);
        add_once(graph_.tensors[t.index].readers, StageId(s));
      }
    }
  }
}

Graph Builder::finish() {
  place_weights();
  connect_tensors();
  return std::move(graph_);
}

}  // namespace wsc
