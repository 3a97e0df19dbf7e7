// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/kernels/op_fixture.hpp"
#include "tests/reference/attention.hpp"
#include "tests/reference/cross_entropy.hpp"
#include "tests/reference/elementwise.hpp"
#include "tests/reference/embedding.hpp"
#include "tests/reference/layer_norm.hpp"
#include "tests/reference/linear.hpp"

namespace wsc::kernels {

/// Largest difference allowed, as a share of the largest element of the array (at least 1). Formats of 16 bits: the reference starts from
/// the same rounded numbers, so it is the rounding of the result (half a unit in the last place) and of one array that backward reads.
template <class Real>
constexpr double tolerance = std::is_same_v<Real, float> ? 4e-6 : 1e-12;
template <int E, int M>
constexpr double tolerance<Float16<E, M>> = 2.0 / (2 << M);

template <class Real>
void expect_near(const std::vector<Real>& numbers, const std::vector<double>& want, const std::string& what,
                 double share = tolerance<Real>) {
  const std::vector<double> got = widened(numbers);
  ASSERT_EQ(got.size(), want.size()) << what;
  double largest = 1;
  for (const double w : want)
    if (std::isfinite(w)) largest = std::max(largest, std::fabs(w));
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;  // infinities
    ASSERT_LE(std::fabs(got[i] - want[i]), share * largest) << what << ", element " << i << ": " << got[i] << " for " << want[i];
  }
}

/// Forward and backward against the serial reference: outputs, losses, input and weight gradients.
template <class Real, class OpType>
void expect_same_as_reference(const OpType& op, OpFixture<Real>& f, bool accumulate) {
  f.randomise(op, accumulate);
  reference::Data d = f.reference();
  forward(op, f);
  reference::forward(op, d);
  constexpr bool head = std::is_same_v<OpType, CrossEntropy>;
  double share = tolerance<Real>;
  if constexpr (head) {
    double largest = 1;
    for (const double logit : f.output(op.logits)) largest = std::max(largest, std::fabs(logit));
    if (rounds<Real>) share *= largest;  // an error of a logit is a relative error of a probability
    expect_near(f.losses(), d.row_loss, "losses", share);
  } else {
    for (const TensorId t : op.outputs()) expect_near(f.output(t), d.value[t].data, "output " + std::to_string(t.index), share);
  }
  backward(op, f);
  reference::backward(op, d);
  if constexpr (head) expect_near(f.at(op.logits).value, d.value[op.logits].data, "dlogits", share);
  for (const TensorId t : op.inputs()) expect_near(f.at(t).gradient, d.gradient[t].data, "gradient " + std::to_string(t.index), share);
  for (const WeightId w : op.weights())
    expect_near(f.at(w).gradient, d.weight_gradient[w].data, "weight gradient " + std::to_string(w.index), share);
}

/// The scalar whose gradient backward computes: Σ y · dy over the first output, or the scaled loss.
template <class OpType>
double objective(const OpType& op, OpFixture<double>& f) {
  forward(op, f);
  double sum = 0;
  if constexpr (std::is_same_v<OpType, CrossEntropy>) {
    for (const double loss : f.losses()) sum += loss * f.gradient_scale;
  } else {
    const auto& y = f.at(op.outputs()[0]);
    for (std::size_t i = 0; i < y.value.size(); ++i) sum += y.value[i] * y.gradient[i];
  }
  return sum;
}

/// Moves `values` by ±h along `direction` and compares the central difference with the gradient's projection.
template <class OpType>
void expect_slope(const OpType& op, OpFixture<double>& f, std::vector<double>& values, const std::vector<double>& gradient,
                  const std::vector<double>& direction, const std::string& what) {
  const double h = 1e-4 / std::max(1.0, std::sqrt(static_cast<double>(values.size())));
  const std::vector<double> origin = values;
  double slope = 0, size = 0;
  const auto moved = [&](double by) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = origin[i] + by * direction[i];
    return objective(op, f);
  };
  // Richardson's step on two central differences: error of order h^4.
  const double wide = (moved(2 * h) - moved(-2 * h)) / (4 * h), narrow = (moved(h) - moved(-h)) / (2 * h);
  const double numeric = (4 * narrow - wide) / 3;
  values = origin;
  for (std::size_t i = 0; i < values.size(); ++i) {
    slope += gradient[i] * direction[i];
    size += std::fabs(gradient[i] * direction[i]);
  }
  EXPECT_NEAR(numeric, slope, 1e-7 * std::max(1.0, size)) << what;
}

/// Finite differences in double for every input and weight: along random directions, and element by element where there are few.
template <class OpType>
void expect_gradients(const OpType& op, OpFixture<double>& f) {
  f.randomise(op);
  f.clear_gradients(op.inputs());
  forward(op, f);
  backward(op, f);
  const auto check = [&](std::vector<double>& values, std::vector<double> gradient, const std::string& what) {
    std::vector<double> direction(values.size());
    for (int k = 0; k < 3; ++k) {
      const RandomKey key(6, "test", what, k);
      for (std::size_t i = 0; i < direction.size(); ++i) direction[i] = key.normal(1, i);
      expect_slope(op, f, values, gradient, direction, what + " along direction " + std::to_string(k));
    }
    if (values.size() > 200) return;
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::fill(direction.begin(), direction.end(), 0.0);
      direction[i] = 1;
      expect_slope(op, f, values, gradient, direction, what + ", element " + std::to_string(i));
    }
  };
  for (const TensorId t : op.inputs()) check(f.at(t).value, f.at(t).gradient, "input " + std::to_string(t.index));
  for (const WeightId w : op.weights()) check(f.at(w).value, f.at(w).gradient, "weight " + std::to_string(w.index));
}

/// All that forward and backward leave behind.
template <class Real, class OpType>
std::vector<double> everything(const OpType& op, OpFixture<Real>& f) {
  forward(op, f);
  std::vector<double> all;
  const auto append = [&](const auto& v) {
    for (const auto& x : v) all.push_back(static_cast<double>(load(x)));
  };
  for (const TensorId t : op.outputs()) append(f.output(t));
  backward(op, f);
  for (const TensorId t : op.inputs()) append(f.at(t).gradient);
  for (const WeightId w : op.weights()) append(f.at(w).gradient);
  return all;
}

/// An instance of the execution space with this many threads, where it has threads.
inline Exec exec_of(int threads) {
#ifdef KOKKOS_ENABLE_OPENMP
  if constexpr (std::is_same_v<Exec, Kokkos::OpenMP>) return Kokkos::OpenMP(threads);
#endif
  return Exec();
}

/// Bitwise the same in repeated runs and with one thread or two.
template <class OpType, class MakeFixture>
void expect_reproducible(const OpType& op, const MakeFixture& make) {
  const auto run = [&](int threads) {
    auto f = make();
    f.use(exec_of(threads));
    f.randomise(op);
    return everything(op, f);
  };
  const std::vector<double> first = run(2);
  EXPECT_TRUE(std::all_of(first.begin(), first.end(), [](double v) { return std::isfinite(v); }));
  for (const int threads : {2, 1, 2}) {
    const std::vector<double> again = run(threads);
    ASSERT_EQ(first.size(), again.size());
    EXPECT_EQ(std::memcmp(first.data(), again.data(), first.size() * sizeof(double)), 0) << threads << " threads";
  }
}

/// A NaN anywhere in an input or weight shows in an output, and in a gradient.
template <class OpType, class MakeFixture>
void expect_nan_passes(const OpType& op, const MakeFixture& make) {
  const auto poisoned = [&](auto id) {
    OpFixture<float> f = make();
    f.randomise(op);
    f.clear_gradients(op.inputs());
    auto& values = f.at(id).value;
    values[values.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<double> all = everything(op, f);
    bool loss_nan = false;
    for (const double l : f.losses()) loss_nan = loss_nan || std::isnan(l);
    const bool any = std::any_of(all.begin(), all.end(), [](double v) { return std::isnan(v); });
    if constexpr (std::is_same_v<OpType, CrossEntropy>) {
      EXPECT_TRUE(loss_nan);
    }
    EXPECT_TRUE(any);
  };
  for (const TensorId t : op.inputs()) poisoned(t);
  for (const WeightId w : op.weights()) poisoned(w);
}

}  // namespace wsc::kernels
