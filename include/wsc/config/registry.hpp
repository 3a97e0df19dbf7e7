// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "wsc/config/check.hpp"
#include "wsc/config/deck.hpp"

/// Every option is declared once, by one `add` line in the `declare` function of its section (src/config/*_settings.cpp). Parsing, help,
/// validation, the stored deck, the comparison of two runs and docs/options.md all walk the list that results.
namespace wsc::config {

/// Where the value of an option lives.
using Target = std::variant<std::int64_t*, double*, bool*, std::string*, std::vector<std::int64_t>*, std::vector<double>*>;

struct Option {
  std::string section, name, help;
  Target target;
  Check check;
  SettingKind kind;
  std::string default_text;

  std::string unit;            ///< "steps", "samples"; empty where there is none
  bool is_bytes = false;       ///< accepts 40GB, 512MiB
  bool must_be_given = false;  ///< there is no sensible default
  std::string word;            ///< a word that stands for word_value, such as "auto" for 0
  std::int64_t word_value = 0;
  std::string optional_suffix;              ///< "LR": CosineDecayLR is read as CosineDecay
  std::string depends_on;                   ///< option of the same section ...
  std::vector<std::string> depends_values;  ///< ... that must have one of these values for this one to be read
  std::string replaced_by;                  ///< numbered section whose presence makes this option meaningless

  std::string key() const { return section + "." + name; }
  /// The value as a deck holds it: reading it back gives the same bits.
  std::string text() const;
  /// Sets the target from a text. `where` is for messages ("inputs/x.cfg:12", "command line"). Throws SettingsError.
  void assign(const std::string& value, const std::string& where);
  /// "whole number, at least 1", "AdamW | Adam | SGD": what may be written.
  std::string type() const;

  // Refinements of a declaration.
  Option& in(std::string unit_name);
  Option& bytes();
  Option& free();
  Option& identity();
  Option& required();
  Option& with_word(std::string text, std::int64_t value);
  Option& with_optional_suffix(std::string suffix);
  Option& only_for(std::string option, std::vector<std::string> values);
  Option& unless(std::string numbered_section);
};

class Registry;

/// A section while its options are declared.
class Section {
 public:
  /// Declares `section.name`, which fills `target`. In Mode::defaults the target is set to the default at once.
  template <class T>
  Option& add(std::string name, T& target, std::type_identity_t<T> default_value, Check check, std::string help);

 private:
  friend class Registry;
  Section(Registry& registry, std::string name, SettingKind kind) : registry_(registry), name_(std::move(name)), kind_(kind) {}
  Registry& registry_;
  std::string name_;
  SettingKind kind_;
};

class Registry {
 public:
  enum class Mode {
    defaults,  ///< declaring sets every target to its default
    view,      ///< targets keep their values: to print or compare existing settings
  };
  struct Title {
    std::string section, text;
  };

  /// `counts`: how many sections [list.1], [list.2] ... each numbered section has (Mode::defaults only; else as many as the vector holds).
  explicit Registry(Mode mode, std::map<std::string, int> counts = {}) : mode_(mode), counts_(std::move(counts)) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Section section(const std::string& name, const std::string& title, SettingKind kind);

  /// Sections [name.1] ... [name.n], one for each element of `list`.
  template <class T>
  void numbered(const std::string& name, const std::string& title, SettingKind kind, std::vector<T>& list, void (*declare)(Section, T&)) {
    lists_.push_back(name);
    if (mode_ == Mode::defaults) list.assign(static_cast<std::size_t>(counts_[name]), T{});
    counts_[name] = static_cast<int>(list.size());
    for (std::size_t i = 0; i < list.size(); ++i) declare(section(name + "." + std::to_string(i + 1), title, kind), list[i]);
  }

  /// In order of declaration.
  const std::deque<Option>& options() const { return options_; }
  std::deque<Option>& options() { return options_; }
  const std::vector<Title>& sections() const { return sections_; }
  const std::vector<std::string>& lists() const { return lists_; }

  /// Null where there is none.
  Option* find(const std::string& key);
  const Option* find(const std::string& key) const { return const_cast<Registry*>(this)->find(key); }
  bool has_section(const std::string& name) const;
  /// False where another setting makes this one meaningless.
  bool used(const Option& option) const;

 private:
  friend class Section;
  Option& insert(Option option);

  Mode mode_;
  std::map<std::string, int> counts_;
  std::deque<Option> options_;  // a deque: add() returns references
  std::map<std::string, Option*> by_key_;
  std::vector<Title> sections_;
  std::vector<std::string> lists_;
};

template <class T>
Option& Section::add(std::string name, T& target, std::type_identity_t<T> default_value, Check check, std::string help) {
  Option option{.section = name_,
                .name = std::move(name),
                .help = std::move(help),
                .target = &default_value,
                .check = std::move(check),
                .kind = kind_,
                .default_text = {},
                .unit = {},
                .word = {},
                .optional_suffix = {},
                .depends_on = {},
                .depends_values = {},
                .replaced_by = {}};
  option.default_text = option.text();
  if (registry_.mode_ == Registry::Mode::defaults) target = default_value;
  option.target = &target;
  return registry_.insert(std::move(option));
}

// One per section; a new section is a new file with one of these and a line in declare(Registry&, Settings&).
void declare(Registry& registry, ModelSettings& settings);
void declare(Registry& registry, OptimizerSettings& settings);
void declare_train(Registry& registry, InputSettings& settings);
void declare_eval(Registry& registry, InputSettings& settings);
void declare(Registry& registry, RunSettings& settings);
void declare(Registry& registry, PrecisionSettings& settings);
void declare(Registry& registry, ClusterSettings& settings);
void declare(Registry& registry, CsxSettings& settings);
void declare_schedule(Section section, ScheduleSettings& settings);

/// All of the above.
void declare(Registry& registry, Settings& settings);

/// Bytes of a csx in the preset: 0 = no limit.
std::int64_t preset_memory(const std::string& preset);

}  // namespace wsc::config
