// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/checkpoint/helpers.hpp"
#include <signal.h>
#include <sys/resource.h>

namespace wsc::checkpoint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Disk : public TempDir {
 protected:
  const Graph g = small_graph(10'000);  // 7.7 MB with two states
  Arrays arrays = Arrays::numbered(g, 3, 7);
};

TEST_F(Disk, FullDiskIsFoundBeforeAnythingIsWritten) {
  if (!mount_tmpfs("size=12m")) GTEST_SKIP() << "only root may mount a small file system";
  const fs::path good = save(dir, g, arrays, state_at(1));
  const std::string m = message_of<SystemError>([&] { save(dir, g, arrays, state_at(2)); });
  EXPECT_THAT(m, AllOf(HasSubstr("7.9 MB are needed"), HasSubstr("MB are available in"), HasSubstr("earlier checkpoints are intact")));
  EXPECT_FALSE(fs::exists(file_path(dir, 2).string() + ".partial")) << "a failed save left something behind";
  EXPECT_EQ(newest_complete(dir)->path, good);
  verify(good);
  fs::remove(good);  // room again
  verify(save(dir, g, arrays, state_at(2)));
}

TEST_F(Disk, SpaceIsReservedAtOnce) {
  if (!mount_tmpfs("size=12m")) GTEST_SKIP() << "only root may mount a small file system";
  const SaveFile file = create_partial(dir, g, state_at(1));
  EXPECT_LT(fs::space(dir).available, 5'000'000u);
  std::ofstream filler(dir / "filler", std::ios::binary);
  for (int i = 0; i < 100; ++i) filler << std::string(100'000, 'x') << std::flush;  // somebody else fills the disk
  EXPECT_FALSE(filler.good());
  const auto sums = write_pieces(file, g, arrays.pieces(g, 0, 1));
  verify(finish(file, g, sums));
}

TEST_F(Disk, NoInodesLeft) {
  if (!mount_tmpfs("size=30m,nr_inodes=6")) GTEST_SKIP() << "only root may mount a small file system";
  const fs::path good = save(dir, g, arrays, state_at(1));
  int fillers = 0;
  while (std::ofstream(dir / ("f" + std::to_string(fillers)))) ++fillers;
  EXPECT_THAT(message_of<SystemError>([&] { save(dir, g, arrays, state_at(2)); }), HasSubstr("cannot be created"));
  EXPECT_EQ(newest_complete(dir)->path, good);
  verify(good);
}

TEST_F(Disk, FileSizeLimit) {
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{1'000'000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string m = message_of<SystemError>([&] { create_partial(dir, g, state_at(1)); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_THAT(m, AllOf(HasSubstr("ulimit -f"), HasSubstr("1.0 MB")));
  EXPECT_TRUE(list(dir).empty());
  const SaveFile file = create_partial(dir, g, state_at(1));  // a limit just below the size of the file is found in time as well
  const rlimit tight{fs::file_size(file.path) - 1, old.rlim_max};
  discard(file.path);
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THAT(message_of<SystemError>([&] { create_partial(dir, g, state_at(1)); }), HasSubstr("ulimit -f"));
  setrlimit(RLIMIT_FSIZE, &old);
}

TEST_F(Disk, FailingWriteIsReported) {
  SaveFile file = create_partial(dir, g, state_at(1));
  file.path = "/dev/full";
  EXPECT_THAT(message_of<SystemError>([&] { write_pieces(file, g, arrays.pieces(g, 0, 1)); }),
              AllOf(HasSubstr("/dev/full"), HasSubstr("No space left")));
  file.path = dir / "elsewhere" / "checkpoint_1.h5.partial";
  EXPECT_THAT(message_of<SystemError>([&] { write_pieces(file, g, arrays.pieces(g, 0, 1)); }), HasSubstr("Do all nodes see the same"));
}

TEST_F(Disk, LostWritesAreNoticedBeforeOlderOnesGo) {
  const fs::path good = save(dir, g, arrays, state_at(1));
  const SaveFile file = create_partial(dir, g, state_at(2));
  auto sums = write_pieces(file, g, arrays.pieces(g, 0, 1));
  std::fstream(file.path, std::ios::in | std::ios::out | std::ios::binary).seekp(file.offsets[0] + 1000) << "lost";
  EXPECT_THAT(message_of<SystemError>([&] { finish(file, g, sums, {.keep = 1}); }),
              AllOf(HasSubstr("word_embeddings"), HasSubstr("intact")));
  discard(file.path);
  EXPECT_EQ(newest_complete(dir)->path, good);
}

TEST_F(Disk, ReadOnlyRunDirectory) {
  const fs::path good = save(dir / "run", g, arrays, state_at(1));
  if (::geteuid() == 0) {  // no permission stops root, a read-only mount does
    if (!mount_tmpfs("size=1m") || ::mount("tmpfs", dir.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr) != 0)
      GTEST_SKIP() << "this root may not mount";
  } else {
    fs::permissions(folder(dir / "run"), fs::perms::owner_read | fs::perms::owner_exec);
  }
  const std::string m = message_of<DataError>([&] { create_partial(dir / "run", g, state_at(2)); });
  EXPECT_THAT(m, AllOf(HasSubstr("cannot be written"), HasSubstr("runconfig.model_dir")));
  if (::geteuid() != 0) {
    verify(good);  // reading needs no write access
    fs::permissions(folder(dir / "run"), fs::perms::owner_all);
  }
}

TEST_F(Disk, ReadsFromAReadOnlyMount) {
  if (!mount_tmpfs("size=12m")) GTEST_SKIP() << "only root may mount a small file system";
  const fs::path good = save(dir, g, arrays, state_at(1));
  ASSERT_EQ(::mount("tmpfs", dir.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  verify(good);
  EXPECT_TRUE(load(newest_complete(dir)->path, g, adam_states, 2) == arrays);
}

}  // namespace
}  // namespace wsc::checkpoint::testing
