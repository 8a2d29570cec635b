// Bad usage, said in one line: what is wrong, what would be right, where to read on. CLI11 parses; what it
// says of errors is put into our words here, and a flag or verb that does not exist is found before CLI11
// complains of anything else, because a misspelt flag is often why another seems to be missing.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace gradwire {

using Words = std::vector<std::string>;  // of a command line, without the program's name

// "help" and "help compare" as the flag --help.
Words asked(Words words);

// The verb the words name; null when they begin with a flag or there are none. Throws ConfigError, with near
// ones, for a verb that does not exist.
const CLI::App* find_verb(const CLI::App& app, const Words& words);

// The words as CLI11 is to read them: a program to run begins at the first word that is no flag, with or
// without "--". Throws ConfigError, with near ones, for a flag that does not exist.
Words checked_words(const CLI::App& app, const CLI::App* verb, Words words);

// "--on is missing; as in `gradwire compare gpt2 --on dgx-a100` (see `gradwire compare --help`)"
std::string usage_message(const CLI::App& app, const CLI::App* verb, const CLI::ParseError& error);

// Throws ConfigError if one of `flags` was given: "--steps has no meaning with --on: nothing is trained".
void refuse_flags(const CLI::App& verb, const Words& flags, const std::string& why);

// For a flag's check(): a number from `least` to `most`, both included.
CLI::Validator within(double least, double most);

}  // namespace gradwire
