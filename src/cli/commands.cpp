// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/cli/command.hpp"

namespace wsc::cli {

const std::vector<Command>& commands() {
  static const std::vector<Command> all = {
      {"train", "train DECK [--section.key=value …]", "train; goes on from the run's newest checkpoint", train},
      {"eval", "eval DECK|RUN [--checkpoint FILE | --all] [--section.key=value …]", "loss and perplexity of a checkpoint", evaluate},
      {"generate", "generate RUN|CHECKPOINT --prompt TEXT [--max-tokens N] …", "sample text from a trained model", generate},
      {"plan", "plan DECK [--json | --graph | --params] [--section.key=value …]", "dry run: parameters, FLOPs, bytes, waves, tiles", plan},
      {"data", "data build|info|verify …", "text to HDF5 tokens; inspect", data},
      {"checkpoint", "checkpoint info|verify|diff FILE …", "inspect checkpoints", checkpoint},
      {"bench", "bench kernels|step …", "figures of this machine", bench},
      {"doctor", "doctor", "what MPI, HDF5, Kokkos, threads and binding look like", doctor},
      {"docs", "docs options", "the option reference in Markdown", docs},
  };
  return all;
}

}  // namespace wsc::cli
