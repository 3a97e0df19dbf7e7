// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include "wsc/config/entries.hpp"

#include <sstream>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>

#include "wsc/base/error.hpp"
#include "wsc/config/numbers.hpp"
#include "wsc/config/suggest.hpp"

namespace po = boost::program_options;

namespace wsc::config {
namespace {

std::string at(const std::string& origin, int line) { return origin + ":" + std::to_string(line); }

// The parser below keeps no line numbers: this finds those of the headers and of the key = value lines, in order, and refuses other lines.
struct Lines {
  std::vector<Entry> sections;
  std::vector<std::string> values;  // where each key = value line stands
};

Lines scan(const std::string& text, const std::string& origin) {
  Lines lines;
  std::istringstream in(text);
  std::string raw;
  for (int number = 1; std::getline(in, raw); ++number) {
    const std::string line = trim(std::string_view(raw).substr(0, raw.find('#')));
    if (line.empty()) continue;
    if (line.front() == '[' && line.back() == ']') {
      const std::string name = line.substr(1, line.size() - 2);
      if (name.empty()) throw SettingsError("the section name in [] is empty (" + at(origin, number) + ").");
      lines.sections.push_back({name, "", at(origin, number)});
    } else if (line.find('=') == std::string::npos || line.front() == '=') {
      throw SettingsError("\"" + printable(line) + "\" (" + at(origin, number) +
                          ") is neither [section] nor key = value; comments begin with #.");
    } else {
      lines.values.push_back(at(origin, number));
    }
  }
  return lines;
}

}  // namespace

DeckText read_entries(const std::string& text, const std::string& origin) {
  const std::string body = text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text;  // byte-order mark of some editors
  Lines lines = scan(body, origin);
  std::istringstream in(body);
  const po::options_description none;
  const po::parsed_options parsed = po::parse_config_file(in, none, true);
  WSC_ASSERT(parsed.options.size() == lines.values.size());
  DeckText deck;
  deck.sections = std::move(lines.sections);
  for (std::size_t i = 0; i < parsed.options.size(); ++i) {
    deck.entries.push_back({parsed.options[i].string_key, parsed.options[i].value.at(0), lines.values[i]});
  }
  return deck;
}

std::vector<Entry> read_command_line(const std::vector<std::string>& tokens, const Registry& registry) {
  po::options_description known;
  for (const Option& option : registry.options()) known.add_options()(option.key().c_str(), po::value<std::string>());
  namespace style = po::command_line_style;
  std::vector<Entry> entries;
  try {
    const auto parsed = po::command_line_parser(tokens)
                            .options(known)
                            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                            .allow_unregistered()
                            .run();
    for (const po::option& option : parsed.options) {
      if (option.string_key.empty()) {
        throw SettingsError("unexpected word \"" + printable(option.original_tokens.at(0)) +
                            "\" (command line). Settings are written --section.key=value.");
      }
      const Entry entry{option.string_key, option.value.empty() ? "" : option.value.front(), command_line};
      if (option.unregistered) unknown_setting(entry);
      entries.push_back(entry);
    }
  } catch (const po::error_with_option_name& error) {
    const std::string name = error.get_option_name();
    throw SettingsError(name + " (command line) has no value. Write " + name + "=VALUE.");
  } catch (const po::error& error) {
    throw SettingsError(std::string(error.what()) + " (command line). Settings are written --section.key=value.");
  }
  return entries;
}

std::map<std::string, int> count_numbered(const DeckText& deck, const std::vector<std::string>& tokens) {
  std::vector<Entry> mentions = deck.sections;
  mentions.insert(mentions.end(), deck.entries.begin(), deck.entries.end());
  for (const std::string& token : tokens) {
    if (token.starts_with("--")) mentions.push_back({token.substr(2, token.find('=') - 2), "", command_line});
  }
  std::map<std::string, int> counts;
  for (const std::string& list : catalogue().lists()) {
    std::map<std::int64_t, std::string> numbers;  // number -> where
    for (const Entry& mention : mentions) {
      if (mention.key != list && !mention.key.starts_with(list + ".")) continue;
      const std::string rest = mention.key == list ? "" : mention.key.substr(list.size() + 1);
      const auto number = parse_integer(std::string_view(rest).substr(0, rest.find('.')));
      if (!number || *number < 1) {
        throw SettingsError("the sections of " + list + " are numbered: write [" + list + ".1], [" + list + ".2] and so on (" +
                            mention.where + ").");
      }
      numbers.try_emplace(*number, mention.where);
    }
    std::int64_t expected = 0;
    for (const auto& [number, where] : numbers) {
      if (number == ++expected) continue;
      throw SettingsError("[" + list + "." + std::to_string(number) + "] is given (" + where + ") but [" + list + "." +
                          std::to_string(expected) + "] is not: number the sections 1, 2, 3 without gaps.");
    }
    counts[list] = static_cast<int>(expected);
  }
  return counts;
}

}  // namespace wsc::config
