// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "wsc/base/format.hpp"
#include "wsc/plan/advice.hpp"
#include "wsc/plan/summary.hpp"

namespace wsc::plan {
namespace {

std::string bytes(std::int64_t n) { return bytes_text(static_cast<double>(n)); }

/// Stages with equal plans and sizes print as one line.
struct StageLine {
  std::string first, last;
  int count = 0;
  std::int64_t elements = 0, tile_rows = 0;
  bool recompute = false;
  bool same(const StageLine& o) const { return elements == o.elements && tile_rows == o.tile_rows && recompute == o.recompute; }
};

/// A transformer alternates between two kinds of stage, so lines are compared with the one two before.
std::vector<StageLine> stage_lines(const Graph& graph, const Plan& plan) {
  std::vector<StageLine> lines;
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    StageLine line{stage.name, stage.name, 1, 0, plan.stages[s].tile_rows, plan.stages[s].recompute};
    for (const BlockId b : stage.blocks) line.elements += graph[b].elements;
    bool merged = false;
    for (std::size_t back = 1; back <= 2 && back <= lines.size() && !merged; ++back) {
      StageLine& earlier = lines[lines.size() - back];
      if (!earlier.same(line)) continue;
      earlier.last = stage.name;
      ++earlier.count;
      merged = true;
    }
    if (!merged) lines.push_back(line);
  }
  return lines;
}

std::string considered_text(const Plan& plan) {
  if (plan.considered.size() < 2) return "";
  std::string t = "  chosen from      waves  backward   prefetch  tile rows  predicted step\n";
  for (const Candidate& c : plan.considered)
    t += printf_text("                   %5lld  %-9s  %8d  %9lld  %.5g s\n", static_cast<long long>(c.waves),
                     c.recompute ? "recompute" : "keep", c.prefetch, static_cast<long long>(c.tile_rows), c.step_s);
  return t;
}

}  // namespace

std::string summary_text(const Summary& s, const Graph& graph, const Plan& plan) {
  const Request& r = plan.request;
  std::string t = s.deck + "\n";
  t += printf_text("  parameters       %s\n", count_text(s.parameters).c_str());
  t += printf_text("  training         %s steps, %.4g tokens, %.3g training FLOPs (Cerebras-GPT convention)\n", count_text(s.steps).c_str(),
                   static_cast<double>(s.tokens), s.training_flops);
  t += printf_text("  per token        %.4g model FLOPs, %.4g executed FLOPs\n", s.per_token.model, s.per_token.executed);
  t += printf_text("  cluster          %d memoryx + %d csx%s, %d thread%s per csx\n", r.layout.memoryx, r.layout.csx,
                   r.streamed ? "" : " in one process (null fabric)", r.threads, r.threads == 1 ? "" : "s");
  t += printf_text("  step             %lld samples of %lld tokens in %lld wave%s, %lld leaves, prefetch %d\n",
                   static_cast<long long>(r.batch), static_cast<long long>(r.tokens), static_cast<long long>(plan.waves),
                   plan.waves == 1 ? "" : "s", static_cast<long long>(plan.leaves), plan.prefetch);
  t += printf_text("  wire per step    %s of weights to each node (cluster.csx_per_window), %s of gradients from each csx\n",
                   bytes(s.wire.to_each_window).c_str(), bytes(s.wire.from_each_csx).c_str());
  t += printf_text("  memoryx          %s per shard: weights %s, gradients %s, optimizer state %s\n", bytes(s.shard.total()).c_str(),
                   bytes(s.shard.weights).c_str(), bytes(s.shard.gradients).c_str(), bytes(s.shard.states).c_str());
  const CsxBytes& b = plan.bytes;
  t += printf_text("  csx              %s of %s: %s\n", bytes(b.total()).c_str(), r.memory > 0 ? bytes(r.memory).c_str() : "no limit",
                   plan.fits ? "fits" : "DOES NOT FIT");
  t += printf_text("                   activations %s, scratch %s, weight window %s, gradient buffers %s,\n", bytes(b.activations).c_str(),
                   bytes(b.scratch).c_str(), bytes(b.weight_window).c_str(), bytes(b.gradient_buffers).c_str());
  if (b.compute_copy > 0)
    t +=
        printf_text("                   %s of the running stage's weights in %s\n", bytes(b.compute_copy).c_str(), name(r.compute).c_str());
  t += printf_text("                   fabric %s, batches %s, program and libraries %s\n", bytes(b.fabric_buffers).c_str(),
                   bytes(b.batches).c_str(), bytes(b.library).c_str());
  const Prediction& p = s.prediction;
  t += printf_text("  predicted step   %.4g s: compute %.4g s, optimizer %.4g s%s\n", p.step, p.compute, p.optimizer,
                   r.streamed ? printf_text(" beside it, exposed wait %.4g s (%.1f %%); overlap %.1f %%", p.exposed_wait,
                                            100 * p.exposed_wait / p.step, 100 * p.overlap)
                                    .c_str()
                              : "");
  t += "                   at the rates of cluster.gflops_per_thread, memory_gbytes_per_s and link_gbytes_per_s\n";
  t += considered_text(plan);
  if (!plan.fits) t += "  advice           " + does_not_fit(graph, plan) + "\n";
  t += "  stages           first … last                                                     count  elements      tile rows  backward\n";
  for (const StageLine& line : stage_lines(graph, plan)) {
    const std::string names = line.count > 1 ? line.first + " … " + line.last : line.first;
    // "…" is three bytes long and one column wide.
    const int width = 64 + (line.count > 1 ? 2 : 0);
    t += printf_text("                   %-*s %5d  %12s  %9lld  %s\n", width, names.c_str(), line.count, count_text(line.elements).c_str(),
                     static_cast<long long>(line.tile_rows), line.recompute ? "recompute" : "keep");
  }
  return t;
}

std::string summary_json(const Summary& s, const Graph& graph, const Plan& plan) {
  using nlohmann::ordered_json;
  const Request& r = plan.request;
  const CsxBytes& b = plan.bytes;
  ordered_json j;
  j["deck"] = s.deck;
  j["parameters"] = s.parameters;
  j["steps"] = s.steps;
  j["tokens"] = s.tokens;
  j["training_flops"] = s.training_flops;
  j["flops_per_token"] = {{"training", s.per_token.training}, {"model", s.per_token.model}, {"executed", s.per_token.executed}};
  j["cluster"] = {{"memoryx", r.layout.memoryx}, {"csx", r.layout.csx}, {"threads", r.threads}, {"streamed", r.streamed}};
  j["step"] = {{"batch_size", r.batch}, {"tokens_per_sample", r.tokens}};
  j["waves"] = plan.waves;
  j["leaves"] = plan.leaves;
  j["prefetch"] = plan.prefetch;
  j["fits"] = plan.fits;
  j["csx"] = {{"memory", r.memory},
              {"peak_bytes",
               {{"activations", b.activations},
                {"scratch", b.scratch},
                {"weight_window", b.weight_window},
                {"compute_copy", b.compute_copy},
                {"gradient_buffers", b.gradient_buffers},
                {"fabric_buffers", b.fabric_buffers},
                {"batches", b.batches},
                {"library", b.library},
                {"total", b.total()}}}};
  j["memoryx"] = {
      {"peak_bytes",
       {{"weights", s.shard.weights}, {"gradients", s.shard.gradients}, {"states", s.shard.states}, {"total", s.shard.total()}}}};
  j["precision"] = {{"compute", name(r.compute)}, {"wire_weights", name(r.wire_weights)}};
  j["wire_bytes_per_step"] = {{"weights_to_each_window", s.wire.to_each_window},
                              {"gradients_from_each_csx", s.wire.from_each_csx},
                              {"weights_from_memoryx", s.wire.from_memoryx}};
  const Prediction& p = s.prediction;
  j["prediction"] = {{"step_s", p.step},       {"compute_s", p.compute},     {"optimizer_s", p.optimizer},
                     {"weights_s", p.weights}, {"gradients_s", p.gradients}, {"exposed_wait_s", p.exposed_wait},
                     {"overlap", p.overlap}};
  for (const Candidate& c : plan.considered)
    j["considered"].push_back(
        {{"waves", c.waves}, {"recompute", c.recompute}, {"prefetch", c.prefetch}, {"tile_rows", c.tile_rows}, {"step_s", c.step_s}});
  if (!plan.fits) j["advice"] = does_not_fit(graph, plan);
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    const Extent one{plan.stages[i].tile_rows, r.tokens, r.threads};
    Cost cost;
    for (const Op& op : graph.stages[i].ops) cost += op_cost(op, one);
    j["stages"].push_back({{"name", graph.stages[i].name},
                           {"tile_rows", plan.stages[i].tile_rows},
                           {"recompute", plan.stages[i].recompute},
                           {"forward_flops_per_tile", cost.forward_flops},
                           {"backward_flops_per_tile", cost.backward_flops},
                           {"forward_bytes_per_tile", cost.forward_bytes},
                           {"backward_bytes_per_tile", cost.backward_bytes},
                           {"predicted_forward_s", p.stages[i].forward},
                           {"predicted_backward_s", p.stages[i].backward}});
  }
  for (const PlannedVisit& v : plan.visits) {
    ordered_json receives = ordered_json::array(), gradients = ordered_json::array();
    for (const BlockId id : v.stream.receives) receives.push_back(block_name(graph, plan.row_blocks, id));
    for (const BlockId id : v.stream.gradients) gradients.push_back(block_name(graph, plan.row_blocks, id));
    j["stream"].push_back(
        {{"stage", graph[v.stage].name}, {"direction", direction_name(v.direction)}, {"receives", receives}, {"gradients", gradients}});
  }
  return j.dump(1);
}

std::string parameter_table(const Graph& graph) {
  std::string t = printf_text("%-66s %-16s %-10s %-6s %s", "parameter", "shape", "init sd", "decay", "block");
  for (const Param& p : graph.params) {
    const std::string shape = p.is_vector ? printf_text("(%lld)", static_cast<long long>(p.rows))
                                          : printf_text("(%lld, %lld)", static_cast<long long>(p.rows), static_cast<long long>(p.columns));
    const std::string init = p.init.kind == Init::Kind::truncated_normal ? printf_text("%.4g", p.init.standard_deviation)
                             : p.init.kind == Init::Kind::ones           ? "ones"
                                                                         : "zeros";
    t += printf_text("\n%-66s %-16s %-10s %-6s %s", p.name.c_str(), shape.c_str(), init.c_str(), p.decays ? "yes" : "no",
                     graph[graph[p.weight].block].name.c_str());
  }
  return t + "\n";
}

}  // namespace wsc::plan
