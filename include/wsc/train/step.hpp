// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "wsc/csx/csx.hpp"
#include "wsc/data/batch.hpp"
#include "wsc/fabric/streams.hpp"
#include "wsc/train/plans.hpp"

namespace wsc::train {

/// One pass of a plan as a csx sees it: a training step, or the forward pass of an evaluation.
csx::LossSum csx_pass(csx::Csx& csx, const plan::Plan& plan, const fabric::StreamSchedule& schedule, const csx::PassNumbers& numbers,
                      const data::Batch& batch, fabric::CsxStreams& streams);

/// The same pass as a memoryx shard sees it.
void memoryx_pass(fabric::Channel& channel, fabric::ShardId id, fabric::ShardHandler& shard, const fabric::StreamSchedule& schedule);

}  // namespace wsc::train
