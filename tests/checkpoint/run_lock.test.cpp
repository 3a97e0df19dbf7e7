// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/checkpoint/run_lock.hpp"

#include <regex>

#include "tests/checkpoint/helpers.hpp"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "wsc/base/clock.hpp"

namespace wsc::checkpoint::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Lock : public TempDir {
 protected:
  Lock() {
    for (const char* v : {"SLURM_JOB_ID", "SLURM_RESTART_COUNT", "PBS_JOBID", "LSB_JOBID"}) ::unsetenv(v);
  }
  ~Lock() override {
    ::unsetenv("SLURM_JOB_ID");
    ::unsetenv("SLURM_RESTART_COUNT");
  }
  /// The text of a lock of this process.
  std::string own_text() {
    fs::remove(dir / "lock");
    const RunLock lock = RunLock::acquire(dir);
    return bytes_of(dir / "lock");
  }
  static std::string with(std::string text, const std::string& field, const std::string& value) {
    const std::string changed = std::regex_replace(text, std::regex("(^|\n)" + field + ": [^\n]*"), "$1" + field + ": " + value);
    EXPECT_NE(changed, text) << field;
    return changed;
  }
  /// A lock of another machine, last touched `age_s` ago.
  void leave_foreign(double age_s, const std::string& stale_after = "120") {
    std::string text = with(with(with(own_text(), "host", "elsewhere"), "boot", "another"), "token", "foreign");
    write_bytes(dir / "lock", with(text, "stale after", stale_after));
    set_age(age_s);
  }
  void set_age(double age_s) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= static_cast<time_t>(age_s);
    const timespec times[2] = {now, now};
    ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "lock").c_str(), times, 0), 0);
  }
  std::string refusal(RunLock::Options options = {.wait_s = 0}) {
    return message_of<DataError>([&] { RunLock::acquire(dir, options); });
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(dir)) found.push_back(entry.path().filename());
    return found;
  }
  /// A process that takes the lock and waits to be killed.
  pid_t owner_process(bool use_flock) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const RunLock lock = RunLock::acquire(dir, {.use_flock = use_flock});
      if (::write(ready[1], "x", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    char c;
    EXPECT_EQ(::read(ready[0], &c, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return child;
  }
};

TEST_F(Lock, KeepsASecondRunOutAndLeavesNothing) {
  {
    const RunLock lock = RunLock::acquire(dir / "new" / "run");
    EXPECT_TRUE(fs::exists(dir / "new" / "run" / "lock"));
  }
  EXPECT_TRUE(fs::is_empty(dir / "new" / "run"));
  fs::remove_all(dir / "new");
  RunLock lock = RunLock::acquire(dir);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("process " + std::to_string(::getpid())), HasSubstr(host), HasSubstr("since 20"),
                               HasSubstr("runconfig.model_dir")));
  EXPECT_THAT(names(), ::testing::ElementsAre("lock")) << "the refused one left something";
  lock.release();
  EXPECT_TRUE(fs::is_empty(dir));
  RunLock::acquire(dir);
}

TEST_F(Lock, KillNineOfTheOwner) {
  for (const bool flocks : {true, false}) {
    const pid_t owner = owner_process(flocks);
    EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(owner)));
    ASSERT_EQ(::kill(owner, SIGKILL), 0);
    siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(owner), &info, WEXITED | WNOWAIT), 0);  // dead, not yet collected
    {
      const Stopwatch clock;
      const RunLock lock = RunLock::acquire(dir, {.wait_s = 0, .use_flock = flocks});
      EXPECT_LT(clock.seconds(), 5.0);
    }
    ASSERT_EQ(::waitpid(owner, nullptr, 0), owner);
    EXPECT_TRUE(fs::is_empty(dir));
  }
}

TEST_F(Lock, ProcessNumberTakenByAnother) {
  const std::string mine = with(own_text(), "flock", "0");
  write_bytes(dir / "lock", mine);  // this very process lives
  EXPECT_THAT(refusal(), HasSubstr("another run uses this directory"));
  write_bytes(dir / "lock", with(mine, "start ticks", "1"));
  RunLock::acquire(dir, {.wait_s = 0});
  write_bytes(dir / "lock", with(mine, "process", "4000000"));  // above the largest number Linux gives
  RunLock::acquire(dir, {.wait_s = 0});
}

TEST_F(Lock, HeldByFlockIsNeverStale) {
  leave_foreign(10'000);
  const int fd = ::open((dir / "lock").c_str(), O_RDWR);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  EXPECT_THAT(refusal(), HasSubstr("host elsewhere"));
  ::close(fd);
  RunLock::acquire(dir, {.wait_s = 0});
}

TEST_F(Lock, OtherMachineByItsTimeStamp) {
  leave_foreign(60);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("host elsewhere"), HasSubstr("expires in"), HasSubstr("remove " + (dir / "lock").string())));
  leave_foreign(125);
  RunLock::acquire(dir, {.wait_s = 0});
  leave_foreign(125, "1000");  // a run of long steps
  EXPECT_THAT(refusal(), HasSubstr("expires in 87"));
  set_age(1005);
  RunLock::acquire(dir, {.wait_s = 0});
}

TEST_F(Lock, WaitsForASignOfLife) {
  leave_foreign(118);
  const Stopwatch clock;
  RunLock::acquire(dir, {.wait_s = 10});
  EXPECT_GT(clock.seconds(), 0.5);
  leave_foreign(110);
  const pid_t other = ::fork();
  if (other == 0) {
    ::usleep(700'000);
    ::utimensat(AT_FDCWD, (dir / "lock").c_str(), nullptr, 0);
    ::_exit(0);
  }
  EXPECT_THAT(refusal({.wait_s = 100}), AllOf(HasSubstr("host elsewhere"), Not(HasSubstr("expires"))));
  ::waitpid(other, nullptr, 0);
}

TEST_F(Lock, RequeuedJobTakesOverAtOnce) {
  ::setenv("SLURM_JOB_ID", "4711", 1);
  leave_foreign(1);
  EXPECT_THAT(refusal(), HasSubstr("job slurm 4711"));  // two starts in one job are two runs
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  RunLock::acquire(dir, {.wait_s = 0});
}

TEST_F(Lock, UnreadableLock) {
  write_bytes(dir / "lock", "");
  EXPECT_THAT(refusal(), HasSubstr("unknown process"));
  set_age(601);
  RunLock::acquire(dir, {.wait_s = 0});
  EXPECT_TRUE(fs::is_empty(dir));
}

TEST_F(Lock, TouchKeepsItYoungAndNoticesTheLoss) {
  RunLock lock = RunLock::acquire(dir, {.touch_every_s = 0});
  set_age(1000);
  lock.touch();
  struct stat info {};
  ASSERT_EQ(::stat((dir / "lock").c_str(), &info), 0);
  EXPECT_LT(::time(nullptr) - info.st_mtime, 5);
  EXPECT_THAT(bytes_of(dir / "lock"), HasSubstr("stale after:      120\n"));
  fs::remove(dir / "lock");
  lock.touch();
  EXPECT_THAT(refusal(), HasSubstr("process " + std::to_string(::getpid())));
  const std::string text = bytes_of(dir / "lock");
  fs::remove(dir / "lock");
  write_bytes(dir / "lock", with(text, "host", "elsewhere"));
  EXPECT_THAT(message_of<DataError>([&] { lock.touch(); }), HasSubstr("has taken this directory over"));
  lock.release();
  EXPECT_TRUE(fs::exists(dir / "lock")) << "a lock of somebody else was removed";
}

TEST_F(Lock, ManyAtOnceOneWins) {
  for (int round = 0; round < 12; ++round) {
    if (round % 2 == 1) leave_foreign(10'000);  // a stale one to fight over
    const std::string go = (dir / "go").string();
    int counts[2];
    ASSERT_EQ(::pipe(counts), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < 8; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        while (!fs::exists(go)) ::usleep(100);
        try {
          const RunLock lock = RunLock::acquire(dir, {.wait_s = 0, .use_flock = round % 4 < 2});
          if (::write(counts[1], "+", 1) != 1) ::_exit(2);
          while (fs::exists(go)) ::usleep(100);
        } catch (const std::exception&) {
          if (::write(counts[1], "-", 1) != 1) ::_exit(2);
        }
        ::_exit(0);
      }
      children.push_back(child);
    }
    write_bytes(go, "");
    std::string results;
    for (char c; results.size() < 8 && ::read(counts[0], &c, 1) == 1;) results += c;
    fs::remove(go);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    EXPECT_EQ(std::count(results.begin(), results.end(), '+'), 1) << results << " in round " << round;
    ::close(counts[0]);
    ::close(counts[1]);
    EXPECT_TRUE(fs::is_empty(dir));
  }
}

TEST_F(Lock, ReadOnlyDirectory) {
  if (!mount_tmpfs("size=1m,ro")) GTEST_SKIP() << "only root may mount";
  ASSERT_EQ(::mount("tmpfs", dir.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("cannot be written"), HasSubstr("Read-only"), HasSubstr("runconfig.model_dir")));
}

}  // namespace
}  // namespace wsc::checkpoint::testing
