// Gathers the events of a trace into a Profile: sorts out what is kept, gives names and lanes numbers, and at
// the end links communication kernels to the calls that started them. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "import/profile.h"
#include "import/profile_event.h"

namespace gradwire {

// What a profiler drew on a stream of the GPU around the kernels of one call: "nccl:all_reduce".
struct GpuCallSpan {
  std::int32_t lane = 0;
  std::uint32_t name = 0;
  Nanoseconds begin = 0, end = 0;
};

class ProfileBuilder {
 public:
  explicit ProfileBuilder(std::string file) { profile_.file = std::move(file); }

  Profile& profile() { return profile_; }
  void add(const ProfileEvent&);
  void set_base(Nanoseconds base) { base_ = base; }  // added to every time at the end
  Profile finish();

 private:
  struct NameHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::uint32_t name_index(std::string_view name);
  bool communicates(std::string_view name);
  ActivityKind gpu_kind(std::string_view name);
  std::optional<ActivityKind> find_kind(const ProfileEvent&);  // nothing for what is not kept
  std::int32_t lane_index(std::int64_t process, std::int64_t thread);
  std::int32_t add_call(const ProfileEvent&);
  void take_group(const ProfileEvent&);
  void take_gpu_call(const ProfileEvent&);
  void take_sized(const ProfileEvent&, const Activity&);
  void say_who_it_was();

  Profile profile_;
  std::vector<GpuCallSpan> gpu_calls_;
  Nanoseconds base_ = 0;
  int largest_group_ = 0;
  std::optional<int> rank_in_it_;
  std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>> names_;
  std::vector<std::optional<bool>> communicates_;  // by name: a trace has few, and each thousands of times
  std::map<std::pair<std::int64_t, std::int64_t>, std::int32_t> lanes_;
};

// Gives every communication kernel without arguments of its own the call that started it: by equal external
// id, by the operator around its launch, or, where all of that is missing, one after the other. Where no kernel is
// known to communicate by its name it finds those that do by the calls.
void link_calls(Profile&, std::vector<GpuCallSpan>);

}  // namespace gradwire
