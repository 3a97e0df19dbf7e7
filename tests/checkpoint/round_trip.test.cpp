// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/helpers.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RoundTrip : public TempDir {
 protected:
  const Graph g = small_graph();
  Arrays arrays = Arrays::numbered(g, 3, 7);
};

TEST_F(RoundTrip, AnyShardsToAnyShards) {
  std::string first;
  for (const int writers : {1, 2, 3, 7}) {
    const fs::path run = dir / std::to_string(writers), path = save(run, g, arrays, state_at(40), writers);
    EXPECT_EQ(path, run / "checkpoints/checkpoint_40.h5");
    EXPECT_EQ(read_run_state(path), state_at(40));
    verify(path);
    check_model(path, g);
    check_states(path, adam_states);
    for (const int readers : {1, 2, 5, 12}) EXPECT_TRUE(load(path, g, adam_states, readers) == arrays) << writers << " to " << readers;
    if (first.empty()) first = bytes_of(path);
    EXPECT_TRUE(bytes_of(path) == first) << "the file depends on who wrote it";
  }
}

TEST_F(RoundTrip, ModelOnlyLeavesStatesAlone) {
  const fs::path path = save(dir, g, arrays, state_at(1));
  Arrays loaded = load(path, g, {"momentum_buffer"}, 2, What::model);
  EXPECT_EQ(loaded.values[0], arrays.values[0]);
  for (const auto& p : loaded.values[1]) EXPECT_THAT(p, ::testing::Each(0.0f));
}

TEST_F(RoundTrip, WithoutStatesAndTexts) {
  RunState s = state_at(0);
  s.state_names.clear();
  s.deck = s.tokenizer = s.tokenizer_hash = "";
  Arrays weights = Arrays::numbered(g, 1, 3);
  const fs::path path = save(dir, g, weights, s, 2);
  EXPECT_EQ(read_run_state(path), s);
  EXPECT_TRUE(load(path, g, {}, 3) == weights);
  verify(path);
}

TEST_F(RoundTrip, LargerThanOneRead) {  // 5000 × 64 floats are read in several parts
  const Graph large = small_graph(50'000);
  Arrays a = Arrays::numbered(large, 2, 1);
  RunState s = state_at(3);
  s.state_names = {"momentum_buffer"};
  const fs::path path = save(dir, large, a, s, 3);
  verify(path);
  EXPECT_TRUE(load(path, large, s.state_names, 2) == a);
}

TEST_F(RoundTrip, FinishDoesNotGrowTheFile) {  // else a disk could turn out to be full at the end
  const SaveFile file = create_partial(dir, g, state_at(1));
  const auto size = fs::file_size(file.path);
  const auto sums = write_pieces(file, g, arrays.pieces(g, 0, 1));
  EXPECT_EQ(fs::file_size(finish(file, g, sums)), size);
}

TEST_F(RoundTrip, SameStepIsReplaced) {
  save(dir, g, arrays, state_at(5));
  Arrays other = Arrays::numbered(g, 3, 99);
  const fs::path path = save(dir, g, other, state_at(5), 2);
  EXPECT_TRUE(load(path, g, adam_states, 1) == other);
  EXPECT_EQ(list(dir).size(), 1u);
}

/// h5dump stands for everybody else's reader.
TEST_F(RoundTrip, OtherToolsReadIt) {
  const fs::path path = save(dir, g, arrays, state_at(5), 2);
  const std::string command = "h5dump -y -w 0 -m %.9g -o " + (dir / "out.txt").string();
  if (std::system("h5dump --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "h5dump is not installed";
  const std::string name = "/optimizer/exp_avg_sq/transformer_decoder/layers/0/self_attn/proj_k_dense_layer/weight";
  ASSERT_EQ(std::system((command + " -d " + name + " " + path.string() + " > " + (dir / "log.txt").string()).c_str()), 0);
  EXPECT_THAT(bytes_of(dir / "log.txt"), HasSubstr("( 6, 5 )"));
  std::string numbers = bytes_of(dir / "out.txt");
  std::replace(numbers.begin(), numbers.end(), ',', ' ');
  std::istringstream in(numbers);
  std::vector<float> found;
  for (std::string word; in >> word;) found.push_back(std::stof(word));
  EXPECT_EQ(found, arrays.values[2][4]);
  EXPECT_EQ(g.params[4].name, "transformer_decoder/layers/0/self_attn/proj_k_dense_layer/weight");
}

/// How tests/checkpoint/golden/checkpoint_40.h5 was made (see the README there).
TEST_F(RoundTrip, DISABLED_WriteGoldenFile) {
  fs::copy(save(dir, g, arrays, state_at(40)), fs::current_path() / "checkpoint_40.h5", fs::copy_options::overwrite_existing);
}

/// A checkpoint of format 1 as it was written when the format was made: later builds keep reading it.
TEST_F(RoundTrip, ReadsTheFirstFormat) {
  const fs::path golden = fs::path(WSC_SOURCE_DIR) / "tests/checkpoint/golden/checkpoint_40.h5";
  verify(golden);
  RunState state = state_at(40);
  state.loss_scale = {};  // no run had one
  EXPECT_EQ(read_run_state(golden), state);
  const Arrays a = load(golden, g, adam_states, 2);
  for (std::size_t array = 0; array < 3; ++array)
    for (std::size_t p = 0; p < g.params.size(); ++p)
      EXPECT_THAT(a.values[array][p], ::testing::Pointwise(::testing::FloatNear(1e-5f), arrays.values[array][p]));
}

TEST_F(RoundTrip, AnotherModelIsRefusedWithATable) {
  const fs::path path = save(dir, g, arrays, state_at(5));
  Graph other = small_graph(13);
  other.params[11].name = "lm_head/kernel";
  const std::string m = message_of<DataError>([&] { check_model(path, other); });
  EXPECT_THAT(m, AllOf(HasSubstr("checkpoint_5.h5"), HasSubstr("3 parameters differ"), HasSubstr("(11, 64)"), HasSubstr("(13, 64)")));
  EXPECT_THAT(m, AllOf(HasSubstr("lm_head/kernel  "), HasSubstr("lm_head/weight  "), Not(HasSubstr("norm1"))));
  EXPECT_THAT(message_of<DataError>([&] { load(path, other, adam_states, 1); }), HasSubstr("embedding_layer/word_embeddings/weight"));
  const std::string states = message_of<DataError>([&] { check_states(path, {"momentum_buffer"}); });
  EXPECT_THAT(states, AllOf(HasSubstr("exp_avg, exp_avg_sq"), HasSubstr("momentum_buffer"), HasSubstr("load_checkpoint_states=model")));
}

TEST_F(RoundTrip, NewerFormatIsRefusedPolitely) {
  save(dir, g, arrays, state_at(4));
  RunState future = state_at(5);
  future.format = format_version + 1;
  const SaveFile file = create_partial(dir, g, future);
  const auto sums = write_pieces(file, g, arrays.pieces(g, 0, 1));
  const fs::path path = finish(file, g, sums);
  for (const std::string& m : {message_of<DataError>([&] { read_run_state(path); }), message_of<DataError>([&] { verify(path); }),
                               message_of<DataError>([&] { load(path, g, adam_states, 1); })})
    EXPECT_THAT(m, AllOf(HasSubstr("format 2"), HasSubstr("newer"), Not(HasSubstr("damaged"))));
}

TEST_F(RoundTrip, NonFiniteStateIsNotSaved) {
  const fs::path good = save(dir, g, arrays, state_at(4));
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    Arrays broken = arrays;
    broken.values[1][2][29] = bad;
    const SaveFile file = create_partial(dir, g, state_at(5));
    const std::string m = message_of<NumericalError>([&] { write_pieces(file, g, broken.pieces(g, 0, 1)); });
    EXPECT_THAT(m, AllOf(HasSubstr("optimizer state"), HasSubstr("proj_q_dense_layer/weight"), HasSubstr("not finite")));
    discard(file.path);
    EXPECT_FALSE(fs::exists(file.path));
  }
  EXPECT_EQ(newest_complete(dir)->path, good);
}

}  // namespace
}  // namespace wsc::checkpoint::testing
