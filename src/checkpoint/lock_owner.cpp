// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "lock_owner.hpp"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include <signal.h>
#include <time.h>
#include <unistd.h>

namespace wsc::checkpoint {
namespace {

constexpr int stale_width = 8;  ///< characters of the one field that changes

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Field 22 of /proc/<pid>/stat (proc(5): starttime); none where there is no such process or it may not be seen, 0 for one that has ended
/// and only waits to be collected. The second field is the program's name in parentheses, which may hold anything.
std::optional<std::int64_t> start_ticks_of(std::int64_t process) {
  const std::string line = first_line("/proc/" + std::to_string(process) + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i)
    if (!(fields >> field))
      return std::nullopt;
    else if (i == 3 && (field == "Z" || field == "X"))
      return 0;
  return std::atoll(field.c_str());
}

std::string host_name() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

std::string utc_now() {
  const time_t now = ::time(nullptr);
  tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string batch_job() {
  for (const auto& [variable, system] : {std::pair{"SLURM_JOB_ID", "slurm"}, {"PBS_JOBID", "pbs"}, {"LSB_JOBID", "lsf"}})
    if (const char* id = std::getenv(variable); id && *id) return std::string(system) + " " + id;
  return {};
}

std::string random_token() {
  std::random_device device;
  char text[33];
  std::snprintf(text, sizeof text, "%08x%08x%08x", device(), device(), static_cast<unsigned>(::getpid()));
  return text;
}

}  // namespace

LockOwner LockOwner::self() {
  LockOwner o;
  std::error_code error;
  o.host = host_name();
  o.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  o.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
  o.process = ::getpid();
  o.start_ticks = start_ticks_of(o.process).value_or(0);
  o.job = batch_job();
  if (const char* restarts = std::getenv("SLURM_RESTART_COUNT")) o.restarts = std::atoll(restarts);
  o.since = utc_now();
  o.token = random_token();
  return o;
}

std::string LockOwner::text() const {
  std::string stale = std::to_string(stale_after_s);
  stale.insert(0, stale.size() < stale_width ? stale_width - stale.size() : 0, ' ');
  std::ostringstream out;
  out << "host: " << host << "\nprocess: " << process << "\nstart ticks: " << start_ticks << "\nboot: " << boot_id
      << "\nnamespace: " << pid_namespace << "\njob: " << job << "\nrestarts: " << restarts << "\nsince: " << since
      << "\nflock: " << (flocked ? 1 : 0) << "\nstale after: " << stale << "\ntoken: " << token << "\n";
  return out.str();
}

std::optional<LockOwner> LockOwner::parse(const std::string& text) {
  std::map<std::string, std::string> fields;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) return std::nullopt;
    fields[line.substr(0, colon)] = line.substr(colon + 2);
  }
  const auto number = [&](const char* name) { return static_cast<std::int64_t>(std::atoll(fields[name].c_str())); };
  LockOwner o{fields["host"],     fields["boot"],  fields["namespace"],  number("process"),     number("start ticks"), fields["job"],
              number("restarts"), fields["since"], number("flock") == 1, number("stale after"), fields["token"]};
  if (o.token.empty() || o.process <= 0 || o.stale_after_s <= 0) return std::nullopt;
  return o;
}

std::string LockOwner::description() const {
  return "process " + std::to_string(process) + " on host " + host + (job.empty() ? "" : ", job " + job) + ", since " + since;
}

Liveness liveness(const LockOwner& owner, const LockOwner& self, bool flock_is_free) {
  if (!owner.boot_id.empty() && owner.boot_id == self.boot_id) {
    if (owner.flocked && flock_is_free) return Liveness::gone;
    if (owner.pid_namespace == self.pid_namespace) {
      if (const auto ticks = start_ticks_of(owner.process)) return *ticks == owner.start_ticks ? Liveness::alive : Liveness::gone;
      if (::kill(static_cast<pid_t>(owner.process), 0) != 0 && errno == ESRCH) return Liveness::gone;
      return Liveness::alive;  // there is such a process, but this user may not look at it
    }
  }
  if (!owner.job.empty() && owner.job == self.job && owner.restarts < self.restarts) return Liveness::gone;
  return Liveness::unknown;
}

}  // namespace wsc::checkpoint
