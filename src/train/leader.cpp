// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/leader.hpp"

#include <algorithm>
#include <cmath>
#include <csignal>

#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/optimizer/schedule.hpp"
#include "wsc/plan/cost.hpp"
#include "wsc/plan/summary.hpp"
#include "wsc/train/evaluate.hpp"

namespace wsc::train {
namespace {

std::filesystem::path file_in(const Settings& s, const char* name) { return std::filesystem::path(s.runconfig.model_dir) / name; }

}  // namespace

Leader::Leader(Member& member, const Settings& settings, const Setup& setup, const RunData& data, checkpoint::RunLock& lock,
               checkpoint::RunState state, double gemm_flops_per_s)
    : member_(member),
      settings_(settings),
      setup_(setup),
      data_(data),
      lock_(lock),
      state_(std::move(state)),
      loss_scale_(settings.precision, state_.loss_scale),
      gemm_flops_per_s_(gemm_flops_per_s),
      metrics_(file_in(settings, "metrics.csv"), metrics_header(), state_.step),
      eval_csv_(file_in(settings, "eval.csv"), "step,loss,perplexity", state_.step),
      saves_(member, settings.runconfig, state_.step > 0 ? state_.step : -1) {
  if (state_.step > 0) evaluated_step_ = state_.step;
}

PassOrder Leader::open_order(PassKind kind) {
  PassOrder order;
  order.kind = kind;
  order.step = state_.step;
  order.decides = undelivered_.has_value();
  if (undelivered_) order.decision = *undelivered_;
  undelivered_.reset();
  return order;
}

ExitCode Leader::run() {
  const RunSettings& r = settings_.runconfig;
  if (r.save_initial_checkpoint && state_.step == 0) save();
  std::optional<std::string> stop;
  while (state_.step < r.max_steps && !(stop = reason_to_stop())) {
    step();
    advance_save();
    alone([&] { lock_.touch(); });
    if (data_.evaluate && r.eval_frequency > 0 && state_.step % r.eval_frequency == 0 && !reason_to_stop()) evaluate();
    if (r.checkpoint_steps > 0 && state_.step % r.checkpoint_steps == 0) save();
    if (member_.timeline() && member_.timeline()->complete(table_.steps())) write_timeline();
  }
  if (!stop && data_.evaluate && evaluated_step_ != state_.step && !reason_to_stop()) evaluate();
  complete_save();
  if (saves_.last_step() != state_.step) save();
  complete_save();
  if (member_.timeline()) write_timeline();
  if (state_.skipped_in_a_row > 0)
    throw LeaderStop(ExitCode::numerical, "the run ends at step " + std::to_string(state_.step) + " among steps whose gradients were not " +
                                              "finite: it has diverged. " + last_good());
  const double seconds = run_watch_.seconds();
  if (table_.steps() > 0) log::info(breakdown_text());
  if (!last_reports_.empty()) log::info("Ranks:\n" + rank_table(last_reports_, setup_.layout, !setup_.streamed));
  log::info(printf_text("Processed %lld samples in %.1f s (%.2f samples/sec).", static_cast<long long>(run_samples_), seconds,
                        static_cast<double>(run_samples_) / std::max(seconds, 1e-9)));
  if (stop) {
    log::info("Stopped at step " + std::to_string(state_.step) + " of " + std::to_string(r.max_steps) + ": " + *stop +
              ". The same command goes on from here.");
    return ExitCode::requeue;
  }
  log::info("Training completed: " + std::to_string(state_.step) + " steps.");
  return ExitCode::ok;
}

std::optional<std::string> Leader::reason_to_stop() const {
  if (stop_signal_ != 0) return std::string("signal ") + strsignal(stop_signal_);
  const double limit = settings_.runconfig.max_hours;
  if (limit > 0 && run_watch_.seconds() >= limit * 3600) return printf_text("runconfig.max_hours = %g is reached", limit);
  return std::nullopt;
}

void Leader::step() {
  const Stopwatch watch;
  PassOrder order = open_order(PassKind::step);
  order.batch = settings_.batch_size(state_.step);
  order.loss_scale = loss_scale_.factor();
  last_reports_ = order_pass(member_, order);

  StepMetrics m;
  m.batch = order.batch;
  const std::optional<std::string> problem = decide(last_reports_, m);
  ++state_.step;
  state_.samples += order.batch;
  m.step = state_.step;
  record(last_reports_, m, watch.seconds());
  if (problem) {
    log::warning("Step " + std::to_string(state_.step) + " is skipped: " + *problem);
    if (loss_scale_.dynamic() && m.overflow && m.loss_scale <= settings_.precision.min_loss_scale)
      throw LeaderStop(ExitCode::numerical, "the gradient is not finite even at the smallest loss scale (precision.min_loss_scale = " +
                                                printf_text("%.10g", m.loss_scale) + "). Lower optimizer.learning_rate. " + last_good());
    if (state_.skipped_in_a_row >= settings_.optimizer.max_skipped_steps)
      throw LeaderStop(ExitCode::numerical,
                       std::to_string(state_.skipped_in_a_row) + " steps in a row had gradients that are not finite (the last: " +
                           *problem + "). Lower optimizer.learning_rate or clip with optimizer.max_gradient_norm. " + last_good());
  }
}

void Leader::hear_signals(const std::vector<RankReport>& reports) {
  for (const RankReport& r : reports)
    if (r.stop_requested != 0) stop_signal_ = r.stop_requested;
}

/// Loss, norm and what becomes of the gradients: one decision for all ranks. Returns why the step is skipped, if it is.
std::optional<std::string> Leader::decide(const std::vector<RankReport>& reports, StepMetrics& m) {
  ExactSum loss, squared_norm;
  std::string guilty;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    const RankReport& r = reports[rank];
    loss.add(r.loss);
    m.valid_tokens += r.valid_tokens;
    squared_norm.add(r.squared_norm);
    if (guilty.empty() && r.message[0] != '\0') guilty = std::string(r.message) + " (seen by rank " + std::to_string(rank) + ")";
  }
  hear_signals(reports);
  const double tokens = static_cast<double>(m.batch) * static_cast<double>(setup_.tokens);
  const double factor = m.valid_tokens > 0 ? tokens / static_cast<double>(m.valid_tokens) : 0;
  m.loss = m.valid_tokens > 0 ? loss.value() / static_cast<double>(m.valid_tokens) : 0;
  m.loss_scale = loss_scale_.factor();
  m.grad_norm = std::sqrt(squared_norm.value()) * factor / m.loss_scale;
  m.learning_rate = optimizer::learning_rate(settings_.optimizer, state_.schedule_step);

  memoryx::UpdateDecision decision;
  const bool finite = std::isfinite(m.grad_norm) && std::isfinite(m.loss);
  decision.skip = m.valid_tokens == 0 || !finite;
  decision.clip_value = settings_.optimizer.max_gradient_value;
  const double most = settings_.optimizer.max_gradient_norm;
  decision.gradient_factor = factor / m.loss_scale * (most > 0 ? std::min(1.0, most / (m.grad_norm + 1e-6)) : 1.0);
  decision.learning_rate = m.learning_rate;
  decision.optimizer_step = state_.optimizer_step + 1;
  if (!decision.skip) {
    ++state_.optimizer_step;
    ++state_.schedule_step;
    state_.skipped_in_a_row = 0;
  } else {
    ++state_.skipped_total;
    // An overflow that a smaller loss scale can mend is no sign of divergence.
    if (!finite && !(std::isfinite(m.loss) && loss_scale_.can_fall())) ++state_.skipped_in_a_row;
  }
  m.overflow = !std::isfinite(m.grad_norm);
  if (m.valid_tokens > 0) loss_scale_.advance(!m.overflow);
  state_.loss_scale = loss_scale_.state();
  m.skipped = decision.skip;
  undelivered_ = decision;
  if (m.valid_tokens == 0) return "no token of its batch counts (the loss mask is 0 everywhere)";
  if (m.overflow) {
    const std::string scale =
        loss_scale_.dynamic() ? printf_text("; the loss scale was %.10g and is now %.10g", m.loss_scale, loss_scale_.factor()) : "";
    return "the gradient is not finite, first in " + (guilty.empty() ? std::string("the sum over parameters") : guilty) + scale;
  }
  if (!finite) return std::string("the loss is not finite");
  return std::nullopt;
}

/// What moved since the last call: fills the wire figures of m.
void Leader::take_counters(const std::vector<RankReport>& reports, StepMetrics& m) {
  double moving_s = 0;
  std::int64_t weight_bytes = 0, gradient_bytes = 0;
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const bool memoryx = setup_.streamed && setup_.layout.is_memoryx(fabric::Rank(r));
    std::int64_t& peak = memoryx ? m.memoryx_peak_bytes : m.csx_peak_bytes;
    peak = std::max(peak, reports[r].resident_peak_bytes);
    if (memoryx) continue;
    m.exposed_wait_s = std::max(m.exposed_wait_s, reports[r].seconds.wait.total());
    moving_s = std::max(moving_s, reports[r].counters.moving_s);
    weight_bytes += reports[r].counters.weight_bytes_received;
    gradient_bytes += reports[r].counters.gradient_bytes_sent;
  }
  m.weight_bytes = weight_bytes - std::exchange(weight_bytes_before_, weight_bytes);
  m.gradient_bytes = gradient_bytes - std::exchange(gradient_bytes_before_, gradient_bytes);
  const double moved_s = moving_s - std::exchange(moving_s_before_, moving_s);
  m.overlap = moved_s > 0 ? std::max(0.0, 1 - m.exposed_wait_s / moved_s) : 1;
}

void Leader::record(const std::vector<RankReport>& reports, StepMetrics& m, double seconds) {
  take_counters(reports, m);
  m.step_s = seconds;
  m.parts = breakdown(reports, setup_.layout, setup_.streamed, seconds);
  m.utilisation = model_flops(m.batch) / std::max(seconds, 1e-9) / gemm_flops_per_s_;
  table_.add(m.parts, m.step_s, m.overlap);

  logged_tokens_ += m.batch * setup_.tokens;
  logged_samples_ += m.batch;
  run_samples_ += m.batch;
  const std::int64_t every = settings_.runconfig.log_steps;
  const bool last = m.step == settings_.runconfig.max_steps || stop_signal_ != 0;
  if (every > 0 && (m.step % every == 0 || run_samples_ == m.batch || last || m.skipped)) print_step(m);
}

void Leader::print_step(const StepMetrics& reported) {
  StepMetrics m = reported;
  const double elapsed = std::max(log_watch_.seconds(), 1e-9), samples_per_s = static_cast<double>(logged_samples_) / elapsed;
  m.tokens_per_s = static_cast<double>(logged_tokens_) / elapsed;
  rate_ = rate_ == 0 ? samples_per_s : 0.6 * samples_per_s + 0.4 * rate_;  // cerebras.md 3.8
  log_watch_.restart();
  logged_samples_ = logged_tokens_ = 0;
  m.checkpoint_s = besides_.checkpoints - std::exchange(logged_checkpoints_s_, besides_.checkpoints);
  metrics_.add(metrics_row(m));

  const double run_s = std::max(run_watch_.seconds(), 1e-9), global_rate = static_cast<double>(run_samples_) / run_s;
  const double left =
      static_cast<double>(settings_.runconfig.max_steps - m.step) * static_cast<double>(m.batch) / std::max(global_rate, 1e-9);
  log::info(
      printf_text("| Train Device=CSX, Step=%lld, Loss=%.5f, Rate=%.2f samples/sec, GlobalRate=%.2f samples/sec, %.0f tokens/sec, "
                  "GradNorm=%.4g, LR=%.3g, Wait=%.1f %%, TimeRemaining>%s",
                  static_cast<long long>(m.step), m.loss, rate_, global_rate, m.tokens_per_s, m.grad_norm, m.learning_rate,
                  100 * m.exposed_wait_s / std::max(m.step_s, 1e-9), time_text(left).c_str()));
}

void Leader::evaluate() {
  const Timed timed(besides_.evaluations);
  const trace::Span span("evaluation", nullptr, state_.step);
  const Stopwatch watch;
  const std::int64_t samples = data_.evaluate->size(), batch = settings_.eval_input.batch_size;
  const auto go_on = [&](const std::vector<RankReport>& reports) {
    StepMetrics not_of_a_step;
    take_counters(reports, not_of_a_step);
    hear_signals(reports);
    saves_.advance(reports);
    alone([&] { lock_.touch(); });  // a long evaluation is no sign of death
    return !reason_to_stop();
  };
  const Evaluation e = train::evaluate(member_, samples, batch, settings_.runconfig.eval_steps, open_order(PassKind::evaluate), go_on);
  if (!e.complete) {
    log::info("The evaluation at step " + std::to_string(state_.step) + " is broken off: " + *reason_to_stop() + ".");
    return;
  }
  eval_csv_.add(printf_text("%lld,%.17g,%.17g", static_cast<long long>(state_.step), e.loss(), e.perplexity()));
  log::info(printf_text("| Eval Device=CSX, GlobalStep=%lld, Loss=%.5f, Perplexity=%.4g, %lld tokens in %.1f s",
                        static_cast<long long>(state_.step), e.loss(), e.perplexity(), static_cast<long long>(e.valid_tokens),
                        watch.seconds()));
  evaluated_step_ = state_.step;
}

std::string Leader::last_good() {
  saves_.complete();
  return saves_.last_step() >= 0 ? "The last checkpoint is that of step " + std::to_string(saves_.last_step()) + "."
                                 : std::string("There is no checkpoint yet.");
}

double Leader::model_flops(std::int64_t batch) const {
  return plan::flops_per_token(member_.graph(), member_.plans().train(batch).plan).model * static_cast<double>(batch * setup_.tokens);
}

/// At the end; predictions are those of the last step's plan.
std::string Leader::breakdown_text() const {
  const std::int64_t batch = settings_.batch_size(state_.step - 1);
  const plan::Plan& plan = member_.plans().train(batch).plan;
  const auto prediction = plan::predict(member_.graph(), plan);
  return table_.text(besides_, prediction) +
         printf_text(
             "\nUtilisation: %.1f %% of %.1f GFLOP/s, the fp32 matrix products of all csx measured alone at the start (model FLOPs: "
             "attention in full, no recompute).",
             100 * model_flops(batch) / std::max(table_.step_s(), 1e-9) / gemm_flops_per_s_, 1e-9 * gemm_flops_per_s_);
}

void Leader::write_timeline() {
  PassOrder order;
  order.kind = PassKind::timeline;
  member_.control().from_leader(order);
  member_.write_timeline();
}

void Leader::advance_save() {
  const Timed timed(besides_.checkpoints);
  saves_.advance(last_reports_);
}

void Leader::complete_save() {
  const Timed timed(besides_.checkpoints);
  saves_.complete();
}

void Leader::save() {
  const Timed timed(besides_.checkpoints);
  const trace::Span span("checkpoint", nullptr, state_.step);
  if (state_.skipped_in_a_row == 0) return saves_.open(open_order(PassKind::open_save), state_);
  log::warning("No checkpoint at step " + std::to_string(state_.step) + ": the last " + std::to_string(state_.skipped_in_a_row) +
               " gradients were not finite. " + last_good());  // such a state must not take the place of a good one
}

}  // namespace wsc::train
