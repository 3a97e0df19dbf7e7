// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/dataset.hpp"

#include <atomic>
#include <thread>

#include "tests/data/temporary_folder.hpp"
#include <gmock/gmock.h>

#include "wsc/base/error.hpp"
#include "wsc/data/batch.hpp"

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace wsc::data {
namespace {

using Ids = std::vector<std::int32_t>;
using DatasetTest = TemporaryFolder;

Batch read_one(const Dataset& d, std::int64_t sample) {
  Batch b(1, d.sequence_length(), d.has_spans(), d.has_positions());
  d.read(sample, b.rows(0));
  return b;
}

/// A token file of wsc's own making; values row-major.
template <class T>
void write_tokens(const fs::path& path, const hdf5::Shape& shape, const std::vector<T>& values, std::int64_t n_examples = -1) {
  fs::create_directories(path.parent_path());
  hdf5::File f = hdf5::File::create(path);
  f.create_contiguous("data", hdf5::type_of<T>(), shape).write(values.data());
  if (n_examples >= 0) f.write_int("n_examples", n_examples);
}

void expect_golden_sample(const Dataset& d, std::int64_t s, std::int64_t start) {
  const Batch b = read_one(d, s);
  for (int i = 0; i < 8; ++i) {
    const bool counts = i >= start && i < 8 - s % 3;
    EXPECT_EQ(b.input_ids[i], (31 * s + 7 * i) % 50) << s << ", " << i;
    EXPECT_EQ(b.loss_mask[i], counts) << s << ", " << i;
    EXPECT_EQ(b.labels[i], counts ? (31 * s + 7 * (i + 1)) % 50 : 0) << s << ", " << i;
  }
}

TEST_F(DatasetTest, SamplesByH5py) {
  const Dataset d(golden("sample_int32.h5"), {.vocab_size = 50});
  EXPECT_EQ(d.form(), Form::sample);
  EXPECT_EQ(d.size(), 5);
  EXPECT_EQ(d.sequence_length(), 8);
  EXPECT_FALSE(d.has_spans());
  EXPECT_EQ(d.tokenizer_hash(), "");
  for (std::int64_t s : {3, 0, 4, 1, 2}) expect_golden_sample(d, s, 1);
}

TEST_F(DatasetTest, SamplesWithoutCountInOtherIntegers) {
  const Dataset d(golden("sample_int64.h5"), {});
  EXPECT_EQ(d.size(), 4);
  for (std::int64_t s = 0; s < 4; ++s) expect_golden_sample(d, s, 0);
}

TEST_F(DatasetTest, PackedDocumentsByH5py) {
  const Dataset d(golden("vsl_int32.h5"), {.vocab_size = 50});
  EXPECT_EQ(d.form(), Form::vsl);
  EXPECT_EQ(d.size(), 3);
  const Batch b = read_one(d, 0), c = read_one(d, 2);
  EXPECT_EQ(b.span, (Ids{2, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(b.position, (Ids{0, 1, 2, 0, 1, 0, 0, 0}));
  EXPECT_EQ(b.input_ids, (Ids{0, 5, 10, 15, 20, 0, 0, 0}));
  EXPECT_EQ(b.labels, (Ids{5, 10, 15, 20, 25, 0, 0, 0}));
  EXPECT_EQ(b.valid_tokens(), 5);
  EXPECT_EQ(c.span, (Ids{0, 0, 4, 3, 2, 1, 0, 0}));
}

TEST_F(DatasetTest, CorpusIsCutIntoWindows) {
  const Dataset d(golden("corpus_uint16.h5"), {.sequence_length = 32, .vocab_size = 50});
  EXPECT_EQ(d.form(), Form::corpus);
  ASSERT_EQ(d.size(), 4);  // 99 predictions: 3 · 32 + 3
  std::int64_t predicted = 0;
  for (std::int64_t w = 0; w < 4; ++w) {
    const Batch b = read_one(d, w);
    predicted += b.valid_tokens();
    for (int i = 0; i < 32; ++i) {
      const std::int64_t at = 32 * w + i;
      EXPECT_EQ(b.input_ids[i], at < 100 ? 13 * at % 50 : 0);
      EXPECT_EQ(b.loss_mask[i], at + 1 < 100);
      EXPECT_EQ(b.labels[i], at + 1 < 100 ? 13 * (at + 1) % 50 : 0);
    }
  }
  EXPECT_EQ(predicted, 99);
  for (const std::int64_t shift : {1, 5, 31}) {  // windows that later epochs see
    predicted = 0;
    for (std::int64_t w = 0; w < 4; ++w) {
      Batch b(1, 32, false, false);
      d.read(w, b.rows(0), shift);
      predicted += b.valid_tokens();
      for (int i = 0; i < 32; ++i) {
        const std::int64_t at = 32 * w + shift + i;
        EXPECT_EQ(b.loss_mask[i], at + 1 < 100);
        if (at + 1 >= 100) continue;
        EXPECT_EQ(b.input_ids[i], 13 * at % 50);
        EXPECT_EQ(b.labels[i], 13 * (at + 1) % 50);
      }
    }
    EXPECT_EQ(predicted, 99 - shift);
  }
  EXPECT_EQ(Dataset(golden("corpus_uint16.h5"), {.sequence_length = 33}).size(), 3);  // fits exactly
  EXPECT_THAT(message_of<SettingsError>([] { Dataset(golden("corpus_uint16.h5"), {}); }), HasSubstr("max_sequence_length"));
}

TEST_F(DatasetTest, FolderInNaturalOrderWithFewOpenFiles) {
  for (int f = 0; f < 12; ++f) {
    std::vector<std::uint8_t> values(2 * 3 * 4, 1);
    for (int i = 0; i < 4; ++i) values[i] = values[12 + i] = static_cast<std::uint8_t>(f);
    write_tokens(dir / ("examples_" + std::to_string(f) + ".h5"), {2, 3, 4}, values);
  }
  write("README", "not a token file");
  const Dataset d(dir, {.max_open_files = 3});
  ASSERT_EQ(d.size(), 24);
  for (std::int64_t s = 23; s >= 0; --s) EXPECT_EQ(read_one(d, s).input_ids[0], s / 2);
  for (std::int64_t s = 0; s < 24; ++s) EXPECT_EQ(read_one(d, 7 * s % 24).input_ids[0], 7 * s % 24 / 2);
}

TEST_F(DatasetTest, CountMayBeBelowTheShape) {
  write_tokens<std::int32_t>(dir / "a.h5", {3, 3, 2}, std::vector<std::int32_t>(18, 1), 2);
  EXPECT_EQ(Dataset(dir / "a.h5", {}).size(), 2);
}

TEST_F(DatasetTest, SpansFromEos) {
  write_tokens<std::int32_t>(dir / "a.h5", {1, 3, 8}, {4, 9, 5, 6, 7, 9, 9, 8, 1, 1, 1, 1, 1, 1, 1, 1, 9, 5, 6, 7, 9, 9, 8, 3});
  const Dataset d(dir, {.mask_documents = true, .eos_id = 9});
  ASSERT_TRUE(d.has_spans());
  EXPECT_FALSE(d.has_positions());
  EXPECT_EQ(read_one(d, 0).span, (Ids{1, 0, 3, 2, 1, 0, 0, 0}));
  EXPECT_THAT(message_of<SettingsError>([&] { Dataset(dir, {.mask_documents = true}); }), HasSubstr("eos_id"));
  const Dataset corpus(golden("corpus_uint16.h5"), {.sequence_length = 8, .mask_documents = true, .eos_id = 39});  // at 3
  EXPECT_EQ(read_one(corpus, 0).span, (Ids{3, 2, 1, 0, 3, 2, 1, 0}));
}

TEST_F(DatasetTest, BadIdsAreNamed) {
  std::vector<std::int32_t> values(2 * 3 * 4, 1);
  const auto message = [&](std::size_t at, std::int32_t value, std::int64_t vocab) {
    auto bad = values;
    bad[at] = value;
    write_tokens(dir / "a.h5", {2, 3, 4}, bad);
    const Dataset d(dir / "a.h5", {.vocab_size = vocab});
    read_one(d, 0);
    return message_of<DataError>([&] { read_one(d, 1); });
  };
  EXPECT_THAT(message(12 + 3, 257, 257), AllOf(HasSubstr("a.h5: sample 1 has token 257 at position 3"),
                                               HasSubstr("model.vocab_size is 257"), HasSubstr("wsc data info")));
  EXPECT_THAT(message(12 + 8, 300, 257), HasSubstr("sample 1 has label 300 at position 0"));
  EXPECT_THAT(message(12, -1, 257), HasSubstr("token -1"));
  EXPECT_THAT(message(12 + 5, 2, 257), HasSubstr("loss mask 2 at position 1"));
  EXPECT_EQ(message(12, 256, 257), "");
  write_tokens<std::uint16_t>(dir / "c.h5", {10}, {1, 2, 3, 4, 5, 6, 7, 60'000, 9, 10});
  EXPECT_THAT(message_of<DataError>([&] { read_one(Dataset(dir / "c.h5", {.sequence_length = 4, .vocab_size = 50'257}), 1); }),
              AllOf(HasSubstr("window 1"), HasSubstr("60000"), HasSubstr("position 3")));
  read_one(Dataset(dir / "c.h5", {.sequence_length = 4, .vocab_size = 70'000}), 1);
  write_tokens<std::int64_t>(dir / "l.h5", {3}, {1, std::int64_t{1} << 40, 2});  // must not wrap or clamp silently
  EXPECT_THAT(message_of<DataError>([&] { read_one(Dataset(dir / "l.h5", {.sequence_length = 2, .vocab_size = 50}), 0); }),
              HasSubstr("1099511627776"));
}

TEST_F(DatasetTest, IgnoredLabelsMayBeAnything) {
  write_tokens<std::int32_t>(dir / "a.h5", {1, 3, 2}, {1, 2, 0, 1, -100, 3});
  EXPECT_EQ(read_one(Dataset(dir, {.vocab_size = 10}), 0).labels, (Ids{0, 3}));
}

TEST_F(DatasetTest, ImpossibleSpansAreRefused) {
  std::vector<std::int32_t> good = {1, 2, 3, 1, 1, 1, 2, 3, 4, 2, 1, 0, 0, 1, 2};
  for (const auto& [at, value] : {std::pair{9, 3}, {10, -1}, {12, 1}, {14, 3}}) {
    auto bad = good;
    bad[at] = value;
    write_tokens(dir / "a.h5", {1, 5, 3}, bad);
    EXPECT_THAT(message_of<DataError>([&] { read_one(Dataset(dir, {}), 0); }), HasSubstr("not possible")) << at;
  }
}

TEST_F(DatasetTest, WrongFilesAreExplained) {
  const auto open = [&](const fs::path& p) { return message_of<DataError>([&] { Dataset(p, {}); }); };
  EXPECT_THAT(open(dir / "none"), HasSubstr("no such file or folder"));
  EXPECT_THAT(open(dir), AllOf(HasSubstr("no *.h5 file"), HasSubstr("wsc data build")));
  write_tokens<std::int32_t>(dir / "set/train/a.h5", {2, 4, 8}, std::vector<std::int32_t>(64));
  EXPECT_THAT(open(dir / "set"), HasSubstr("Did you mean " + (dir / "set/train").string()));
  EXPECT_THAT(open(dir / "set/train"), AllOf(HasSubstr("a.h5"), HasSubstr("shape (2, 4, 8)")));
  write_tokens<float>(dir / "f.h5", {2, 3, 8}, std::vector<float>(48));
  EXPECT_THAT(open(dir / "f.h5"), HasSubstr("float32"));
  write_tokens<std::int32_t>(dir / "n.h5", {2, 3, 1}, std::vector<std::int32_t>(6), 3);
  EXPECT_THAT(open(dir / "n.h5"), HasSubstr("n_examples says 3"));
  {
    hdf5::File f = hdf5::File::create(dir / "g.h5");
    f.create_contiguous("tokens", hdf5::Type::i32, {3});
  }
  EXPECT_THAT(open(dir / "g.h5"), AllOf(HasSubstr("no dataset 'data'"), HasSubstr("'tokens'")));
  write_tokens<std::int32_t>(dir / "mixed/a.h5", {2, 3, 8}, std::vector<std::int32_t>(48));
  write_tokens<std::int32_t>(dir / "mixed/b.h5", {2, 3, 9}, std::vector<std::int32_t>(54));
  EXPECT_THAT(open(dir / "mixed"), AllOf(HasSubstr("a.h5"), HasSubstr("b.h5"), HasSubstr("8 and 9 tokens")));
  write_tokens<std::int32_t>(dir / "train.partial/a.h5", {2, 3, 8}, std::vector<std::int32_t>(48));
  EXPECT_THAT(open(dir / "train.partial"), HasSubstr("unfinished"));
  fs::resize_file(dir / "mixed/a.h5", 2100);
  EXPECT_THAT(open(dir / "mixed/a.h5"), HasSubstr("truncated"));
  write_tokens<std::int32_t>(dir / "zero.h5", {0, 3, 8}, {}, 0);
  EXPECT_THAT(open(dir / "zero.h5"), HasSubstr("no sample"));
  EXPECT_THAT(message_of<SettingsError>([] { Dataset(golden("sample_int32.h5"), {.sequence_length = 16}); }),
              AllOf(HasSubstr("8"), HasSubstr("16")));
}

TEST_F(DatasetTest, AnyThreadMayRead) {
  const Dataset d(golden("sample_int32.h5"), {.max_open_files = 1});
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) wrong += read_one(d, i % 5).input_ids[1] != (31 * (i % 5) + 7) % 50;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace wsc::data
