// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/member.hpp"

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/base/process.hpp"
#include "wsc/base/trace.hpp"
#include "wsc/optimizer/update_rule.hpp"
#include "wsc/plan/split.hpp"
#include "wsc/train/stop.hpp"

namespace wsc::train {
namespace {

// Each with an event in the timeline.
PassOrder receive_order(Control& control) {
  const trace::Span span("wait for an order");
  return control.from_leader(PassOrder{});
}

std::vector<RankReport> report(Control& control, const RankReport& mine) {
  const trace::Span span("report");
  return control.to_leader(mine);
}

PassStream agree_on_rows(Control& control, const Graph& graph, const PlannedPass& pass, const data::Batch* batch) {
  const trace::Span span("agree on rows");
  return PassStream(control, graph, pass, batch);
}

}  // namespace

Member::Member(const Graph& graph, const Settings& settings, const Plans& plans, const Setup& setup, const RunData& data, Control control)
    : graph_(graph), plans_(plans), control_(control), state_names_(optimizer::state_names(optimizer::update_rule(settings.optimizer))) {
  fabric::Channel* channel = control_.channel();
  const fabric::Rank rank = channel ? channel->rank() : fabric::Rank(0);
  const CsxData sets{data.train.get(), data.evaluate.get()};
  if (!channel || setup.layout.is_memoryx(rank))
    memoryx_ = std::make_unique<MemoryxRole>(graph, plan::split_blocks(graph, setup.layout.memoryx), settings.optimizer,
                                             precision_of(settings.precision.wire_weights), channel, fabric::ShardId(rank.index));
  if (!channel)
    csx_ = std::make_unique<CsxRole>(graph, settings, plans, 0, fabric::make_null_streams(memoryx_->shard()), sets);
  else if (!setup.layout.is_memoryx(rank))
    csx_ = std::make_unique<CsxRole>(graph, settings, plans, setup.layout.csx_of(rank).index, fabric::make_channel_streams(*channel), sets);
}

void Member::initialise(std::uint64_t seed) {
  if (memoryx_) memoryx_->shard().initialise(seed);
}

void Member::open_save(const PassOrder& order, const checkpoint::SaveFile& leaders) {
  if (memoryx_) memoryx_->decide(order);
  checkpoint::SaveFile file{control_.from_leader(leaders.path.string()), leaders.offsets};
  control_.from_leader(file.offsets);
  control_.agree([&] {
    if (!memoryx_) return;
    writer_ = std::make_unique<checkpoint::ShardWriter>(file, graph_, memoryx_->shard().places());
    memoryx_->shard().let_read(writer_.get());
  });
}

std::vector<checkpoint::PieceChecksum> Member::collect_save() {
  std::vector<checkpoint::PieceChecksum> mine;
  control_.agree([&] {
    if (!memoryx_) return;
    memoryx_->shard().apply_pending();
    memoryx_->shard().let_read(nullptr);
    mine = writer_->finish();
    writer_.reset();
  });
  return control_.lists_to_leader(mine);
}

void Member::load(const std::filesystem::path& leaders, checkpoint::What what) {
  const std::filesystem::path path = control_.from_leader(leaders.string());
  std::vector<checkpoint::PieceChecksum> mine;
  control_.agree([&] {
    if (!memoryx_) return;
    auto pieces = memoryx_->shard().pieces();
    mine = checkpoint::load_pieces(path, graph_, state_names_, pieces, what);
  });
  const auto all = control_.lists_to_leader(mine);
  control_.agree([&] {
    if (control_.leads()) checkpoint::check_loaded(path, graph_, all);
  });
}

RankReport Member::run(const PassOrder& order) {
  const Stopwatch watch;
  const trace::Span span(order.kind == PassKind::step ? "step" : "evaluation batch", nullptr, order.step);
  if (memoryx_) memoryx_->shard().take_optimizer_s();  // of saves
  if (memoryx_) memoryx_->decide(order);
  const PlannedPass& pass = order.kind == PassKind::step ? plans_.train(order.batch) : plans_.evaluate();
  const data::Batch* const batch = csx_ ? &csx_->read(order) : nullptr;
  const Stopwatch agreement;
  const PassStream stream = agree_on_rows(control_, graph_, pass, batch);
  const double agreement_s = agreement.seconds();
  if (memoryx_) memoryx_->serve(stream);
  if (csx_) csx_->run(order, stream);

  RankReport report;
  if (memoryx_) memoryx_->report(report);
  if (csx_) csx_->report(report);
  report.saving = writer_ && !writer_->done();
  report.stop_requested = stop_signal();
  if (control_.channel()) report.counters = control_.channel()->counters();
  report.resident_peak_bytes = resident_peak_bytes();
  report.seconds.pass = watch.seconds();
  report.seconds.agreement = agreement_s;
  return report;
}

void Member::write_timeline() {
  timeline_->write();
  timeline_.reset();
}

void obey(Member& member) {
  for (;;) {
    const PassOrder order = receive_order(member.control());
    switch (order.kind) {
      case PassKind::step:
      case PassKind::evaluate:
        report(member.control(), member.run(order));
        break;
      case PassKind::open_save:
        member.open_save(order, {});
        break;
      case PassKind::collect_save:
        member.collect_save();
        break;
      case PassKind::timeline:
        member.write_timeline();
        break;
      case PassKind::finish:
        return;
    }
  }
}

std::vector<RankReport> order_pass(Member& member, const PassOrder& order) {
  member.control().from_leader(order);
  std::vector<RankReport> reports = report(member.control(), member.run(order));
  for (std::size_t rank = 0; rank < reports.size(); ++rank)
    if (reports[rank].error != 0)
      throw LeaderStop(static_cast<ExitCode>(reports[rank].error),
                       reports[rank].message + (reports.size() > 1 ? " (seen by rank " + std::to_string(rank) + ")" : std::string()));
  return reports;
}

}  // namespace wsc::train
