#include "sim/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

// Members of one row, with its number for messages.
class Row {
 public:
  Row(const Json& row, std::size_t number) : row_(row), number_(number) {
    if (!row.is_object()) fail("is no object");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("bench results: row {} {}", number_, what));
  }

  bool has(const char* name) const { return row_.contains(name); }

  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) fail(fmt::format("has a {} that is no text", name));
    return value.get<std::string>();
  }

  double number(const char* name, double least) const {
    const Json& value = at(name);
    if (!value.is_number()) fail(fmt::format("has a {} that is no number", name));
    const double number = value.get<double>();
    if (!(number >= least) || number > 1e18)
      fail(fmt::format("has a {} of {}, must be at least {}", name, number, least));
    return number;
  }

 private:
  const Json& at(const char* name) const {
    const auto found = row_.find(name);
    if (found == row_.end()) fail(fmt::format("has no {}", name));
    return *found;
  }

  const Json& row_;
  std::size_t number_;
};

Sweep& sweep_for(std::vector<Sweep>& sweeps, const Sweep& wanted) {
  const auto found = std::ranges::find_if(sweeps, [&](const Sweep& sweep) {
    return sweep.backend == wanted.backend && sweep.collective == wanted.collective &&
           sweep.ranks == wanted.ranks;
  });
  return found != sweeps.end() ? *found : sweeps.emplace_back(wanted);
}

std::string describe(const Sweep& sweep) {
  return fmt::format("{} on {} with {} ranks", name_of(sweep.collective), sweep.backend, sweep.ranks);
}

}  // namespace

std::vector<Sweep> read_sweeps(std::string_view json) {
  const Json all = Json::parse(json, nullptr, false);
  if (!all.is_object() || !all.contains("rows") || !all["rows"].is_array())
    throw ConfigError("bench results: not what `gradwire bench --json` prints, an object with `rows`");
  std::vector<Sweep> sweeps;
  for (std::size_t number = 1; const Json& member : all["rows"]) {
    const Row row(member, number++);
    const double ranks = row.number("ranks", 1);
    if (ranks > 1e6 || ranks != std::floor(ranks)) row.fail(fmt::format("has {} ranks", ranks));
    const Sweep wanted{
        row.text("backend"), parse_collective(row.text("collective")), static_cast<int>(ranks), {}, {}};
    const auto bytes = static_cast<Bytes>(row.number("bytes", 0));
    const Seconds time = row.number("time_us", 1e-6) * 1e-6;
    auto& sweep = sweep_for(sweeps, wanted);
    sweep.samples.push_back({bytes, time});
    const Seconds processor = row.has("processor_us") ? row.number("processor_us", 0) * 1e-6 : time;
    sweep.processor.push_back({bytes, std::max(processor, 1e-12)});
  }
  if (sweeps.empty()) throw ConfigError("bench results: there are no rows");
  return sweeps;
}

const Sweep& sweep_of(const std::vector<Sweep>& sweeps, std::string_view backend, Collective collective,
                      int ranks) {
  std::vector<std::string> there;
  for (const Sweep& sweep : sweeps) {
    if (sweep.backend == backend && sweep.collective == collective && sweep.ranks == ranks) return sweep;
    there.push_back(describe(sweep));
  }
  throw ConfigError(fmt::format("{} was not measured; there are: {}",
                                describe({std::string(backend), collective, ranks, {}, {}}),
                                join(there, ", ")));
}

}  // namespace gradwire
