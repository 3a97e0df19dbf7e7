// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "build.hpp"

#include "wsc/base/error.hpp"
#include "wsc/plan/cost.hpp"
#include "wsc/plan/split.hpp"

namespace wsc::plan {
namespace {

/// The search for what fits the budget, and for the fastest of that.
class Search {
 public:
  Search(const Graph& graph, const Request& request) : graph_(graph), request_(request) {
    start_.request = request;
    start_.blocks = split_blocks(graph, request.layout.memoryx);
    if (request.streamed) start_.row_blocks = row_blocks(graph, request.batch * request.tokens);
    for (const RowBlock& rows : start_.row_blocks) start_.blocks.push_back(largest_split(rows, request.layout.memoryx));
    if (request.micro_batch > 0) {
      tiles_ = {0};
    } else if (request.ordered) {
      tiles_ = {largest_tile};  // the same products on every layout, whatever its memory
    } else {
      for (std::int64_t t = largest_tile; t >= smallest_tile; t /= 2) tiles_.push_back(t);
    }
    if (request.prefetch >= 0)
      prefetches_ = {static_cast<int>(request.prefetch)};
    else
      prefetches_ = {2, 1};
    if (request.recompute == "auto")
      recomputes_ = {false, true};
    else
      recomputes_ = {request.recompute == "on"};
  }

  /// The fastest of what fits with this number of waves, or with more of them where that is left open; the first one of equals. Where
  /// nothing fits, the most frugal plan.
  Plan best(std::int64_t waves) const {
    if (Plan frugal = most_frugal(waves); !frugal.fits) return frugal;
    std::optional<Plan> fastest;
    std::vector<Candidate> considered;
    for (const Candidate& choice : choices(waves)) {
      // Less prefetch is of use where it makes room for larger tiles. If the first choice has all it could wish, the others only make room.
      if (!considered.empty() && has_largest_tiles(considered.back()) && same_but_prefetch(considered.back(), choice)) continue;
      if (!considered.empty() && has_largest_tiles(considered.front()) && !considered.front().recompute) break;
      std::optional<Plan> plan = with_largest_tile(choice);
      if (!plan) continue;
      considered.push_back(plan->considered.front());
      if (!fastest || considered.back().step_s < fastest->considered.front().step_s) fastest = std::move(plan);
    }
    WSC_ENSURE(fastest);
    fastest->considered = std::move(considered);
    return std::move(*fastest);
  }

  Plan most_frugal(std::int64_t waves) const {
    return build(graph_, start_, {waves, recomputes_.back(), prefetches_.back(), tiles_.back()});
  }

  /// The same for parts that must be whole subtrees: all numbers of waves that make them are tried.
  std::int64_t smallest_ordered_waves() const {
    std::int64_t last = 1;
    for (std::int64_t waves = 1; waves * request_.layout.csx <= request_.leaves; ++waves) {
      if (!whole_subtrees(request_.leaves, waves, request_.layout.csx)) continue;
      last = waves;
      if (request_.memory == 0 || most_frugal(waves).fits) break;
    }
    return last;
  }

  /// The smallest number of waves that fits, or the largest one that makes sense.
  std::int64_t smallest_waves() const {
    const std::int64_t most = most_waves();
    std::int64_t low = 1, high = 1;
    while (!most_frugal(high).fits) {
      if (high == most) return most;
      low = high + 1;
      high = std::min(2 * high, most);
    }
    while (low < high) {
      const std::int64_t middle = (low + high) / 2;
      if (most_frugal(middle).fits)
        high = middle;
      else
        low = middle + 1;
    }
    return high;
  }

 private:
  /// The largest tiles with which it fits; smaller ones are not faster.
  std::optional<Plan> with_largest_tile(Candidate choice) const {
    for (const std::int64_t tile : tiles_) {
      choice.tile_rows = tile;
      Plan plan = build(graph_, start_, choice);
      if (!plan.fits) continue;
      choice.step_s = predict(graph_, plan).step;
      plan.considered = {choice};
      return plan;
    }
    return std::nullopt;
  }

  bool has_largest_tiles(const Candidate& c) const { return c.tile_rows == tiles_.front(); }
  static bool same_but_prefetch(const Candidate& a, const Candidate& b) { return a.waves == b.waves && a.recompute == b.recompute; }

  std::vector<Candidate> choices(std::int64_t waves) const {
    std::vector<Candidate> all;
    for (const std::int64_t w : wave_numbers(waves))
      for (const bool recompute : recomputes_)
        for (const int prefetch : prefetches_) all.push_back({w, recompute, prefetch});
    return all;
  }

  /// A few more waves keep more activations instead of computing them again.
  std::vector<std::int64_t> wave_numbers(std::int64_t fewest) const {
    std::vector<std::int64_t> numbers{fewest};
    if (request_.waves > 0 || request_.memory == 0 || request_.purpose != Purpose::train) return numbers;
    for (std::int64_t w = 2 * fewest; w <= std::min(8 * fewest, most_waves()); w *= 2)
      if (!request_.ordered || whole_subtrees(request_.leaves, w, request_.layout.csx)) numbers.push_back(w);
    return numbers;
  }

  std::int64_t most_waves() const {
    const std::int64_t parts = request_.ordered || request_.leaves > 0 ? request_.leaves : request_.batch;
    return std::max<std::int64_t>(1, parts / request_.layout.csx);
  }

  const Graph& graph_;
  const Request& request_;
  Plan start_;  ///< request and blocks
  std::vector<std::int64_t> tiles_;
  std::vector<int> prefetches_;
  std::vector<bool> recomputes_;
};

/// Divisions of the leaves that keep the order, as "waves × csx", for people.
std::string fitting_parts(std::int64_t leaves) {
  std::string list;
  for (std::int64_t waves = 1; waves <= leaves; ++waves)
    for (int csx = 1; waves * csx <= leaves && list.size() < 120; ++csx)
      if (whole_subtrees(leaves, waves, csx)) list += (list.empty() ? "" : ", ") + std::to_string(waves) + " × " + std::to_string(csx);
  return list;
}

void check_subtrees(const Request& r) {
  const std::int64_t n = r.layout.csx;
  if (r.leaves == 0)
    throw SettingsError(
        "cluster.reduction=ordered needs csx.leaves, the parts of the batch at the ends of the gradient sum, the same number on all "
        "layouts. A power of two that is a multiple of cluster.num_csx times csx.waves fits most of them.");
  for (std::int64_t waves = r.waves > 0 ? r.waves : 1; waves * n <= r.leaves; ++waves) {
    if (whole_subtrees(r.leaves, waves, r.layout.csx)) return;
    if (r.waves > 0) break;
  }
  throw SettingsError("csx.leaves=" + std::to_string(r.leaves) + " cannot be divided into whole subtrees of equal size for " +
                      (r.waves > 0 ? std::to_string(r.waves) + " waves on " : std::string()) + std::to_string(n) +
                      " csx, as cluster.reduction=ordered needs. With these leaves fit (waves × csx): " + fitting_parts(r.leaves) +
                      ". Or take csx.leaves=" + std::to_string(std::max<std::int64_t>(r.waves, 1) * n) + " times a power of two" +
                      (r.waves > 1 ? ", where waves and csx are powers of two." : "."));
}

void check(const Request& r) {
  if (r.layout.csx < 1 || r.layout.memoryx < 1)
    throw SettingsError("a cluster needs at least one memoryx and one csx rank, not " + std::to_string(r.layout.memoryx) + " and " +
                        std::to_string(r.layout.csx) + " (cluster.memoryx, cluster.num_csx).");
  if (r.leaves > 0 && r.waves > 0 && r.leaves < r.waves * r.layout.csx)
    throw SettingsError("csx.leaves = " + std::to_string(r.leaves) + " is less than csx.waves × cluster.num_csx = " +
                        std::to_string(r.waves * r.layout.csx) + ": some csx would never have work. Use a multiple, or 0 for auto.");
  if (r.ordered && r.purpose == Purpose::train) check_subtrees(r);
  WSC_EXPECT(r.batch > 0 && r.tokens > 0);
}

}  // namespace

Plan make_plan(const Graph& graph, const Request& request) {
  check(request);
  const Search search(graph, request);
  if (request.waves == 0 && request.ordered && request.purpose == Purpose::train) return search.best(search.smallest_ordered_waves());
  return search.best(request.waves > 0 ? request.waves : request.memory > 0 ? search.smallest_waves() : 1);
}

}  // namespace wsc::plan
