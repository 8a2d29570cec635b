#include "cli/help.h"
#include "report/terminal.h"

namespace gradwire {
namespace {

constexpr std::size_t kColumn = 26, kVerbColumn = 12;  // where descriptions begin

std::string described(const std::string& name, const std::string& description, std::size_t column) {
  std::string line = "  " + name;
  if (description.empty()) return line + "\n";
  if (line.size() + 1 >= column) return line + "\n" + wrapped(std::string(column, ' ') + description, column);
  line.resize(column, ' ');
  return wrapped(line + description, column);
}

}  // namespace

HelpFormatter::HelpFormatter() { label("SUBCOMMAND", "VERB"); }

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  return described(make_option_name(option, is_positional) + make_option_opts(option),
                   make_option_desc(option), kColumn);
}

std::string HelpFormatter::make_subcommand(const CLI::App* verb) const {
  return described(verb->get_name(), verb->get_description(), kVerbColumn);
}

}  // namespace gradwire
