// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/builder.hpp"

#include "tests/data/temporary_folder.hpp"
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <sys/resource.h>
#include <zlib.h>
#include <zstd.h>

#include "wsc/base/error.hpp"
#include "wsc/data/batch.hpp"
#include "wsc/data/dataset.hpp"
#include "wsc/data/inspect.hpp"
#include "wsc/data/tokenizer.hpp"

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

namespace wsc::data {
namespace {

class BuilderTest : public TemporaryFolder {
 protected:
  /// Texts of different lengths; document i holds its number again and again.
  static std::string document(int i) {
    std::string text;
    for (int k = 0; k <= 7 * i % 23; ++k) text += std::to_string(i) + " ";
    return text;
  }

  fs::path write_jsonl(int documents) const {
    std::string lines;
    for (int i = 0; i < documents; ++i) lines += nlohmann::json{{"text", document(i)}, {"id", i}}.dump() + "\n";
    return write("in.jsonl", lines);
  }

  BuildOptions options(const fs::path& input) const {
    BuildOptions o;
    o.inputs = {input};
    o.output_dir = dir / "out";
    o.max_sequence_length = 16;
    return o;
  }

  fs::path train() const { return dir / "out/train"; }
  fs::path val() const { return dir / "out/val"; }
};

Batch read_all(const Dataset& d) {
  Batch b(d.size(), d.sequence_length(), d.has_spans(), d.has_positions());
  for (std::int64_t s = 0; s < d.size(); ++s) d.read(s, b.rows(s));
  return b;
}

/// (input, label) of all positions that count, in order.
std::vector<std::pair<std::int32_t, std::int32_t>> predictions(const Batch& b) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t i = 0; i < b.input_ids.size(); ++i) {
    if (b.loss_mask[i]) pairs.emplace_back(b.input_ids[i], b.labels[i]);
  }
  return pairs;
}

std::vector<std::pair<std::int32_t, std::int32_t>> neighbours(const std::vector<std::int32_t>& ids) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) pairs.emplace_back(ids[i], ids[i + 1]);
  return pairs;
}

TEST_F(BuilderTest, PackedSamplesAreTheJoinedDocuments) {
  const BuildReport report = build_dataset(options(write_jsonl(20)));
  std::string joined;
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 20; ++i) {
    for (const char c : document(i)) ids.push_back(c);
    ids.push_back(256);
  }
  const Dataset d(train(), {.vocab_size = 257});
  EXPECT_EQ(predictions(read_all(d)), neighbours(ids));
  EXPECT_EQ(d.size(), (static_cast<std::int64_t>(ids.size()) - 1 + 15) / 16);
  EXPECT_EQ(report.train.documents, 20);
  EXPECT_EQ(report.train.tokens, static_cast<std::int64_t>(ids.size()));
  EXPECT_EQ(report.train.samples, d.size());
  EXPECT_EQ(d.tokenizer_hash(), byte_tokenizer()->hash());
  EXPECT_EQ(d.eos_id(), 256);
  EXPECT_EQ(d.recorded_vocab_size(), 257);
  EXPECT_EQ(tokenizer_from_text(d.tokenizer_text(), "test")->kind(), "byte");
  EXPECT_FALSE(fs::exists(val()));
  EXPECT_FALSE(fs::exists(dir / "out/INCOMPLETE"));
  EXPECT_FALSE(fs::exists(dir / "out/train.partial"));
  const auto params = nlohmann::json::parse(read_file(dir / "out/data_params.json"));
  EXPECT_EQ(params["train"]["tokens"], ids.size());
  EXPECT_EQ(hdf5::File::open(train() / "examples_0.h5").read_int("n_examples"), d.size());
}

TEST_F(BuilderTest, UnpackedSamplesHoldOneDocument) {
  BuildOptions o = options(write_jsonl(20));
  o.pack_sequences = false;
  build_dataset(o);
  const Dataset d(train(), {});
  const Batch b = read_all(d);
  std::vector<std::pair<std::int32_t, std::int32_t>> expected;
  std::int64_t samples = 0;
  for (int i = 0; i < 20; ++i) {
    auto ids = byte_tokenizer()->encode(document(i));
    ids.push_back(256);
    const auto pairs = neighbours(ids);
    expected.insert(expected.end(), pairs.begin(), pairs.end());
    samples += (static_cast<std::int64_t>(pairs.size()) + 15) / 16;
  }
  EXPECT_EQ(predictions(b), expected);
  EXPECT_EQ(d.size(), samples);
}

TEST_F(BuilderTest, VslKeepsDocumentsApart) {
  BuildOptions o = options(write_jsonl(60));
  o.form = "vsl";
  build_dataset(o);
  const Dataset d(train(), {});
  const Batch b = read_all(d);
  // Every prediction of every document once, in whatever sample; within a piece spans and positions count and ids follow one another.
  std::vector<std::pair<std::int32_t, std::int32_t>> expected, got = predictions(b);
  for (int i = 0; i < 60; ++i) {
    auto ids = byte_tokenizer()->encode(document(i));
    ids.push_back(256);
    const auto pairs = neighbours(ids);
    expected.insert(expected.end(), pairs.begin(), pairs.end());
  }
  std::sort(expected.begin(), expected.end());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected);
  EXPECT_LT(d.size() * 16, static_cast<std::int64_t>(expected.size()) * 115 / 100);  // packed tightly
  for (std::size_t i = 0; i < b.input_ids.size(); ++i) {
    if (!b.loss_mask[i] || b.span[i] == 0) continue;
    ASSERT_EQ(b.span[i + 1], b.span[i] - 1);
    ASSERT_EQ(b.position[i + 1], b.position[i] + 1);
    ASSERT_EQ(b.labels[i], b.input_ids[i + 1]);
    ASSERT_NE(b.input_ids[i], 256);  // eos is only predicted
  }
}

TEST_F(BuilderTest, CorpusHoldsAllTokens) {
  BuildOptions o = options(write_jsonl(20));
  o.form = "corpus";
  const BuildReport report = build_dataset(o);
  const Dataset d(train(), {.sequence_length = 7});
  EXPECT_EQ(d.files().front().type, hdf5::Type::u16);
  EXPECT_EQ(d.files().front().tokens, report.train.tokens);
  const auto pairs = predictions(read_all(d));
  EXPECT_EQ(static_cast<std::int64_t>(pairs.size()), report.train.tokens - 1);
  EXPECT_EQ(pairs[0], (std::pair<std::int32_t, std::int32_t>('0', ' ')));
  EXPECT_EQ(pairs[1], (std::pair<std::int32_t, std::int32_t>(' ', 256)));
}

TEST_F(BuilderTest, CharactersOfOneTextSplitAtItsTail) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 7 == 0 ? "ö" : std::string(1, static_cast<char>('a' + i % 5));
  BuildOptions o = options(write("one.txt", text));
  o.form = "corpus";
  o.tokenizer = "character";
  o.val_fraction = 0.1;
  const BuildReport report = build_dataset(o);
  EXPECT_EQ(report.vocab_size, 6);
  EXPECT_EQ(report.train.tokens, 900);
  EXPECT_EQ(report.val.tokens, 100);
  const Dataset t(train(), {.sequence_length = 899}), v(val(), {.sequence_length = 99});
  EXPECT_EQ(t.files().front().type, hdf5::Type::u8);
  EXPECT_EQ(t.tokenizer_hash(), v.tokenizer_hash());
  const auto tokenizer = tokenizer_from_text(t.tokenizer_text(), "test");
  Batch a = read_all(t), b = read_all(v);
  a.input_ids.push_back(a.labels.back());
  b.input_ids.push_back(b.labels.back());
  EXPECT_EQ(tokenizer->decode(a.input_ids) + tokenizer->decode(b.input_ids), text);
}

TEST_F(BuilderTest, DocumentsAreSplitBySeed) {
  BuildOptions o = options(write_jsonl(400));
  o.val_fraction = 0.2;
  const BuildReport a = build_dataset(o);
  EXPECT_EQ(a.train.documents + a.val.documents, 400);
  EXPECT_NEAR(static_cast<double>(a.val.documents), 80, 4 * 8);
  o.overwrite = true;
  const std::string bytes = read_file(train() / "examples_0.h5");
  build_dataset(o);
  EXPECT_TRUE(read_file(train() / "examples_0.h5") == bytes);  // equal inputs and options, equal files
  o.seed = 2;
  build_dataset(o);
  EXPECT_FALSE(read_file(train() / "examples_0.h5") == bytes);
  EXPECT_TRUE(verify(dir / "out").ok);
}

TEST_F(BuilderTest, AnOutputThatIsAFileIsLeftAlone) {
  BuildOptions o = options(write_jsonl(3));
  o.output_dir = write("notes.txt", "mine");
  EXPECT_THROW(build_dataset(o), SettingsError);
  EXPECT_EQ(read_file(o.output_dir), "mine");
}

TEST_F(BuilderTest, AnotherTokenizerIsNoticed) {
  build_dataset(options(write_jsonl(20)));
  const Dataset d(train(), {}), unknown(golden("sample_int32.h5"), {});
  require_tokenizer(d, byte_tokenizer()->hash(), "checkpoint_10.h5");
  require_tokenizer(d, "", "checkpoint_10.h5");
  require_tokenizer(unknown, byte_tokenizer()->hash(), "checkpoint_10.h5");
  EXPECT_THAT(
      message_of<DataError>([&] { require_tokenizer(d, "0123456789abcdef", "checkpoint_10.h5"); }),
      AllOf(HasSubstr(train().string()), HasSubstr(d.tokenizer_hash()), HasSubstr("checkpoint_10.h5"), HasSubstr("0123456789abcdef")));
}

TEST_F(BuilderTest, FilesPerRecord) {
  BuildOptions o = options(write_jsonl(100));
  o.files_per_record = 10;
  const BuildReport report = build_dataset(o);
  EXPECT_EQ(report.train.files, (report.train.samples + 9) / 10);
  const Dataset d(train(), {});
  EXPECT_EQ(d.size(), report.train.samples);
  EXPECT_EQ(static_cast<std::int64_t>(d.files().size()), report.train.files);
  EXPECT_EQ(predictions(read_all(d)).size(), static_cast<std::size_t>(report.train.tokens - 1));  // in order across files
  EXPECT_EQ(verify(train()).samples, d.size());
}

TEST_F(BuilderTest, BpeTravelsWithTheData) {
  BuildOptions o = options(write("one.txt", "Shall I compare thee to a summer's day? Größe."));
  o.tokenizer = "bpe";
  o.vocab_file = golden("bpe_vocab.json");
  o.merges_file = golden("bpe_merges.txt");
  build_dataset(o);
  const Dataset d(train(), {});
  EXPECT_EQ(d.recorded_vocab_size(), 480);
  std::vector<std::int32_t> ids;
  for (const auto& [input, label] : predictions(read_all(d))) ids.push_back(input);
  EXPECT_EQ(tokenizer_from_text(d.tokenizer_text(), "test")->decode(ids), "Shall I compare thee to a summer's day? Größe.");
  EXPECT_THAT(info(dir / "out"), AllOf(HasSubstr("bpe"), HasSubstr("Shall I compare"), HasSubstr("vocab_size 480"), HasSubstr("sample")));
}

/// Text that does not compress to nothing.
std::string noise(std::size_t bytes, char first, std::uint32_t letters) {
  std::string text(bytes, ' ');
  for (std::size_t i = 0; i < bytes; ++i)
    text[i] = static_cast<char>(first + (static_cast<std::uint32_t>(i) * 2654435761u >> 16) % letters);
  return text;
}

std::string gzip(const std::string& text) {
  std::string out(text.size() + 1000, '\0');
  z_stream z{};
  deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST_F(BuilderTest, CompressedInputsAndFolders) {
  const std::string text = noise(400'000, 'a', 26);
  const std::string line = nlohmann::json{{"text", text}}.dump() + "\n\n" + nlohmann::json{{"text", "last"}}.dump();
  write("in/b/1.txt", text);
  write("in/c/2.txt.gz", gzip(text) + gzip("more"));
  write("in/d/3.txt.zst", zstd(text) + zstd("more"));
  write("in/e/4.jsonl", line);
  write("in/f/5.jsonl.gz", gzip(line));
  write("in/g/6.jsonl.zst", zstd(line));
  write("in/notes.md", "is left out");
  BuildOptions o = options(dir / "in");
  o.form = "corpus";
  const BuildReport report = build_dataset(o);
  EXPECT_EQ(report.train.documents, 9);
  std::vector<std::int32_t> ids, expected;
  for (const auto& [a, b] : predictions(read_all(Dataset(train(), {.sequence_length = 4096})))) ids.push_back(a);
  for (const std::string& part :
       {text, text + "more", text + "more", text, std::string("last"), text, std::string("last"), text, std::string("last")}) {
    for (const char c : part) expected.push_back(c);
    expected.push_back(256);
  }
  expected.pop_back();  // is only predicted
  EXPECT_TRUE(ids == expected);
}

TEST_F(BuilderTest, DamagedInputsAreNamed) {
  const auto message = [&](const std::string& name, const std::string& content) {
    BuildOptions o = options(write(name, content));
    o.overwrite = true;
    const std::string text = message_of<DataError>([&] { build_dataset(o); });
    EXPECT_FALSE(fs::exists(dir / "out/train.partial"));
    EXPECT_FALSE(fs::exists(train()));
    return text;
  };
  const std::string random = noise(100'000, 'a', 26);
  EXPECT_THAT(message("a.txt.gz", gzip(random).substr(0, 1000)), AllOf(HasSubstr("a.txt.gz"), HasSubstr("ends in the middle")));
  EXPECT_THAT(read_file(dir / "out/INCOMPLETE"), HasSubstr("a.txt.gz"));
  EXPECT_THAT(message("b.txt.gz", random), HasSubstr("not compressed by gzip"));
  EXPECT_THAT(message("a.txt.zst", zstd(random).substr(0, 1000)), HasSubstr("ends in the middle"));
  EXPECT_THAT(message("b.txt.zst", random), HasSubstr("cannot be decompressed"));
  EXPECT_THAT(message("a.jsonl", "{\"text\": \"good\"}\n{\"text\": \n"), AllOf(HasSubstr("a.jsonl:2"), HasSubstr("JSON")));
  EXPECT_THAT(message("b.jsonl", "{\"texts\": \"good\"}\n"), AllOf(HasSubstr("b.jsonl:1"), HasSubstr("'text'")));
  EXPECT_THAT(message("c.jsonl", "{\"text\": 3}\n"), HasSubstr("c.jsonl:1"));
  EXPECT_THAT(message("a.pdf", "x"), HasSubstr("known are .txt and .jsonl"));
  EXPECT_THAT(message("a.txt", ""), HasSubstr("no text"));
  EXPECT_THAT(message_of<DataError>([&] { build_dataset(options(dir / "none.txt")); }), HasSubstr("no such file"));
  fs::create_directories(dir / "void");
  EXPECT_THAT(message_of<DataError>([&] { build_dataset(options(dir / "void")); }), HasSubstr("holds no .txt"));
}

TEST_F(BuilderTest, SettingsAreChecked) {
  const auto message = [&](auto change) {
    BuildOptions o = options(write_jsonl(3));
    change(o);
    return message_of<SettingsError>([&] { build_dataset(o); });
  };
  EXPECT_THAT(message([](BuildOptions& o) { o.inputs.clear(); }), HasSubstr("input"));
  EXPECT_THAT(message([](BuildOptions& o) { o.form = "samples"; }), AllOf(HasSubstr("samples"), HasSubstr("corpus")));
  EXPECT_THAT(message([](BuildOptions& o) { o.tokenizer = "bpe"; }), HasSubstr("merges_file"));
  EXPECT_THAT(message([](BuildOptions& o) { o.val_fraction = 1; }), HasSubstr("val_fraction"));
  EXPECT_THAT(message([](BuildOptions& o) { o.max_sequence_length = 0; }), HasSubstr("max_sequence_length"));
  EXPECT_THAT(message([](BuildOptions& o) { o.tokenizer = "character"; }), HasSubstr("end-of-document"));
  EXPECT_THAT(message_of<DataError>([&] {
                BuildOptions o = options(write_jsonl(3));
                o.val_fraction = 1e-6;
                build_dataset(o);
              }),
              HasSubstr("split=tail"));
}

TEST_F(BuilderTest, EarlierDataAreKept) {
  build_dataset(options(write_jsonl(30)));
  const std::string before = read_file(train() / "examples_0.h5");
  EXPECT_THAT(message_of<SettingsError>([&] { build_dataset(options(write_jsonl(31))); }), HasSubstr("holds data already"));
  BuildOptions o = options(write("bad.jsonl", "{\"text\": \"good\"}\n{\n"));
  o.overwrite = true;
  EXPECT_THROW(build_dataset(o), DataError);
  EXPECT_TRUE(read_file(train() / "examples_0.h5") == before);  // a failed build replaces nothing
  EXPECT_TRUE(fs::exists(dir / "out/INCOMPLETE"));
  o.inputs = {write_jsonl(31)};
  build_dataset(o);
  EXPECT_FALSE(read_file(train() / "examples_0.h5") == before);
  EXPECT_FALSE(fs::exists(dir / "out/INCOMPLETE"));
  write("out/train/notes.txt", "mine");
  EXPECT_THAT(message_of<SettingsError>([&] { build_dataset(o); }), HasSubstr("notes.txt"));
}

TEST_F(BuilderTest, FullDiskLeavesNothingButAMark) {
  const std::string text = noise(3'000'000, '!', 90);
  BuildOptions o = options(write("big.txt", text));
  o.form = "corpus";
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{1'000'000, old.rlim_max};  // a file size limit stands in for a full disk
  auto* handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = message_of<SystemError>([&] { build_dataset(o); });
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  EXPECT_THAT(message, AllOf(HasSubstr("examples_0.h5"), HasSubstr("disk full")));
  EXPECT_FALSE(fs::exists(train()));
  EXPECT_FALSE(fs::exists(dir / "out/train.partial"));
  EXPECT_THAT(read_file(dir / "out/INCOMPLETE"), HasSubstr("disk full"));
}

TEST_F(BuilderTest, VerifyFindsTheFirstProblemOfEachFile) {
  BuildOptions o = options(write_jsonl(100));
  o.files_per_record = 20;
  build_dataset(o);
  EXPECT_TRUE(verify(dir / "out").ok);
  {
    hdf5::File f = hdf5::File::open_writable(train() / "examples_1.h5");
    auto data = f.dataset("data");
    std::vector<std::int32_t> sample(3 * 16);
    data.read_rows(7, 1, sample.data());
    sample[5] = 257;
    data.write_rows(7, 1, sample.data());
  }
  fs::resize_file(train() / "examples_2.h5", 3000);
  const VerifyResult result = verify(dir / "out");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.text, AllOf(HasSubstr("examples_0.h5: good"), HasSubstr("examples_1.h5: sample 7 has token 257 at position 5"),
                                 HasSubstr("examples_2.h5: cannot be opened"), HasSubstr("examples_3.h5: good"), HasSubstr("not usable")));
}

}  // namespace
}  // namespace wsc::data
