// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "wsc/base/exact_sum.hpp"
#include "wsc/base/precision.hpp"
#include "wsc/config/settings.hpp"
#include "wsc/fabric/schedule.hpp"
#include "wsc/fabric/streams.hpp"
#include "wsc/graph/graph.hpp"

namespace wsc::memoryx {

/// What all ranks agreed on about the gradients of a step: how each block is updated before it is next sent.
struct UpdateDecision {
  bool skip = false;           ///< the gradients are thrown away: no weight and no state changes
  double gradient_factor = 1;  ///< multiplies the summed gradients: B·T / valid tokens / loss scale, times the clip factor
  double clip_value = 0;       ///< then every element is cut to ± this; 0 = off
  double learning_rate = 0;
  std::int64_t optimizer_step = 1;  ///< updates so far, this one included: exponent of the bias corrections
};

/// Reads the arrays of a shard while the stream goes on. Ranges are elements of a parameter; they come in any order and of any size, each
/// element once. Called by the thread that updates.
class StateReader {
 public:
  virtual ~StateReader() = default;
  /// Weight and states have the values that are to be read, until release().
  virtual void readable(ParamId param, std::int64_t begin, std::int64_t end) = 0;
  /// They change when this returns.
  virtual void release(ParamId param, std::int64_t begin, std::int64_t end) = 0;
};

/// One shard of the parameter store: weights, gradient sums and optimizer state of its part of every block, fp32. Updates are applied
/// when a block is about to be sent, for whatever purpose ("update on send"). Where weights travel in another format, the shard keeps a
/// copy of them in it, made once after an update, however often the block is sent.
class Shard : public fabric::ShardHandler {
 public:
  /// Allocates zeros for the parts it owns (memory that nothing touches yet). `graph` must outlive the shard.
  Shard(const Graph& graph, const std::vector<fabric::BlockSplit>& blocks, fabric::ShardId id, const OptimizerSettings& optimizer,
        Precision wire = Precision::fp32);
  ~Shard() override;

  /// Weights from (seed, parameter name, element): the same numbers for every number of shards.
  void initialise(std::uint64_t seed);

  /// The rows of a table that the next pass uses and this shard owns: `block`, a row block (plan/row_blocks.hpp), stands for them.
  struct RowUse {
    BlockId block;                   ///< the first one after those of the graph, or the next
    BlockId table;                   ///< the block of the table, which has nothing else
    std::int64_t columns = 0;        ///< of the table
    std::int64_t begin = 0;          ///< the first element of the row block that this shard owns
    std::vector<std::int64_t> rows;  ///< of the table, ascending
  };
  /// Called before every pass.
  void use_rows(const std::vector<RowUse>& uses);

  void* on_send(BlockId block, std::int64_t begin, std::int64_t end) override;
  float* gradient(BlockId block, int copy = 0) override;
  void on_gradient(BlockId block, bool last) override;

  /// Σ g² of the gradients that this pass completed, as one double per row of a weight or element of a vector: rows never lie on two
  /// shards, and the doubles are added exactly, so the sum over all shards does not depend on their number. Not finite where a gradient is
  /// not. Resets the sum.
  ExactSum take_squared_norm();
  /// Name of the first parameter whose gradient of this pass was not finite; empty if none. For the message of a skipped step: valid
  /// until the first gradient of the next pass.
  std::string non_finite_parameter() const;

  /// Every block becomes pending; gradients are zero again after the update (also after a skip). What is pending still is updated first,
  /// as its own decision says.
  void decide(const UpdateDecision& decision);
  /// Updates all that is pending now.
  void apply_pending();
  /// Tells this reader of every update from now on; null = nobody. It reads the state that the shard has after what is pending now: each
  /// element becomes readable by its update, or at once where nothing is pending, and is released before its next one.
  void let_read(StateReader* reader);

  /// Seconds spent in updates and norms since the last call.
  double take_optimizer_s();

  /// Names of the arrays stored per parameter besides the weight: exp_avg, exp_avg_sq | momentum_buffer.
  const std::vector<std::string>& state_names() const;
  /// The rows [first, first + n) of a parameter that this shard owns, as a run of elements of the parameter, and its arrays.
  struct Piece {
    ParamId param;
    std::int64_t begin = 0, end = 0;  ///< elements of the parameter
    std::span<float> weight;
    std::vector<std::span<float>> states;  ///< in the order of state_names()
  };
  /// All pieces this shard owns, in the order of the parameter table. Updates all that is pending first. The spans stay valid.
  std::vector<Piece> pieces();
  /// The same, with values as they are: for a StateReader.
  std::vector<Piece> places() const;

  /// Bytes held, by purpose; weights with their copies for the wire.
  struct Bytes {
    std::int64_t weights = 0, gradients = 0, states = 0;
  };
  Bytes bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace wsc::memoryx
