// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wsc/base/id.hpp"
#include "wsc/graph/op.hpp"

namespace wsc {

/// Initial distribution of a parameter.
struct Init {
  enum class Kind { zeros, ones, truncated_normal } kind = Kind::zeros;
  double standard_deviation = 0;  ///< before truncation at two of them
};

/// A named parameter: what checkpoints, masks and decay groups speak of. Rows [first_row, first_row + rows) of a weight matrix.
struct Param {
  std::string name;          ///< Model Zoo's name with '/' for '.'
  std::int64_t rows = 0;     ///< out features, or the length of a vector
  std::int64_t columns = 0;  ///< in features; 1 for a vector
  bool is_vector = false;    ///< stored with shape (rows)
  bool decays = false;       ///< weight decay applies: matrices and embeddings, not norms and biases
  bool sparsifiable = false;
  Init init;
  WeightId weight;
  std::int64_t first_row = 0;

  std::int64_t elements() const { return rows * columns; }
};

/// What one GEMM reads: the row-wise concatenation of one or more parameters, aligned to 64 bytes within its block.
struct Weight {
  std::int64_t rows = 0, columns = 0;
  BlockId block;
  std::int64_t offset = 0;  ///< of the first element within the block's buffer, elements
  std::vector<ParamId> params;

  std::int64_t elements() const { return rows * columns; }
};

/// The unit of streaming: the weights that one stage needs whole, in one buffer; a weight that several stages read, and
/// the table of an embedding, is a block of its own.
struct Block {
  std::string name;
  std::vector<WeightId> weights;  ///< in the order of their offsets
  std::int64_t elements = 0;      ///< padding included
};

/// How a tensor is stored: as activations and their gradients are (precision.compute), or in fp32 whatever that is: statistics that
/// backward reads, which are few and must not be rounded. They have no gradient.
enum class Dtype { activation, fp32 };

/// One (rows, width) array.
struct Tensor {
  std::string name;
  std::int64_t width = 0;
  StageId producer;
  std::vector<StageId> readers;  ///< stages other than the producer that read it, in forward order
  Dtype dtype = Dtype::activation;
};

/// The unit of execution: ops that run together, tile by tile.
struct Stage {
  std::string name;
  std::vector<Op> ops;
  std::vector<BlockId> blocks;           ///< what its ops read, in order of first use
  std::vector<BlockId> backward_blocks;  ///< those that backward reads again (without recompute)
  std::vector<TensorId> inputs;          ///< produced by other stages
  Coupling coupling = Coupling::rows;
};

/// A model: stages in forward order (a DAG through their tensors), the last one is the turn. One table of parameters drives
/// allocation, initialisation, sharding, streaming, checkpoints and tests.
struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Param> params;
  std::vector<Weight> weights;
  std::vector<Block> blocks;
  std::vector<Stage> stages;

  const Tensor& operator[](TensorId id) const { return tensors[id.index]; }
  const Param& operator[](ParamId id) const { return params[id.index]; }
  const Weight& operator[](WeightId id) const { return weights[id.index]; }
  const Block& operator[](BlockId id) const { return blocks[id.index]; }
  const Stage& operator[](StageId id) const { return stages[id.index]; }

  StageId turn() const { return StageId(stages.size() - 1); }
  /// Number of trainable numbers, padding excluded.
  std::int64_t parameters() const;
  /// Offset of a parameter's first element within its block's buffer.
  std::int64_t offset(ParamId id) const;
  /// The parameter with this name, or none.
  ParamId find(const std::string& name) const;
};

/// The stages with their ops, tensors and blocks, for `wsc plan --graph`.
std::string describe(const Graph& graph);

}  // namespace wsc
