// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/optimizer/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "wsc/base/error.hpp"

namespace wsc::optimizer {
namespace {

using Piece = ScheduleSettings;

// From `from` to `to` along half a cosine; share in [0, 1].
double cosine(double from, double to, double share) { return to + (from - to) * 0.5 * (1.0 + std::cos(std::numbers::pi * share)); }

double share_of(std::int64_t t, std::int64_t length) { return static_cast<double>(t) / static_cast<double>(length); }

std::int64_t milestones_reached(const Piece& p, std::int64_t t) {
  return std::ranges::count_if(p.milestones, [t](std::int64_t milestone) { return milestone <= t; });
}

double constant(const Piece& p, std::int64_t) { return p.learning_rate; }

double decay_to_end(const Piece& p, std::int64_t t, double power) {
  std::int64_t length = p.total_iters;
  if (p.cycle) {
    length *= std::max<std::int64_t>(1, (t + p.total_iters - 1) / p.total_iters);
  } else if (t >= length) {
    return p.end_learning_rate;
  }
  return p.end_learning_rate + (p.initial_learning_rate - p.end_learning_rate) * std::pow(1.0 - share_of(t, length), power);
}

double linear(const Piece& p, std::int64_t t) { return decay_to_end(p, t, 1.0); }

double polynomial(const Piece& p, std::int64_t t) { return decay_to_end(p, t, p.power); }

double exponential(const Piece& p, std::int64_t t) {
  const double exponent = share_of(t, p.total_iters);
  return p.initial_learning_rate * std::pow(p.decay_rate, p.staircase ? std::floor(exponent) : exponent);
}

double inverse_exponential_time_decay(const Piece& p, std::int64_t t) {
  return p.initial_learning_rate /
         (1.0 + p.decay_rate * std::pow(static_cast<double>(t), p.step_exponent) / static_cast<double>(p.total_iters));
}

double inverse_square_root_decay(const Piece& p, std::int64_t t) {
  return p.initial_learning_rate * p.scale / std::sqrt(static_cast<double>(std::max(t, p.warmup)));
}

double cosine_decay(const Piece& p, std::int64_t t) {
  if (t >= p.total_iters) return p.end_learning_rate;
  return cosine(p.initial_learning_rate, p.end_learning_rate, share_of(t, p.total_iters));
}

double piecewise_constant(const Piece& p, std::int64_t t) {
  return p.learning_rates.at(static_cast<std::size_t>(milestones_reached(p, t)));
}

double multi_step(const Piece& p, std::int64_t t) {
  return p.initial_learning_rate * std::pow(p.gamma, static_cast<double>(milestones_reached(p, t)));
}

double step(const Piece& p, std::int64_t t) { return p.initial_learning_rate * std::pow(p.gamma, static_cast<double>(t / p.step_size)); }

double cosine_annealing(const Piece& p, std::int64_t t) {
  return cosine(p.initial_learning_rate, p.end_learning_rate, share_of(t % (2 * p.t_max), p.t_max));
}

double cosine_annealing_warm_restarts(const Piece& p, std::int64_t t) {
  std::int64_t length = p.t_0;
  if (p.t_mult == 1) t %= length;
  while (t >= length) {
    t -= length;
    length *= p.t_mult;
  }
  return cosine(p.initial_learning_rate, p.end_learning_rate, share_of(t, length));
}

double cyclic(const Piece& p, std::int64_t t) {
  const std::int64_t down = p.step_size_down > 0 ? p.step_size_down : p.step_size_up;
  const std::int64_t cycle = t / (p.step_size_up + down), in_cycle = t % (p.step_size_up + down);
  const double height = in_cycle <= p.step_size_up ? share_of(in_cycle, p.step_size_up) : 1.0 - share_of(in_cycle - p.step_size_up, down);
  double factor = 1.0;
  if (p.mode == "triangular2") factor = std::pow(0.5, static_cast<double>(cycle));
  if (p.mode == "exp_range") factor = std::pow(p.gamma, static_cast<double>(t));
  return p.initial_learning_rate + (p.max_learning_rate - p.initial_learning_rate) * height * factor;
}

double one_cycle(const Piece& p, std::int64_t t) {
  const double first = p.max_learning_rate / p.div_factor, last = first / p.final_div_factor;
  const double total = static_cast<double>(p.total_iters), now = static_cast<double>(t);
  const double rise_end = p.pct_start * total - 1.0;
  if (now <= rise_end) return cosine(first, p.max_learning_rate, now / rise_end);
  double begin = rise_end, from = p.max_learning_rate;
  if (p.three_phase) {
    const double fall_end = 2.0 * p.pct_start * total - 2.0;
    if (now <= fall_end) return cosine(from, first, (now - begin) / (fall_end - begin));
    begin = fall_end;
    from = first;
  }
  return cosine(from, last, std::min(1.0, (now - begin) / (total - 1.0 - begin)));
}

struct Formula {
  double (*rate)(const Piece&, std::int64_t);
  bool stops;  ///< as the last piece it stays at its value at T, if T is given; otherwise the formula says itself what comes after T
};

const Formula& formula(const std::string& name) {
  static const std::map<std::string, Formula> formulas{
      {"Constant", {constant, true}},
      {"Linear", {linear, false}},
      {"Polynomial", {polynomial, false}},
      {"Exponential", {exponential, false}},
      {"InverseExponentialTimeDecay", {inverse_exponential_time_decay, false}},
      {"InverseSquareRootDecay", {inverse_square_root_decay, true}},
      {"CosineDecay", {cosine_decay, false}},
      {"PiecewiseConstant", {piecewise_constant, true}},
      {"MultiStep", {multi_step, true}},
      {"Step", {step, true}},
      {"CosineAnnealing", {cosine_annealing, true}},
      {"CosineAnnealingWarmRestarts", {cosine_annealing_warm_restarts, true}},
      {"Cyclic", {cyclic, true}},
      {"OneCycle", {one_cycle, false}},
  };
  const auto found = formulas.find(name);
  WSC_EXPECT(found != formulas.end());  // the option registry lets no other name through
  return found->second;
}

}  // namespace

double piece_rate(const ScheduleSettings& piece, std::int64_t t) {
  WSC_EXPECT(t >= 0);
  const Formula& f = formula(piece.scheduler);
  return f.rate(piece, f.stops && piece.total_iters > 0 ? std::min(t, piece.total_iters) : t);
}

double learning_rate(const OptimizerSettings& settings, std::int64_t schedule_step) {
  WSC_EXPECT(schedule_step >= 0);
  const auto& pieces = settings.schedule;
  if (pieces.empty()) return settings.learning_rate;
  std::size_t i = 0;
  for (; i + 1 < pieces.size() && schedule_step >= pieces[i].total_iters; ++i) schedule_step -= pieces[i].total_iters;
  return piece_rate(pieces[i], schedule_step);
}

}  // namespace wsc::optimizer
