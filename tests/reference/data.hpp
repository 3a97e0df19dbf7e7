// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/base/random.hpp"

/// Plain serial versions of every op in double: the oracle that kernels are compared with. Nothing here is fast or clever.
namespace wsc::reference {

/// A row-major matrix.
struct Array {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> data;

  Array() = default;
  Array(std::int64_t r, std::int64_t c) : rows(r), columns(c), data(r * c, 0.0) {}
  double& operator()(std::int64_t r, std::int64_t c) { return data.at(r * columns + c); }
  double operator()(std::int64_t r, std::int64_t c) const { return data.at(r * columns + c); }
};

/// What an op works on, as kernels::OpContext has it. Gradients of inputs start as what is added to: zero unless accumulated.
struct Data {
  std::int64_t count = 0, tokens = 0;  // rows, T
  std::vector<std::int32_t> ids, labels, token, position, span;
  std::vector<std::uint8_t> loss_mask;
  std::vector<std::int64_t> sample;
  std::map<TensorId, Array> value, gradient;
  std::map<WeightId, Array> weight, weight_gradient;
  std::vector<double> row_loss;
  double gradient_scale = 1;
  bool training = true;
  std::uint64_t seed = 0, step = 0;

  RandomKey dropout_key(std::string_view name) const { return RandomKey(seed, "dropout", name, step); }
};

}  // namespace wsc::reference
