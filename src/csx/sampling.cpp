// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/csx/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "wsc/base/error.hpp"
#include "wsc/csx/generator.hpp"

namespace wsc::csx {
namespace {

void check_finite(std::span<const float> logits) {
  if (std::all_of(logits.begin(), logits.end(), [](float v) { return std::isfinite(v); })) return;
  throw NumericalError("the model's logits are not finite: its weights have grown too large. Generate from an earlier checkpoint.");
}

/// The `count` ids with the largest logits, in order.
std::vector<std::int32_t> highest(std::span<const float> logits, std::size_t count) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(),
                    [&](std::int32_t a, std::int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  ids.resize(count);
  return ids;
}

void normalise(std::vector<Candidate>& all) {
  double sum = 0;
  for (const Candidate& c : all) sum += c.probability;
  for (Candidate& c : all) c.probability /= sum;
}

/// The fewest candidates whose probabilities reach p.
void keep_probable(std::vector<Candidate>& all, double p) {
  double sum = 0;
  for (std::size_t n = 0; n < all.size(); ++n) {
    sum += all[n].probability;
    if (sum >= p) all.resize(n + 1);
  }
}

/// Uniform in [0, 1) with 53 bits: 24 would leave the least probable tokens of a large vocabulary out.
double uniform(const RandomKey& key, std::int64_t element) {
  const auto bits = key.bits(0, static_cast<std::uint64_t>(element));
  return static_cast<double>((std::uint64_t{bits[0]} << 32 | bits[1]) >> 11) * 0x1p-53;
}

}  // namespace

std::vector<Candidate> candidates(std::span<const float> logits, const Sampling& sampling) {
  WSC_EXPECT(!logits.empty() && sampling.temperature >= 0 && sampling.top_k >= 0 && sampling.top_p > 0);
  check_finite(logits);
  std::size_t count = logits.size();
  if (sampling.top_k > 0) count = std::min(count, static_cast<std::size_t>(sampling.top_k));
  if (sampling.temperature == 0) count = 1;
  std::vector<Candidate> all;
  all.reserve(count);
  const std::vector<std::int32_t> ids = highest(logits, count);
  const double most = logits[ids[0]];
  for (const std::int32_t id : ids) {
    const double below = most - logits[id];
    all.push_back({id, below == 0 ? 1 : std::exp(-below / sampling.temperature)});
  }
  normalise(all);
  if (sampling.top_p < 1) {
    keep_probable(all, sampling.top_p);
    normalise(all);
  }
  return all;
}

std::int32_t draw(std::span<const Candidate> candidates, double u) {
  WSC_EXPECT(!candidates.empty());
  double sum = 0;
  std::int32_t id = candidates[0].id;
  for (const Candidate& c : candidates) {
    if (c.probability == 0) break;  // so small that nothing can draw it: rounding of the sum must not
    id = c.id;
    sum += c.probability;
    if (u < sum) break;
  }
  return id;
}

std::int64_t longest_prompt(std::int64_t context) { return std::max<std::int64_t>(1, context - 1); }

std::int64_t continue_text(Generator& generator, std::span<const std::int32_t> prompt, const Continuation& how,
                           const std::function<void(std::int32_t)>& take) {
  WSC_EXPECT(!prompt.empty() && how.vocab >= 1 && how.vocab <= generator.vocab());
  const auto context = static_cast<std::size_t>(generator.context());
  const std::size_t seen = std::min(prompt.size(), static_cast<std::size_t>(longest_prompt(generator.context())));
  std::vector<std::int32_t> window(prompt.end() - static_cast<std::ptrdiff_t>(seen), prompt.end());
  generator.clear();
  std::span<const float> logits = generator.feed(window);
  for (std::int64_t n = 0; n < how.max_tokens; ++n) {
    const std::int32_t id = draw(candidates(logits.first(static_cast<std::size_t>(how.vocab)), how.sampling), uniform(how.random, n));
    if (id == how.eos) return n;
    take(id);
    if (n + 1 == how.max_tokens) break;
    window.push_back(id);
    if (window.size() <= context) {
      logits = generator.feed({&id, 1});
    } else {
      window.erase(window.begin(), window.end() - static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, context / 2)));
      generator.clear();
      logits = generator.feed(window);
    }
  }
  return how.max_tokens;
}

}  // namespace wsc::csx
