// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/registry.hpp"

namespace wsc::config {
namespace {

void declare_batch_schedule(Section o, BatchScheduleSettings& s) {
  o.add("batch_size", s.batch_size, 1, count, "Global batch of this piece").in("samples").required();
  o.add("until_step", s.until_step, 1, at_least(1), "First global step that no longer belongs to this piece").in("steps").required();
}

// What both inputs have. The kind of an option is that of its section unless said otherwise.
void declare_common(Section& o, InputSettings& s) {
  o.add("micro_batch_size", s.micro_batch_size, 0, count, "Samples that a stage processes at once; auto = chosen per stage by the plan")
      .in("samples")
      .with_word("auto", 0)
      .free();
  o.add("max_sequence_length", s.max_sequence_length, 0, count,
        "T; auto = that of the data files, for the corpus form max_position_embeddings")
      .in("tokens")
      .with_word("auto", 0);
  o.add("mask_documents", s.mask_documents, false, anything,
        "Attention stays inside a document in (n, 3, MSL) data: spans derived from eos");
  o.add("eos_id", s.eos_id, -1, at_least(0), "End-of-document token of mask_documents; auto = the one recorded in the data")
      .with_word("auto", -1)
      .only_for("mask_documents", {"true"});
  o.add("prefetch_batches", s.prefetch_batches, 4, between(1, 1024), "Batches that the reader thread runs ahead").in("batches").free();
}

}  // namespace

void declare_train(Registry& registry, InputSettings& s) {
  Section o = registry.section("train_input", "Training data, batch size and order", SettingKind::identity);
  o.add("data_dir", s.data_dir, "", anything, "Folder with *.h5 files of tokens, or one such file (`wsc data build` makes them)");
  o.add("batch_size", s.batch_size, 8, count, "Global batch: samples of a step over all csx; see [train_input.batch_schedule.N]")
      .in("samples");
  declare_common(o, s);
  o.add("shuffle", s.shuffle, true, anything, "Take samples in an order fixed by seed and epoch; false = as they lie in the files");
  o.add("shuffle_seed", s.shuffle_seed, 1, anything, "Seed of that order");
  registry.numbered("train_input.batch_schedule", "A piece of the batch-size schedule; after the last one train_input.batch_size holds",
                    SettingKind::identity, s.batch_schedule, declare_batch_schedule);
}

void declare_eval(Registry& registry, InputSettings& s) {
  Section o = registry.section("eval_input", "Validation data", SettingKind::free);
  o.add("data_dir", s.data_dir, "", anything, "Folder with *.h5 files of tokens, or one such file");
  o.add("batch_size", s.batch_size, 0, count, "Samples evaluated at once over all csx; auto = that of [train_input]")
      .in("samples")
      .with_word("auto", 0);
  declare_common(o, s);
  // Evaluation reads every sample once, so that its order is no choice.
  s.shuffle = false;
  s.shuffle_seed = 0;
  s.batch_schedule.clear();
}

}  // namespace wsc::config
