#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "cli/verbs.h"
#include "report/list/lists.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr const char* kListExample = R"(
Examples:
  gradwire list machines
  gradwire list gpus --json
)";

struct ListFlags {
  std::string what;
  bool json = false;
};

std::vector<std::string> names() {
  std::vector<std::string> known;
  for (const Listing& listing : listings()) known.emplace_back(listing.name);
  return known;
}

const Listing& find_listing(std::string_view what) {
  for (const Listing& listing : listings())
    if (what == listing.name) return listing;
  throw ConfigError(fmt::format("'{:.60}' can't be listed: there are {}{}", what, join(names(), ", "),
                                did_you_mean(what, names())));
}

}  // namespace

void add_list_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* verb = app.add_subcommand("list", "lists what is built in: " + join(names(), ", "));
  verb->add_option("what", flags->what, join(names(), ", ") + "; without: what there is");
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  verb->footer(kListExample);
  verb->callback([flags, &exit_code] {
    show(flags->what.empty() ? contents_report() : find_listing(flags->what).report(), flags->json);
    exit_code = 0;
  });
}

}  // namespace gradwire
