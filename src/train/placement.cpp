#include "train/placement.h"

#include <fmt/format.h>

namespace gradwire {
namespace {

constexpr const char* kOwnDevice = "torch::Device(torch::kCUDA, world.local_rank)";

}  // namespace

std::string misplaced(const Misplacement& problem) {
  return fmt::format("{} is on {} and belongs on {}: write {}", problem.what, problem.is_on,
                     problem.belongs_on, problem.write);
}

std::optional<std::string> find_backend_problem(const Memories& backend, const Memories& device) {
  if (backend.on_gpu == device.on_gpu) return std::nullopt;
  if (device.on_gpu)
    return fmt::format(
        "the model is on {} and the backend {} moves host memory: write "
        "make_communicator(world, \"nccl\"), or leave the model on the CPU",
        device.name, backend.name);
  return fmt::format(
      "the model is on {} and the backend {} moves GPU memory: write "
      "make_communicator(world, \"auto\"), or {{.device = {}, .move_to_device = true}}",
      device.name, backend.name, kOwnDevice);
}

std::optional<std::string> find_missing_gpu(std::optional<int> index, int gpus, Rank rank) {
  if (!index)
    return fmt::format(
        "rank {}: the device cuda has no number, so every rank would take the first GPU: write {}", rank,
        kOwnDevice);
  if (*index < gpus) return std::nullopt;
  if (gpus == 0)
    return fmt::format(
        "rank {} is to use cuda:{}, and this process sees no GPU: is CUDA_VISIBLE_DEVICES empty, or "
        "libtorch built without CUDA? On the CPU write {{.device = torch::kCPU}}",
        rank, *index);
  return fmt::format(
      "rank {} is to use cuda:{}, and this host has {} GPU{} (cuda:0 to cuda:{}): start at most {} ranks "
      "here, and take the device from world.local_rank, not world.rank",
      rank, *index, gpus, gpus == 1 ? "" : "s", gpus - 1, gpus);
}

std::optional<std::string> find_shared_gpu(std::span<const RankPlace> places) {
  for (std::size_t second = 0; second < places.size(); ++second)
    for (std::size_t first = 0; first < second; ++first) {
      const auto &a = places[first], &b = places[second];
      if (a.gpu.empty() || a.gpu != b.gpu || a.host != b.host) continue;
      return fmt::format("ranks {} and {} both use the GPU {} of one host (as {} and {}): write {}", first,
                         second, a.gpu, a.device, b.device, kOwnDevice);
    }
  return std::nullopt;
}

}  // namespace gradwire
