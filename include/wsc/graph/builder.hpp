// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "wsc/graph/graph.hpp"

namespace wsc {

Init zeros();
Init ones();
Init truncated_normal(double standard_deviation);

class Builder;

/// Records the ops of one stage; nothing is computed. Every call returns the tensor it makes, (rows, width).
class StageBuilder {
 public:
  /// y[r] = table[token]: (rows, C) from a (V, C) weight.
  TensorId embedding(WeightId table);
  /// x plus a row of the learned (T, C) table per position.
  TensorId add_positions(TensorId x, WeightId table);
  /// x plus fixed sinusoids.
  TensorId add_sinusoids(TensorId x);
  /// x itself where the rate is 0.
  TensorId dropout(TensorId x, double rate, const std::string& name);
  /// With parameters `name`/weight (ones) and `name`/bias (zeros).
  TensorId layer_norm(TensorId x, const std::string& name, double epsilon);
  /// residual + x · Wᵀ + b with parameters `name`/weight (out, in) and `name`/bias (zeros). With dropout (rate > 0, keyed `drop`) it is
  /// residual + dropout(x · Wᵀ + b).
  TensorId residual_linear(TensorId residual, TensorId x, const std::string& name, std::int64_t out, Init init, double rate,
                           const std::string& drop);
  /// f(x · Wᵀ + b) with parameters `name`/weight (out, in) and `name`/bias (zeros).
  TensorId linear_activation(TensorId x, const std::string& name, std::int64_t out, Init init, Nonlinearity function);
  /// x · Wᵀ + b, one GEMM for several projections of x: the names' weights are row ranges of one matrix, the outputs lie side by side.
  TensorId linears(TensorId x, const std::vector<std::string>& names, std::int64_t out_each, Init init);
  /// Causal; qkv: (rows, 3C).
  TensorId attention(TensorId qkv, std::int64_t heads, double dropout_rate, const std::string& name);
  /// Ends the model: logits (rows, V) against the labels.
  TensorId cross_entropy(TensorId x, WeightId table);

 private:
  friend class Builder;
  StageBuilder(Builder& builder, StageId id, std::string name) : builder_(builder), id_(id), name_(std::move(name)) {}
  TensorId tensor(const std::string& what, std::int64_t width, Dtype dtype = Dtype::activation);
  TensorId add(TensorId a, TensorId b);
  void record(Op op);

  Builder& builder_;
  StageId id_;
  std::string name_;
};

/// Records a model. A weight belongs to the block of the stage that uses it; one that several stages use, or in which an
/// embedding looks rows up, gets a block of its own.
class Builder {
 public:
  /// A matrix parameter (rows, columns) that decays; `sparsifiable` by default unless it is an embedding or the head.
  WeightId matrix(const std::string& name, std::int64_t rows, std::int64_t columns, Init init, bool sparsifiable);
  /// Several matrices (each rows × columns) as row ranges of one weight.
  WeightId matrices(const std::vector<std::string>& names, std::int64_t rows_each, std::int64_t columns, Init init);
  /// A vector parameter (no decay); several names lie one after the other.
  WeightId vectors(const std::vector<std::string>& names, std::int64_t length_each, Init init);

  TensorId stage(const std::string& name, const std::function<TensorId(StageBuilder&)>& record);

  /// Resolves blocks, offsets, couplings and readers. The last stage recorded is the turn.
  Graph finish();

 private:
  friend class StageBuilder;
  WeightId weight(const std::vector<std::string>& names, std::int64_t rows_each, std::int64_t columns, bool is_vector, bool sparsifiable,
                  Init init);
  void place_weights();
  void connect_tensors();

  Graph graph_;
};

}  // namespace wsc
