// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/command.hpp"

namespace wsc::cli {
namespace {

constexpr const char* generate_options =
    "RUN is a run directory (its newest checkpoint is used), CHECKPOINT one of its files: settings, tokenizer and weights are in it.\n"
    "The standard output gets the prompt and the text that follows it, nothing else.\n\n"
    "  --prompt TEXT | --prompt-file FILE   what to continue, taken as it is; without one (or with an empty one) a new document begins,\n"
    "                                       for which the tokenizer must have an end-of-document token\n"
    "  --max-tokens N = 100                 length of the continuation; an end-of-document token ends it earlier\n"
    "  --temperature X = 1                  the probabilities are softmax(logits / X); 0 is --greedy\n"
    "  --top-k K = 0                        draw from the K most probable tokens; 0 = all\n"
    "  --top-p P = 1                        draw from the fewest most probable tokens (of the K) whose probabilities reach P\n"
    "  --greedy                             always the most probable token, the lower id where two are equally so\n"
    "  --seed N                             of the random numbers, by default runconfig.seed: the same seed gives the same text\n"
    "  --num-samples N = 1                  several texts, a line of dashes between them\n"
    "  --context T                          tokens that the model sees at most, by default the length it was trained with\n"
    "                                       (train_input.max_sequence_length, else model.max_position_embeddings)\n"
    "  --vocab-file F --merges-file F [--eos-token TEXT]   the tokenizer (GPT-2's kind) where the checkpoint holds none\n\n"
    "A prompt of more than T - 1 tokens loses its beginning: the model sees the last T - 1. Where the text has filled the context,\n"
    "the model goes on with the last T/2 tokens as if the text began there. Ids that the tokenizer does not know are never drawn.\n"
    "One process, without mpirun; cluster.threads sets its threads.\n\n";

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"train", "train DECK [--section.key=value …]", "train; goes on from the run's newest checkpoint", train},
      {"eval", "eval DECK|RUN [--checkpoint FILE | --all] [--section.key=value …]", "loss and perplexity of a checkpoint", evaluate},
      {"generate", "generate RUN|CHECKPOINT --prompt TEXT [--max-tokens N] …", "sample text from a trained model", generate,
       generate_options},
      {"plan", "plan DECK [--json | --graph | --params] [--section.key=value …]", "dry run: parameters, FLOPs, bytes, waves, tiles", plan},
      {"data", "data build|info|verify …", "text to HDF5 tokens; inspect", data, data_usage()},
      {"checkpoint", "checkpoint info|verify|diff FILE …", "inspect checkpoints", checkpoint},
      {"bench", "bench kernels|step|stream …", "figures of this machine", bench},
      {"doctor", "doctor", "what MPI, HDF5, Kokkos, threads and binding look like", doctor},
      {"docs", "docs options", "the option reference in Markdown", docs},
  };
  return all;
}

}  // namespace wsc::cli
