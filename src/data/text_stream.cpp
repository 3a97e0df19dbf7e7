// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>

#include <zlib.h>
#include <zstd.h>

#include "wsc/base/error.hpp"
#include "wsc/data/documents.hpp"

namespace wsc::data {

class TextStream::Source {
 public:
  virtual ~Source() = default;
  virtual std::size_t read(char* out, std::size_t capacity) = 0;
};

namespace {

[[noreturn]] void cut_short(const std::string& path) {
  throw DataError(path + ": ends in the middle of its compressed data. Copy or download it again");
}
[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw DataError(path + ": cannot be decompressed (" + why + "). Copy or download it again");
}

class PlainSource final : public TextStream::Source {
 public:
  explicit PlainSource(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "rb")) {
    if (!file_) throw DataError(with_errno(path + ": cannot be read"));
  }
  ~PlainSource() override { std::fclose(file_); }

  std::size_t read(char* out, std::size_t capacity) override {
    const std::size_t n = std::fread(out, 1, capacity, file_);
    if (n == 0 && std::ferror(file_)) throw DataError(with_errno(path_ + ": cannot be read"));
    return n;
  }

 private:
  std::string path_;
  std::FILE* file_;
};

class GzipSource final : public TextStream::Source {
 public:
  explicit GzipSource(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) throw DataError(with_errno(path + ": cannot be read"));
    gzbuffer(file_, 1 << 18);
  }
  ~GzipSource() override { gzclose(file_); }

  std::size_t read(char* out, std::size_t capacity) override {
    const int n = gzread(file_, out, static_cast<unsigned>(capacity));
    int code = Z_OK;
    const char* why = gzerror(file_, &code);
    if (n < 0 && code != Z_BUF_ERROR) damaged(path_, code == Z_ERRNO ? with_errno("zlib") : why);
    if (code == Z_BUF_ERROR && n <= 0) cut_short(path_);
    if (n > 0 && gzdirect(file_)) throw DataError(path_ + ": is not compressed by gzip, though its name says so");
    return static_cast<std::size_t>(n);
  }

 private:
  std::string path_;
  gzFile file_;
};

class ZstdSource final : public TextStream::Source {
 public:
  explicit ZstdSource(const std::string& path)
      : path_(path), plain_(path), stream_(ZSTD_createDStream(), ZSTD_freeDStream), input_(ZSTD_DStreamInSize()) {
    if (!stream_) throw SystemError(path + ": no memory to decompress it");
  }

  std::size_t read(char* out, std::size_t capacity) override {
    ZSTD_outBuffer output{out, capacity, 0};
    while (output.pos == 0) {
      if (view_.pos == view_.size && !full_) {  // a full output buffer may hide more output of the same input
        view_ = {input_.data(), plain_.read(input_.data(), input_.size()), 0};
        if (view_.size == 0) {
          if (open_frame_) cut_short(path_);
          return 0;
        }
      }
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &output, &view_);
      if (ZSTD_isError(left)) damaged(path_, ZSTD_getErrorName(left));
      open_frame_ = left != 0;
      full_ = output.pos == output.size && open_frame_;
    }
    return output.pos;
  }

 private:
  std::string path_;
  PlainSource plain_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  std::vector<char> input_;
  ZSTD_inBuffer view_{nullptr, 0, 0};
  bool open_frame_ = false, full_ = false;
};

}  // namespace

TextStream::TextStream(const std::filesystem::path& path) {
  if (path.extension() == ".gz")
    source_ = std::make_unique<GzipSource>(path.string());
  else if (path.extension() == ".zst")
    source_ = std::make_unique<ZstdSource>(path.string());
  else
    source_ = std::make_unique<PlainSource>(path.string());
}

TextStream::~TextStream() = default;

std::size_t TextStream::read(char* out, std::size_t capacity) { return source_->read(out, capacity); }

}  // namespace wsc::data
