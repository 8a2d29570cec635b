#include "cli/list/list_verb.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "cli/list/hardware.h"
#include "cli/list/models.h"

namespace gradwire {
namespace {

struct Listing {
  const char* name;
  const char* what;
  std::string (*text)();
  nlohmann::json (*json)();
};

// What can be listed. JSON is an object with one key, the listing's name.
constexpr Listing kListings[] = {
    {"gpus", "GPUs: compute, memory, NVLink, PCIe", gpus_text, gpus_json},
    {"links", "links and processors, with what they achieve", links_text, links_json},
    {"networks", "networks between nodes: Ethernet, InfiniBand, EFA", networks_text, networks_json},
    {"machines", "machines for --on MACHINE", machines_text, machines_json},
    {"models", "models for compare MODEL and train MODEL --on MACHINE", models_text, models_json},
};

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
  for (const Listing& listing : kListings) known.emplace_back(listing.name);
  return known;
}

std::string contents() {
  std::string text = "What is built in:\n";
  for (const Listing& listing : kListings)
    text += fmt::format("  gradwire list {:<10} {}\n", listing.name, listing.what);
  return text;
}

const Listing& find_listing(std::string_view what) {
  for (const Listing& listing : kListings)
    if (what == listing.name) return listing;
  throw ConfigError(fmt::format("'{:.60}' can't be listed: there are {}{}", what, join(names(), ", "),
                                did_you_mean(what, names())));
}

void print_list(const ListFlags& flags) {
  if (flags.what.empty() && flags.json) return fmt::print("{}\n", nlohmann::json{{"lists", names()}}.dump(2));
  if (flags.what.empty()) return fmt::print("{}", contents());
  const Listing& listing = find_listing(flags.what);
  if (flags.json) return fmt::print("{}\n", nlohmann::json{{listing.name, listing.json()}}.dump(2));
  fmt::print("{}", listing.text());
}

}  // namespace

void add_list_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<ListFlags>();
  CLI::App* verb = app.add_subcommand("list", "lists what is built in: " + join(names(), ", "));
  verb->add_option("what", flags->what, join(names(), ", ") + "; without: what there is");
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  verb->footer(kListExample);
  verb->callback([flags, &exit_code] {
    print_list(*flags);
    exit_code = 0;
  });
}

}  // namespace gradwire
