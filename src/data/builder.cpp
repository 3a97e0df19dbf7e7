// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/data/builder.hpp"

#include <cmath>
#include <memory>

#include "build_output.hpp"
#include <nlohmann/json.hpp>

#include "wsc/base/clock.hpp"
#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"
#include "wsc/base/random.hpp"
#include "wsc/data/documents.hpp"
#include "wsc/data/packing.hpp"
#include "wsc/data/token_writer.hpp"
#include "wsc/data/tokenizer.hpp"
#include "wsc/data/unicode.hpp"

namespace fs = std::filesystem;

namespace wsc::data {

namespace {

void check(const BuildOptions& o) {
  const auto refuse = [](bool wrong, const std::string& message) {
    if (wrong) throw SettingsError("wsc data build: " + message);
  };
  refuse(o.inputs.empty(), "no input was given; name files or folders with .txt or .jsonl");
  refuse(o.output_dir.empty(), "no output folder was given");
  refuse(o.form != "sample" && o.form != "vsl" && o.form != "corpus", "form is '" + o.form + "'; it can be sample, vsl or corpus");
  refuse(o.split != "auto" && o.split != "document" && o.split != "tail", "split is '" + o.split + "'; it can be auto, document or tail");
  refuse(o.tokenizer != "byte" && o.tokenizer != "character" && o.tokenizer != "bpe",
         "tokenizer is '" + o.tokenizer + "'; it can be byte, character or bpe");
  refuse(o.tokenizer == "bpe" && (o.vocab_file.empty() || o.merges_file.empty()), "the bpe tokenizer needs vocab_file and merges_file");
  refuse(o.form != "corpus" && o.max_sequence_length < 1, "max_sequence_length has to be at least 1");
  refuse(o.files_per_record < 1, "files_per_record has to be at least 1");
  refuse(!(o.val_fraction >= 0 && o.val_fraction < 1), "val_fraction has to be at least 0 and below 1");
}

Form form_of(const BuildOptions& o) { return o.form == "corpus" ? Form::corpus : o.form == "vsl" ? Form::vsl : Form::sample; }

std::unique_ptr<Tokenizer> make_tokenizer(const BuildOptions& o, const std::vector<fs::path>& files) {
  if (o.tokenizer == "byte") return byte_tokenizer();
  if (o.tokenizer == "bpe") return bpe_tokenizer(o.vocab_file, o.merges_file, o.eos_token);
  std::set<char32_t> alphabet;
  for_each_document(files, o.jsonl_key, [&](const Document& d) { add_characters(d.text, d.where, alphabet); });
  return character_tokenizer(alphabet, o.character_eos);
}

/// Where the last `fraction` of a text's characters (bytes, where it is not UTF-8) begins.
std::size_t tail_of(std::string_view text, double fraction) {
  std::int64_t characters = 0;
  for (std::size_t at = 0; at < text.size(); at += code_point_at(text, at).bytes) ++characters;
  std::int64_t before = static_cast<std::int64_t>(std::floor((1 - fraction) * static_cast<double>(characters)));
  std::size_t at = 0;
  for (; before > 0; --before) at += code_point_at(text, at).bytes;
  return at;
}

/// One of train and val: documents → samples → files.
class SplitBuilder {
 public:
  SplitBuilder(const BuildOptions& o, const fs::path& folder, const Tokenizer& tokenizer)
      : tokenizer_(tokenizer), writer_(folder, {form_of(o), o.max_sequence_length, o.files_per_record}, tokenizer) {
    const std::int32_t pad_id = static_cast<std::int32_t>(std::max<std::int64_t>(tokenizer.eos_id(), 0));
    const auto emit = [this](std::span<const std::int32_t> sample) { writer_.add_sample(sample); };
    if (form_of(o) == Form::vsl)
      packer_ = vsl_packer(o.max_sequence_length, pad_id, emit);
    else if (form_of(o) == Form::sample)
      packer_ = (o.pack_sequences ? stream_packer : padding_packer)(o.max_sequence_length, pad_id, emit);
  }
  SplitBuilder(const SplitBuilder&) = delete;

  /// `ends`: the document ends with this text (the part before a tail does not).
  void add(std::string_view text, bool ends) {
    if (text.empty()) return;
    ids_.clear();
    tokenizer_.encode(text, ids_);
    if (ends && tokenizer_.eos_id() >= 0) ids_.push_back(static_cast<std::int32_t>(tokenizer_.eos_id()));
    report_.documents += 1;
    report_.tokens += static_cast<std::int64_t>(ids_.size());
    if (packer_)
      packer_->add(ids_);
    else
      writer_.add_tokens(ids_);
  }

  BuildReport::Split finish() {
    if (packer_) packer_->finish();
    writer_.finish();
    report_.samples = writer_.samples();
    report_.files = writer_.files();
    return report_;
  }

 private:
  const Tokenizer& tokenizer_;
  TokenWriter writer_;
  std::unique_ptr<Packer> packer_;  ///< none for a corpus
  std::vector<std::int32_t> ids_;
  BuildReport::Split report_;
};

/// Gives each document, or its two parts, to train and val.
void distribute(const BuildOptions& o, const std::vector<fs::path>& files, bool by_tail, const Tokenizer& tokenizer, SplitBuilder& train,
                SplitBuilder& val) {
  const RandomKey key(static_cast<std::uint64_t>(o.seed), "data", "split", 0);
  const bool joins = o.form == "corpus" || (o.form == "sample" && o.pack_sequences);
  std::uint64_t number = 0;
  Stopwatch since_report;
  for_each_document(files, o.jsonl_key, [&](const Document& d) {
    if (number == 1 && joins && tokenizer.eos_id() < 0) {
      throw SettingsError("wsc data build: there are several documents, but the " + std::string(tokenizer.kind()) +
                          " tokenizer has no end-of-document token to put between them. Give it one, or do not pack");
    }
    if (by_tail) {
      const std::size_t tail = tail_of(d.text, o.val_fraction);
      train.add(std::string_view(d.text).substr(0, tail), tail == d.text.size());
      val.add(std::string_view(d.text).substr(tail), true);
    } else {
      const bool to_val = o.val_fraction > 0 && key.uniform(number, 0) < static_cast<float>(o.val_fraction);
      (to_val ? val : train).add(d.text, true);
    }
    ++number;
    if (since_report.seconds() > 10) {
      log::info("wsc data build: " + std::to_string(number) + " documents so far, now at " + d.where);
      since_report.restart();
    }
  });
  if (number == 0) throw DataError("wsc data build: the inputs hold no text");
}

void check_filled(const BuildOptions& o, const BuildReport& r) {
  const auto empty = [&](const BuildReport::Split& s) { return o.form == "corpus" ? s.tokens < 2 : s.samples == 0; };
  if (o.val_fraction > 0 && empty(r.val)) {
    throw DataError("wsc data build: no text went to validation: " + std::to_string(r.train.documents) +
                    " documents are few for val_fraction " + std::to_string(o.val_fraction) + ". Try split=tail, or a larger fraction");
  }
  if (empty(r.train))
    throw DataError("wsc data build: no text went to training. Is the text shorter than two tokens, or val_fraction too large?");
}

nlohmann::json parameters(const BuildOptions& o, const BuildReport& r, bool by_tail) {
  const auto split = [](const BuildReport::Split& s) {
    return nlohmann::json{{"documents", s.documents}, {"tokens", s.tokens}, {"samples", s.samples}, {"files", s.files}};
  };
  std::vector<std::string> inputs;
  for (const auto& i : o.inputs) inputs.push_back(i.string());
  return {{"wsc_version", WSC_VERSION},
          {"form", o.form},
          {"max_sequence_length", o.max_sequence_length},
          {"pack_sequences", o.pack_sequences},
          {"files_per_record", o.files_per_record},
          {"tokenizer", r.tokenizer},
          {"tokenizer_hash", r.tokenizer_hash},
          {"vocab_size", r.vocab_size},
          {"eos_id", r.eos_id},
          {"inputs", inputs},
          {"jsonl_key", o.jsonl_key},
          {"val_fraction", o.val_fraction},
          {"split", o.val_fraction > 0 ? (by_tail ? "tail" : "document") : "none"},
          {"seed", o.seed},
          {"train", split(r.train)},
          {"val", split(r.val)}};
}

}  // namespace

BuildReport build_dataset(const BuildOptions& o) {
  check(o);
  const std::vector<fs::path> files = input_files(o.inputs);
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(o, files);
  const bool one_text = files.size() == 1 && is_plain_text(files.front());
  const bool by_tail = o.val_fraction > 0 && (o.split == "tail" || (o.split == "auto" && one_text));

  BuildOutput output(o.output_dir, o.overwrite);
  try {
    BuildReport report;
    report.vocab_size = tokenizer->vocab_size();
    report.eos_id = tokenizer->eos_id();
    report.tokenizer = tokenizer->kind();
    report.tokenizer_hash = tokenizer->hash();
    report.output_dir = o.output_dir;
    {
      SplitBuilder train(o, output.folder("train"), *tokenizer), val(o, output.folder("val"), *tokenizer);
      distribute(o, files, by_tail, *tokenizer, train, val);
      report.train = train.finish();
      report.val = val.finish();
    }
    check_filled(o, report);
    output.commit(parameters(o, report, by_tail).dump(2) + "\n", o.val_fraction > 0);
    return report;
  } catch (const std::exception& e) {
    output.abandon(e.what());
    throw;
  }
}

std::string BuildReport::text() const {
  std::string text;
  for (const auto& [name, s] : {std::pair{"train", &train}, std::pair{"val", &val}}) {
    if (s->documents == 0) continue;
    text += (output_dir / name).string() + ": " + std::to_string(s->documents) + (s->documents == 1 ? " document, " : " documents, ") +
            std::to_string(s->tokens) + " tokens";
    if (s->samples > 0) text += ", " + std::to_string(s->samples) + " samples";
    text += " in " + std::to_string(s->files) + (s->files == 1 ? " file\n" : " files\n");
  }
  text += "tokenizer: " + tokenizer + ", vocab_size " + std::to_string(vocab_size) +
          (eos_id >= 0 ? ", eos_id " + std::to_string(eos_id) : ", no eos") + ", hash " + tokenizer_hash + "\n";
  return text;
}

}  // namespace wsc::data
