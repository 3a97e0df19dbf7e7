// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/metrics.hpp"

#include <algorithm>
#include <cstdlib>

#include "wsc/base/error.hpp"
#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"

namespace wsc::train {

CsvFile::CsvFile(const std::filesystem::path& path, const std::string& header, std::int64_t last_step) : path_(path) {
  std::vector<std::string> kept{header};
  {
    std::ifstream old(path);
    std::string line;
    std::getline(old, line);
    while (std::getline(old, line)) {
      if (line.empty() || std::atoll(line.c_str()) > last_step) continue;
      const auto missing = std::count(header.begin(), header.end(), ',') - std::count(line.begin(), line.end(), ',');
      kept.push_back(line + std::string(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, missing)), ','));
    }
  }
  const std::filesystem::path fresh = path.string() + ".new";
  out_.open(fresh, std::ios::trunc);
  for (const std::string& line : kept) out_ << line << '\n';
  out_.flush();
  if (!out_) throw SystemError("cannot write " + fresh.string() + ". Is the disk full?");
  std::filesystem::rename(fresh, path);
}

void CsvFile::add(const std::string& row) {
  out_ << row << '\n';
  out_.flush();
  if (out_) return;
  out_.clear();  // the next row tries again
  log::warning("A row of " + path_.string() + " could not be written. Is the disk full?");
}

std::string metrics_header() {
  return "step,loss,grad_norm,learning_rate,tokens_per_s,exposed_wait_s,step_s,overlap,batch,valid_tokens,skipped,weight_bytes,"
         "gradient_bytes,csx_peak_bytes,memoryx_peak_bytes,loss_scale,compute_s,wait_first_weights_s,wait_weights_s,"
         "wait_gradient_buffers_s,wait_finish_s,optimizer_s,data_s,agreement_s,other_s,checkpoint_s,utilisation";
}

std::string metrics_row(const StepMetrics& m) {
  const Breakdown& p = m.parts;
  return printf_text("%lld,%.17g,%.17g,%.17g,%.6g,%.6g,%.6g,%.6g,%lld,%lld,%d,%lld,%lld,%lld,%lld,%.10g", static_cast<long long>(m.step),
                     m.loss, m.grad_norm, m.learning_rate, m.tokens_per_s, m.exposed_wait_s, m.step_s, m.overlap,
                     static_cast<long long>(m.batch), static_cast<long long>(m.valid_tokens), m.skipped ? 1 : 0,
                     static_cast<long long>(m.weight_bytes), static_cast<long long>(m.gradient_bytes),
                     static_cast<long long>(m.csx_peak_bytes), static_cast<long long>(m.memoryx_peak_bytes), m.loss_scale) +
         printf_text(",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", p.compute, p.wait.first_weights, p.wait.weights,
                     p.wait.gradient_buffers, p.wait.finish, p.optimizer, p.data, p.agreement, p.other, m.checkpoint_s, m.utilisation);
}

std::string rank_table(const std::vector<RankReport>& reports, const fabric::Layout& layout, bool one_process) {
  std::string text = "rank  role      sent      received  weights   gradients state     arena     resident peak";
  for (std::size_t r = 0; r < reports.size(); ++r) {
    const RankReport& p = reports[r];
    const fabric::Counters& c = p.counters;
    const char* role = one_process ? "both" : layout.is_memoryx(fabric::Rank(r)) ? "memoryx" : "csx";
    text += printf_text("\n%-5zu %-9s %-9s %-9s %-9s %-9s %-9s %-9s %s", r, role,
                        bytes_text(static_cast<double>(c.weight_bytes_sent + c.gradient_bytes_sent)).c_str(),
                        bytes_text(static_cast<double>(c.weight_bytes_received + c.gradient_bytes_received)).c_str(),
                        bytes_text(static_cast<double>(p.weight_bytes)).c_str(), bytes_text(static_cast<double>(p.gradient_bytes)).c_str(),
                        bytes_text(static_cast<double>(p.state_bytes)).c_str(), bytes_text(static_cast<double>(p.arena_bytes)).c_str(),
                        bytes_text(static_cast<double>(p.resident_peak_bytes)).c_str());
  }
  return text;
}

}  // namespace wsc::train
