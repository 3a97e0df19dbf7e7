// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "wsc/train/roles.hpp"
#include "wsc/train/step.hpp"

namespace wsc::train {

MemoryxRole::MemoryxRole(const Graph& graph, const std::vector<fabric::BlockSplit>& blocks, const OptimizerSettings& optimizer,
                         Precision wire, fabric::Channel* channel, fabric::ShardId id)
    : graph_(graph), channel_(channel), id_(id), shard_(graph, blocks, id, optimizer, wire) {}

void MemoryxRole::decide(const PassOrder& order) {
  if (order.decides) shard_.decide(order.decision);
}

void MemoryxRole::serve(const PassStream& stream) {
  if (!channel_) return;
  shard_.use_rows(stream.uses(graph_, id_));
  memoryx_pass(*channel_, id_, shard_, stream.schedule());
}

void MemoryxRole::report(RankReport& report) {
  const std::string guilty = shard_.non_finite_parameter();
  report.seconds.optimizer = shard_.take_optimizer_s();
  report.squared_norm = shard_.take_squared_norm();
  std::strncpy(report.message, guilty.c_str(), sizeof report.message - 1);
  const auto held = shard_.bytes();
  report.weight_bytes = held.weights;
  report.gradient_bytes = held.gradients;
  report.state_bytes = held.states;
}

}  // namespace wsc::train
