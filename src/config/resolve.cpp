// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/resolve.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/config/registry.hpp"

namespace wsc::config {
namespace {

void check_heads(const ModelSettings& m, const Say& say) {
  if (m.hidden_size % m.num_heads == 0) return;
  std::int64_t below = m.num_heads, above = m.num_heads;
  while (m.hidden_size % below != 0) --below;
  while (above <= m.hidden_size && m.hidden_size % above != 0) ++above;
  const std::string or_above = above <= m.hidden_size ? " or " + std::to_string(above) : "";
  throw SettingsError(say("model.num_heads") + " does not divide " + say("model.hidden_size") +
                      ", but each head takes an equal part of the width. Take " + std::to_string(below) + or_above + " heads.");
}

void check_length(const Settings& s, const InputSettings& input, const std::string& section, const Say& say) {
  if (s.model.position_embedding_type == "none" || input.max_sequence_length <= s.model.max_position_embeddings) return;
  throw SettingsError(say(section + ".max_sequence_length") + " is longer than " + say("model.max_position_embeddings") +
                      ", the longest sequence that the model can read. Raise the latter or shorten the sequences.");
}

void check_clipping(const OptimizerSettings& o, const Say& say) {
  if (o.max_gradient_norm == 0.0 || o.max_gradient_value == 0.0) return;
  throw SettingsError(say("optimizer.max_gradient_norm") + " and " + say("optimizer.max_gradient_value") +
                      " cannot be used together. Set one of them to 0.");
}

void check_loss_scale(const PrecisionSettings& p, const Say& say) {
  if (p.loss_scaling_factor != dynamic_loss_scaling) return;
  if (p.min_loss_scale <= p.initial_loss_scale && p.initial_loss_scale <= p.max_loss_scale) return;
  throw SettingsError(say("precision.initial_loss_scale") + " must lie between " + say("precision.min_loss_scale") + " and " +
                      say("precision.max_loss_scale") + ".");
}

void check_batch_schedule(const std::vector<BatchScheduleSettings>& pieces, const Say& say) {
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    if (pieces[i].until_step > pieces[i - 1].until_step) continue;
    const std::string list = "train_input.batch_schedule.";
    throw SettingsError(say(list + std::to_string(i + 1) + ".until_step") + " must be greater than " +
                        say(list + std::to_string(i) + ".until_step") + ": the pieces of the schedule follow one another.");
  }
}

// One piece of the learning-rate schedule; `key` gives the full key of one of its options.
template <class Key>
void check_formula(const ScheduleSettings& p, const Key& key, const Say& say) {
  const auto is = [&](const char* name) { return p.scheduler == name; };
  const std::string of_scheduler = " (" + say(key("scheduler")) + ")";
  if ((is("Linear") || is("Polynomial") || is("Exponential") || is("InverseExponentialTimeDecay") || is("CosineDecay") || is("OneCycle")) &&
      p.total_iters == 0) {
    throw SettingsError(key("total_iters") + " must be given and greater than 0: the formula needs it" + of_scheduler + ".");
  }
  if (is("OneCycle") && (p.pct_start * static_cast<double>(p.total_iters) <= 1.0 || (p.three_phase && p.pct_start > 0.5))) {
    throw SettingsError(say(key("pct_start")) + " leaves no room for the phases of the cycle in " + say(key("total_iters")) +
                        "; with three_phase it is at most 0.5.");
  }
  if (is("MultiStep") || is("PiecewiseConstant")) {
    if (p.milestones.empty() || std::ranges::adjacent_find(p.milestones, std::greater_equal<>()) != p.milestones.end()) {
      throw SettingsError(say(key("milestones")) + " must be rising steps" + of_scheduler + ".");
    }
  }
  if (is("PiecewiseConstant") && p.learning_rates.size() != p.milestones.size() + 1) {
    throw SettingsError(say(key("learning_rates")) + " must be one rate more than " + say(key("milestones")) + ".");
  }
  if (is("Cyclic") && p.max_learning_rate < p.initial_learning_rate) {
    throw SettingsError(say(key("max_learning_rate")) + " must not be below " + say(key("initial_learning_rate")) + ".");
  }
}

void check_schedule(const std::vector<ScheduleSettings>& pieces, const Say& say) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto key = [&](const std::string& name) { return "optimizer.schedule." + std::to_string(i + 1) + "." + name; };
    check_formula(pieces[i], key, say);
    if (i + 1 < pieces.size() && pieces[i].total_iters == 0) {
      throw SettingsError(key("total_iters") + " must be given and greater than 0: only the last piece of a schedule can last for ever.");
    }
  }
}

void check_cluster(const ClusterSettings& c, const Say& say) {
  if (c.fabric == "null" && c.num_csx > 1)
    throw SettingsError(say("cluster.fabric") + " is one process with one csx, but " + say("cluster.num_csx") + ".");
  if (c.fabric == "null" && c.memoryx > 1) {
    throw SettingsError(say("cluster.fabric") + " is one process with one memoryx, but " + say("cluster.memoryx") + ".");
  }
}

void check_run(const Settings& s, const Say& say) {
  const RunSettings& r = s.runconfig;
  if (r.eval_frequency > 0 && s.eval_input.data_dir.empty()) {
    throw SettingsError(say("runconfig.eval_frequency") + " asks for evaluations, but eval_input.data_dir is not given.");
  }
  if (r.load_checkpoint_states == "model" && r.checkpoint_path.empty()) {
    throw SettingsError(say("runconfig.load_checkpoint_states") +
                        " needs runconfig.checkpoint_path, the checkpoint to take the weights from.");
  }
}

}  // namespace

void resolve(Settings& s) {
  if (s.model.filter_size == 0) s.model.filter_size = 4 * s.model.hidden_size;
  if (s.eval_input.batch_size == 0) s.eval_input.batch_size = s.train_input.batch_size;
  if (s.csx.memory == 0) s.csx.memory = preset_memory(s.csx.preset);
}

void check_together(const Settings& s, const Say& say) {
  check_heads(s.model, say);
  check_length(s, s.train_input, "train_input", say);
  check_length(s, s.eval_input, "eval_input", say);
  check_clipping(s.optimizer, say);
  check_loss_scale(s.precision, say);
  check_batch_schedule(s.train_input.batch_schedule, say);
  check_schedule(s.optimizer.schedule, say);
  check_cluster(s.cluster, say);
  check_run(s, say);
}

}  // namespace wsc::config
