// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/timeline.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "wsc/base/error.hpp"
#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/base/process.hpp"
#include "wsc/base/trace.hpp"

namespace wsc::train {
namespace {

constexpr int rounds = 16;
constexpr const char* advice = " (runconfig.trace). Is the folder there and writable?";

std::string quoted(const std::string& text) { return nlohmann::json(text).dump(); }

/// What a rank adds to the file: objects, each with a comma in front.
class RankEvents {
 public:
  RankEvents(int rank, const std::string& name, const ClockShift& clock) : rank_(rank), clock_(clock) {
    text_ = printf_text(",\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":%s,\"clock_error_us\":%.3f}}", rank,
                        quoted(name).c_str(), 1e6 * clock.error_s);
    text_ += printf_text(",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}", rank, rank);
  }

  void add(const trace::ThreadEvents& thread) {
    ++thread_;
    text_ += printf_text(",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":%s,\"dropped_events\":%lld}}",
                         rank_, thread_, quoted(thread.name).c_str(), static_cast<long long>(thread.dropped));
    for (const trace::Event& e : thread.events) e.bytes > 0 ? transfer(e) : span(e);
  }
  const std::string& text() const { return text_; }

 private:
  double microseconds(double seconds) const { return 1e6 * (seconds + clock_.shift_s); }
  std::string place() const { return printf_text("\"pid\":%d,\"tid\":%d", rank_, thread_); }

  void span(const trace::Event& e) {
    const std::string name = e.detail ? std::string(e.detail) + " " + e.what : std::string(e.what);
    text_ += printf_text(",\n{\"ph\":\"X\",%s,\"ts\":%.3f,\"dur\":%.3f,\"name\":%s,\"cat\":%s", place().c_str(), microseconds(e.begin_s),
                         1e6 * (e.end_s - e.begin_s), quoted(name).c_str(), quoted(e.what).c_str());
    if (e.number >= 0) text_ += printf_text(",\"args\":{\"number\":%lld}", static_cast<long long>(e.number));
    text_ += "}";
  }

  void transfer(const trace::Event& e) {
    const std::string common =
        printf_text("\"cat\":\"fabric\",\"id\":\"%d.%d\",\"name\":%s,%s", rank_, ++transfers_, quoted(e.what).c_str(), place().c_str());
    text_ += printf_text(",\n{\"ph\":\"b\",%s,\"ts\":%.3f,\"args\":{\"first_byte\":%lld,\"bytes\":%lld}}", common.c_str(),
                         microseconds(e.begin_s), static_cast<long long>(e.number), static_cast<long long>(e.bytes));
    text_ += printf_text(",\n{\"ph\":\"e\",%s,\"ts\":%.3f}", common.c_str(), microseconds(e.end_s));
  }

  int rank_, thread_ = 0, transfers_ = 0;
  ClockShift clock_;
  std::string text_;
};

}  // namespace

ClockShift align_clock(Control& control) {
  struct Round {
    double sent = 0, gathered = 0;  // by rank 0's clock; `gathered`: of the round before
  } round;
  double least = -std::numeric_limits<double>::infinity(), most = -least, here_before = 0;
  for (int i = 0; i <= rounds; ++i) {
    round.sent = trace::now_s();
    const Round leaders = control.from_leader(round);
    const double here = trace::now_s();
    least = std::max(least, leaders.sent - here);
    if (i > 0) most = std::min(most, leaders.gathered - here_before);
    here_before = here;
    control.to_leader(here);
    round.gathered = trace::now_s();
  }
  if (control.leads()) return {};
  return {(least + most) / 2, (most - least) / 2};
}

Timeline::Timeline(const RunSettings& settings, const fabric::Layout& layout, Control control)
    : path_(settings.trace), steps_(settings.trace_steps), layout_(layout), control_(control) {
  control_.agree([&] {
    if (control_.leads() && !std::ofstream(path_)) throw SystemError("cannot write " + path_ + advice);
  });
  clock_ = align_clock(control_);
  const fabric::Rank rank = control_.channel() ? control_.channel()->rank() : fabric::Rank(0);
  trace::set_thread(rank.index, control_.channel() && layout_.is_memoryx(rank) ? "memoryx" : "csx");
  trace::start(rank.index);
}

void Timeline::write() {
  const int rank = trace::this_rank();
  const std::string host = control_.channel() ? " on " + host_name() : "";
  const std::string role = !control_.channel()                      ? "memoryx and csx"
                           : layout_.is_memoryx(fabric::Rank(rank)) ? "memoryx " + std::to_string(rank)
                                                                    : "csx " + std::to_string(layout_.csx_of(fabric::Rank(rank)).index);
  control_.from_leader(0);  // all have come to here
  trace::stop();
  RankEvents mine(rank, role + host, clock_);
  for (const trace::ThreadEvents& thread : trace::take(rank)) mine.add(thread);
  const std::vector<char> all = control_.lists_to_leader(std::vector<char>(mine.text().begin(), mine.text().end()));
  if (!control_.leads()) return;
  std::ofstream out(path_);
  out << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"wsc\",\"pid\":0,\"args\":{}}";
  out.write(all.data(), static_cast<std::streamsize>(all.size()));
  out << "\n]}\n";
  out.close();
  if (!out) return log::warning("The timeline could not be written to " + path_ + advice);
  log::info("Timeline of the steps so far: " + path_ + " (open it in https://ui.perfetto.dev or chrome://tracing).");
}

}  // namespace wsc::train
