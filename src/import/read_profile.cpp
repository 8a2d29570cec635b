#include "import/profile.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "import/json_pieces.h"
#include "import/profile_builder.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostGpus = 1024;

std::optional<int> small_number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  const auto value = found->get<std::int64_t>();
  return value >= 0 && value < (1 << 24) ? std::optional(static_cast<int>(value)) : std::nullopt;
}

std::string short_text(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>().substr(0, 200)
                                                     : std::string();
}

void take_distributed(const Json& info, Profile& profile) {
  if (!info.is_object()) return;
  profile.rank = small_number(info, "rank");
  profile.world = small_number(info, "world_size");
  if (profile.world && profile.rank && *profile.rank >= *profile.world) profile.world.reset();
  profile.backend = short_text(info, "backend");
  profile.nccl_version = short_text(info, "nccl_version");
}

void take_devices(const Json& devices, Profile& profile) {
  if (!devices.is_array()) return;
  for (const Json& device : devices)
    if (device.is_object() && profile.gpus.size() < kMostGpus)
      profile.gpus.push_back(short_text(device, "name"));
}

// "baseTimeNanoseconds" and what says who ran where; all else is passed over.
void take_member(const JsonPiece& piece, ProfileBuilder& builder) {
  const bool wanted = piece.key == "distributedInfo" || piece.key == "deviceProperties" ||
                      piece.key == "host_name" || piece.key == "baseTimeNanoseconds";
  if (!wanted) return;
  const Json value = Json::parse(piece.text, nullptr, false);
  Profile& profile = builder.profile();
  if (piece.key == "distributedInfo") take_distributed(value, profile);
  if (piece.key == "deviceProperties") take_devices(value, profile);
  if (piece.key == "host_name" && value.is_string()) profile.host = value.get<std::string>().substr(0, 200);
  if (piece.key == "baseTimeNanoseconds" && value.is_number_integer())
    builder.set_base(value.get<Nanoseconds>());
}

// "worker3_step_12.pt.trace.json", "trace_rank-1.json", "rank_0.json.gz": what a name says of the rank.
std::optional<int> rank_in_name(const std::string& file) {
  const auto slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  for (const std::string_view word : {"rank", "worker"}) {
    auto at = name.find(word);
    if (at == std::string::npos) continue;
    at += word.size();
    while (at < name.size() && (name[at] == '-' || name[at] == '_' || name[at] == '=')) ++at;
    std::size_t end = at;
    while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if (end > at && end - at < 7) return std::stoi(name.substr(at, end - at));
  }
  return std::nullopt;
}

// Kineto writes the phase first, then the category: flows, instants and Python's frames, half of a trace, are passed
// over without being parsed.
bool is_passed_over(std::string_view event) {
  const auto key = event.find('"');
  if (key == std::string_view::npos || event.substr(key, 4) != "\"ph\"") return false;
  const auto phase = event.find('"', key + 4);
  if (phase == std::string_view::npos || phase + 1 >= event.size()) return false;
  if (event[phase + 1] != 'X') return true;
  const auto next = event.find('"', phase + 3);
  if (next == std::string_view::npos || event.substr(next, 5) != "\"cat\"") return false;
  const auto category = event.find('"', next + 5);
  return category != std::string_view::npos && event.substr(category).starts_with("\"python_function\"");
}

void note_damage(Profile& profile, const std::string& damage) {
  if (profile.broken > 0)
    profile.notes.push_back(
        fmt::format("{} of {} events are no JSON and were left out", profile.broken, profile.events));
  if (damage.empty()) return;
  profile.whole = false;
  profile.notes.push_back(
      fmt::format("{}; this is what its first {} events say", damage, profile.events - profile.broken));
}

}  // namespace

Profile read_profile(ByteSource& source, const std::string& name) {
  JsonPieces pieces(source, "traceEvents");
  ProfileBuilder builder(name);
  const std::unique_ptr<EventParser> parser = make_event_parser();
  Profile& profile = builder.profile();
  while (const auto piece = pieces.next()) {
    if (!piece->key.empty()) {
      take_member(*piece, builder);
      continue;
    }
    ++profile.events;
    if (is_passed_over(piece->text)) continue;
    if (const auto event = parser->find_event(*piece))
      builder.add(*event);
    else
      ++profile.broken;
  }
  profile.bytes = source.given();
  if (profile.activities.empty() && !pieces.damage().empty())
    throw ConfigError(fmt::format("{}: {}", name, pieces.damage()));
  if (profile.activities.empty())
    throw ConfigError(
        fmt::format("{}: a trace without a single event that has a begin and a duration: nothing of a run "
                    "was recorded; have "
                    "steps run while the profiler is active, and export_chrome_trace() after them",
                    name));
  note_damage(profile, pieces.damage());
  if (!profile.rank) profile.rank = rank_in_name(name);
  return builder.finish();
}

Profile read_profile(const std::filesystem::path& path) {
  ByteSource source(path);
  return read_profile(source, path.string());
}

}  // namespace gradwire
