// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

/// Rank-aware log. Only the leader (rank 0) prints ordinary lines, to the terminal and to the run's log file; errors are printed by
/// whoever has them, tagged with rank and host. Every line is flushed.
namespace wsc::log {

/// Says who this thread speaks for. The loopback fabric runs several ranks as threads of one process, so this is per thread.
void set_rank(int rank, int ranks);

/// Copies the leader's lines into this file too (appending).
void open_file(const std::filesystem::path& path);
void close_file();

/// No ordinary lines on the terminal (errors and warnings still appear).
void set_quiet(bool quiet);

void info(const std::string& message);          ///< leader only
void warning(const std::string& message);       ///< leader only
void warning_here(const std::string& message);  ///< any rank, tagged with it
void error(const std::string& message);         ///< any rank

}  // namespace wsc::log
