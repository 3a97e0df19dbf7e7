// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

namespace wsc::config {

void declare(Registry& registry, OptimizerSettings& s) {
  const std::vector<std::string> adam{"AdamW", "Adam"};
  Section o = registry.section("optimizer", "Update rule, its parameters and clipping", SettingKind::identity);
  o.add("optimizer_type", s.optimizer_type, "AdamW", one_of({"AdamW", "Adam", "SGD"}),
        "Update rule; Adam puts the decay into the gradient");
  o.add("learning_rate", s.learning_rate, 6e-4, non_negative, "Constant learning rate, where there is no [optimizer.schedule.N]")
      .unless("optimizer.schedule");
  o.add("beta1", s.beta1, 0.9, fraction, "Decay of the first moment").only_for("optimizer_type", adam);
  o.add("beta2", s.beta2, 0.95, fraction, "Decay of the second moment").only_for("optimizer_type", adam);
  o.add("eps", s.eps, 1e-8, positive, "Added to the root of the second moment").only_for("optimizer_type", adam);
  o.add("eps_mode", s.eps_mode, "pytorch", one_of({"pytorch", "cerebras"}),
        "Where eps enters: pytorch after the bias correction of the second moment, cerebras before it")
      .only_for("optimizer_type", adam);
  o.add("correct_bias", s.correct_bias, true, anything, "Correct the bias of the moments in the first steps")
      .only_for("optimizer_type", adam);
  o.add("momentum", s.momentum, 0.0, fraction, "Momentum of SGD").only_for("optimizer_type", {"SGD"});
  o.add("weight_decay_rate", s.weight_decay_rate, 0.0, non_negative, "Weight decay of matrices; biases and norms have none");
  o.add("max_gradient_norm", s.max_gradient_norm, 0.0, non_negative, "Clip the global gradient norm to this; 0 = off");
  o.add("max_gradient_value", s.max_gradient_value, 0.0, non_negative, "Clip each gradient element to this; 0 = off");
  o.add("max_skipped_steps", s.max_skipped_steps, 10, at_least(1),
        "This many steps in a row with a gradient that is not finite end the run")
      .in("steps")
      .free();
  registry.numbered("optimizer.schedule", "A piece of the learning-rate schedule; pieces follow one another", SettingKind::identity,
                    s.schedule, declare_schedule);
}

}  // namespace wsc::config
