// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "wsc/config/settings.hpp"

/// The learning rate at each step.
///
/// A schedule is a sequence of pieces, [optimizer.schedule.N]; each counts from its own start and lasts total_iters steps: step
/// total_iters of a piece is step 0 of the next. With t = steps since the piece began, T = total_iters, i, e, m = initial, end and max
/// learning rate:
///
///     Constant                      learning_rate
///     Linear                        e + (i − e)(1 − t/T), e after T; cycle: T is replaced by its first multiple that is at least t
///     Polynomial                    e + (i − e)(1 − t/T)^power, likewise
///     Exponential                   i · decay_rate^(t/T); staircase: t/T rounded down
///     InverseExponentialTimeDecay   i / (1 + decay_rate · t^step_exponent / T)
///     InverseSquareRootDecay        i · scale / √max(t, warmup)
///     CosineDecay                   e + (i − e)(1 + cos(π t/T))/2, e after T
///     PiecewiseConstant             learning_rates[number of milestones ≤ t]
///     MultiStep                     i · gamma^(number of milestones ≤ t)
///     Step                          i · gamma^⌊t/step_size⌋
///     CosineAnnealing               e + (i − e)(1 + cos(π t/t_max))/2, up again after t_max
///     CosineAnnealingWarmRestarts   the cosine from i to e over t_0 steps, then over t_0·t_mult, t_0·t_mult² ...
///     Cyclic                        from i up to m in step_size_up steps, down in step_size_down; the height halved each cycle
///                                   (triangular2) or times gamma^t (exp_range)
///     OneCycle                      cosine from m/div_factor to m at pct_start·T − 1, then to m/(div_factor·final_div_factor) at T − 1;
///                                   three_phase: back to m/div_factor at 2·pct_start·T − 2 in between
///
/// These are the Model Zoo's and PyTorch's. The last piece goes on for ever: where its formula has an end it stays at the end value;
/// Exponential and InverseExponentialTimeDecay, where T is a time constant, go on; the others stay at their value at T if one is given.
namespace wsc::optimizer {

/// The rate of update number `schedule_step`, counted from 0. Steps skipped for gradients that are not finite do not count.
double learning_rate(const OptimizerSettings& settings, std::int64_t schedule_step);

/// The same for one piece, t steps after its start.
double piece_rate(const ScheduleSettings& piece, std::int64_t t);

}  // namespace wsc::optimizer
