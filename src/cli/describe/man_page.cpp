#include "cli/describe/words.h"

#include <fmt/format.h>

#include "base/text.h"

namespace gradwire {
namespace {

// A line that man prints as it is.
std::string roff(std::string_view line) {
  std::string text = line.starts_with('.') || line.starts_with('\'') ? "\\&" : "";
  for (const char c : line) {
    if (c == '\\')
      text += "\\e";
    else if (c == '-')
      text += "\\-";
    else
      text += c;
  }
  return text;
}

// Lines that stay as they are laid out: examples and small tables.
std::string verbatim(const std::string& text) {
  std::string lines = ".nf\n";
  for (const std::string_view line : split(trim(text), '\n')) lines += roff(line) + "\n";
  return lines + ".fi\n";
}

std::string man_top(const std::string& page, const std::string& what, const std::string& version) {
  std::string capitals = page;
  for (char& c : capitals) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(".TH {} 1 \"\" \"Gradwire {}\" \"Gradwire\"\n.SH NAME\n{} \\- {}\n", roff(capitals),
                     version, roff(page), roff(what));
}

std::string man_entry(const FlagWords& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.names) names.push_back("\\fB" + roff(name) + "\\fR");
  const std::string value = flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR";
  return fmt::format(".TP\n{}{}\n{}\n", join(names, ", "), value, roff(flag.what));
}

std::string man_entries(const char* section, const std::vector<FlagWords>& flags) {
  if (flags.empty()) return "";
  std::string text = fmt::format(".SH {}\n", section);
  for (const FlagWords& flag : flags) text += man_entry(flag);
  return text;
}

std::string man_end(const std::vector<std::string>& others) {
  std::vector<std::string> pages;
  for (const std::string& other : others) pages.push_back(".BR " + roff(other) + " (1)");
  return ".SH EXIT STATUS\n0 success; 1 the job failed; 2 bad usage or bad input.\n.SH SEE ALSO\n" +
         join(pages, ",\n") + "\n";
}

std::vector<std::string> verb_pages(const ProgramWords& program) {
  std::vector<std::string> pages;
  for (const VerbWords& verb : program.verbs) pages.push_back("gradwire-" + verb.name);
  return pages;
}

}  // namespace

std::string man_page(const ProgramWords& program, const std::string& version) {
  const std::string& what = program.own.what;
  std::string text = man_top("gradwire", what.starts_with("gradwire: ") ? what.substr(10) : what, version);
  text += ".SH SYNOPSIS\n.B gradwire\n.I VERB\n[...]\n.SH VERBS\n";
  for (const VerbWords& verb : program.verbs)
    text += fmt::format(".TP\n.BR gradwire\\-{} (1)\n{}\n", verb.name, roff(verb.what));
  text += man_entries("OPTIONS", program.own.flags) + ".SH EXAMPLES\n" + verbatim(program.own.notes);
  text +=
      ".SH ENVIRONMENT\n.TP\n.B GRADWIRE_MODULES\nthe folder with the backends' modules, instead of those of "
      "the "
      "installation\n";
  return text + man_end(verb_pages(program));
}

std::string man_page(const VerbWords& verb, const ProgramWords& program, const std::string& version) {
  std::string text = man_top("gradwire-" + verb.name, verb.what, version);
  text += fmt::format(".SH SYNOPSIS\n.B gradwire {}\n", verb.name);
  for (const FlagWords& argument : verb.arguments)
    text += fmt::format(".I {}\n", roff(argument.names.front()));
  text += "[...]\n" + man_entries("ARGUMENTS", verb.arguments) + man_entries("OPTIONS", verb.flags);
  if (!trim(verb.notes).empty()) text += ".SH NOTES\n" + verbatim(verb.notes);
  std::vector<std::string> others = {"gradwire"};
  for (const std::string& page : verb_pages(program))
    if (page != "gradwire-" + verb.name) others.push_back(page);
  return text + man_end(others);
}

}  // namespace gradwire
