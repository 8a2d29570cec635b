// --help that fits a terminal of 80 columns: CLI11's, with long descriptions wrapped. Footers are wrapped by
// hand, because they hold examples.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace gradwire {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
};

}  // namespace gradwire
