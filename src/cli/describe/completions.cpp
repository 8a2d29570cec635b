#include "cli/describe/words.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gradwire {
namespace {

// Text within single quotes, as sh and zsh read it.
std::string sh_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string spaced(const std::vector<std::string>& words) { return join(words, " "); }

std::vector<std::string> flag_names(const std::vector<FlagWords>& flags) {
  std::vector<std::string> names;
  for (const FlagWords& flag : flags) names.insert(names.end(), flag.names.begin(), flag.names.end());
  return names;
}

std::vector<std::string> verb_names(const ProgramWords& program) {
  std::vector<std::string> names;
  for (const VerbWords& verb : program.verbs) names.push_back(verb.name);
  return names;
}

// --- bash: a word is completed by the word before it, or by the verb ---------------------------------------

// A flag that takes a value nobody can list is followed by a file's name: bash's default for no answer.
std::string bash_values(const VerbWords& verb) {
  std::string cases;
  for (const FlagWords& flag : verb.flags) {
    if (flag.value.empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : flag.names) patterns.push_back(verb.name + ":" + name);
    cases +=
        fmt::format("    {}) words={} value=yes ;;\n", join(patterns, "|"), sh_quoted(spaced(flag.values)));
  }
  return cases;
}

std::string bash_verb(const VerbWords& verb) {
  const std::string arguments = verb.arguments.empty() ? "" : spaced(verb.arguments.front().values);
  return fmt::format("    {}) flags={} arguments={} ;;\n", verb.name,
                     sh_quoted(spaced(flag_names(verb.flags))), sh_quoted(arguments));
}

// --- zsh: _arguments, one specification a flag ---------------------------------------------------------------

std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_value(const FlagWords& flag) {
  if (flag.values.empty()) return ":value:_files";
  return fmt::format(":{}:({})", zsh_text(flag.names.back()), spaced(flag.values));
}

std::string zsh_flag(const FlagWords& flag) {
  std::string lines;
  for (const std::string& name : flag.names)
    lines += fmt::format(" \\\n        {}",
                         sh_quoted((flag.repeats ? "*" : "(" + spaced(flag.names) + ")") + name + "[" +
                                   zsh_text(flag.what) + "]" + (flag.value.empty() ? "" : zsh_value(flag))));
  return lines;
}

std::string zsh_verb(const VerbWords& verb) {
  std::string lines = fmt::format("    {})\n      _arguments", verb.name);
  for (const FlagWords& flag : verb.flags) lines += zsh_flag(flag);
  for (const FlagWords& argument : verb.arguments)
    lines += fmt::format(" \\\n        {}", sh_quoted((argument.repeats ? "*" : "") + zsh_value(argument)));
  return lines + "\n      ;;\n";
}

// --- fish: one line a word -----------------------------------------------------------------------------------

std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

std::string fish_flag(const std::string& verb, const FlagWords& flag) {
  std::string line = fmt::format("complete -c gradwire -n '__fish_seen_subcommand_from {}'", verb);
  for (const std::string& name : flag.names)
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  if (!flag.value.empty()) line += " -r";
  if (!flag.values.empty()) line += " -a " + fish_quoted(spaced(flag.values));
  return line + " -d " + fish_quoted(flag.what) + "\n";
}

std::string fish_verb(const VerbWords& verb) {
  std::string lines = fmt::format("complete -c gradwire -f -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                                  fish_quoted(verb.what));
  for (const FlagWords& flag : verb.flags) lines += fish_flag(verb.name, flag);
  for (const FlagWords& argument : verb.arguments)
    if (!argument.values.empty())
      lines +=
          fmt::format("complete -c gradwire -n '__fish_seen_subcommand_from {}' -a {} -d {}\n", verb.name,
                      fish_quoted(spaced(argument.values)), fish_quoted(argument.names.front()));
  return lines;
}

}  // namespace

std::string bash_completion(const ProgramWords& program) {
  std::string values, verbs;
  for (const VerbWords& verb : program.verbs) {
    values += bash_values(verb);
    verbs += bash_verb(verb);
  }
  return fmt::format(R"(# bash completion of gradwire, made from its verbs
_gradwire() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} words='' value='' flags='' arguments=''
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W {0} -- "$word"))
    return
  fi
  case $verb:${{COMP_WORDS[COMP_CWORD-1]}} in
{1}  esac
  case $verb in
{2}  esac
  if [[ -z $value ]]; then
    if [[ $word == -* ]]; then words=$flags; else words=$arguments; fi
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _gradwire gradwire
)",
                     sh_quoted(spaced(verb_names(program)) + " " + spaced(flag_names(program.own.flags))),
                     values, verbs);
}

std::string zsh_completion(const ProgramWords& program) {
  std::string names, verbs;
  for (const VerbWords& verb : program.verbs) {
    names += fmt::format("    {}\n", sh_quoted(verb.name + ":" + zsh_text(verb.what)));
    verbs += zsh_verb(verb);
  }
  return fmt::format(R"(#compdef gradwire
# zsh completion of gradwire, made from its verbs
_gradwire() {{
  local -a verbs
  verbs=(
{0}  )
  if ((CURRENT == 2)); then
    _describe verb verbs
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
{1}  esac
}}
_gradwire "$@"
)",
                     names, verbs);
}

std::string fish_completion(const ProgramWords& program) {
  std::string lines = "# fish completion of gradwire, made from its verbs\n";
  for (const VerbWords& verb : program.verbs) lines += fish_verb(verb);
  return lines;
}

}  // namespace gradwire
