// `gradwire doctor [FILES...]`: what is wrong with this machine, or with a run by the files it left.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_doctor_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
