// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/dataset.hpp"

#include <algorithm>
#include <limits>

#include "wsc/base/error.hpp"

namespace wsc::data {

namespace {

std::int64_t windows(std::int64_t tokens, std::int64_t T) { return tokens < 2 ? 0 : (tokens - 1 + T - 1) / T; }

std::string sample_of(const TokenFileInfo& file, std::int64_t sample) {
  const char* unit = file.form == Form::corpus ? ": window " : ": sample ";
  return file.path.string() + unit + std::to_string(sample);
}

}  // namespace

Dataset::Dataset(const std::filesystem::path& path, const DatasetOptions& options) : path_(path.string()), options_(options) {
  WSC_EXPECT(options.max_open_files >= 1 && options.sequence_length >= 0);
  for (const auto& file : token_files(path)) files_.push_back(TokenFile(file).info());
  check_agreement();
  const TokenFileInfo& first = files_.front();
  const std::int64_t stored = first.sequence_length, wanted = options.sequence_length;
  if (first.form == Form::corpus && wanted == 0) {
    throw SettingsError(path_ + ": a corpus has no sequence length of its own, so max_sequence_length has to be set");
  }
  if (first.form != Form::corpus && wanted != 0 && wanted != stored) {
    throw SettingsError(path_ + ": its samples have " + std::to_string(stored) + " tokens, but max_sequence_length is " +
                        std::to_string(wanted) + ". Set it to " + std::to_string(stored) + " (or 0), or build the data again");
  }
  sequence_length_ = first.form == Form::corpus ? wanted : stored;
  if (options_.eos_id < 0) options_.eos_id = first.eos_id;
  if (options_.mask_documents && first.form != Form::vsl && options_.eos_id < 0) {
    throw SettingsError(path_ + ": mask_documents needs the token that ends a document, which the files do not record: set eos_id");
  }
  first_sample_ = {0};
  for (const auto& f : files_) {
    first_sample_.push_back(first_sample_.back() + (f.form == Form::corpus ? windows(f.tokens, sequence_length_) : f.samples));
  }
  if (size() == 0) throw DataError(path_ + ": holds no sample of " + std::to_string(sequence_length_) + " tokens");
}

void Dataset::check_agreement() const {
  const TokenFileInfo& a = files_.front();
  for (const TokenFileInfo& b : files_) {
    std::string what;
    if (a.form != b.form)
      what = std::string("form ") + name(a.form) + " and " + name(b.form);
    else if (a.sequence_length != b.sequence_length)
      what = "sequences of " + std::to_string(a.sequence_length) + " and " + std::to_string(b.sequence_length) + " tokens";
    else if (a.tokenizer_hash != b.tokenizer_hash)
      what = "tokenizers " + a.tokenizer_hash + " and " + b.tokenizer_hash;
    if (what.empty()) continue;
    throw DataError(a.path.string() + " and " + b.path.string() + " do not belong to one data set (" + what +
                    "). Put them into folders of their own");
  }
}

std::string Dataset::tokenizer_text() const { return TokenFile(files_.front().path).tokenizer_text(); }

const TokenFile& Dataset::open(std::size_t index) const {
  const auto found = std::find_if(open_files_.begin(), open_files_.end(), [&](const OpenFile& f) { return f.index == index; });
  if (found != open_files_.end()) {
    open_files_.splice(open_files_.begin(), open_files_, found);
  } else {
    if (static_cast<std::int64_t>(open_files_.size()) >= options_.max_open_files) open_files_.pop_back();
    open_files_.push_front({index, TokenFile(files_[index].path)});
  }
  return open_files_.front().file;
}

void Dataset::read(std::int64_t sample, const SampleRows& rows, std::int64_t shift) const {
  WSC_EXPECT(sample >= 0 && sample < size());
  const auto after = std::upper_bound(first_sample_.begin(), first_sample_.end(), sample);
  const std::size_t index = static_cast<std::size_t>(after - first_sample_.begin()) - 1;
  const std::int64_t inside = sample - first_sample_[index];
  const std::lock_guard lock(mutex_);
  if (form() == Form::corpus) {
    read_window(index, inside, shift, rows);
  } else {
    read_stored(index, inside, rows);
  }
  if (options_.mask_documents && form() != Form::vsl && rows.span) derive_spans(rows);
}

std::int32_t Dataset::checked_id(std::int64_t id, std::size_t file, std::int64_t sample, std::int64_t position, const char* what) const {
  const std::int64_t limit = options_.vocab_size > 0 ? options_.vocab_size : std::numeric_limits<std::int32_t>::max();
  if (id >= 0 && id < limit) return static_cast<std::int32_t>(id);
  const std::string place =
      sample_of(files_[file], sample) + " has " + what + " " + std::to_string(id) + " at position " + std::to_string(position);
  if (id < 0)
    throw DataError(place + ", ids are not negative. The file is damaged or holds something else than tokens (`wsc data info " + path_ +
                    "`)");
  if (options_.vocab_size == 0)
    throw DataError(place + ", which no vocabulary reaches. The file is damaged or holds something else than tokens");
  throw DataError(place + ", but model.vocab_size is " + std::to_string(options_.vocab_size) +
                  ". Was it built with another tokenizer? (`wsc data info " + path_ + "`)");
}

void Dataset::read_stored(std::size_t index, std::int64_t sample, const SampleRows& rows) const {
  open(index).read_sample(sample, scratch_);
  const std::int64_t T = sequence_length_;
  const std::int64_t *ids = scratch_.data(), *mask = ids + T, *labels = mask + T, *span = labels + T, *position = span + T;
  const auto refuse = [&](const char* what, std::int64_t value, std::int64_t i) {
    throw DataError(sample_of(files_[index], sample) + " has " + what + " " + std::to_string(value) + " at position " + std::to_string(i) +
                    ", which is not possible. The file is damaged or holds something else than tokens (`wsc data verify " + path_ + "`)");
  };
  for (std::int64_t i = 0; i < T; ++i) {
    rows.input_ids[i] = checked_id(ids[i], index, sample, i, "token");
    if (mask[i] != 0 && mask[i] != 1) refuse("loss mask", mask[i], i);
    rows.loss_mask[i] = static_cast<std::uint8_t>(mask[i]);
    // Other tools mark ignored labels with −100 and the like: what does not count becomes a valid id.
    rows.labels[i] = mask[i] != 0 ? checked_id(labels[i], index, sample, i, "label") : 0;
  }
  if (form() != Form::vsl) return;
  for (std::int64_t i = 0; i < T; ++i) {
    if (span[i] < 0 || span[i] >= T - i) refuse("attention span", span[i], i);
    if (position[i] < 0 || position[i] > i) refuse("position", position[i], i);
    if (rows.span) rows.span[i] = static_cast<std::int32_t>(span[i]);
    if (rows.position) rows.position[i] = static_cast<std::int32_t>(position[i]);
  }
}

void Dataset::read_window(std::size_t index, std::int64_t window, std::int64_t shift, const SampleRows& rows) const {
  const std::int64_t T = sequence_length_, first = window * T + shift;
  const std::int64_t count = std::clamp<std::int64_t>(files_[index].tokens - first, 0, T + 1);
  if (count > 0) open(index).read_tokens(first, count, scratch_);
  const std::int32_t padding = static_cast<std::int32_t>(std::max<std::int64_t>(options_.eos_id, 0));
  for (std::int64_t i = 0; i < T; ++i) {
    rows.input_ids[i] = i < count ? checked_id(scratch_[i], index, window, i, "token") : padding;
    rows.loss_mask[i] = i + 1 < count;
    rows.labels[i] = i + 1 < count ? checked_id(scratch_[i + 1], index, window, i + 1, "token") : 0;
  }
}

void Dataset::derive_spans(const SampleRows& rows) const {
  std::int64_t end = sequence_length_ - 1;  // last token of the own document; eos belongs to the document that it ends
  for (std::int64_t i = sequence_length_ - 1; i >= 0; --i) {
    if (rows.input_ids[i] == options_.eos_id) end = i;
    rows.span[i] = static_cast<std::int32_t>(end - i);
  }
}

void require_tokenizer(const Dataset& dataset, const std::string& hash, const std::string& owner) {
  const std::string& own = dataset.tokenizer_hash();
  if (own.empty() || hash.empty() || own == hash) return;
  throw DataError(dataset.path() + " was made with tokenizer " + own + ", but " + owner + " with tokenizer " + hash +
                  ": the same ids mean other texts. Build the data with that tokenizer (`wsc data info " + dataset.path() + "`)");
}

}  // namespace wsc::data
