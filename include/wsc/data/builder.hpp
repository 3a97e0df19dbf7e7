// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wsc::data {

/// `wsc data build`: text → token files. Names follow the Model Zoo's create_hdf5_dataset where it has them.
struct BuildOptions {
  std::vector<std::filesystem::path> inputs;  ///< files and folders; see input_files
  std::filesystem::path output_dir;           ///< gets train/, val/ and data_params.json
  std::string jsonl_key = "text";

  std::string form = "sample";  ///< "sample" (n, 3, T) | "vsl" (n, 5, T) | "corpus" (tokens)
  bool pack_sequences = true;   ///< sample form: documents one after the other, cut; else each in samples of its own. (vsl always packs)
  std::int64_t max_sequence_length = 2048;  ///< T; unused for a corpus
  std::int64_t files_per_record = 50'000;   ///< samples in an output file (the Model Zoo's name)

  std::string tokenizer = "byte";  ///< "byte" | "character" (vocabulary from the text) | "bpe" (GPT-2's, from the two files)
  std::filesystem::path vocab_file, merges_file;
  std::string eos_token = "<|endoftext|>";  ///< bpe: the vocabulary's end-of-document token
  bool character_eos = false;               ///< character: add an end-of-document token

  double val_fraction = 0;  ///< of the documents, or of the text; 0 = no val/
  std::string split =
      "auto";  ///< "document": whole documents, drawn by seed; "tail": the last part of every document; "auto": tail for one .txt
  std::int64_t seed = 1;
  bool overwrite = false;  ///< replace train/ and val/ of an earlier build
};

struct BuildReport {
  struct Split {
    std::int64_t documents = 0;
    std::int64_t tokens = 0;   ///< end-of-document tokens included
    std::int64_t samples = 0;  ///< 0 for a corpus
    std::int64_t files = 0;
  };
  Split train, val;
  std::int64_t vocab_size = 0, eos_id = -1;
  std::string tokenizer, tokenizer_hash;
  std::filesystem::path output_dir;

  std::string text() const;  ///< for people, a few lines
};

/// Builds a data set. Everything is written to train.partial/ and val.partial/ and renamed at the end, so train/ and val/ are never
/// half-written; until then, and after a failure, a file INCOMPLETE in output_dir says so and why. Equal inputs and options give equal
/// files. SettingsError for options that do not fit together or an output that exists, DataError for the inputs, SystemError where writing
/// fails.
BuildReport build_dataset(const BuildOptions& options);

}  // namespace wsc::data
