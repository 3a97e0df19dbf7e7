// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/memoryx/shard.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/memoryx/small_gpt.hpp"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wsc/base/random.hpp"
#include "wsc/optimizer/update_rule.hpp"
#include "wsc/plan/split.hpp"

namespace wsc::memoryx {
namespace {

using testing::Each;

constexpr std::uint64_t seed = 11;

OptimizerSettings adamw() {
  OptimizerSettings s{};
  s.optimizer_type = "AdamW";
  s.beta1 = 0.9;
  s.beta2 = 0.95;
  s.eps = 1e-8;
  s.weight_decay_rate = 0.1;
  s.correct_bias = true;
  s.eps_mode = "pytorch";
  return s;
}

UpdateDecision decision(int step) {
  return {.gradient_factor = 1.0 + 0.25 * step, .clip_value = 1.5, .learning_rate = 1e-3 * step, .optimizer_step = step};
}

/// All arrays of a parameter: weight, then states.
using ParamArrays = std::vector<std::vector<float>>;

/// A model on M shards.
struct Store {
  Graph graph;
  std::vector<fabric::BlockSplit> splits;
  std::vector<std::unique_ptr<Shard>> shards;

  Store(Graph g, int m, const OptimizerSettings& optimizer, Precision wire = Precision::fp32)
      : graph(std::move(g)), splits(plan::split_blocks(graph, m)) {
    for (int i = 0; i < m; ++i) shards.push_back(std::make_unique<Shard>(graph, splits, fabric::ShardId(i), optimizer, wire));
    for (auto& s : shards) s->initialise(seed);
  }
  Store(int m) : Store(small_gpt(), m, adamw()) {}

  std::int64_t begin(std::size_t block, std::size_t m) const { return splits[block].bounds[m]; }
  std::int64_t end(std::size_t block, std::size_t m) const { return splits[block].bounds[m + 1]; }

  /// Whether an element of a block belongs to a parameter.
  bool is_padding(std::size_t block, std::int64_t element) const {
    for (const WeightId w : graph.blocks[block].weights)
      if (graph[w].offset <= element && element < graph[w].offset + graph[w].elements()) return false;
    return true;
  }

  /// Adds the gradients of a step: random, the same whatever M is; nonsense in the padding.
  void add_gradients(int step) {
    for (std::size_t b = 0; b < splits.size(); ++b) {
      const RandomKey key(seed, "gradient", graph.blocks[b].name, step);
      for (std::size_t m = 0; m < shards.size(); ++m) {
        float* const g = shards[m]->gradient(BlockId(b));
        for (std::int64_t i = begin(b, m); i < end(b, m); ++i)
          g[i - begin(b, m)] += is_padding(b, i) ? 1e30f : static_cast<float>(key.normal(0, i));
        shards[m]->on_gradient(BlockId(b), true);
      }
    }
  }

  void decide(const UpdateDecision& d) {
    for (auto& s : shards) s->decide(d);
  }
  void send_all() {
    for (std::size_t b = 0; b < splits.size(); ++b)
      for (std::size_t m = 0; m < shards.size(); ++m) shards[m]->on_send(BlockId(b), begin(b, m), end(b, m));
  }
  double squared_norm() {
    double total = 0;
    for (auto& s : shards) total += s->take_squared_norm().value();
    return total;
  }

  /// Every parameter put together from the pieces of all shards; each element must occur exactly once.
  std::vector<ParamArrays> gather() {
    const std::size_t arrays = 1 + shards[0]->state_names().size();
    std::vector<ParamArrays> out;
    std::vector<std::vector<int>> owners;
    for (const Param& p : graph.params) {
      out.push_back(ParamArrays(arrays, std::vector<float>(p.elements())));
      owners.emplace_back(p.elements());
    }
    for (auto& s : shards) {
      ParamId last;
      for (const Shard::Piece& piece : s->pieces()) {
        EXPECT_LE(last, piece.param);
        last = piece.param;
        EXPECT_EQ(piece.weight.size(), static_cast<std::size_t>(piece.end - piece.begin));
        EXPECT_EQ(piece.states.size(), arrays - 1);
        ParamArrays& to = out[piece.param.index];
        std::copy(piece.weight.begin(), piece.weight.end(), to[0].begin() + piece.begin);
        for (std::size_t i = 1; i < arrays; ++i)
          std::copy(piece.states[i - 1].begin(), piece.states[i - 1].end(), to[i].begin() + piece.begin);
        for (std::int64_t i = piece.begin; i < piece.end; ++i) ++owners[piece.param.index][i];
      }
    }
    for (const auto& counts : owners) EXPECT_THAT(counts, Each(1));
    return out;
  }

  std::vector<float> all_gradients() {
    std::vector<float> out;
    for (std::size_t b = 0; b < splits.size(); ++b)
      for (std::size_t m = 0; m < shards.size(); ++m) {
        const float* const g = shards[m]->gradient(BlockId(b));
        for (std::int64_t i = begin(b, m); i < end(b, m); ++i)
          if (!is_padding(b, i)) out.push_back(g[i - begin(b, m)]);
      }
    return out;
  }
};

void expect_same_bits(const std::vector<ParamArrays>& a, const std::vector<ParamArrays>& b, const Graph& graph) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t p = 0; p < a.size(); ++p) {
    ASSERT_EQ(a[p].size(), b[p].size());
    for (std::size_t k = 0; k < a[p].size(); ++k)
      EXPECT_EQ(std::memcmp(a[p][k].data(), b[p][k].data(), a[p][k].size() * sizeof(float)), 0) << graph.params[p].name << " array " << k;
  }
}

TEST(Shard, InitialWeightsAreThoseOfTheParameterTable) {
  Store store(3);
  const auto arrays = store.gather();
  for (std::size_t p = 0; p < arrays.size(); ++p) {
    const Param& param = store.graph.params[p];
    const RandomKey key(seed, "init", param.name, 0);
    for (std::int64_t i = 0; i < param.elements(); ++i) {
      const double expected = param.init.kind == Init::Kind::zeros  ? 0
                              : param.init.kind == Init::Kind::ones ? 1
                                                                    : param.init.standard_deviation * key.truncated_normal(0, i);
      ASSERT_EQ(arrays[p][0][i], static_cast<float>(expected)) << param.name << " element " << i;
    }
    EXPECT_THAT(arrays[p][1], Each(0.0f));
    EXPECT_THAT(arrays[p][2], Each(0.0f));
  }
}

TEST(Shard, AnyNumberOfShardsGivesTheSameBits) {
  Store one(1);
  const auto initial = one.gather();
  std::vector<std::unique_ptr<Store>> others;
  for (const int m : {2, 3, 5}) {
    others.push_back(std::make_unique<Store>(m));
    expect_same_bits(others.back()->gather(), initial, one.graph);
  }
  // The final norm is a block of 2 vectors: with 3 shards a vector is cut.
  const BlockId norm = one.graph[one.graph[one.graph.find("transformer_decoder/norm/weight")].weight].block;
  EXPECT_LT(others[1]->splits[norm.index].bounds[1], 64);

  for (int step = 1; step <= 3; ++step) {
    one.add_gradients(step);
    one.decide(decision(step));
    one.send_all();
    const double norm_of_one = one.squared_norm();
    for (auto& other : others) {
      other->add_gradients(step);
      EXPECT_NEAR(other->squared_norm(), norm_of_one, 1e-12 * norm_of_one);
      other->decide(decision(step));
      other->send_all();
    }
  }
  const auto final = one.gather();
  EXPECT_NE(final[0][0], initial[0][0]);
  for (auto& other : others) expect_same_bits(other->gather(), final, one.graph);
}

TEST(Shard, UpdatesEveryParameterByTheRuleAndDecaysMatricesOnly) {
  Store store(2);
  const optimizer::UpdateRule rule = optimizer::update_rule(adamw());
  auto expected = store.gather();
  for (int step = 1; step <= 2; ++step) {
    const UpdateDecision d = decision(step);
    for (std::size_t p = 0; p < expected.size(); ++p) {
      const Param& param = store.graph.params[p];
      const BlockId block = store.graph[param.weight].block;
      const RandomKey key(seed, "gradient", store.graph[block].name, step);
      std::vector<float> g(param.elements());
      for (std::int64_t i = 0; i < param.elements(); ++i) g[i] = static_cast<float>(key.normal(0, store.graph.offset(ParamId(p)) + i));
      const optimizer::UpdateParams u{d.learning_rate, d.gradient_factor, d.clip_value, d.optimizer_step, !param.is_vector};
      float* const states[] = {expected[p][1].data(), expected[p][2].data()};
      optimizer::apply(Exec(), rule, u, param.elements(), expected[p][0].data(), g.data(), states);
    }
    store.add_gradients(step);
    store.decide(d);
  }
  expect_same_bits(store.gather(), expected, store.graph);
}

TEST(Shard, UpdateOnSendInPiecesEqualsUpdateAtOnce) {
  Store at_once(2), on_send(2);
  for (int step = 1; step <= 3; ++step) {
    at_once.add_gradients(step);
    at_once.decide(decision(step));
    for (auto& s : at_once.shards) s->apply_pending();

    on_send.add_gradients(step);
    on_send.decide(decision(step));
    for (std::size_t b = 0; b < on_send.splits.size(); ++b)
      for (std::size_t m = 0; m < 2; ++m) {
        const std::int64_t begin = on_send.begin(b, m), end = on_send.end(b, m), piece = 777;
        const auto* const first = static_cast<float*>(on_send.shards[m]->on_send(BlockId(b), begin, std::min(end, begin + piece)));
        for (std::int64_t at = begin; at < end; at += piece)  // the first piece a second time, as for a later visit
          EXPECT_EQ(on_send.shards[m]->on_send(BlockId(b), at, std::min(end, at + piece)), first + (at - begin));
        const void* const expected = at_once.shards[m]->on_send(BlockId(b), begin, end);
        EXPECT_EQ(std::memcmp(first, expected, (end - begin) * sizeof(float)), 0) << on_send.graph.blocks[b].name << " step " << step;
      }
  }
  expect_same_bits(on_send.gather(), at_once.gather(), at_once.graph);
  EXPECT_THAT(on_send.all_gradients(), Each(0.0f));
}

/// What the shards send of every block, in pieces cut anywhere, as floats.
std::vector<std::vector<float>> sent(Store& store, Precision wire, std::int64_t piece) {
  std::vector<std::vector<float>> blocks;
  for (std::size_t b = 0; b < store.splits.size(); ++b) {
    std::vector<float>& block = blocks.emplace_back(static_cast<std::size_t>(store.splits[b].elements));
    for (std::size_t m = 0; m < store.shards.size(); ++m)
      for (std::int64_t at = store.begin(b, m), end = store.end(b, m); at < end; at += piece) {
        const std::int64_t to = std::min(end, at + piece);
        convert(to - at, wire, store.shards[m]->on_send(BlockId(b), at, to), Precision::fp32, block.data() + at);
      }
  }
  return blocks;
}

TEST(Shard, WeightsTravelRoundedOnceAfterEveryChange) {
  for (const Precision wire : {Precision::bf16, Precision::fp16, Precision::cb16}) {
    Store exact(small_gpt(), 1, adamw()), rounded(small_gpt(), 3, adamw(), wire);
    const auto expect_rounded = [&](const char* when) {
      auto expected = sent(exact, Precision::fp32, 1 << 20);
      const auto got = sent(rounded, wire, 777);
      for (std::size_t b = 0; b < expected.size(); ++b)
        for (std::size_t i = 0; i < expected[b].size(); ++i) {
          std::uint16_t bits = 0;
          convert(1, Precision::fp32, &expected[b][i], wire, &bits);
          convert(1, wire, &bits, Precision::fp32, &expected[b][i]);
          ASSERT_EQ(got[b][i], expected[b][i]) << name(wire) << ", " << when << ", block " << b << ", element " << i;
        }
    };
    expect_rounded("at first");
    for (int step = 1; step <= 2; ++step) {
      for (Store* s : {&exact, &rounded}) {
        s->add_gradients(step);
        s->decide(decision(step));
      }
      expect_rounded("after an update");
      expect_rounded("a second time");
    }
    for (Store* s : {&exact, &rounded})
      for (auto& shard : s->shards)
        for (const Shard::Piece& piece : shard->pieces())  // as a checkpoint is loaded
          for (std::int64_t i = piece.begin; i < piece.end; ++i) piece.weight[i - piece.begin] = 1.0F / static_cast<float>(i + 3);
    expect_rounded("after a load");
    expect_same_bits(rounded.gather(), exact.gather(), exact.graph);
    std::int64_t elements = 0, bytes = 0;
    for (const auto& split : rounded.splits) elements += split.elements;
    for (auto& shard : rounded.shards) bytes += shard->bytes().weights;
    EXPECT_EQ(bytes, 6 * elements);
  }
}

TEST(Shard, DecidingAgainFirstAppliesWhatIsPending) {
  Store complete(1), partial(1);
  complete.add_gradients(1);
  complete.decide(decision(1));
  complete.send_all();
  partial.add_gradients(1);
  partial.decide(decision(1));
  partial.shards[0]->on_send(BlockId(0), 0, 100);  // an evaluation that stopped here
  UpdateDecision skip = decision(2);
  skip.skip = true;
  for (Store* s : {&complete, &partial}) s->decide(skip);
  expect_same_bits(partial.gather(), complete.gather(), complete.graph);
}

TEST(Shard, GradientsOfTheNextStepAreNotMixedWithPendingOnes) {
  Store sent(1), unsent(1);
  for (int step = 1; step <= 2; ++step) {
    sent.add_gradients(step);
    sent.decide(decision(step));
    sent.send_all();
    unsent.add_gradients(step);  // asks for the gradient buffers without any send since the decision
    unsent.decide(decision(step));
  }
  expect_same_bits(unsent.gather(), sent.gather(), sent.graph);
}

TEST(Shard, SkipChangesNothingButGradients) {
  Store store(3);
  store.add_gradients(1);
  store.decide(decision(1));
  const auto before = store.gather();
  store.add_gradients(2);
  UpdateDecision skip = decision(2);
  skip.skip = true;
  skip.gradient_factor = std::numeric_limits<double>::quiet_NaN();
  store.decide(skip);
  store.send_all();
  expect_same_bits(store.gather(), before, store.graph);
  EXPECT_THAT(store.all_gradients(), Each(0.0f));
}

TEST(Shard, BytesAreSixteenPerParameter) {
  for (const std::int64_t vocab : {257, 50257})
    for (const int m : {1, 2, 3, 5}) {
      const Graph graph = small_gpt(vocab);
      const auto splits = plan::split_blocks(graph, m);
      const double expected = 16.0 * graph.parameters() / m;
      for (int i = 0; i < m; ++i) {
        const Shard::Bytes bytes = Shard(graph, splits, fabric::ShardId(i), adamw()).bytes();
        EXPECT_EQ(bytes.weights, bytes.gradients);
        EXPECT_EQ(bytes.states, 2 * bytes.weights);
        EXPECT_NEAR(bytes.weights + bytes.gradients + bytes.states, expected, 0.02 * expected) << vocab << " " << i << " of " << m;
      }
    }
}

TEST(Shard, StatesFollowTheRule) {
  OptimizerSettings sgd = adamw();
  sgd.optimizer_type = "SGD";
  Store plain(small_gpt(), 2, sgd);
  EXPECT_TRUE(plain.shards[0]->state_names().empty());
  EXPECT_EQ(plain.shards[0]->bytes().states, 0);
  sgd.momentum = 0.9;
  Store momentum(small_gpt(), 2, sgd);
  EXPECT_THAT(momentum.shards[0]->state_names(), testing::ElementsAre("momentum_buffer"));
  momentum.add_gradients(1);
  momentum.decide(decision(1));
  EXPECT_NE(momentum.gather()[0][1][0], 0.0f);
}

TEST(Shard, SquaredNormIsTheSerialSum) {
  Store store(1);
  store.add_gradients(1);
  double expected = 0;
  for (const float g : store.all_gradients()) expected += double{g} * double{g};
  const double norm = store.squared_norm();
  EXPECT_NEAR(norm, expected, 1e-12 * expected);
  EXPECT_EQ(store.squared_norm(), 0);  // taken
  store.add_gradients(2);              // on top of the first: gradients of waves add up
  expected = 0;
  for (const float g : store.all_gradients()) expected += double{g} * double{g};
  EXPECT_NEAR(store.squared_norm(), expected, 1e-12 * expected);
}

TEST(Shard, OnlyTheLastContributionCounts) {
  Store store(1);
  Shard& shard = *store.shards[0];
  shard.gradient(BlockId(1))[0] = 3;
  shard.on_gradient(BlockId(1), false);
  EXPECT_EQ(shard.take_squared_norm().value(), 0);
  shard.gradient(BlockId(1))[0] += 1;
  shard.on_gradient(BlockId(1), true);
  EXPECT_EQ(shard.take_squared_norm().value(), 16);
}

TEST(Shard, NonFiniteGradientsAreNamed) {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    Store store(2);
    const ParamId key = store.graph.find("transformer_decoder/layers/1/self_attn/proj_k_dense_layer/weight");
    ASSERT_TRUE(key.valid());
    const std::size_t block = store.graph[store.graph[key].weight].block.index;
    const std::int64_t element = store.graph.offset(key) + store.graph[key].elements() - 1;
    const std::size_t owner = element < store.end(block, 0) ? 0 : 1;
    store.shards[owner]->gradient(BlockId(block))[element - store.begin(block, owner)] = value;
    store.add_gradients(1);
    EXPECT_FALSE(std::isfinite(store.shards[owner]->take_squared_norm().value()));
    EXPECT_TRUE(std::isfinite(store.shards[1 - owner]->take_squared_norm().value()));
    EXPECT_EQ(store.shards[owner]->non_finite_parameter(), store.graph[key].name);
    EXPECT_EQ(store.shards[1 - owner]->non_finite_parameter(), "");
    // The step is skipped, the next pass is clean.
    store.decide({.skip = true});
    store.send_all();
    store.add_gradients(2);
    EXPECT_TRUE(std::isfinite(store.squared_norm()));
    EXPECT_EQ(store.shards[owner]->non_finite_parameter(), "");
  }
}

TEST(Shard, LargestFiniteGradientsAreFinite) {
  Store store(1);
  const float big = std::numeric_limits<float>::max();
  float* const g = store.shards[0]->gradient(BlockId(0));
  std::fill(g, g + 1000, big);
  store.shards[0]->on_gradient(BlockId(0), true);
  const double expected = 1000 * double{big} * double{big};
  EXPECT_NEAR(store.squared_norm(), expected, 1e-12 * expected);
  EXPECT_EQ(store.shards[0]->non_finite_parameter(), "");
}

}  // namespace
}  // namespace wsc::memoryx
