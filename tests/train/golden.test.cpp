// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/train/golden_model.hpp"
#include <gtest/gtest.h>

#include "wsc/optimizer/update_rule.hpp"

namespace wsc::train {
namespace {

/// One process with both roles on a golden model.
class OneProcess {
 public:
  OneProcess(const GoldenModel& model, const OptimizerSettings& optimizer)
      : model_(model),
        blocks_(plan::split_blocks(model.graph(), 1)),
        shard_(model.graph(), blocks_, fabric::ShardId(0), optimizer),
        csx_(model.graph(), 0),
        streams_(fabric::make_null_streams(shard_)) {
    model.load_weights(shard_);
  }

  csx::LossSum pass(const plan::Request& request, const data::Batch& batch, double loss_scale = 1) {
    pass_.plan = plan::make_plan(model_.graph(), request);
    pass_.schedule = pass_.plan.schedule();
    const double scale = loss_scale / static_cast<double>(request.batch * request.tokens);
    return csx_pass(csx_, pass_.plan, pass_.schedule, {.gradient_scale = scale, .training = request.purpose == plan::Purpose::train}, batch,
                    *streams_);
  }
  memoryx::Shard& shard() { return shard_; }
  csx::Csx& csx() { return csx_; }

 private:
  const GoldenModel& model_;
  std::vector<fabric::BlockSplit> blocks_;
  memoryx::Shard shard_;
  csx::Csx csx_;
  std::unique_ptr<fabric::CsxStreams> streams_;
  PlannedPass pass_;
};

plan::Request request(const data::Batch& batch, plan::Purpose purpose = plan::Purpose::train) {
  plan::Request r;
  r.purpose = purpose;
  r.batch = batch.samples;
  r.tokens = batch.T;
  r.streamed = false;
  r.threads = 2;
  return r;
}

/// How a step may be cut: none of it may change the numbers.
struct Cut {
  std::int64_t micro_batch, waves;
  const char* recompute;
};

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, LossAndLogits) {
  const GoldenModel model(GetParam());
  const data::Batch batch = model.batch("batch/data");
  OneProcess one(model, model.settings().optimizer);
  const auto sum = one.pass(request(batch, plan::Purpose::evaluate), batch);
  const double expected = model.doubles("expected/loss")[0];
  EXPECT_NEAR(sum.loss.value() / static_cast<double>(sum.valid_tokens), expected, 1e-5 * expected);

  const auto logits = one.csx().logits();
  const std::vector<double> reference = model.doubles("expected/logits");
  ASSERT_EQ(logits.size(), reference.size());
  double largest = 0;
  for (const double x : reference) largest = std::max(largest, std::fabs(x));
  for (std::size_t i = 0; i < reference.size(); ++i) ASSERT_NEAR(logits.data()[i], reference[i], 1e-5 * largest) << i;
}

TEST_P(Golden, GradientsHoweverTheStepIsCut) {
  const GoldenModel model(GetParam());
  const Graph& graph = model.graph();
  const data::Batch batch = model.batch("batch/data");
  const double total = model.doubles("expected/grad_norm")[0];
  for (const Cut cut : {Cut{0, 1, "off"}, Cut{1, 1, "off"}, Cut{2, 1, "on"}, Cut{0, 2, "on"}, Cut{4, 3, "off"}, Cut{1, 6, "on"}}) {
    OneProcess one(model, model.settings().optimizer);
    plan::Request r = request(batch);
    r.micro_batch = cut.micro_batch;
    r.waves = cut.waves;
    r.recompute = cut.recompute;
    const auto sum = one.pass(r, batch);
    const double factor = static_cast<double>(r.batch * r.tokens) / static_cast<double>(sum.valid_tokens);
    EXPECT_NEAR(std::sqrt(one.shard().take_squared_norm().value()) * factor, total, 1e-5 * total);
    for (const Param& param : graph.params) {
      const std::vector<double> expected = model.doubles("gradients/" + param.name);
      const float* gradient = one.shard().gradient(graph[param.weight].block) + graph.offset(graph.find(param.name));
      std::vector<double> difference(expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) difference[i] = gradient[i] * factor - expected[i];
      // The gradient of a key bias is zero in exact arithmetic (softmax does not see a shift of all scores): what fp32 leaves is
      // rounding of the key weights' gradient, so that is its measure.
      double scale = std::max(norm(expected), 1e-6 * total);
      if (const auto at = param.name.find("proj_k_dense_layer/bias"); at != std::string::npos)
        scale = norm(model.doubles("gradients/" + param.name.substr(0, at) + "proj_k_dense_layer/weight"));
      EXPECT_LE(norm(difference), 1e-5 * scale)
          << param.name << " micro_batch " << cut.micro_batch << " waves " << cut.waves << " recompute " << cut.recompute;
    }
  }
}

// The gradients of one step from weights and activations of 16 bits, all of them as one vector: they carry the rounding errors of as many
// layers, and at the kink of relu more than those. With the loss scale that fp16 trains with, waves and recompute.
TEST_P(Golden, GradientsIn16Bits) {
  const GoldenModel model(GetParam());
  const Graph& graph = model.graph();
  const data::Batch batch = model.batch("batch/data");
  const double expected_loss = model.doubles("expected/loss")[0];
  for (const auto& [compute, bound] :
       {std::pair{Precision::bf16, 2e-2}, std::pair{Precision::fp16, 5e-3}, std::pair{Precision::cb16, 1e-2}}) {
    for (const Cut cut : {Cut{0, 1, "off"}, Cut{1, 3, "on"}}) {
      OneProcess one(model, model.settings().optimizer);
      plan::Request r = request(batch);
      r.compute = compute;
      r.micro_batch = cut.micro_batch;
      r.waves = cut.waves;
      r.recompute = cut.recompute;
      constexpr double loss_scale = 1024;
      const auto sum = one.pass(r, batch, loss_scale);
      EXPECT_NEAR(sum.loss.value() / static_cast<double>(sum.valid_tokens), expected_loss, bound * expected_loss);
      const double factor = static_cast<double>(r.batch * r.tokens) / static_cast<double>(sum.valid_tokens) / loss_scale;
      double difference = 0, size = 0;
      for (const Param& param : graph.params) {
        const std::vector<double> expected = model.doubles("gradients/" + param.name);
        const float* gradient = one.shard().gradient(graph[param.weight].block) + graph.offset(graph.find(param.name));
        for (std::size_t i = 0; i < expected.size(); ++i) {
          difference += std::pow(gradient[i] * factor - expected[i], 2);
          size += expected[i] * expected[i];
        }
      }
      EXPECT_LE(std::sqrt(difference / size), bound) << name(compute) << ", waves " << cut.waves;
    }
  }
}

TEST_P(Golden, TenAdamWStepsInBothEpsModes) {
  GoldenModel model(GetParam());
  if (!model.file().exists("adamw")) GTEST_SKIP() << "this file has no training steps";
  for (const std::string mode : {"pytorch", "cerebras"}) {
    OptimizerSettings o = model.settings().optimizer;
    o.optimizer_type = "AdamW";
    o.beta1 = model.file().read_double("beta1");
    o.beta2 = model.file().read_double("beta2");
    o.eps = model.file().read_double("eps");
    o.weight_decay_rate = model.file().read_double("weight_decay_rate");
    o.correct_bias = true;
    o.eps_mode = mode;
    OneProcess one(model, o);
    const std::vector<double> losses = model.doubles("adamw/" + mode + "/losses"), norms = model.doubles("adamw/" + mode + "/grad_norms");
    for (int step = 0; step < 10; ++step) {
      const data::Batch batch = model.batch("adamw/batches", step);
      const auto sum = one.pass(request(batch), batch);
      const double loss = sum.loss.value() / static_cast<double>(sum.valid_tokens);
      const double factor = static_cast<double>(batch.samples * batch.T) / static_cast<double>(sum.valid_tokens);
      const double grad_norm = std::sqrt(one.shard().take_squared_norm().value()) * factor;
      EXPECT_NEAR(loss, losses[step], 1e-5 * losses[step]) << mode << " step " << step;
      EXPECT_NEAR(grad_norm, norms[step], 1e-4 * norms[step]) << mode << " step " << step;
      const double clip = std::min(1.0, model.file().read_double("max_gradient_norm") / (grad_norm + 1e-6));
      one.shard().decide(
          {.gradient_factor = factor * clip, .learning_rate = model.file().read_double("learning_rate"), .optimizer_step = step + 1});
    }
    for (const auto& piece : one.shard().pieces()) {
      const std::vector<double> expected = model.doubles("adamw/" + mode + "/final/" + model.graph()[piece.param].name);
      std::vector<double> difference(expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) difference[i] = piece.weight[i] - expected[i];
      EXPECT_LE(norm(difference), 1e-4 * std::max(norm(expected), 1e-2)) << mode << " " << model.graph()[piece.param].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("gpt2_gelu.h5", "gpt2_gelu_tanh.h5", "gpt2_untied_fixed_relu.h5", "gpt2_packed.h5"),
                         [](const auto& info) {
                           const std::string name = info.param;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace wsc::train
