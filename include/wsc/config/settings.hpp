// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The typed settings of a run, one struct per section of a deck. They carry no defaults: the option registry does (registry.hpp),
/// so that a default literal appears in one place only.
namespace wsc {

/// [model]: a decoder of the GPT-2/GPT-3 family. C = hidden_size, L = num_hidden_layers, H = num_heads, F = filter_size,
/// V = vocab_size, T = max_position_embeddings.
struct ModelSettings {
  std::string family;                    ///< "gpt"
  std::int64_t hidden_size;              ///< C
  std::int64_t num_hidden_layers;        ///< L
  std::int64_t num_heads;                ///< H; divides C
  std::int64_t filter_size;              ///< F; 0 in a deck means 4 C, resolved when the deck is read
  std::int64_t vocab_size;               ///< V
  std::int64_t max_position_embeddings;  ///< longest sequence; T of a run is train_input.max_sequence_length
  std::string position_embedding_type;   ///< "learned" | "fixed" (sinusoidal) | "none"
  bool share_embedding_weights;          ///< tied head
  std::string nonlinearity;              ///< "gelu" (exact) | "gelu_tanh" | "relu"
  double layer_norm_epsilon;
  double initializer_range;  ///< standard deviation of initial weights, truncated at two of them
  double dropout_rate, embedding_dropout_rate, attention_dropout_rate;
};

/// One piece of a learning-rate schedule ([optimizer.schedule.N]); pieces follow one another, each counts from its own start.
struct ScheduleSettings {
  std::string scheduler;  ///< a name of cerebras.md 3.6, e.g. "Linear", "CosineDecay"
  double learning_rate;   ///< Constant
  double initial_learning_rate, end_learning_rate;
  std::int64_t total_iters;  ///< steps this piece lasts (the last piece goes on for ever)
  double power, decay_rate, step_exponent, scale, gamma, max_learning_rate, pct_start, final_div_factor, div_factor;
  bool cycle, staircase, three_phase;
  std::int64_t warmup, step_size, step_size_up, step_size_down, t_max, t_0, t_mult;
  std::string mode;  ///< CyclicLR: "triangular" | "triangular2" | "exp_range"
  std::vector<std::int64_t> milestones;
  std::vector<double> learning_rates;  ///< PiecewiseConstant
};

/// [optimizer]
struct OptimizerSettings {
  std::string optimizer_type;  ///< "AdamW" | "Adam" | "SGD"
  double learning_rate;        ///< used when there is no schedule
  std::vector<ScheduleSettings> schedule;
  double beta1, beta2, eps, momentum, weight_decay_rate;
  bool correct_bias;
  std::string eps_mode;            ///< "pytorch" | "cerebras" (where eps enters the bias-corrected update; cerebras.md 3.5)
  double max_gradient_norm;        ///< 0 = off
  double max_gradient_value;       ///< 0 = off; not together with max_gradient_norm
  std::int64_t max_skipped_steps;  ///< this many non-finite steps in a row end the run with exit code 4
};

/// One piece of a batch-size schedule ([train_input.batch_schedule.N]): `batch_size` up to (not including) global step `until_step`.
struct BatchScheduleSettings {
  std::int64_t batch_size, until_step;
};

/// [train_input] and [eval_input]
struct InputSettings {
  std::string data_dir;              ///< folder of *.h5, or one file
  std::int64_t batch_size;           ///< B: samples of the *global* batch
  std::int64_t micro_batch_size;     ///< samples of a tile; 0 = auto
  std::int64_t max_sequence_length;  ///< T; 0 = that of the data files (for the corpus form: max_position_embeddings)
  bool shuffle;
  std::int64_t shuffle_seed;
  bool mask_documents;            ///< derive attention spans from eos in (n, 3, MSL) data
  std::int64_t eos_id;            ///< for mask_documents; -1 = the one recorded in the data set
  std::int64_t prefetch_batches;  ///< batches that the reader thread runs ahead
  std::vector<BatchScheduleSettings> batch_schedule;
};

/// [runconfig]
struct RunSettings {
  std::string model_dir;
  std::int64_t max_steps;
  std::int64_t seed;
  std::int64_t log_steps, checkpoint_steps, eval_frequency, eval_steps;  ///< in steps; 0 = never (eval_steps: 0 = whole set)
  std::int64_t keep_checkpoints;                                         ///< newest ones to keep; 0 = all
  bool save_initial_checkpoint;
  bool autoload_last_checkpoint;
  std::string checkpoint_path;         ///< start from this file instead of the newest in model_dir
  std::string load_checkpoint_states;  ///< "all" or "model" (weights only, for fine-tuning)
  bool allow_changes;                  ///< go on although the deck differs from the one the run began with
  std::string trace;                   ///< file of the timeline; empty = none
  std::int64_t trace_steps;            ///< that it shows, from the start of the run
  double max_hours;                    ///< stop (exit 75) after a checkpoint once this wall time is reached; 0 = no limit
};

/// Value of loss_scaling_factor that stands for "dynamic".
inline constexpr double dynamic_loss_scaling = 0;

/// [precision]
struct PrecisionSettings {
  std::string compute;         ///< "fp32" | "bf16" | "fp16" | "cb16"
  std::string wire_weights;    ///< "fp32" | "bf16" | "fp16" | "cb16"
  double loss_scaling_factor;  ///< or dynamic_loss_scaling; what follows is read only then
  double initial_loss_scale, min_loss_scale, max_loss_scale;
  std::int64_t steps_per_increase;  ///< steps without an overflow after which the scale doubles
  double overflow_tolerance;        ///< share of overflows that does not yet halve it
};

/// [cluster]: M memoryx ranks, then N csx ranks.
struct ClusterSettings {
  std::string fabric;               ///< "auto" (null for one process, else mpi) | "null" | "mpi" | "loopback"
  std::int64_t memoryx;             ///< M; 0 = auto (one per node)
  std::int64_t num_csx;             ///< N; 0 = auto (the remaining ranks)
  std::int64_t threads;             ///< threads of a csx; 0 = auto
  std::int64_t csx_per_window;      ///< csx of a node that share a weight window; 0 = all of them
  std::int64_t chunk_bytes;         ///< largest message
  std::int64_t messages_in_flight;  ///< per shard and direction
  double gflops_per_thread;         ///< of a csx; this and the next two: rates that predictions assume, by which the plan chooses
  double memory_gbytes_per_s;       ///< of a rank
  double link_gbytes_per_s;         ///< into or out of a rank
  std::string reduction;            ///< "library" | "ordered" (gradients, losses and products of matrices in an order of their own)

  bool ordered() const { return reduction == "ordered"; }
};

/// [csx]
struct CsxSettings {
  std::string preset;          ///< "host" | "cs2" (40 GB) | "cs3" (44 GB)
  std::int64_t memory;         ///< budget in bytes over all of a csx's memory; 0 = that of the preset (host: no limit)
  std::int64_t prefetch;       ///< stages whose blocks are on their way ahead of the running one; -1 = auto
  std::int64_t waves, leaves;  ///< 0 = auto
  std::string recompute;       ///< "auto" | "on" | "off"
};

/// Everything a run depends on, resolved.
struct Settings {
  ModelSettings model;
  OptimizerSettings optimizer;
  InputSettings train_input, eval_input;
  RunSettings runconfig;
  PrecisionSettings precision;
  ClusterSettings cluster;
  CsxSettings csx;

  /// B at a global step (counted from 0), from the batch schedule.
  std::int64_t batch_size(std::int64_t step) const;
};

}  // namespace wsc
