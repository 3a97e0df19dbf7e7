// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/token_writer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "wsc/base/error.hpp"

namespace wsc::data {

namespace {

constexpr std::size_t buffer_elements = 1 << 20;
constexpr std::int64_t corpus_chunk = 1 << 14;  // read as a whole: small, since windows are read in random order
constexpr int gzip_level = 4;                   // h5py's default

}  // namespace

hdf5::Type corpus_type(std::int64_t vocab_size) {
  if (vocab_size <= 256) return hdf5::Type::u8;
  return vocab_size <= 65536 ? hdf5::Type::u16 : hdf5::Type::i32;
}

void sync_path(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw SystemError(with_errno(path.string() + ": cannot be opened again"));
  const int result = ::fsync(fd);
  const int error = errno;
  ::close(fd);
  errno = error;
  if (result != 0 && error != EINVAL)
    throw SystemError(with_errno(path.string() + ": cannot be written to disk"));  // EINVAL: not supported here
}

TokenWriter::TokenWriter(std::filesystem::path folder, const Layout& layout, const Tokenizer& tokenizer)
    : folder_(std::move(folder)), layout_(layout), tokenizer_(tokenizer) {
  WSC_EXPECT(layout.form == Form::corpus || (layout.sequence_length > 0 && layout.samples_per_file > 0));
}

void TokenWriter::add_sample(std::span<const std::int32_t> rows) {
  WSC_EXPECT(layout_.form != Form::corpus && static_cast<std::int64_t>(rows.size()) == sample_elements());
  buffer_.insert(buffer_.end(), rows.begin(), rows.end());
  ++samples_;
  const bool full = samples_ % layout_.samples_per_file == 0;
  if (full || buffer_.size() >= buffer_elements) flush();
  if (full) close_file();
}

void TokenWriter::add_tokens(std::span<const std::int32_t> tokens) {
  WSC_EXPECT(layout_.form == Form::corpus);
  buffer_.insert(buffer_.end(), tokens.begin(), tokens.end());
  tokens_ += static_cast<std::int64_t>(tokens.size());
  if (buffer_.size() >= buffer_elements) flush();
}

void TokenWriter::finish() {
  flush();
  if (output_) close_file();
}

void TokenWriter::open_file() {
  const auto path = folder_ / ("examples_" + std::to_string(files_) + ".h5");
  hdf5::File file = hdf5::File::create(path);
  const std::int64_t rows = layout_.form == Form::vsl ? 5 : 3, T = layout_.sequence_length;
  hdf5::Dataset data = layout_.form == Form::corpus
                           ? file.create_chunked("data", corpus_type(tokenizer_.vocab_size()), {0}, {corpus_chunk}, 0)
                           : file.create_chunked("data", hdf5::Type::i32, {0, rows, T}, {1, rows, T}, gzip_level);
  output_.emplace(Output{path, std::move(file), std::move(data)});
  ++files_;
}

void TokenWriter::flush() {
  if (buffer_.empty()) return;
  if (!output_) open_file();
  const std::int64_t per_row = layout_.form == Form::corpus ? 1 : sample_elements();
  const std::int64_t before = output_->data.rows(), count = static_cast<std::int64_t>(buffer_.size()) / per_row;
  output_->data.resize(before + count);
  output_->data.write_rows(before, count, buffer_.data());
  buffer_.clear();
}

void TokenWriter::close_file() {
  hdf5::File& file = output_->file;
  file.write_int(layout_.form == Form::corpus ? "n_tokens" : "n_examples", output_->data.rows());
  file.write_int("vocab_size", tokenizer_.vocab_size());
  file.write_int("eos_id", tokenizer_.eos_id());
  file.write_string("tokenizer", std::string(tokenizer_.kind()));
  file.write_string("tokenizer_hash", tokenizer_.hash());
  file.write_text("tokenizer", tokenizer_.text());
  output_->data = {};
  file.close();
  sync_path(output_->path);
  output_.reset();
}

}  // namespace wsc::data
