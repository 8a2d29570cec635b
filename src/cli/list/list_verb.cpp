#include "cli/list/list_verb.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/list/hardware.h"
#include "cli/list/models.h"

namespace gradwire {
namespace {

struct Listing {
  const char* name;
  std::string (*text)();
  nlohmann::json (*json)();
};

// What can be listed. JSON is an object with one key, the listing's name.
constexpr Listing kListings[] = {
    {"gpus", gpus_text, gpus_json},
    {"links", links_text, links_json},
    {"networks", networks_text, networks_json},
    {"machines", machines_text, machines_json},
    {"models", models_text, models_json},
};

constexpr const char* kExample = R"(
Examples:
  gradwire list machines
  gradwire list gpus --json
)";

struct Flags {
  std::string what;
  bool json = false;
};

std::string names() {
  std::vector<std::string> known;
  for (const Listing& listing : kListings) known.emplace_back(listing.name);
  return join(known, ", ");
}

const Listing& find_listing(std::string_view what) {
  for (const Listing& listing : kListings)
    if (what == listing.name) return listing;
  throw ConfigError(fmt::format("'{}' can't be listed: there are {}", what, names()));
}

}  // namespace

void add_list_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("list", "lists what is built in: " + names());
  verb->add_option("what", flags->what, names())->required();
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  verb->footer(kExample);
  verb->callback([flags, &exit_code] {
    const Listing& listing = find_listing(flags->what);
    if (flags->json)
      fmt::print("{}\n", nlohmann::json{{listing.name, listing.json()}}.dump(2));
    else
      fmt::print("{}", listing.text());
    exit_code = 0;
  });
}

}  // namespace gradwire
