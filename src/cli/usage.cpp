#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::string see_help(const CLI::App* verb) {
  return fmt::format("(see `gradwire {}--help`)", verb == nullptr ? "" : verb->get_name() + " ");
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1])) &&
         word[1] != '.';
}

// "--batch" of "--batch=4", "-n" of "-n4".
std::string flag_name(const std::string& word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word.substr(0, 2);
}

bool holds_value(const std::string& word) {
  return word.starts_with("--") ? word.find('=') != std::string::npos : word.size() > 2;
}

Words flags_of(const CLI::App& app) {
  Words names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// What a flag may have meant: one that is spelt nearly so, one with more or fewer words, or what it is called elsewhere.
Words near_flags(const std::string& flag, const Words& known) {
  if (Words near = near_words(flag, known); !near.empty()) return near;
  constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
      {"--gpus", "-n"},        {"--nproc-per-node", "-n"}, {"--nproc_per_node", "-n"}, {"--world-size", "-n"},
      {"--epochs", "--steps"}, {"--dtype", "--precision"}, {"--amp", "--precision"},   {"--machine", "--on"}};
  Words near;
  for (const std::string& name : known)
    if (flag.starts_with(name + '-') || name.starts_with(flag + '-') ||
        std::ranges::find(kElsewhere, std::pair<std::string_view, std::string_view>(flag, name)) !=
            std::end(kElsewhere))
      near.push_back(name);
  return near;
}

[[noreturn]] void refuse_flag(const CLI::App& app, const CLI::App* verb, const std::string& flag) {
  const Words near = near_flags(flag, flags_of(app));
  throw ConfigError(fmt::format("there is no flag {}{} {}", flag,
                                near.empty() ? "" : fmt::format("; did you mean {}?", join(near, " or ")),
                                see_help(verb)));
}

bool runs_a_program(const CLI::App* verb) {
  return verb != nullptr &&
         verb->get_option_no_throw("program") != nullptr;  // it takes one as words of its own
}

// The first of the verb's examples that is one line.
std::string example_of(const CLI::App& verb) {
  const std::string footer = verb.get_footer();
  for (const std::string_view line : split(footer, '\n'))
    if (const auto text = trim(line);
        text.starts_with("gradwire " + verb.get_name() + " ") && !text.ends_with('\\'))
      return std::string(trim(text.substr(0, text.find(';'))));
  return {};
}

std::string name_of(const CLI::Option& option) {
  return option.get_positional() && !option.nonpositional() ? option.get_name(true, false)
                                                            : option.get_name();
}

std::string missing_argument(const CLI::App& app) {
  const auto options = app.get_options([](const CLI::Option* o) { return o->get_required() && o->empty(); });
  if (options.empty()) return {};
  const std::string example = example_of(app);
  return fmt::format("{} is missing{}", name_of(*options[0]),
                     example.empty() ? "" : fmt::format("; as in `{}`", example));
}

std::optional<double> find_number(const std::string& text) {
  double value = 0;
  return CLI::detail::lexical_cast(text, value) ? std::optional(value) : std::nullopt;
}

// What a value of CLI11's type name must be; empty if it is that.
std::string wanted_number(const std::string& type, const std::string& value) {
  if (type == "INT" && !find_integer<int>(value)) return "a whole number below 2 billion";
  if (type == "UINT" && !find_integer<std::uint64_t>(value)) return "a whole number from 0 up";
  if (type == "FLOAT" && !find_number(value)) return "a number";
  return {};
}

std::string wrong_number(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (const std::string wanted = wanted_number(option->get_type_name(), value); !wanted.empty())
        return fmt::format("{} {:.40}: write {}", name_of(*option), value, wanted);
  return {};
}

// A flag without its value, or one that is there twice.
std::string wrong_count(const CLI::App& app, const CLI::ParseError& error) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = name_of(*option);
    if (option->get_expected_max() == 1 && option->count() > 1)
      return fmt::format("{} is there {} times; write it once", name, option->count());
    if (std::string_view(error.what()).starts_with(name + ": "))
      return fmt::format("{} needs a value: {}", name, option->get_description());
  }
  return {};
}

std::string superfluous(const CLI::App& app) {
  const auto rest = app.remaining(true);
  return rest.empty() ? "" : fmt::format("'{:.60}' is a word too many", rest.front());
}

// What within() and CLI11 say begins with the flag's name and a colon.
std::string first_line(const CLI::ParseError& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  const auto colon = text.find(": ");
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr && colon != std::string::npos)
    text.erase(colon, 1);
  return text;
}

std::string in_our_words(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) return missing_argument(app);
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) return wrong_number(app);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_count(app, error);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) return superfluous(app);
  return {};
}

}  // namespace

Words asked(Words words) {
  if (words.empty() || words[0] != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

const CLI::App* find_verb(const CLI::App& app, const Words& words) {
  if (words.empty() || is_flag(words[0])) return nullptr;
  Words verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->get_name() == words[0]) return verb;
    if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
  }
  const Words near = near_words(words[0], verbs);
  throw ConfigError(fmt::format(
      "'{:.60}' is not a verb; {} (see `gradwire --help`)", words[0],
      near.empty() ? "there are " + join(verbs, ", ") : fmt::format("did you mean {}?", join(near, " or "))));
}

Words checked_words(const CLI::App& app, const CLI::App* verb, Words words) {
  const CLI::App& flags = verb == nullptr ? app : *verb;
  for (std::size_t i = verb == nullptr ? 0 : 1; i < words.size() && words[i] != "--"; ++i) {
    if (!is_flag(words[i])) {
      if (!runs_a_program(verb)) continue;
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(i), "--");
      break;
    }
    const CLI::Option* option = flags.get_option_no_throw(flag_name(words[i]));
    if (option == nullptr) refuse_flag(flags, verb, flag_name(words[i]));
    if (option->get_items_expected_min() > 0 && !holds_value(words[i])) ++i;  // the next word is its value
  }
  return words;
}

std::string usage_message(const CLI::App& app, const CLI::App* verb, const CLI::ParseError& error) {
  const CLI::App& wrong = verb == nullptr ? app : *verb;
  std::string text = in_our_words(wrong, error);
  if (text.empty()) text = first_line(error);
  return text + " " + see_help(verb);
}

void refuse_flags(const CLI::App& verb, const Words& flags, const std::string& why) {
  for (const std::string& flag : flags)
    if (verb.count(flag) > 0) throw ConfigError(fmt::format("{} has no meaning {}", flag, why));
}

CLI::Validator within(double least, double most) {
  return CLI::Validator(
      [least, most](std::string& text) -> std::string {
        const auto value = find_number(text);
        if (value && *value >= least && *value <= most) return {};
        return fmt::format("{:.40}: write a number from {} to {}", text, least, most);
      },
      "");
}

}  // namespace gradwire
