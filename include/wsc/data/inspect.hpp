// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace wsc::data {

/// `wsc data info`: form, shapes, counts, tokenizer and the beginning of the first sample as text. Reads headers and one sample.
/// A folder that holds train/ and val/ shows both. DataError where nothing can be opened.
std::string info(const std::filesystem::path& path);

struct VerifyResult {
  bool ok = true;
  std::int64_t samples = 0;  ///< windows of 1024 tokens in a corpus
  std::int64_t tokens = 0;   ///< positions that count in the loss
  std::string text;          ///< for people: one line per file, the first problem of each, a verdict
};

/// `wsc data verify`: reads every sample and checks what training would check: ids (against the recorded vocabulary, where there is one),
/// masks, spans and positions, and that the files belong together. Problems do not stop it.
VerifyResult verify(const std::filesystem::path& path);

}  // namespace wsc::data
