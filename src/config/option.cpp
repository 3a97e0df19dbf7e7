// SPDX-FileCopyrightText: wsc authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>

#include "wsc/base/error.hpp"
#include "wsc/config/numbers.hpp"
#include "wsc/config/registry.hpp"
#include "wsc/config/suggest.hpp"

/// An option's value: from text, to text, and what may be written.
namespace wsc::config {
namespace {

using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};

[[noreturn]] void refuse(const Option& o, const std::string& value, const std::string& where, const std::string& why) {
  throw SettingsError(o.key() + " = " + printable(value) + " (" + where + ") " + why);
}

std::string help_hint(const Option& o) { return " `wsc train --help " + o.section + "` describes it."; }

void check_range(const Option& o, double number, const std::string& value, const std::string& where) {
  if (!o.check.allows(number)) refuse(o, value, where, "is out of range: it must be " + o.check.text() + "." + help_hint(o));
}

bool is_digits(const std::string& value) { return !value.empty() && value.find_first_not_of("0123456789") == std::string::npos; }

std::int64_t read_integer(const Option& o, const std::string& value, const std::string& where) {
  if (!o.word.empty() && lower_case(value) == o.word) return o.word_value;
  const auto number = o.is_bytes ? parse_bytes(value) : parse_integer(value);
  if (!number) {
    const std::string or_word = o.word.empty() ? "" : ", or " + o.word;
    if (o.is_bytes) refuse(o, value, where, "is not a size: write bytes or a number with a unit, such as 512MiB or 40GB" + or_word + ".");
    if (is_digits(value)) refuse(o, value, where, "is too large.");
    const auto real = parse_number(value);
    const bool whole = real && std::abs(*real) < 1e15 && *real == std::floor(*real);
    refuse(o, value, where, "is not a whole number" + (whole ? ": write " + std::to_string(std::int64_t(*real)) : or_word) + ".");
  }
  const bool is_word = !o.word.empty() && *number == o.word_value;
  if (!is_word) check_range(o, static_cast<double>(*number), value, where);
  return *number;
}

double read_number(const Option& o, const std::string& value, const std::string& where) {
  if (!o.word.empty() && lower_case(value) == o.word) return static_cast<double>(o.word_value);
  const auto number = parse_number(value);
  if (!number) refuse(o, value, where, "is not a number; write it like 0.001 or 1e-3" + (o.word.empty() ? "." : ", or " + o.word + "."));
  check_range(o, *number, value, where);
  return *number;
}

bool read_bool(const Option& o, const std::string& value, const std::string& where) {
  const auto flag = parse_bool(value);
  if (!flag) refuse(o, value, where, "must be true or false.");
  return *flag;
}

std::optional<std::string> find_word(const Option& o, const std::string& value) {
  for (const std::string& word : o.check.words) {
    if (lower_case(value) == lower_case(word)) return word;
    if (!o.optional_suffix.empty() && lower_case(value) == lower_case(word + o.optional_suffix)) return word;
  }
  return std::nullopt;
}

std::string read_text(const Option& o, const std::string& value, const std::string& where) {
  if (value.find_first_of("#\n\r") != std::string::npos) {
    refuse(o, value, where, "has a # or a line break in it, which a deck cannot hold. Rename the file or folder.");
  }
  if (o.check.words.empty()) return value;
  if (const auto word = find_word(o, value)) return *word;
  const auto near = nearest(value, o.check.words);
  refuse(o, value, where, "is not one of " + o.check.text() + "." + (near ? " Did you mean " + *near + "?" : ""));
}

template <class T, class Read>
std::vector<T> read_list(const std::string& value, Read read) {
  std::vector<T> list;
  std::size_t begin = 0;
  while (begin <= value.size() && !value.empty()) {
    const std::size_t comma = std::min(value.find(',', begin), value.size());
    list.push_back(read(trim(std::string_view(value).substr(begin, comma - begin))));
    begin = comma + 1;
  }
  return list;
}

template <class T, class Write>
std::string write_list(const std::vector<T>& list, Write write) {
  std::string text;
  for (const T& value : list) text += (text.empty() ? "" : ", ") + write(value);
  return text;
}

}  // namespace

std::string Option::text() const {
  const auto integer = [](std::int64_t v) { return std::to_string(v); };
  return std::visit(Overloaded{
                        [&](const std::int64_t* v) { return !word.empty() && *v == word_value ? word : integer(*v); },
                        [&](const double* v) { return !word.empty() && *v == static_cast<double>(word_value) ? word : number_text(*v); },
                        [](const bool* v) { return std::string(*v ? "true" : "false"); },
                        [](const std::string* v) { return *v; },
                        [&](const Integers* v) { return write_list(*v, integer); },
                        [](const Numbers* v) { return write_list(*v, number_text); },
                    },
                    target);
}

void Option::assign(const std::string& value_text, const std::string& where) {
  const std::string value = trim(value_text);
  if (value.empty() && !default_text.empty()) {
    throw SettingsError(key() + " (" + where + ") is empty. Give a value, or leave the line out for the default " + default_text + ".");
  }
  std::visit(
      Overloaded{
          [&](std::int64_t* v) { *v = read_integer(*this, value, where); },
          [&](double* v) { *v = read_number(*this, value, where); },
          [&](bool* v) { *v = read_bool(*this, value, where); },
          [&](std::string* v) { *v = read_text(*this, value, where); },
          [&](Integers* v) { *v = read_list<std::int64_t>(value, [&](const std::string& s) { return read_integer(*this, s, where); }); },
          [&](Numbers* v) { *v = read_list<double>(value, [&](const std::string& s) { return read_number(*this, s, where); }); },
      },
      target);
}

std::string Option::type() const {
  const auto ranged = [&](std::string text) { return check.text().empty() ? text : text + ", " + check.text(); };
  const std::string or_word = word.empty() ? "" : ", or " + word;
  return std::visit(Overloaded{
                        [&](const std::int64_t*) { return ranged(is_bytes ? "size" : "whole number") + or_word; },
                        [&](const double*) { return ranged("number") + or_word; },
                        [](const bool*) { return std::string("true or false"); },
                        [&](const std::string*) { return check.words.empty() ? std::string("text") : check.text(); },
                        [&](const Integers*) { return ranged("whole numbers with commas"); },
                        [&](const Numbers*) { return ranged("numbers with commas"); },
                    },
                    target);
}

}  // namespace wsc::config
