#include "train/job/agreement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr const char* kKey = "train/options";

std::string flag_of(std::string name) {
  if (name == "learning_rate") return "--lr";
  if (name == "model") return "the model";
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name;
}

// Of a file it matters whether there is one.
nlohmann::json what_counts(const TrainOptions& options) {
  nlohmann::json json = options;
  json.erase("json");
  json.erase("trace");
  json.erase("html");
  json.erase("command");
  json.erase("checkpoint_before");  // of each host's own disk
  json.erase("max_restarts");       // node 0's counts
  for (const char* file : {"text", "checkpoint", "resume"}) json[file] = json[file].get<std::string>() != "";
  return json;
}

}  // namespace

std::string find_difference(const TrainOptions& here, const TrainOptions& on_rank_0) {
  const auto mine = what_counts(here), theirs = what_counts(on_rank_0);
  for (const auto& [name, value] : mine.items()) {
    const auto& other = theirs.at(name);
    if (value == other) continue;
    if (value.is_boolean())
      return fmt::format("{} is given {} alone", flag_of(name), value.get<bool>() ? "here" : "on rank 0");
    return fmt::format("{} is {} here and {} on rank 0", flag_of(name), value.dump(), other.dump());
  }
  return "";
}

void agree_on_options(const World& world, const TrainOptions& options) {
  if (world.size == 1) return;
  if (world.rank == 0) return world.store->set(kKey, to_argument(options));
  const auto text = get_from(*world.store, 0, kKey, Deadline::after(world.timeout));
  const auto difference = find_difference(options, from_argument(text));
  if (!difference.empty())
    throw ConfigError(fmt::format("rank {}: {}: write the same flags on all nodes", world.rank, difference));
}

}  // namespace gradwire
