// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/helpers.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Directory : public TempDir {
 protected:
  fs::path save_step(std::int64_t step, FinishOptions options = {}) { return save(dir, g, arrays, state_at(step), 1, options); }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder(dir))) found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }
  const Graph g = small_graph(3);
  Arrays arrays = Arrays::numbered(g, 3, 7);
};

TEST_F(Directory, NamesAndSteps) {
  EXPECT_EQ(step_of("a/checkpoint_40.h5"), 40);
  EXPECT_EQ(step_of("checkpoint_0.h5.partial"), 0);
  for (const char* name : {"checkpoint_.h5", "checkpoint_x.h5", "checkpoint_-1.h5", "checkpoint_04.h5", "checkpoint_4.h5.superseded",
                           "latest", "checkpoint_99999999999999999999.h5", "mycheckpoint_4.h5"})
    EXPECT_EQ(step_of(name), std::nullopt) << name;
}

TEST_F(Directory, EmptyOnes) {
  EXPECT_TRUE(list(dir / "nowhere").empty());
  EXPECT_EQ(newest_complete(dir / "nowhere"), std::nullopt);
  EXPECT_TRUE(remove_partials(dir).empty());
}

TEST_F(Directory, PartialFilesAreIgnoredAndRemoved) {
  const fs::path good = save_step(9);
  const SaveFile open = create_partial(dir, g, state_at(100));
  write_pieces(open, g, arrays.pieces(g, 0, 1));
  const auto files = list(dir);  // by step, not by name
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].step, 100);
  EXPECT_EQ(files[1].status, Status::incomplete);
  EXPECT_EQ(newest_complete(dir)->path, good);
  EXPECT_THAT(message_of<DataError>([&] { verify(open.path); }), HasSubstr("incomplete"));
  EXPECT_THAT(message_of<DataError>([&] { read_run_state(open.path); }), HasSubstr("checkpoint_path=" + good.string()));
  EXPECT_THAT(remove_partials(dir), ElementsAre(open.path));
  EXPECT_THAT(names(), ElementsAre("checkpoint_9.h5", "latest"));
}

TEST_F(Directory, WithoutTheMarkerAFileIsIncomplete) {  // whatever its name
  const fs::path good = save_step(9);
  const SaveFile open = create_partial(dir, g, state_at(100));
  write_pieces(open, g, arrays.pieces(g, 0, 1));
  const fs::path renamed = file_path(dir, 100);
  fs::rename(open.path, renamed);
  EXPECT_EQ(newest_complete(dir)->path, good);
  EXPECT_THAT(message_of<DataError>([&] { load(renamed, g, adam_states, 1); }), HasSubstr("incomplete"));
  save_step(101, {.keep = 2});
  EXPECT_TRUE(fs::exists(good)) << "an incomplete file was counted";
}

TEST_F(Directory, KeepsTheNewest) {
  save_step(0);
  for (const std::int64_t step : {2, 10, 9}) save_step(step);
  EXPECT_THAT(names(), ElementsAre("checkpoint_0.h5", "checkpoint_10.h5", "checkpoint_2.h5", "checkpoint_9.h5", "latest"));
  save_step(11, {.keep = 3});
  EXPECT_THAT(names(), ElementsAre("checkpoint_10.h5", "checkpoint_11.h5", "checkpoint_9.h5", "latest"));
  save_step(3, {.keep = 1});  // a run that went back: neither what it has just saved nor later steps go
  EXPECT_THAT(names(), ElementsAre("checkpoint_10.h5", "checkpoint_11.h5", "checkpoint_3.h5", "checkpoint_9.h5", "latest"));
}

TEST_F(Directory, LaterStepsAreSetAside) {
  for (const std::int64_t step : {1, 2, 3}) save_step(step);
  EXPECT_THAT(set_aside_newer(dir, 1), ElementsAre(file_path(dir, 2), file_path(dir, 3)));
  EXPECT_EQ(newest_complete(dir)->step, 1);
  EXPECT_TRUE(fs::exists(file_path(dir, 3).string() + ".superseded"));
}

TEST_F(Directory, PointerIsForPeopleOnly) {
  save_step(1);
  const fs::path latest = folder(dir) / "latest";
  EXPECT_EQ(fs::read_symlink(latest), "checkpoint_1.h5");
  EXPECT_EQ(read_run_state(latest).step, 1);
  const fs::path second = save_step(2);
  EXPECT_EQ(fs::read_symlink(latest), "checkpoint_2.h5");
  fs::remove(latest);
  fs::create_symlink("checkpoint_1.h5", latest);  // stale
  EXPECT_EQ(newest_complete(dir)->path, second);
  fs::remove(latest);
  fs::create_directories(latest / "in the way");  // it cannot be updated: no reason to fail
  const fs::path third = save_step(3);
  EXPECT_EQ(newest_complete(dir)->path, third);
}

}  // namespace
}  // namespace wsc::checkpoint::testing
