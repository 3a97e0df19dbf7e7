// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "format.hpp"

#include "wsc/base/error.hpp"

namespace wsc::checkpoint {

/// One sentence about the newest older checkpoint in the same folder that is whole (it is read to its end to know), and how to start
/// from it. Costs time; only for messages.
std::string advice(const std::filesystem::path& path);

/// verify() without advice.
void verify_file(const std::filesystem::path& path);

/// Runs f, which reads the checkpoint `path`. A DataError about damage gets the advice; a refusal stays as it is.
template <class F>
auto with_advice(const std::filesystem::path& path, F f) {
  try {
    return f();
  } catch (const format::Refusal&) {
    throw;
  } catch (const DataError& e) {
    if (!std::filesystem::exists(path)) throw;
    throw DataError(std::string(e.what()) + ". " + advice(path));
  }
}

}  // namespace wsc::checkpoint
