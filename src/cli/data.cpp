// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "wsc/cli/command.hpp"
#include "wsc/data/builder.hpp"
#include "wsc/data/inspect.hpp"

namespace wsc::cli {
namespace {

constexpr const char* build_usage =
    "data build INPUT… --out DIR [--form sample|vsl|corpus] [--max-sequence-length T] [--tokenizer byte|character|bpe]\n"
    "       [--vocab-file F --merges-file F] [--eos-token TEXT] [--character-eos] [--no-pack] [--jsonl-key KEY] [--val-fraction X]\n"
    "       [--split auto|document|tail] [--seed N] [--files-per-record N] [--overwrite]\n"
    "       inputs: .txt, .jsonl, each also .gz or .zst; files or folders";

ExitCode build(Arguments arguments) {
  data::BuildOptions o;
  o.output_dir = take_option(arguments, "out");
  o.jsonl_key = take_option(arguments, "jsonl-key", o.jsonl_key);
  o.form = take_option(arguments, "form", o.form);
  o.pack_sequences = !take_flag(arguments, "no-pack");
  o.max_sequence_length = take_integer(arguments, "max-sequence-length", o.max_sequence_length);
  o.files_per_record = take_integer(arguments, "files-per-record", o.files_per_record);
  o.tokenizer = take_option(arguments, "tokenizer", o.tokenizer);
  o.vocab_file = take_option(arguments, "vocab-file");
  o.merges_file = take_option(arguments, "merges-file");
  o.eos_token = take_option(arguments, "eos-token", o.eos_token);
  o.character_eos = take_flag(arguments, "character-eos");
  o.val_fraction = take_number(arguments, "val-fraction", o.val_fraction);
  o.split = take_option(arguments, "split", o.split);
  o.seed = take_integer(arguments, "seed", o.seed);
  o.overwrite = take_flag(arguments, "overwrite");
  for (const std::string& a : arguments) {
    if (a.starts_with("--")) expect_no_more({a}, build_usage);
    o.inputs.emplace_back(a);
  }
  if (o.inputs.empty() || o.output_dir.empty()) throw SettingsError(std::string("inputs and --out are needed. Usage: wsc ") + build_usage);
  std::printf("%s\n", data::build_dataset(o).text().c_str());
  return ExitCode::ok;
}

}  // namespace

std::string data_usage() { return std::string(build_usage) + "\n     | wsc data info DIR | wsc data verify DIR\n"; }

ExitCode data(Arguments arguments) {
  const std::string usage = data_usage();
  const std::string action = arguments.empty() ? "" : arguments.front();
  if (!arguments.empty()) arguments.erase(arguments.begin());
  if (action == "build") return build(std::move(arguments));
  if ((action == "info" || action == "verify") && !arguments.empty()) {
    const std::string path = arguments.front();
    expect_no_more({arguments.begin() + 1, arguments.end()}, usage);
    if (action == "info") {
      std::printf("%s\n", data::info(path).c_str());
      return ExitCode::ok;
    }
    const data::VerifyResult result = data::verify(path);
    std::printf("%s\n", result.text.c_str());
    return result.ok ? ExitCode::ok : ExitCode::data;
  }
  throw SettingsError("usage: wsc " + usage);
}

}  // namespace wsc::cli
