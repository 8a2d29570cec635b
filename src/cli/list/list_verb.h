// `gradwire list WHAT`: what is built in. A new kind of list is one entry in list_verb.cpp and two functions.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_list_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
