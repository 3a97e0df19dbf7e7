// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "tests/reference/data.hpp"
#include <gtest/gtest.h>

#include "wsc/graph/op.hpp"
#include "wsc/kernels/ops.hpp"

namespace wsc::kernels {

/// Rounded where the format has fewer digits.
template <class Real>
Real number(double x) {
  return static_cast<Real>(static_cast<Arithmetic<Real>>(x));
}

template <class Real>
std::vector<double> widened(const std::vector<Real>& v) {
  std::vector<double> out;
  for (const Real& x : v) out.push_back(static_cast<double>(load(x)));
  return out;
}

/// An OpContext that owns its storage. Everything a kernel must write before it is read starts as NaN.
template <class Real>
class OpFixture : public OpContext<Real> {
 public:
  using Sum = Arithmetic<Real>;

  template <class Gradient>
  struct Array {
    std::int64_t rows = 0, columns = 0;
    std::vector<Real> value;
    std::vector<Gradient> gradient;
    bool accumulate = false;
    std::vector<Sum> statistic;  // instead of the value, where Real rounds
    template <class T>
    Matrix<T> matrix(std::vector<T>& v) const {
      return Matrix<T>(v.data(), rows, columns);
    }
  };
  using TensorArray = Array<Real>;
  using WeightArray = Array<Sum>;

  OpFixture(std::int64_t samples, std::int64_t tokens, std::int64_t vocab = 11) {
    const std::int64_t count = samples * tokens;
    this->seed = 17;
    this->step = 3;
    rows_.count = count;
    rows_.tokens = tokens;
    row_loss_.assign(count, nan<double>());
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t s = r / tokens, t = r % tokens;
      ids_.push_back(static_cast<std::int32_t>((7 * r + 3 * s) % vocab));
      labels_.push_back(static_cast<std::int32_t>((5 * r + 1) % vocab));
      mask_.push_back(1);
      token_.push_back(static_cast<std::int32_t>(t));
      position_.push_back(static_cast<std::int32_t>(t));
      sample_.push_back(40 + 2 * s);
    }
    bind();
  }

  /// A tensor of this width; inputs are then filled with random numbers by randomise().
  TensorId tensor(std::int64_t columns) {
    tensors_.push_back(array<Real>(rows_.count, columns));
    return TensorId(tensors_.size() - 1);
  }
  WeightId weight(std::int64_t rows, std::int64_t columns) {
    weights_.push_back(array<Sum>(rows, columns));
    weights_.back().accumulate = true;
    return WeightId(weights_.size() - 1);
  }

  /// Packed documents of these lengths, repeated over every sample: spans and restarting positions.
  void pack(const std::vector<std::int32_t>& lengths) {
    span_.clear();
    for (std::int64_t r = 0, document = 0, done = 0; r < rows_.count; ++r) {
      if (r % rows_.tokens == 0) document = done = 0;
      const std::int64_t length = std::min<std::int64_t>(lengths[document % lengths.size()], rows_.tokens);
      const std::int64_t left = std::min(length - done, rows_.tokens - r % rows_.tokens) - 1;
      span_.push_back(static_cast<std::int32_t>(left));
      position_[r] = static_cast<std::int32_t>(done);
      if (++done == length) ++document, done = 0;
    }
    bind();
  }

  /// Masks every third row out and gives those rows labels that must not be looked at.
  void mask_some() {
    for (std::int64_t r = 0; r < rows_.count; r += 3) {
      mask_[r] = 0;
      labels_[r] = r % 2 ? -1 : std::numeric_limits<std::int32_t>::max();
    }
  }

  /// Random inputs, weights, output gradients and, where gradients are added to, what is there already.
  template <class OpType>
  void randomise(const OpType& op, bool accumulate = false) {
    for (const TensorId t : op.inputs()) {
      draw(tensors_[t.index].value);
      tensors_[t.index].accumulate = accumulate;
      if (accumulate) draw(tensors_[t.index].gradient);
    }
    for (const WeightId w : op.weights()) {
      draw(weights_[w.index].value);
      draw(weights_[w.index].gradient);
    }
    for (const TensorId t : op.outputs()) draw(tensors_[t.index].gradient);
    workspace_.assign(op.workspace({rows_.count, rows_.tokens, static_cast<int>(exec_.concurrency()), rounds<Real>}), nan<Sum>());
  }

  /// Weight and input gradients to zero, to start a backward pass anew.
  void clear_gradients(const std::vector<TensorId>& inputs) {
    for (WeightArray& w : weights_) std::fill(w.gradient.begin(), w.gradient.end(), Sum(0));
    for (const TensorId t : inputs) std::fill(tensors_[t.index].gradient.begin(), tensors_[t.index].gradient.end(), nan<Real>());
  }

  /// The same in double for the reference, gradients that are overwritten starting at zero.
  reference::Data reference() const;

  /// Kernels then run on this instance.
  void use(const Exec& exec) { exec_ = exec; }

  TensorArray& at(TensorId t) { return tensors_[t.index]; }
  WeightArray& at(WeightId w) { return weights_[w.index]; }
  /// What an op has written there, as value or as statistic.
  std::vector<double> output(TensorId t) const {
    const TensorArray& a = tensors_[t.index];
    return rounds<Real> && !std::isnan(a.statistic[0]) ? widened(a.statistic) : widened(a.value);
  }
  std::vector<double>& losses() { return row_loss_; }
  std::vector<std::int32_t>& labels() { return labels_; }
  std::vector<std::int32_t>& spans() { return span_; }

  const Exec& exec() const override { return exec_; }
  const Rows& rows() const override { return rows_; }
  Matrix<Real> value(TensorId t) override { return at(t).matrix(at(t).value); }
  Matrix<Sum> statistic(TensorId t) override {
    if constexpr (rounds<Real>)
      return at(t).matrix(at(t).statistic);
    else
      return value(t);
  }
  Matrix<const Real> gradient(TensorId t) override { return at(t).matrix(at(t).gradient); }
  GradientOut<Real> gradient_out(TensorId t) override { return {at(t).matrix(at(t).gradient), at(t).accumulate}; }
  Matrix<const Real> weight(WeightId w) override { return at(w).matrix(at(w).value); }
  Matrix<Sum> weight_gradient(WeightId w) override { return at(w).matrix(at(w).gradient); }
  Vector<Sum> workspace() override { return Vector<Sum>(workspace_.data(), workspace_.size()); }
  Vector<double> row_loss() override { return Vector<double>(row_loss_.data(), row_loss_.size()); }

 private:
  template <class T>
  static T nan() {
    return number<T>(std::numeric_limits<double>::quiet_NaN());
  }
  template <class Gradient>
  static Array<Gradient> array(std::int64_t rows, std::int64_t columns) {
    const std::size_t n = rows * columns;
    return {rows,
            columns,
            std::vector<Real>(n, nan<Real>()),
            std::vector<Gradient>(n, nan<Gradient>()),
            false,
            std::vector<Sum>(rounds<Real> ? n : 0, nan<Sum>())};
  }
  template <class T>
  void draw(std::vector<T>& v) {
    const RandomKey key(5, "test", "op_fixture", draws_++);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = number<T>(key.normal(0, i));
  }
  void bind() {
    const std::int64_t n = rows_.count;
    rows_.ids = TokenIds(ids_.data(), n);
    rows_.labels = TokenIds(labels_.data(), n);
    rows_.loss_mask = Vector<const std::uint8_t>(mask_.data(), n);
    rows_.token = TokenIds(token_.data(), n);
    rows_.position = TokenIds(position_.data(), n);
    rows_.sample = Vector<const std::int64_t>(sample_.data(), n);
    rows_.span = span_.empty() ? TokenIds() : TokenIds(span_.data(), n);
  }

  Exec exec_;
  Rows rows_;
  std::vector<std::int32_t> ids_, labels_, token_, position_, span_;
  std::vector<std::uint8_t> mask_;
  std::vector<std::int64_t> sample_;
  std::vector<TensorArray> tensors_;
  std::vector<WeightArray> weights_;
  std::vector<Sum> workspace_;
  std::vector<double> row_loss_;
  std::uint64_t draws_ = 0;
};

template <class Real>
reference::Data OpFixture<Real>::reference() const {
  const auto widen = [](const auto& a, const auto& v, bool keep) {
    reference::Array out(a.rows, a.columns);
    if (keep) out.data = widened(v);
    return out;
  };
  reference::Data d;
  d.count = rows_.count;
  d.tokens = rows_.tokens;
  d.ids = ids_;
  d.labels = labels_;
  d.token = token_;
  d.position = position_;
  d.span = span_;
  d.loss_mask = mask_;
  d.sample = sample_;
  d.row_loss.assign(rows_.count, 0);
  d.gradient_scale = this->gradient_scale;
  d.training = this->training;
  d.seed = this->seed;
  d.step = this->step;
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const TensorArray& a = tensors_[t];
    const bool overwritten = !a.gradient.empty() && std::isnan(load(a.gradient[0]));
    d.value[TensorId(t)] = widen(a, a.value, true);
    d.gradient[TensorId(t)] = widen(a, a.gradient, !overwritten);
  }
  for (std::size_t w = 0; w < weights_.size(); ++w) {
    d.weight[WeightId(w)] = widen(weights_[w], weights_[w].value, true);
    d.weight_gradient[WeightId(w)] = widen(weights_[w], weights_[w].gradient, true);
  }
  return d;
}

}  // namespace wsc::kernels
