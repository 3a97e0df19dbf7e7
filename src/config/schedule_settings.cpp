// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

namespace wsc::config {
namespace {

const std::vector<std::string> schedulers{"Constant",
                                          "Linear",
                                          "Polynomial",
                                          "Exponential",
                                          "InverseExponentialTimeDecay",
                                          "InverseSquareRootDecay",
                                          "CosineDecay",
                                          "PiecewiseConstant",
                                          "MultiStep",
                                          "Step",
                                          "CosineAnnealing",
                                          "CosineAnnealingWarmRestarts",
                                          "Cyclic",
                                          "OneCycle"};

const std::vector<std::string> starts_at_initial{"Linear",
                                                 "Polynomial",
                                                 "Exponential",
                                                 "InverseExponentialTimeDecay",
                                                 "InverseSquareRootDecay",
                                                 "CosineDecay",
                                                 "MultiStep",
                                                 "Step",
                                                 "CosineAnnealing",
                                                 "CosineAnnealingWarmRestarts",
                                                 "Cyclic"};

}  // namespace

// The formulas are in include/wsc/optimizer/schedule.hpp; t = steps since the piece began.
void declare_schedule(Section o, ScheduleSettings& s) {
  const auto by = [](Option& option, std::vector<std::string> names) -> Option& { return option.only_for("scheduler", std::move(names)); };
  o.add("scheduler", s.scheduler, "Constant", one_of(schedulers), "Formula of this piece").with_optional_suffix("LR").required();
  o.add("total_iters", s.total_iters, 0, non_negative,
        "How long the piece lasts, and the T of its formula; 0 = for ever (last piece, where the formula has no T)")
      .in("steps");
  by(o.add("learning_rate", s.learning_rate, 0.0, non_negative, "The rate"), {"Constant"}).required();
  by(o.add("initial_learning_rate", s.initial_learning_rate, 0.0, non_negative, "Rate at t = 0 (Cyclic: the low end)"), starts_at_initial)
      .required();
  by(o.add("end_learning_rate", s.end_learning_rate, 0.0, non_negative, "Rate at the end (annealing: the lowest)"),
     {"Linear", "Polynomial", "CosineDecay", "CosineAnnealing", "CosineAnnealingWarmRestarts"});
  by(o.add("max_learning_rate", s.max_learning_rate, 0.0, positive, "Peak of the cycle"), {"Cyclic", "OneCycle"}).required();
  by(o.add("power", s.power, 1.0, positive, "Exponent of 1 - t/T"), {"Polynomial"});
  by(o.add("cycle", s.cycle, false, anything, "Begin again with a longer T each time the end is reached"), {"Linear", "Polynomial"});
  by(o.add("decay_rate", s.decay_rate, 1.0, positive, "Factor of the decay"), {"Exponential", "InverseExponentialTimeDecay"}).required();
  by(o.add("staircase", s.staircase, false, anything, "Decay in steps of T"), {"Exponential"});
  by(o.add("step_exponent", s.step_exponent, 1.0, positive, "Exponent of t"), {"InverseExponentialTimeDecay"});
  by(o.add("scale", s.scale, 1.0, positive, "Factor before 1 / sqrt(t)"), {"InverseSquareRootDecay"});
  by(o.add("warmup", s.warmup, 1, at_least(1), "The rate is constant up to here"), {"InverseSquareRootDecay"}).in("steps");
  by(o.add("gamma", s.gamma, 1.0, positive, "Factor at each step of the ladder (Cyclic: per step, mode exp_range)"),
     {"MultiStep", "Step", "Cyclic"});
  by(o.add("step_size", s.step_size, 1, at_least(1), "Length of a step of the ladder"), {"Step"}).in("steps").required();
  by(o.add("milestones", s.milestones, {}, at_least(1), "Steps at which the rate changes, rising"), {"MultiStep", "PiecewiseConstant"})
      .in("steps")
      .required();
  by(o.add("learning_rates", s.learning_rates, {}, non_negative, "The rates, one more than milestones"), {"PiecewiseConstant"}).required();
  by(o.add("t_max", s.t_max, 1, at_least(1), "Half a period of the cosine"), {"CosineAnnealing"}).in("steps").required();
  by(o.add("t_0", s.t_0, 1, at_least(1), "Length of the first cosine"), {"CosineAnnealingWarmRestarts"}).in("steps").required();
  by(o.add("t_mult", s.t_mult, 1, at_least(1), "Each further cosine is this many times as long"), {"CosineAnnealingWarmRestarts"});
  by(o.add("step_size_up", s.step_size_up, 2000, at_least(1), "Rising part of a cycle"), {"Cyclic"}).in("steps");
  by(o.add("step_size_down", s.step_size_down, 0, at_least(1), "Falling part of a cycle; auto = step_size_up"), {"Cyclic"})
      .in("steps")
      .with_word("auto", 0);
  by(o.add("mode", s.mode, "triangular", one_of({"triangular", "triangular2", "exp_range"}),
           "Height of a cycle: constant, halved each time, or times gamma^t"),
     {"Cyclic"});
  by(o.add("pct_start", s.pct_start, 0.3, Check{.low = 0.0, .high = 1.0, .low_open = true, .high_open = true, .words = {}},
           "Share of T for the rise"),
     {"OneCycle"});
  by(o.add("div_factor", s.div_factor, 25.0, positive, "First rate = max_learning_rate / div_factor"), {"OneCycle"});
  by(o.add("final_div_factor", s.final_div_factor, 1e4, positive, "Last rate = first rate / final_div_factor"), {"OneCycle"});
  by(o.add("three_phase", s.three_phase, false, anything, "Fall to the first rate as fast as the rise, then to the last"), {"OneCycle"});
}

}  // namespace wsc::config
