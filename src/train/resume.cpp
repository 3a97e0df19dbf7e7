// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/train/resume.hpp"

#include <algorithm>

#include "wsc/base/error.hpp"
#include "wsc/base/log.hpp"
#include "wsc/checkpoint/directory.hpp"
#include "wsc/config/deck.hpp"
#include "wsc/optimizer/update_rule.hpp"

namespace wsc::train {
namespace {

std::string table(const std::vector<SettingDifference>& all, SettingKind kind) {
  std::string text;
  for (const SettingDifference& d : all)
    if (d.kind == kind) text += "\n  " + d.key + ": " + (d.a.empty() ? "(unset)" : d.a) + " → " + (d.b.empty() ? "(unset)" : d.b);
  return text;
}

/// A run directory belongs to one run: the deck may change in layout, length and logging only.
void check_deck(const Settings& now, const checkpoint::RunState& state, const std::filesystem::path& path) {
  const auto changes = differences(parse_settings(state.deck, path.string() + ", /run/deck"), now);
  const std::string changed = table(changes, SettingKind::identity), free = table(changes, SettingKind::free);
  if (!changed.empty() && !now.runconfig.allow_changes)
    throw SettingsError("the deck differs from the one that " + now.runconfig.model_dir + " was trained with (" + path.string() + "):" +
                        changed + "\nUse another runconfig.model_dir, or set runconfig.allow_changes=true to go on with the new settings.");
  if (!changed.empty()) log::warning("Going on with changed settings (runconfig.allow_changes):" + changed);
  if (!free.empty()) log::info("Settings changed since the checkpoint:" + free);
}

Start resume(const Settings& settings, const Graph& graph, const data::Dataset& data, const Setup& setup,
             const std::filesystem::path& path) {
  Start start;
  start.checkpoint = path;
  start.state = checkpoint::read_run_state(path);
  check_deck(settings, start.state, path);
  checkpoint::check_model(path, graph);
  checkpoint::check_states(path, optimizer::state_names(optimizer::update_rule(settings.optimizer)));
  data::require_tokenizer(data, start.state.tokenizer_hash, path.string());
  std::string layout;
  if (start.state.memoryx != setup.layout.memoryx || start.state.csx != setup.layout.csx)
    layout = " Layout: " + std::to_string(start.state.memoryx) + "×" + std::to_string(start.state.csx) + " → " +
             std::to_string(setup.layout.memoryx) + "×" + std::to_string(setup.layout.csx) + " (memoryx × csx).";
  log::info("Resuming from " + path.string() + " at step " + std::to_string(start.state.step) + "." + layout);
  return start;
}

/// Weights of another run, everything else fresh: fine-tuning.
Start weights_only(const Settings& settings, const Graph& graph, const data::Dataset& data) {
  Start start;
  start.checkpoint = settings.runconfig.checkpoint_path;
  start.what = checkpoint::What::model;
  const auto theirs = checkpoint::read_run_state(start.checkpoint);
  checkpoint::check_model(start.checkpoint, graph);
  data::require_tokenizer(data, theirs.tokenizer_hash, start.checkpoint.string());
  log::info("Starting with the weights of " + start.checkpoint.string() + " (step " + std::to_string(theirs.step) +
            "); optimizer, schedule and data order begin anew.");
  return start;
}

/// Is this a checkpoint in the run directory?
bool is_own(const std::filesystem::path& checkpoint, const std::filesystem::path& run_dir) {
  std::error_code error;
  return !checkpoint.empty() && std::filesystem::equivalent(checkpoint.parent_path(), checkpoint::folder(run_dir), error) && !error;
}

}  // namespace

Start find_start(const Settings& settings, const Graph& graph, const data::Dataset& data, const Setup& setup) {
  const RunSettings& run = settings.runconfig;
  for (const auto& gone : checkpoint::remove_partials(run.model_dir))
    log::warning("Removed " + gone.string() + ", which a save that was interrupted left behind.");
  // A checkpoint of the run's own directory is gone back to, whatever comes after it (it may be damaged); one of another run begins this
  // one.
  const bool back = run.load_checkpoint_states == "all" && is_own(run.checkpoint_path, run.model_dir);
  const auto newest = back ? std::nullopt : checkpoint::newest_complete(run.model_dir);

  Start start;
  if (newest && run.autoload_last_checkpoint) {
    start = resume(settings, graph, data, setup, newest->path);
  } else if (!run.checkpoint_path.empty() && run.load_checkpoint_states == "model") {
    start = weights_only(settings, graph, data);
  } else if (!run.checkpoint_path.empty()) {
    start = resume(settings, graph, data, setup, run.checkpoint_path);
    for (const auto& aside : checkpoint::set_aside_newer(run.model_dir, start.state.step))
      log::warning("Set aside " + aside.string() + ": it is later than the checkpoint that this run starts from.");
  } else if (newest) {
    throw SettingsError(
        run.model_dir + " already has " + newest->path.filename().string() +
        " and runconfig.autoload_last_checkpoint is off: use another runconfig.model_dir, or turn it on to go on from there.");
  } else {
    log::info("No checkpoint in " + run.model_dir + ": starting with random weights, seed " + std::to_string(run.seed) + ".");
  }
  start.state.format = checkpoint::format_version;
  start.state.memoryx = setup.layout.memoryx;
  start.state.csx = setup.layout.csx;
  start.state.state_names = optimizer::state_names(optimizer::update_rule(settings.optimizer));
  start.state.wsc_version = WSC_VERSION;
  start.state.deck = to_deck(settings);
  start.state.tokenizer = data.tokenizer_text();
  start.state.tokenizer_hash = data.tokenizer_hash();
  return start;
}

}  // namespace wsc::train
