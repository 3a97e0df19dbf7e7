// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/token_file.hpp"

#include <algorithm>
#include <cctype>

#include "wsc/base/error.hpp"

namespace fs = std::filesystem;

namespace wsc::data {

const char* name(Form form) {
  switch (form) {
    case Form::sample:
      return "sample";
    case Form::vsl:
      return "vsl";
    case Form::corpus:
      return "corpus";
  }
  WSC_EXPECT(!"form");
}

namespace {

std::string text_of(const hdf5::Shape& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text.append(text.empty() ? "(" : ", ").append(std::to_string(extent));
  return text.empty() ? "()" : text.append(")");
}

Form form_of(const hdf5::Dataset& data) {
  const hdf5::Shape& shape = data.shape();
  if (!hdf5::is_integer(data.type())) {
    throw DataError(data.file_name() + ": dataset 'data' holds " + hdf5::name(data.type()) + " elements, token ids are integers");
  }
  if (shape.size() == 1) return Form::corpus;
  if (shape.size() == 3 && shape[1] == 3 && shape[2] > 0) return Form::sample;
  if (shape.size() == 3 && shape[1] == 5 && shape[2] > 0) return Form::vsl;
  throw DataError(data.file_name() + ": dataset 'data' has shape " + text_of(shape) +
                  "; token files hold (n, 3, T), (n, 5, T) with spans and positions, or one dimension. Build one with "
                  "`wsc data build`");
}

hdf5::Dataset open_data(const hdf5::File& file) {
  if (file.exists("data")) return file.dataset("data");
  std::string found;
  for (const auto& entry : file.list()) {
    if (entry.path.find('/') == std::string::npos) found += (found.empty() ? "'" : ", '") + entry.path + "'";
  }
  throw DataError(file.file_name() + ": has no dataset 'data' (it holds " + (found.empty() ? "nothing" : found) +
                  "), so it is not a token file");
}

/// Compares digit runs as numbers.
bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  const auto digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      std::size_t ie = i, je = j;
      while (ie < a.size() && digit(a[ie])) ++ie;
      while (je < b.size() && digit(b[je])) ++je;
      const std::string x = a.substr(std::min(a.find_first_not_of('0', i), ie), ie - std::min(a.find_first_not_of('0', i), ie));
      const std::string y = b.substr(std::min(b.find_first_not_of('0', j), je), je - std::min(b.find_first_not_of('0', j), je));
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
      i = ie;
      j = je;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
    }
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;
}

std::string advice_for_empty_folder(const fs::path& folder) {
  for (const char* part : {"train", "val"}) {
    if (fs::is_directory(folder / part)) return ". Did you mean " + (folder / part).string() + "?";
  }
  return ". Make a data set with `wsc data build`";
}

}  // namespace

TokenFile::TokenFile(const fs::path& path) : file_(hdf5::File::open(path)), data_(open_data(file_)) {
  info_.path = path;
  info_.form = form_of(data_);
  info_.type = data_.type();
  if (info_.form == Form::corpus) {
    info_.tokens = data_.rows();
  } else {
    info_.samples = data_.rows();
    info_.sequence_length = data_.shape()[2];
    if (file_.has_attribute("n_examples")) {
      const std::int64_t promised = file_.read_int("n_examples");
      if (promised < 0 || promised > info_.samples) {
        throw DataError(path.string() + ": n_examples says " + std::to_string(promised) + " samples, but there are " +
                        std::to_string(info_.samples) + ". The file was not written to its end: make it again or restore a copy");
      }
      info_.samples = promised;
    }
  }
  if (file_.has_attribute("tokenizer_hash")) info_.tokenizer_hash = file_.read_string("tokenizer_hash");
  if (file_.has_attribute("vocab_size")) info_.vocab_size = file_.read_int("vocab_size");
  if (file_.has_attribute("eos_id")) info_.eos_id = file_.read_int("eos_id");
}

void TokenFile::read_sample(std::int64_t sample, std::vector<std::int64_t>& out) const {
  WSC_EXPECT(info_.form != Form::corpus && sample >= 0 && sample < info_.samples);
  out.resize(static_cast<std::size_t>(data_.row_elements()));
  data_.read_rows(sample, 1, out.data());
}

void TokenFile::read_tokens(std::int64_t first, std::int64_t count, std::vector<std::int64_t>& out) const {
  WSC_EXPECT(info_.form == Form::corpus);
  out.resize(static_cast<std::size_t>(count));
  data_.read_rows(first, count, out.data());
}

std::string TokenFile::tokenizer_text() const { return file_.exists("tokenizer") ? file_.read_text("tokenizer") : ""; }

std::vector<fs::path> token_files(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) throw DataError(path.string() + ": no such file or folder. Make a data set with `wsc data build`");
  if (!fs::is_directory(path, error)) return {path};
  const fs::path folder = path.has_filename() ? path : path.parent_path();
  if (folder.extension() == ".partial") {
    throw DataError(path.string() + ": is the unfinished output of a `wsc data build` that did not end well; run it again");
  }
  std::vector<fs::path> files;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".h5" && it->is_regular_file()) files.push_back(it->path());
  }
  if (error) throw DataError(path.string() + ": cannot be listed: " + error.message());
  if (files.empty()) throw DataError(path.string() + ": holds no *.h5 file" + advice_for_empty_folder(path));
  std::sort(files.begin(), files.end(),
            [](const fs::path& a, const fs::path& b) { return natural_less(a.filename().string(), b.filename().string()); });
  return files;
}

}  // namespace wsc::data
