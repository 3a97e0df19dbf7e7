// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "tests/checkpoint/helpers.hpp"
#include <signal.h>
#include <sys/wait.h>

#include "wsc/base/clock.hpp"

namespace wsc::checkpoint::testing {
namespace {

/// Saves step after step until it is killed. Values are those of the step, so that a mixture would show.
[[noreturn]] void save_for_ever(const fs::path& dir, const Graph& g, std::int64_t first_step) {
  try {
    for (std::int64_t step = first_step;; ++step) {
      Arrays arrays = Arrays::numbered(g, 3, step);
      save(dir, g, arrays, state_at(step), 2, {.keep = 2});
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "the saving process failed: %s\n", e.what());
  }
  ::_exit(1);
}

TEST_F(TempDir, KilledAtAnyMomentTheLastGoodOneStays) {
  const Graph g = small_graph(2000);
  Arrays first = Arrays::numbered(g, 3, 1);
  const Stopwatch one_save;
  save(dir, g, first, state_at(1), 2);
  const double save_s = one_save.seconds();
  std::mt19937 random(3);
  std::uniform_real_distribution<double> moment(0, 3 * save_s + 0.005);
  std::int64_t last = 1;
  int partials = 0;
  for (int kill = 0; kill < 30; ++kill) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(dir, g, last + 1);
    ::usleep(static_cast<useconds_t>(moment(random) * 1e6));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";

    partials += !remove_partials(dir).empty();
    const auto newest = newest_complete(dir);
    ASSERT_TRUE(newest);
    ASSERT_GE(newest->step, last);
    last = newest->step;
    verify(newest->path);
    EXPECT_EQ(read_run_state(newest->path), state_at(last));
    ASSERT_TRUE(load(newest->path, g, adam_states, 3) == Arrays::numbered(g, 3, last));
  }
  EXPECT_GT(partials, 0) << "no kill hit a save: the test shows nothing";
  EXPECT_GT(last, 1);
  // Kills between renaming and removing may have left several; the next save that is let alone removes them.
  Arrays arrays = Arrays::numbered(g, 3, last + 1);
  save(dir, g, arrays, state_at(last + 1), 2, {.keep = 2});
  EXPECT_EQ(list(dir).size(), 2u) << "older ones are not removed";
}

}  // namespace
}  // namespace wsc::checkpoint::testing
