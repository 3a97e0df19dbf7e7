// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

namespace wsc::config {

void declare(Registry& registry, RunSettings& s) {
  Section o = registry.section("runconfig", "Length of the run, its directory, logging and checkpoints", SettingKind::free);
  o.add("model_dir", s.model_dir, "runs/default", anything, "Run directory: log, metrics, config.cfg, checkpoints");
  o.add("max_steps", s.max_steps, 1000, at_least(1), "Train up to this global step").in("steps");
  o.add("seed", s.seed, 1, anything, "Seed of the initial weights and of dropout").identity();
  o.add("log_steps", s.log_steps, 10, non_negative, "A line and a row of metrics.csv every so many steps; 0 = never").in("steps");
  o.add("checkpoint_steps", s.checkpoint_steps, 1000, non_negative, "A checkpoint every so many steps and at the end; 0 = at the end only")
      .in("steps");
  o.add("keep_checkpoints", s.keep_checkpoints, 0, at_least(1), "Newest checkpoints to keep").with_word("all", 0);
  o.add("save_initial_checkpoint", s.save_initial_checkpoint, false, anything, "Save also before the first step");
  o.add("autoload_last_checkpoint", s.autoload_last_checkpoint, true, anything, "Go on from the newest checkpoint in model_dir");
  o.add("checkpoint_path", s.checkpoint_path, "", anything, "Start a new run from this checkpoint");
  o.add("load_checkpoint_states", s.load_checkpoint_states, "all", one_of({"all", "model"}),
        "What to take from checkpoint_path: model = weights only, with a fresh optimizer (fine-tuning)");
  o.add("eval_frequency", s.eval_frequency, 0, non_negative, "Evaluate on [eval_input] every so many steps and at the end; 0 = never")
      .in("steps");
  o.add("eval_steps", s.eval_steps, 0, at_least(1), "Batches of an evaluation").in("batches").with_word("all", 0);
  o.add("allow_changes", s.allow_changes, false, anything, "Go on although the deck differs from the one this run began with");
  o.add("trace", s.trace, "", anything,
        "Write a timeline of all ranks to this file, which chrome://tracing and https://ui.perfetto.dev open");
  o.add("trace_steps", s.trace_steps, 10, at_least(1), "Steps that the timeline shows, from the start of the run").in("steps");
  o.add("max_hours", s.max_hours, 0.0, non_negative, "Save and stop with exit code 75 after this wall time; 0 = no limit").in("hours");
}

void declare(Registry& registry, PrecisionSettings& s) {
  Section o = registry.section("precision", "Number formats", SettingKind::identity);
  o.add("compute", s.compute, "fp32", one_of({"fp32", "bf16", "fp16", "cb16"}),
        "Format of activations, of their gradients and of what matrix products read; sums and master weights are always fp32");
  o.add("wire_weights", s.wire_weights, "fp32", one_of({"fp32", "bf16", "fp16", "cb16"}),
        "Format of weights on their way to the csx and in the weight window");
  const std::vector<std::string> dynamic{"dynamic"};
  o.add("loss_scaling_factor", s.loss_scaling_factor, 1.0, positive,
        "Multiplies the loss before the backward pass and is divided out before the update; dynamic = as large as gradients allow")
      .with_word("dynamic", static_cast<std::int64_t>(dynamic_loss_scaling));
  o.add("initial_loss_scale", s.initial_loss_scale, 32768.0, positive, "Loss scale of the first step")
      .only_for("loss_scaling_factor", dynamic);
  o.add("steps_per_increase", s.steps_per_increase, 2000, at_least(1), "The loss scale doubles after more than so many steps")
      .in("steps")
      .only_for("loss_scaling_factor", dynamic);
  o.add("overflow_tolerance", s.overflow_tolerance, 0.0, fraction, "Share of steps whose gradient may overflow before the scale is halved")
      .only_for("loss_scaling_factor", dynamic);
  o.add("min_loss_scale", s.min_loss_scale, 0x1p-14, positive, "Least loss scale; an overflow there ends the run")
      .only_for("loss_scaling_factor", dynamic);
  o.add("max_loss_scale", s.max_loss_scale, 32768.0, positive, "Largest loss scale").only_for("loss_scaling_factor", dynamic);
}

}  // namespace wsc::config
