// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/report.hpp"

#include "tests/checkpoint/helpers.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Report : public TempDir {
 protected:
  const Graph g = small_graph(3);
  Arrays arrays = Arrays::numbered(g, 3, 7);
};

TEST_F(Report, InfoShowsWhatIsInside) {
  arrays.values[0][1] = {1, 2, 3, 4, 5, 9};  // mean 4, variance (9 + 4 + 1 + 0 + 1 + 25) / 6
  const std::string text = info(save(dir, g, arrays, state_at(40)));
  EXPECT_THAT(text, AllOf(HasSubstr("step                40\n"), HasSubstr("samples             320\n"), HasSubstr("exp_avg, exp_avg_sq"),
                          HasSubstr("2 memoryx and 3 csx"), HasSubstr("0123456789abcdef"), HasSubstr("hidden_size = 64")));
  EXPECT_THAT(text, HasSubstr("parameters          357 in 12 tensors"));
  EXPECT_THAT(text, ::testing::ContainsRegex("layers/0/norm1/weight +\\(6\\) +4 +2\\.582 +1 +9\n"));
}

TEST_F(Report, EqualOnesAreEqual) {
  const fs::path a = save(dir / "a", g, arrays, state_at(40), 1);
  RunState other = state_at(40);
  other.memoryx = 7;  // who wrote it does not matter
  other.deck = "[cluster]\nmemoryx = 7\n";
  const fs::path b = save(dir / "b", g, arrays, other, 7);
  const DiffReport r = diff(a, b);
  EXPECT_TRUE(r.equal && r.model_equal);
  EXPECT_EQ(r.model_relative_norm, 0);
  EXPECT_EQ(r.arrays.size(), 36u);
  EXPECT_THAT(r.text, AllOf(HasSubstr("36 of 36 arrays are bitwise equal"), HasSubstr("memoryx: 2 | 7"), HasSubstr("the same state")));
}

TEST_F(Report, DifferencesAreMeasured) {
  arrays.values[0][1] = {3, 0, 0, 0, 0, 4};
  const fs::path b = save(dir / "b", g, arrays, state_at(40));
  double norm = 0;
  for (const auto& p : arrays.values[0])
    for (const double v : p) norm += v * v;
  arrays.values[0][1] = {3, 0, 0.5, 0, 0, 4};
  arrays.values[2][3][0] += 1;
  const fs::path a = save(dir / "a", g, arrays, state_at(41));
  const DiffReport r = diff(a, b);
  EXPECT_FALSE(r.equal || r.model_equal);
  EXPECT_NEAR(r.model_relative_norm, 0.5 / std::sqrt(norm), 1e-12);
  int differing = 0;
  for (const auto& d : r.arrays) {
    differing += !d.bitwise_equal;
    if (d.dataset != "model/transformer_decoder/layers/0/norm1/weight") continue;
    EXPECT_EQ(d.largest, 0.5);
    EXPECT_DOUBLE_EQ(d.relative_norm, 0.1);
  }
  EXPECT_EQ(differing, 2);
  EXPECT_THAT(r.text, AllOf(HasSubstr("step: 41 | 40"), HasSubstr("max |a-b| 0.5, norm(a-b)/norm(b) 0.1"), HasSubstr("34 of 36")));
}

TEST_F(Report, SignsOfZeroAndCountersMatter) {
  arrays.values[0][1][0] = 0.0f;
  const fs::path a = save(dir / "a", g, arrays, state_at(40));
  RunState later = state_at(40);
  later.optimizer_step += 1;
  const DiffReport counters = diff(a, save(dir / "c", g, arrays, later));
  EXPECT_TRUE(counters.model_equal && !counters.equal);
  arrays.values[0][1][0] = -0.0f;
  EXPECT_FALSE(diff(a, save(dir / "b", g, arrays, state_at(40))).model_equal);
}

TEST_F(Report, MissingAndReshapedOnes) {
  const fs::path a = save(dir / "a", g, arrays, state_at(40));
  Graph other = small_graph(4);
  other.params.pop_back();
  Arrays fewer = Arrays::numbered(other, 1, 7);
  const fs::path b = save(dir / "b", other, fewer, state_at(40, {}));
  const DiffReport r = diff(a, b);
  EXPECT_FALSE(r.model_equal || r.equal);
  EXPECT_TRUE(std::isinf(r.model_relative_norm));
  EXPECT_THAT(r.text, AllOf(HasSubstr("shapes differ"), ::testing::ContainsRegex("model/lm_head/weight +only in a"),
                            ::testing::ContainsRegex("exp_avg/lm_head/weight +only in a"), Not(HasSubstr("only in b"))));
  EXPECT_THAT(diff(b, a).text, HasSubstr("only in b"));
}

}  // namespace
}  // namespace wsc::checkpoint::testing
