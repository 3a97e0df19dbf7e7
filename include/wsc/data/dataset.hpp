// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "wsc/data/token_file.hpp"

namespace wsc::data {

struct DatasetOptions {
  std::int64_t sequence_length = 0;  ///< T; 0 = that of the files. A corpus has none of its own: it must be given
  std::int64_t vocab_size = 0;       ///< V: ids at or above it are refused; 0 = no check
  bool mask_documents = false;       ///< derive attention spans from eos where the files have none
  std::int64_t eos_id = -1;          ///< for mask_documents; −1 = the one recorded in the files
  std::int64_t max_open_files = 8;
};

/// Where a sample is put, each (T). `span` and `position` may be null; they are written where the data set has them.
struct SampleRows {
  std::int32_t* input_ids;
  std::int32_t* labels;
  std::uint8_t* loss_mask;  ///< 1 = the position counts
  std::int32_t* span;       ///< number of later tokens in the own document: query i sees key j iff 0 ≤ i − j ≤ span[j]
  std::int32_t* position;   ///< position in the own document
};

/// Samples of T tokens from a folder of token files or one of them; reading is by number, in any order, from any thread.
/// A corpus gives windows of T + 1 tokens at stride T; the last window of a file may be short and is then padded with masked positions,
/// so that every token but the first of a file is predicted exactly once. Windows do not cross files.
/// Throws DataError for anything wrong in the files, at opening or at reading, naming file, sample and position; SettingsError where an
/// option does not suit them.
class Dataset {
 public:
  Dataset(const std::filesystem::path& path, const DatasetOptions& options);

  std::int64_t size() const { return first_sample_.back(); }         ///< samples
  std::int64_t sequence_length() const { return sequence_length_; }  ///< T
  Form form() const { return files_.front().form; }
  bool has_spans() const { return form() == Form::vsl || options_.mask_documents; }
  bool has_positions() const { return form() == Form::vsl; }
  const std::string& path() const { return path_; }
  const std::vector<TokenFileInfo>& files() const { return files_; }

  const std::string& tokenizer_hash() const { return files_.front().tokenizer_hash; }  ///< empty where it is not recorded
  std::int64_t recorded_vocab_size() const { return files_.front().vocab_size; }       ///< −1 where it is not recorded
  std::int64_t eos_id() const { return options_.eos_id; }                              ///< given or recorded; −1 = none
  std::string tokenizer_text() const;                                                  ///< empty where it is not recorded

  /// `shift`: tokens by which the windows of a corpus are moved (what reaches past the end of a file is masked); no effect on other forms.
  void read(std::int64_t sample, const SampleRows& rows, std::int64_t shift = 0) const;

 private:
  struct OpenFile {
    std::size_t index;
    TokenFile file;
  };

  void check_agreement() const;
  const TokenFile& open(std::size_t index) const;
  void read_stored(std::size_t index, std::int64_t sample, const SampleRows& rows) const;
  void read_window(std::size_t index, std::int64_t window, std::int64_t shift, const SampleRows& rows) const;
  std::int32_t checked_id(std::int64_t id, std::size_t file, std::int64_t sample, std::int64_t position, const char* what) const;
  void derive_spans(const SampleRows& rows) const;

  std::string path_;
  DatasetOptions options_;
  std::int64_t sequence_length_ = 0;
  std::vector<TokenFileInfo> files_;
  std::vector<std::int64_t> first_sample_;  ///< of each file, then the total

  mutable std::mutex mutex_;                ///< guards what follows
  mutable std::list<OpenFile> open_files_;  ///< most recently used first
  mutable std::vector<std::int64_t> scratch_;
};

/// DataError where a data set was made with another tokenizer than `owner` (a checkpoint, another data set) whose hash this is. A hash
/// that was not recorded fits any.
void require_tokenizer(const Dataset& dataset, const std::string& hash, const std::string& owner);

}  // namespace wsc::data
