#include "import/watch_notes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr double kMostNumber = 1e12;
constexpr std::size_t kMostProblems = 20, kMostBuckets = 100000;

const Json* find_member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<double> find_number_of(const Json& object, const char* key) {
  const Json* value = find_member(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double number = value->get<double>();
  return number >= 0 && number < kMostNumber ? std::optional(number) : std::nullopt;
}

double number_of(const Json& object, const char* key) { return find_number_of(object, key).value_or(0); }

int count_of(const Json& object, const char* key) {
  return static_cast<int>(std::min(number_of(object, key), 1e9));
}

std::string text_of(const Json& object, const char* key) {
  const Json* value = find_member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>().substr(0, 200) : std::string();
}

// "1048576, 405544"
std::vector<Bytes> sizes_of(const std::string& text) {
  std::vector<Bytes> sizes;
  for (const auto part : split(text, ','))
    if (const auto size = find_integer<Bytes>(trim(part)); size && sizes.size() < kMostBuckets)
      sizes.push_back(*size);
  return sizes;
}

DdpSettings ddp_settings(const Json& data) {
  DdpSettings ddp;
  ddp.find_unused_parameters = number_of(data, "find_unused_parameters") > 0;
  ddp.broadcast_buffers = number_of(data, "broadcast_buffers") > 0;
  ddp.sync_batch_norm = number_of(data, "has_sync_bn") > 0;
  if (const auto unused = find_number_of(data, "unused_parameter_size"))
    ddp.unused_parameters = static_cast<Bytes>(*unused);
  ddp.bucket_cap = static_cast<Bytes>(number_of(data, "bucket_cap_bytes"));
  ddp.parameters = static_cast<Bytes>(number_of(data, "total_parameter_size_bytes"));
  ddp.tensors = count_of(data, "num_parameter_tensors");
  const Json* sizes = find_member(data, "rebuilt_bucket_sizes");
  if (sizes == nullptr || !sizes->is_string() || sizes->get_ref<const std::string&>().empty())
    sizes = find_member(data, "bucket_sizes");
  if (sizes != nullptr && sizes->is_string()) ddp.buckets = sizes_of(sizes->get_ref<const std::string&>());
  return ddp;
}

WatchNotes notes_of(const Json& document) {
  WatchNotes notes;
  notes.rank = count_of(document, "rank");
  notes.world = std::max(1, count_of(document, "world"));
  notes.backend = text_of(document, "backend");
  notes.torch = text_of(document, "torch");
  notes.host = text_of(document, "host");
  const Json* kineto = find_member(document, "kineto");
  notes.kineto = kineto != nullptr && kineto->is_boolean() && kineto->get<bool>();
  notes.steps = count_of(document, "steps");
  const auto part = [&](const char* key) {
    const Json* found = find_member(document, key);
    return found == nullptr ? Json() : *found;
  };
  const Json times = part("step_ms"), costs = part("costs"), processor = part("processor");
  notes.profiled_steps = count_of(part("profiled"), "count");
  notes.before_ms = find_number_of(times, "before");
  notes.profiled_ms = find_number_of(times, "profiled");
  notes.after_ms = find_number_of(times, "after");
  notes.own_us = number_of(document, "own_us");
  notes.start_ms = number_of(costs, "start_ms");
  notes.write_ms = number_of(costs, "write_ms");
  notes.cores = count_of(processor, "cores");
  notes.threads = count_of(processor, "threads");
  notes.waited_ms = find_number_of(processor, "waited_ms");
  if (const Json* ddp = find_member(document, "ddp"); ddp != nullptr && ddp->is_object())
    notes.ddp = ddp_settings(*ddp);
  const Json problems = part("problems");
  for (const Json& problem : problems.is_array() ? problems : Json::array())
    if (problem.is_string() && notes.problems.size() < kMostProblems)
      notes.problems.push_back(problem.get<std::string>().substr(0, 300));
  return notes;
}

bool is_gradient_call(const Profile& profile, const Activity& activity) {
  const auto name = profile.name_of(activity);
  return !on_gpu(activity.kind) && is_backend_span(name) && collective_of(name) == Collective::all_reduce;
}

void add_size(Profile& profile, Activity& activity, Bytes bytes, int ranks) {
  ProfiledCall call;
  call.collective = Collective::all_reduce;
  call.bytes = bytes;
  call.ranks = ranks;
  activity.call = static_cast<std::int32_t>(profile.calls.size());
  profile.calls.push_back(std::move(call));
}

}  // namespace

Bytes used_map_bytes(const DdpSettings& ddp) { return static_cast<Bytes>(ddp.tensors) * 4; }

WatchNotes parse_watch_notes(std::string_view text, const std::string& name) {
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded() || !document.is_object() || !document.contains("gradwire_watch"))
    throw ConfigError(fmt::format("{}: these are no notes of gradwire watch, or they are cut off", name));
  WatchNotes notes = notes_of(document);
  notes.file = name;
  return notes;
}

void add_notes(const WatchNotes& notes, Profile& profile) {
  if (!profile.world) profile.world = notes.world;
  if (profile.backend.empty()) profile.backend = notes.backend;
  if (!notes.ddp || notes.ddp->buckets.empty()) return;
  auto sizes = notes.ddp->buckets;
  if (notes.ddp->find_unused_parameters) sizes.push_back(used_map_bytes(*notes.ddp));
  std::vector<std::vector<Activity*>> backwards;  // the all-reduces after each forward
  for (Activity& activity : profile.activities) {
    if (profile.name_of(activity).starts_with("DistributedDataParallel.forward")) backwards.emplace_back();
    if (!backwards.empty() && is_gradient_call(profile, activity)) backwards.back().push_back(&activity);
  }
  for (const auto& calls : backwards) {
    const bool sized = std::any_of(calls.begin(), calls.end(), [](auto call) { return call->call >= 0; });
    if (sized || calls.size() != sizes.size()) continue;
    for (std::size_t i = 0; i < calls.size(); ++i) add_size(profile, *calls[i], sizes[i], notes.world);
  }
}

}  // namespace gradwire
