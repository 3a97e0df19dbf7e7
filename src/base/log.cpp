// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/log.hpp"

#include <mutex>

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "wsc/base/process.hpp"

namespace wsc::log {
namespace {

thread_local int this_rank = 0;
thread_local int rank_count = 1;
bool quiet_terminal = false;

template <class Sink>
std::shared_ptr<spdlog::logger> terminal_logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("wsc", std::make_shared<Sink>());
    made->set_pattern("%Y-%m-%d %H:%M:%S %L: %v");
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return logger;
}

/// Warnings go to the standard error: the standard output of a command may be text or JSON.
std::shared_ptr<spdlog::logger> terminal(spdlog::level::level_enum level) {
  return level < spdlog::level::warn ? terminal_logger<spdlog::sinks::stdout_sink_mt>() : terminal_logger<spdlog::sinks::stderr_sink_mt>();
}

std::shared_ptr<spdlog::logger>& file() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}

void write(spdlog::level::level_enum level, const std::string& message, bool terminal_too) {
  static std::mutex one_line_at_a_time;
  const std::lock_guard lock(one_line_at_a_time);
  if (terminal_too) terminal(level)->log(level, message);
  if (file()) file()->log(level, message);
}

}  // namespace

void set_rank(int rank, int ranks) {
  this_rank = rank;
  rank_count = ranks;
}

void open_file(const std::filesystem::path& path) {
  auto made = std::make_shared<spdlog::logger>("file", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  made->set_pattern("%Y-%m-%d %H:%M:%S %L: %v");
  made->flush_on(spdlog::level::trace);
  file() = made;
}

void close_file() { file().reset(); }

void set_quiet(bool quiet) { quiet_terminal = quiet; }

void info(const std::string& message) {
  if (this_rank == 0) write(spdlog::level::info, message, !quiet_terminal);
}

void warning(const std::string& message) {
  if (this_rank == 0) write(spdlog::level::warn, message, true);
}

namespace {

/// To stderr at once, from any thread, and into the file.
void write_tagged(const char* kind, spdlog::level::level_enum level, const std::string& message) {
  const std::string where = rank_count > 1 ? " [rank " + std::to_string(this_rank) + " on " + host_name() + "]" : "";
  std::fprintf(stderr, "wsc: %s%s%s\n", kind, message.c_str(), where.c_str());
  std::fflush(stderr);
  write(level, message + where, false);
}

}  // namespace

void warning_here(const std::string& message) { write_tagged("warning: ", spdlog::level::warn, message); }

void error(const std::string& message) { write_tagged("", spdlog::level::err, message); }

}  // namespace wsc::log
