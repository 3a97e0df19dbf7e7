// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/step.hpp"

// The table of contents of a training step. Numbers: phases of the step in docs/architecture.md. Each pass stands between two
// agreements of all ranks: its opening says what comes and how pending updates are made, its closing gathers losses and norms (8, 9).
namespace wsc::train {

csx::LossSum csx_pass(csx::Csx& csx, const plan::Plan& plan, const fabric::StreamSchedule& schedule, const csx::PassNumbers& numbers,
                      const data::Batch& batch, fabric::CsxStreams& streams) {
  streams.begin(schedule);
  csx.begin(plan, schedule.blocks, numbers);
  const int visits = static_cast<int>(plan.visits.size());
  for (int wave = 0; wave < plan.waves; ++wave) {
    csx.load(batch, wave);              // 1      rows of this csx in this wave
    for (int v = 0; v < visits; ++v) {  //        forward stages, the turn, then backward stages
      const int i = wave * visits + v;
      csx::VisitBlocks blocks;
      blocks.weights = csx.weights(v, streams.wait(i));  // 2 5    the stage's blocks have arrived
      blocks.gradients = streams.gradients(i);           //        where its weight gradients are added up
      csx.visit(v, blocks);                              // 3 4 6  one stage on all tiles
      streams.send(i);                                   // 7      its gradients leave
    }
  }
  streams.finish();
  return csx.result();
}

void memoryx_pass(fabric::Channel& channel, fabric::ShardId id, fabric::ShardHandler& shard, const fabric::StreamSchedule& schedule) {
  // 2 5 7  Sends blocks (on_send applies the update that is pending for them), adds the gradients that come back (on_gradient).
  fabric::serve_shard(channel, id, shard, schedule);
}

}  // namespace wsc::train
