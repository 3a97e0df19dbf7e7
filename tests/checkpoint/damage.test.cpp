// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "tests/checkpoint/helpers.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Damage : public TempDir {
 protected:
  Damage() { make(small_graph(), state_at(20)); }
  void make(Graph graph, const RunState& newer) {
    g = std::move(graph);
    state = newer;
    arrays = Arrays::numbered(g, 1 + state.state_names.size(), 7);
    older = save(dir, g, arrays, state_at(10, state.state_names));
    path = save(dir, g, arrays, state);
    good = bytes_of(path);
  }
  /// Empty where all reads give what was saved; else the message. Wrong values or a wrong run state never pass.
  std::string outcome() {
    const std::string verified = error_of([&] { verify(path); });
    const std::string loaded = error_of([&] {
      check_model(path, g);
      if (!(read_run_state(path) == state)) ADD_FAILURE() << "a wrong run state was read";
      if (!(load(path, g, state.state_names, 2) == arrays)) ADD_FAILURE() << "wrong values were loaded";
    });
    EXPECT_EQ(verified.empty(), loaded.empty()) << verified << " | " << loaded;
    return verified;
  }
  template <class F>
  std::string error_of(F f) {
    try {
      f();
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), HasSubstr(path.string()));
      return e.what();
    }
    return "";
  }
  Graph g;
  RunState state;
  Arrays arrays{Graph(), 0};
  fs::path older, path;
  std::string good;
};

TEST_F(Damage, EveryFlippedByteIsNoticedOrHarmless) {
  Graph many;  // so many parameters that a group keeps its links in a tree of its own
  for (int i = 0; i < 10; ++i)
    many.params.push_back({.name = "layers/" + std::to_string(i) + "/weight", .rows = i + 1, .columns = 30, .init = {}, .weight = {}});
  make(many, state_at(20, {}));
  ASSERT_EQ(outcome(), "");
  std::mt19937 random(1);
  int noticed = 0, tried = 0;
  const auto advice = "--runconfig.checkpoint_path=" + older.string();
  const auto flip = [&](std::size_t at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1u << (random() % 8)));
    write_bytes(path, bad);
    const std::string m = outcome();
    ++tried;
    noticed += !m.empty();
    EXPECT_TRUE(m.empty() || m.find(advice) != std::string::npos) << m;
    return !::testing::Test::HasFailure();
  };
  for (std::size_t at = 0; at < 128; ++at) ASSERT_TRUE(flip(at)) << "byte " << at;
  for (int i = 0; i < 400; ++i) {
    const std::size_t at = random() % good.size();
    ASSERT_TRUE(flip(at)) << "byte " << at;
  }
  EXPECT_GT(noticed, tried / 2);
  RecordProperty("tried", tried);
  RecordProperty("noticed", noticed);
}

TEST_F(Damage, FlippedByteOfADatasetIsNamed) {
  const SaveFile file = create_partial(dir / "other", g, state_at(20));  // the same file: its offsets hold here too
  for (std::size_t array = 0; array < 3; ++array) {
    for (std::size_t p = 0; p < g.params.size(); ++p) {
      std::string bad = good;
      bad.at(static_cast<std::size_t>(file.offsets[array * g.params.size() + p])) ^= 1;
      write_bytes(path, bad);
      const std::string m = outcome(), group = array == 0 ? "model/" : "optimizer/" + adam_states[array - 1] + "/";
      EXPECT_THAT(m, AllOf(HasSubstr("'" + group + g.params[p].name + "' is damaged"),
                           HasSubstr("newest older checkpoint that is whole is " + older.string())));
    }
  }
}

TEST_F(Damage, FlippedByteOfATextIsNamed) {
  for (const auto& [text, name] :
       {std::pair{"hidden_size", "run/deck"}, {"größe", "run/tokenizer"}, {"0123456789abcdef", "run/tokenizer_hash"}}) {
    std::string bad = good;
    bad.at(bad.find(text)) ^= 4;
    write_bytes(path, bad);
    EXPECT_THAT(message_of<DataError>([&] { read_run_state(path); }), HasSubstr(std::string("'") + name + "' is damaged"));
  }
}

TEST_F(Damage, TruncatedFiles) {
  std::mt19937 random(2);
  for (int i = 0; i < 40; ++i) {
    const std::size_t size = i < 12 ? static_cast<std::size_t>(i) * 8 : random() % good.size();
    write_bytes(path, good.substr(0, size));
    const std::string m = outcome();
    ASSERT_THAT(m, HasSubstr("--runconfig.checkpoint_path=" + older.string())) << size << " bytes";
    EXPECT_THAT(message_of<DataError>([&] { newest_complete(dir); }), HasSubstr(older.string()));
  }
  write_bytes(path, good + std::string(1000, 'x'));  // appended bytes belong to nothing
  EXPECT_EQ(outcome(), "");
}

TEST_F(Damage, TheOlderOneMustBeWhole) {
  std::string bad = bytes_of(older);
  const SaveFile file = create_partial(dir / "other", g, state_at(10));
  bad[static_cast<std::size_t>(file.offsets[0])] ^= 1;
  write_bytes(older, bad);
  bad = good;
  bad[static_cast<std::size_t>(file.offsets[1])] ^= 1;
  write_bytes(path, bad);
  EXPECT_THAT(message_of<DataError>([&] { verify(path); }), AllOf(HasSubstr("no older checkpoint"), Not(HasSubstr("checkpoint_path"))));
  const fs::path oldest = save(dir, g, arrays, state_at(5));
  EXPECT_THAT(message_of<DataError>([&] { verify(path); }), HasSubstr("checkpoint_path=" + oldest.string()));
}

TEST_F(Damage, DamagedNewestIsNotPassedOverSilently) {
  write_bytes(path, "rubbish" + good);
  EXPECT_THAT(message_of<DataError>([&] { newest_complete(dir); }), AllOf(HasSubstr("checkpoint_20.h5"), HasSubstr(older.string())));
  const auto files = list(dir);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].status, Status::complete);
  EXPECT_EQ(files[1].status, Status::damaged);
}

TEST_F(Damage, MissingFilesAndOtherFiles) {
  EXPECT_THAT(message_of<DataError>([&] { verify(dir / "none.h5"); }), HasSubstr("no such file"));
  write_bytes(dir / "checkpoint_3.h5", std::string(5000, 'a'));
  EXPECT_THAT(message_of<DataError>([&] { verify(dir / "checkpoint_3.h5"); }),
              AllOf(HasSubstr("not an HDF5 file"), HasSubstr("no older checkpoint")));
}

}  // namespace
}  // namespace wsc::checkpoint::testing
