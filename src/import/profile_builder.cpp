#include "import/profile_builder.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

constexpr std::size_t kLongestName = 400, kMostNames = 1 << 20;

bool same_word(std::string_view text, std::string_view small) {
  return text.size() == small.size() &&
         std::equal(text.begin(), text.end(), small.begin(),
                    [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

bool is_any_of(std::string_view category, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return same_word(category, word); });
}

// By name alone, where a writer has no categories: spans that enclose operators.
bool encloses(std::string_view name) {
  return name.starts_with("ProfilerStep") || name.starts_with("Optimizer.") ||
         name.starts_with("enumerate(DataLoader)") || name.starts_with("DistributedDataParallel.forward") ||
         name.starts_with("## ") || name.starts_with("[pl]") || is_backend_span(name);
}

bool is_copy_name(std::string_view name) {
  return name.starts_with("Memcpy") || name.starts_with("Memset") || name.starts_with("Copy") ||
         name.starts_with("[memory]") || name.starts_with("hipMemcpy");
}

ActivityKind host_kind(std::string_view name) {
  return encloses(name) ? ActivityKind::annotation : ActivityKind::cpu_op;
}

Bytes call_bytes(const ProfileEvent& event) {
  const bool typed = !event.type.empty();
  const auto elements = typed ? std::max(event.in_elements, event.out_elements) : event.input_elements;
  const int size = bytes_of_type(typed ? event.type : event.input_type);
  return elements > 0 && elements < (std::int64_t{1} << 56) ? static_cast<Bytes>(elements) * size : 0;
}

bool tells_of_a_call(const ProfileEvent& event) {
  if (!event.collective.empty()) return event.collective != "wait";
  return event.input_elements > 0 && (is_backend_span(event.name) || event.name.starts_with("c10d::") ||
                                      event.name == "record_param_comms");
}

bool is_of_gradients(std::string_view name) {
  return name == "torch::autograd::AccumulateGrad" || name.starts_with("aten::_foreach_") ||
         name.starts_with("aten::_fused_");
}

// "[0, 8, 16]"; a long list is cut, "[0, 1, 2, ...]".
std::optional<RankRange> find_members(std::string_view list) {
  constexpr int kMostRanks = 1 << 24;
  std::optional<RankRange> range;
  for (const auto part : split(list, ',')) {
    const auto digits = part.substr(std::min(part.find_first_of("0123456789"), part.size()));
    const auto rank = find_integer<int>(digits.substr(0, digits.find_first_not_of("0123456789")));
    if (!rank || *rank > kMostRanks) continue;
    if (!range) range = RankRange{*rank, *rank};
    range->first = std::min(range->first, *rank);
    range->last = std::max(range->last, *rank);
  }
  return range;
}

// Before PyTorch 2.4 groups have no name: they are told apart by who is in them.
std::string group_of(const ProfileEvent& event) {
  constexpr std::size_t kLongestGroup = 64, kLongestList = 200;
  if (!event.group.empty()) return std::string(event.group.substr(0, kLongestGroup));
  return find_members(event.group_ranks) ? std::string(event.group_ranks.substr(0, kLongestList))
                                         : std::string();
}

}  // namespace

bool ProfileBuilder::communicates(std::string_view name) {
  const auto index = name_index(name);
  if (index + 1 >= kMostNames) return is_communication_kernel(name);  // one number for many
  communicates_.resize(std::max<std::size_t>(communicates_.size(), index + 1));
  if (!communicates_[index]) communicates_[index] = is_communication_kernel(name);
  return *communicates_[index];
}

ActivityKind ProfileBuilder::gpu_kind(std::string_view name) {
  if (communicates(name)) return ActivityKind::communication;
  return name.starts_with("Memcpy") || name.starts_with("Memset") ? ActivityKind::copy : ActivityKind::kernel;
}

std::optional<ActivityKind> ProfileBuilder::find_kind(const ProfileEvent& event) {
  const auto category = event.category;
  if (category.empty())
    return event.process_text.starts_with("CUDA") ? gpu_kind(event.name) : host_kind(event.name);
  if (is_any_of(category, {"kernel"}))  // whatever its name, if PyTorch says which collective it does
    return event.collective.empty() ? gpu_kind(event.name) : ActivityKind::communication;
  if (is_any_of(category, {"gpu_memcpy", "gpu_memset", "memcpy", "memset"})) return ActivityKind::copy;
  if (is_any_of(category, {"cpu_op", "operator", "function"})) return host_kind(event.name);
  if (is_any_of(category, {"user_annotation"})) return ActivityKind::annotation;
  if (is_any_of(category,
                {"cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "hip_driver", "driver",
                 "xpu_runtime", "xpu_driver", "mtia_runtime", "privateuse1_runtime", "privateuse1_driver"}))
    return ActivityKind::runtime;
  if (is_any_of(category, {"concurrent_kernel", "gpu_op", "async"}))
    return is_copy_name(event.name) ? ActivityKind::copy : gpu_kind(event.name);
  return std::nullopt;
}

std::uint32_t ProfileBuilder::name_index(std::string_view name) {
  name = name.substr(0, kLongestName);
  if (const auto found = names_.find(name); found != names_.end()) return found->second;
  if (profile_.names.size() >= kMostNames) return static_cast<std::uint32_t>(kMostNames - 1);
  const auto index = static_cast<std::uint32_t>(profile_.names.size());
  profile_.names.emplace_back(name);
  names_.emplace(name, index);
  return index;
}

std::int32_t ProfileBuilder::lane_index(std::int64_t process, std::int64_t thread) {
  const auto [found, fresh] =
      lanes_.try_emplace({process, thread}, static_cast<std::int32_t>(profile_.lanes.size()));
  if (fresh) profile_.lanes.push_back({process, thread});
  return found->second;
}

std::int32_t ProfileBuilder::add_call(const ProfileEvent& event) {
  ProfiledCall call;
  const auto said = event.collective.empty() ? event.name : event.collective;
  call.collective = SaidCollective(said);
  call.bytes = call_bytes(event);
  call.whole_numbers = is_whole_type(event.type.empty() ? event.input_type : event.type);
  call.ranks = static_cast<int>(std::clamp<std::int64_t>(event.group_size, 0, 1 << 24));
  call.members = find_members(event.group_ranks);
  call.group = group_of(event);
  call.sequence = event.sequence;
  call.external = event.external;
  profile_.calls.push_back(std::move(call));
  return static_cast<std::int32_t>(profile_.calls.size() - 1);
}

// The group of all ranks is the first that PyTorch makes: "0", or without a name in old traces.
void ProfileBuilder::take_group(const ProfileEvent& event) {
  if (!event.group.empty() && event.group != "0") return;
  const auto size = static_cast<int>(std::clamp<std::int64_t>(event.group_size, 0, 1 << 24));
  if (size > largest_group_) rank_in_it_.reset();
  largest_group_ = std::max(largest_group_, size);
  if (size == largest_group_ && event.group_rank >= 0 && event.group_rank < size)
    rank_in_it_ = static_cast<int>(event.group_rank);
}

// It is no work of its own: it says whose the kernels are that it covers.
void ProfileBuilder::take_gpu_call(const ProfileEvent& event) {
  if (!is_any_of(event.category, {"gpu_user_annotation"}) || !is_backend_span(event.name)) return;
  const bool placed = event.stream >= 0;
  const auto lane = placed ? lane_index(event.device, event.stream) : lane_index(event.process, event.thread);
  gpu_calls_.push_back(
      {lane, name_index(event.name), *event.begin, *event.begin + std::max<Nanoseconds>(0, event.duration)});
}

// A list of tensors has no type of its own: gradients are floats unless something else is said.
void ProfileBuilder::take_sized(const ProfileEvent& event, const Activity& activity) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
  if (event.input_elements <= 0 || event.input_elements > kMostElements || !is_of_gradients(event.name))
    return;
  const int known = bytes_of_type(event.input_type);
  profile_.sized.push_back(
      {activity.begin, activity.end, activity.name,
       static_cast<Bytes>(event.input_elements) * static_cast<Bytes>(known > 0 ? known : 4)});
}

// Where the trace does not say it at its top.
void ProfileBuilder::say_who_it_was() {
  if (largest_group_ < 2 || profile_.rank.value_or(0) >= largest_group_) return;
  if (!profile_.world) profile_.world = largest_group_;
  if (!profile_.rank && profile_.world == largest_group_) profile_.rank = rank_in_it_;
}

void ProfileBuilder::add(const ProfileEvent& event) {
  if (event.phase != "X" || !event.begin) return;
  const auto kind = find_kind(event);
  if (!kind) return take_gpu_call(event);
  Activity activity;
  activity.begin = *event.begin;
  activity.end = activity.begin + std::max<Nanoseconds>(0, event.duration);
  activity.correlation = event.correlation;
  activity.external = event.external;
  activity.kind = *kind;
  activity.name = name_index(event.name);
  const bool gpu = on_gpu(*kind) && event.stream >= 0;
  activity.lane = gpu ? lane_index(event.device, event.stream) : lane_index(event.process, event.thread);
  if (tells_of_a_call(event)) {
    activity.call = add_call(event);
    take_group(event);
  }
  if (*kind == ActivityKind::cpu_op) take_sized(event, activity);
  profile_.activities.push_back(activity);
}

Profile ProfileBuilder::finish() {
  say_who_it_was();
  auto& activities = profile_.activities;
  constexpr Nanoseconds kMostBase = INT64_MAX / 2;
  const auto shift = [&](auto& span) {
    span.begin += base_;
    span.end += base_;
  };
  if (base_ > 0 && base_ < kMostBase) {
    std::for_each(activities.begin(), activities.end(), shift);
    std::for_each(gpu_calls_.begin(), gpu_calls_.end(), shift);
    std::for_each(profile_.sized.begin(), profile_.sized.end(), shift);
  }
  std::sort(profile_.sized.begin(), profile_.sized.end(),
            [](const SizedOperator& a, const SizedOperator& b) { return a.begin < b.begin; });
  // Enclosing spans first where two begin together.
  std::sort(activities.begin(), activities.end(), [](const Activity& a, const Activity& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  link_calls(profile_, std::move(gpu_calls_));
  return std::move(profile_);
}

int gpus_of_node(const Profile& profile) { return static_cast<int>(profile.gpus.size()); }

}  // namespace gradwire
