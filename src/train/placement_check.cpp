#include "train/placement_check.h"

#include <cstdlib>
#include <cstring>

#include "base/cpu.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "net/world.h"
#include "train/compute_check.h"
#include "train/placement.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

void throw_if(const std::optional<std::string>& problem) {
  if (problem) throw ConfigError(*problem);
}

void check_tensors(const std::vector<NamedTensor>& tensors, const char* kind, torch::Device device) {
  for (const auto& [name, tensor] : tensors)
    if (tensor.device() != device)
      throw ConfigError(misplaced(
          {.what = fmt::format("{} {}", kind, name),
           .is_on = tensor.device().str(),
           .belongs_on = device.str(),
           .write = fmt::format(
               "model->to(torch::Device(\"{}\")) before DistributedDataParallel, or "
               "DistributedDataParallel(model, communicator, {{.device = ..., .move_to_device = true}})",
               device.str())}));
}

constexpr std::int64_t kPlaceBytes = 512;

RankPlace parse_place(const std::string& text) {
  const auto parts = split(text.c_str(), '\n');
  check(parts.size() == 3, "a rank's place has three lines");
  return {std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

std::vector<RankPlace> gather_places(Communicator& communicator, torch::Device device) {
  const std::string text =
      fmt::format("{}\n{}\n{}", host_identity(), device.str(), gpu_address(device.index()));
  check(text.size() < kPlaceBytes, "a rank's place is short");
  auto mine = torch::zeros({kPlaceBytes}, torch::kUInt8);
  std::memcpy(mine.data_ptr(), text.data(), text.size());
  mine = mine.to(device);
  auto all = torch::zeros({kPlaceBytes * communicator.size()}, mine.options());
  communicator.run(all_gather(memory_of(mine), memory_of(all), DType::u8));
  all = all.to(torch::kCPU);
  std::vector<RankPlace> places;
  for (Rank rank = 0; rank < communicator.size(); ++rank)
    places.push_back(parse_place(static_cast<const char*>(all.data_ptr()) + rank * kPlaceBytes));
  return places;
}

int ranks_on_this_host(const Communicator& communicator) {
  if (communicator.carrier() == Carrier::shared_memory) return communicator.size();
  const char* const text = std::getenv("LOCAL_WORLD_SIZE");
  return text == nullptr ? 1 : std::max(1, find_integer<int>(text).value_or(1));
}

}  // namespace

void check_placement(const ModelTensors& model, const DdpOptions& options, Communicator& communicator) {
  const auto device = options.device;
  const bool gpus = communicator.carrier() == Carrier::gpus;
  throw_if(find_backend_problem({communicator.name(), gpus}, {device.str(), device.is_cuda()}));
  if (device.is_cuda()) {
    const auto index = device.has_index() ? std::optional<int>(device.index()) : std::nullopt;
    throw_if(find_missing_gpu(index, static_cast<int>(torch::cuda::device_count()), communicator.rank()));
  }
  check_tensors(model.parameters, "parameter", device);
  check_tensors(model.buffers, "buffer", device);
  if (device.is_cuda()) throw_if(find_shared_gpu(gather_places(communicator, device)));
}

void warn_about_this_rank(const Communicator& communicator) {
  const ComputeFacts facts{.ranks = ranks_on_this_host(communicator),
                           .cores = usable_cores(),
                           .threads = at::get_num_threads(),
                           .blas_threads_set = std::getenv("OPENBLAS_NUM_THREADS") != nullptr,
                           .libraries = mapped_libraries()};
  for (const auto& problem : find_compute_problems(facts))
    say("gradwire", fmt::format("rank {}: warning: {}", communicator.rank(), problem));
}

}  // namespace gradwire
