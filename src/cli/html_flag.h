// --html FILE: what a verb found, as a page to open.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "report/page/page_data.h"

namespace gradwire {

CLI::Option* add_html_flag(CLI::App& verb, std::string& file);

// "gradwire compare gpt2 --on dgx-a100": as it was typed, without --html.
std::string typed_command();

// Writes the page, with the command as it was typed where it has none, and says so on stderr. Nothing when `file` is
// empty.
void write_html(const std::string& file, PageData page);

// What a verb shows where no more than its report is drawn.
PageData plain_page(std::string verb, std::string title, Report report);

}  // namespace gradwire
