// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "wsc/base/clock.hpp"
#include "wsc/base/format.hpp"
#include "wsc/base/log.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/checkpoint/load.hpp"
#include "wsc/cli/character_stream.hpp"
#include "wsc/cli/cluster.hpp"
#include "wsc/cli/command.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/csx/generator.hpp"
#include "wsc/csx/sampling.hpp"
#include "wsc/data/tokenizer.hpp"
#include "wsc/models/gpt.hpp"

namespace wsc::cli {
namespace {

constexpr const char* usage =
    "generate RUN|CHECKPOINT [--prompt TEXT | --prompt-file FILE] [--max-tokens N] [--num-samples N] [--seed N]\n"
    "       [--greedy | --temperature X --top-k K --top-p P] [--context T] [--vocab-file F --merges-file F [--eos-token TEXT]]\n"
    "       [--section.key=value …]; `wsc generate --help` explains them";

/// What is asked for.
struct Request {
  std::string target, prompt, prompt_file, vocab_file, merges_file, eos_token;
  std::int64_t max_tokens, num_samples, seed, context;  // seed −1: the run's; context 0: the run's
  csx::Sampling sampling;
  std::vector<std::string> overrides;
};

/// The checkpoint alone is enough: settings, tokenizer and weights are in it.
struct Source {
  std::filesystem::path path;
  checkpoint::RunState state;
  Settings settings;
  std::unique_ptr<data::Tokenizer> tokenizer;
};

void check(bool holds, const std::string& message) {
  if (!holds) throw SettingsError(message);
}

csx::Sampling take_sampling(Arguments& arguments, bool& greedy) {
  const csx::Sampling defaults;
  const std::size_t before = arguments.size();
  csx::Sampling s;
  s.temperature = take_number(arguments, "temperature", defaults.temperature);
  s.top_k = take_integer(arguments, "top-k", defaults.top_k);
  s.top_p = take_number(arguments, "top-p", defaults.top_p);
  const bool given = arguments.size() != before;
  check(std::isfinite(s.temperature) && s.temperature >= 0,
        "--temperature must be 0 (greedy) or more; 1 leaves the probabilities as they are.");
  check(s.top_k >= 0, "--top-k must be 0 (all tokens) or more.");
  check(s.top_p > 0 && s.top_p <= 1, "--top-p must lie above 0 and at or below 1 (all tokens).");
  greedy = take_flag(arguments, "greedy");
  check(!greedy || !given, "--greedy always takes the most probable token: leave --temperature, --top-k and --top-p out.");
  if (greedy) s.temperature = 0;
  greedy = s.temperature == 0;
  return s;
}

Request parse(Arguments& arguments) {
  Request r;
  r.prompt = take_option(arguments, "prompt");  // first: a prompt may look like an option
  r.prompt_file = take_option(arguments, "prompt-file");
  check(r.prompt.empty() || r.prompt_file.empty(), "--prompt and --prompt-file cannot be used together.");
  r.overrides = take_overrides(arguments);
  bool greedy = false;
  r.sampling = take_sampling(arguments, greedy);
  r.max_tokens = take_integer(arguments, "max-tokens", 100);
  r.num_samples = take_integer(arguments, "num-samples", 1);
  r.seed = take_integer(arguments, "seed", -1);
  r.context = take_integer(arguments, "context", 0);
  r.vocab_file = take_option(arguments, "vocab-file");
  r.merges_file = take_option(arguments, "merges-file");
  r.eos_token = take_option(arguments, "eos-token", "<|endoftext|>");
  check(r.max_tokens >= 1, "--max-tokens must be 1 or more.");
  check(r.num_samples >= 1, "--num-samples must be 1 or more.");
  check(r.num_samples == 1 || !greedy, "--num-samples with greedy choice would give the same text again and again: set --temperature.");
  check(r.seed >= -1, "--seed must be 0 or more.");
  check(r.context >= 0, "--context must be 1 or more.");
  check(r.vocab_file.empty() == r.merges_file.empty(), "--vocab-file and --merges-file belong together.");
  check(!arguments.empty(), std::string("which run or checkpoint? Usage: wsc ") + usage);
  r.target = arguments.front();
  arguments.erase(arguments.begin());
  expect_no_more(arguments, usage);
  return r;
}

std::filesystem::path find_checkpoint(const std::string& target) {
  if (!std::filesystem::exists(target)) throw DataError(target + ": there is no such run directory or checkpoint.");
  if (!std::filesystem::is_directory(target)) return target;
  if (const auto newest = checkpoint::newest_complete(target)) return newest->path;
  throw DataError(target + " has no complete checkpoint to generate from. Train first, or name a checkpoint file.");
}

std::unique_ptr<data::Tokenizer> find_tokenizer(const Request& r, const Source& source) {
  const bool given = !r.vocab_file.empty();
  if (!source.state.tokenizer.empty()) {
    check(!given, source.path.string() + " holds the tokenizer of its training data: leave --vocab-file and --merges-file out.");
    return data::tokenizer_from_text(source.state.tokenizer, source.path.string() + ", /run/tokenizer");
  }
  if (!given)
    throw DataError(source.path.string() +
                    " holds no tokenizer, because its training data named none. Give those of GPT-2's kind with "
                    "--vocab-file and --merges-file.");
  return data::bpe_tokenizer(r.vocab_file, r.merges_file, r.eos_token);
}

Source open(const Request& r) {
  Source s;
  s.path = find_checkpoint(r.target);
  s.state = checkpoint::read_run_state(s.path);
  s.settings = parse_settings(s.state.deck, s.path.string() + ", /run/deck", r.overrides);
  s.tokenizer = find_tokenizer(r, s);
  // Generation is one process, whatever the layout of the training was.
  s.settings.cluster.fabric = "null";
  s.settings.cluster.memoryx = s.settings.cluster.num_csx = 0;
  return s;
}

std::string read_prompt(const Request& r) {
  if (r.prompt_file.empty()) return r.prompt;
  errno = 0;
  if (std::filesystem::is_directory(r.prompt_file)) throw DataError("--prompt-file " + r.prompt_file + " is a folder, not a file.");
  std::ifstream in(r.prompt_file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) throw DataError(with_errno("--prompt-file " + r.prompt_file + " cannot be read"));
  return text;
}

/// Ids of the prompt; the end-of-document token where there is none, because a document follows it.
std::vector<std::int32_t> encode(const std::string& prompt, const Source& source) {
  const data::Tokenizer& tokenizer = *source.tokenizer;
  std::vector<std::int32_t> ids = tokenizer.encode(prompt);
  if (ids.empty()) {
    check(tokenizer.eos_id() >= 0,
          "the prompt is empty, and the tokenizer has no end-of-document token to begin with: give some text with --prompt.");
    ids.push_back(static_cast<std::int32_t>(tokenizer.eos_id()));
  }
  for (const std::int32_t id : ids)
    if (id >= source.settings.model.vocab_size)
      throw DataError("the prompt needs token " + std::to_string(id) +
                      ", but the model's vocabulary ends at model.vocab_size = " + std::to_string(source.settings.model.vocab_size) + ": " +
                      source.path.string() + " was not trained with this tokenizer.");
  return ids;
}

/// Tokens that the model sees at most. Positions that training never used hold nothing that was learned.
std::int64_t context_of(const Request& r, const Settings& settings) {
  const std::int64_t most = settings.model.max_position_embeddings, trained = settings.train_input.max_sequence_length;
  check(r.context <= most,
        "--context = " + std::to_string(r.context) + " is more than model.max_position_embeddings = " + std::to_string(most) + ".");
  return r.context > 0 ? r.context : trained > 0 ? std::min(most, trained) : most;
}

void load(const Source& source, const Graph& graph, csx::ResidentWeights& weights) {
  checkpoint::check_model(source.path, graph);
  std::vector<checkpoint::Piece> pieces = weights.pieces();
  checkpoint::check_loaded(source.path, graph, checkpoint::load_pieces(source.path, graph, {}, pieces, checkpoint::What::model));
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw SystemError(with_errno("the text cannot be written to the standard output"));
}

/// One text: the prompt, and tokens as they come. Returns the number of tokens.
std::int64_t print_sample(csx::Generator& generator, const data::Tokenizer& tokenizer, const std::string& prompt,
                          std::span<const std::int32_t> ids, const csx::Continuation& how) {
  CharacterStream characters;
  print(prompt);
  const std::int64_t tokens = csx::continue_text(generator, ids, how, [&](std::int32_t id) {
    print(characters.take(tokenizer.decode({&id, 1})));
  });
  print(characters.rest() + "\n");
  return tokens;
}

ExitCode run(const Request& r, const Source& source, int threads) {
  const std::string prompt = read_prompt(r);
  const std::vector<std::int32_t> ids = encode(prompt, source);
  const Graph graph = models::build(source.settings.model);
  csx::ResidentWeights weights(graph);
  load(source, graph, weights);
  csx::Generator generator(graph, weights, context_of(r, source.settings));

  const std::int64_t longest = csx::longest_prompt(generator.context()), seed = r.seed >= 0 ? r.seed : source.settings.runconfig.seed;
  if (static_cast<std::int64_t>(ids.size()) > longest)
    log::warning("The prompt has " + std::to_string(ids.size()) + " tokens; the model sees the last " + std::to_string(longest) +
                 ", one less than its context.");
  std::fprintf(stderr, "wsc: %s, step %lld, %s parameters (%s), context %lld, %s, seed %lld, %d threads\n", source.path.c_str(),
               static_cast<long long>(source.state.step), count_text(graph.parameters()).c_str(),
               bytes_text(static_cast<double>(weights.bytes() + generator.bytes())).c_str(), static_cast<long long>(generator.context()),
               std::string(source.tokenizer->kind()).c_str(), static_cast<long long>(seed), threads);

  csx::Continuation how{.max_tokens = r.max_tokens,
                        .vocab = std::min(generator.vocab(), source.tokenizer->vocab_size()),
                        .eos = source.tokenizer->eos_id(),
                        .sampling = r.sampling};
  const Stopwatch clock;
  std::int64_t tokens = 0;
  for (std::int64_t sample = 0; sample < r.num_samples; ++sample) {
    if (sample > 0) print("--------\n");
    how.random = RandomKey(static_cast<std::uint64_t>(seed), "generate", "", static_cast<std::uint64_t>(sample));
    tokens += print_sample(generator, *source.tokenizer, prompt, ids, how);
  }
  const double seconds = clock.seconds();
  std::fprintf(stderr, "wsc: %s tokens in %.1f s, %.1f tokens/s\n", count_text(tokens).c_str(), seconds,
               static_cast<double>(tokens) / seconds);
  return ExitCode::ok;
}

}  // namespace

ExitCode generate(Arguments arguments) {
  const Request request = parse(arguments);
  if (const int ranks = fabric::launch_from_environment().ranks; ranks > 1)
    throw SettingsError("wsc generate is one process, but the launcher started " + std::to_string(ranks) +
                        " ranks: start it without mpirun.");
  log::set_quiet(true);  // the standard output is for the text
  const Source source = open(request);
  return run_cluster(source.settings, [&](const train::Setup& setup, fabric::Channel*) { return run(request, source, setup.threads); });
}

}  // namespace wsc::cli
