// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/base/id.hpp"
#include "wsc/base/random.hpp"
#include "wsc/base/view.hpp"
#include "wsc/kernels/arithmetic.hpp"

namespace wsc::kernels {

/// What the rows of a tile are. All views have `count` elements; row r is token `token[r]` of the sample at position `sample[r]` of
/// the global batch. Rows of one sample are consecutive.
struct Rows {
  std::int64_t count = 0;
  std::int64_t tokens = 0;  ///< T: rows of a whole sample
  TokenIds ids, labels;
  Vector<const std::uint8_t> loss_mask;  ///< 1 = the row counts
  Vector<const std::int32_t> token;      ///< index within the sample, 0 … T − 1
  Vector<const std::int32_t> position;   ///< position id for the position table (= token unless documents are packed)
  Vector<const std::int32_t> span;       ///< tokens that follow in the row's own document; null data() = no spans
  Vector<const std::int64_t> sample;
};

/// A gradient to write: the last reader of a tensor comes first in backward and overwrites, the others add.
template <class Real>
struct GradientOut {
  Matrix<Real> value;
  bool accumulate = false;
};

/// What an op's kernels see of the tile they work on. Tensors are (rows, width), contiguous. Real is how activations, their gradients and
/// the weights that products read are stored: float or a format of 16 bits in training, double in finite-difference tests. Nothing here
/// allocates.
template <class Real>
class OpContext {
 public:
  virtual ~OpContext() = default;

  virtual const Exec& exec() const = 0;
  virtual const Rows& rows() const = 0;
  virtual Matrix<Real> value(TensorId t) = 0;                        ///< an activation, to read or (outputs, in forward) to write
  virtual Matrix<Arithmetic<Real>> statistic(TensorId t) = 0;        ///< the same of a tensor that is never rounded (Dtype::fp32)
  virtual Matrix<const Real> gradient(TensorId t) = 0;               ///< gradient of an output, complete when backward of its op runs
  virtual GradientOut<Real> gradient_out(TensorId t) = 0;            ///< gradient of an input
  virtual Matrix<const Real> weight(WeightId w) = 0;                 ///< (out, in); vectors are (n, 1)
  virtual Matrix<Arithmetic<Real>> weight_gradient(WeightId w) = 0;  ///< always added to
  virtual Vector<Arithmetic<Real>> workspace() = 0;                  ///< at least the op's workspace(extent) elements
  virtual Vector<double> row_loss() = 0;                             ///< (rows), written by the head's forward

  double gradient_scale = 1;  ///< factor of dlogits: 1 / (B·T)
  bool training = true;       ///< dropout acts
  std::uint64_t seed = 0;     ///< of the run, for dropout
  std::uint64_t step = 0;

  /// Key of the random numbers of an op with this name in this step.
  RandomKey dropout_key(std::string_view op_name) const { return RandomKey(seed, "dropout", op_name, step); }
};

}  // namespace wsc::kernels
