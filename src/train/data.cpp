// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"
#include "wsc/train/train.hpp"

namespace wsc::train {
namespace {

void open(std::unique_ptr<data::Dataset>& set, const ModelSettings& model, const InputSettings& input, const char* section) {
  data::DatasetOptions options;
  options.sequence_length = input.max_sequence_length;
  options.vocab_size = model.vocab_size;
  options.mask_documents = input.mask_documents;
  options.eos_id = input.eos_id;
  if (input.data_dir.empty()) throw SettingsError(std::string(section) + ".data_dir is not set: name a folder that `wsc data build` made.");
  set = std::make_unique<data::Dataset>(input.data_dir, options);
  if (set->recorded_vocab_size() > model.vocab_size)
    log::warning(input.data_dir + " was built with a vocabulary of " + std::to_string(set->recorded_vocab_size()) +
                 ", model.vocab_size is " + std::to_string(model.vocab_size) + ": the run ends at the first token beyond it.");
  if (set->size() == 0) throw DataError(input.data_dir + " holds no sample. `wsc data info " + input.data_dir + "` shows what it has.");
  if (model.position_embedding_type != "none" && set->sequence_length() > model.max_position_embeddings)
    throw SettingsError(input.data_dir + " has samples of " + std::to_string(set->sequence_length()) +
                        " tokens, but model.max_position_embeddings is " + std::to_string(model.max_position_embeddings) + ". Set " +
                        section + ".max_sequence_length or model.max_position_embeddings.");
}

}  // namespace

RunData open_data(const Settings& s, bool train, bool evaluate) {
  RunData data;
  if (train) open(data.train, s.model, s.train_input, "train_input");
  if (evaluate) open(data.evaluate, s.model, s.eval_input, "eval_input");
  if (data.train && data.evaluate && !data.train->tokenizer_hash().empty() && !data.evaluate->tokenizer_hash().empty() &&
      data.train->tokenizer_hash() != data.evaluate->tokenizer_hash())
    throw DataError(s.train_input.data_dir + " and " + s.eval_input.data_dir +
                    " were made with different tokenizers. Build both with the same one (`wsc data info` shows them).");
  return data;
}

}  // namespace wsc::train
