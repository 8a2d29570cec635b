// The same model, weights and data give PyTorch's DistributedDataParallel the same losses, where
// python3-torch is installed.
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "support/session.h"
#include "train/ddp_fixture.h"

namespace gradwire {
namespace {

constexpr int kCurveSteps = 50, kRanks = 2;

// A Python that has torch; empty when none does.
std::string find_python() {
  for (const std::string python : {"python3", "/usr/bin/python3"}) {
    Session session({python, "-c", "import torch.distributed"});
    if (session.finish() == 0) return python;
  }
  return {};
}

Batch batch_of(int step) { return make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(100 + step)); }

void write_task(const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  const auto add = [&](const torch::Tensor& tensor) {
    file.write(static_cast<const char*>(tensor.contiguous().data_ptr()),
               static_cast<std::streamsize>(tensor.nbytes()));
  };
  for (const auto& parameter : make_model()->parameters()) add(parameter.detach());
  for (int step = 0; step < kCurveSteps; ++step) {
    add(batch_of(step).input);
    add(batch_of(step).target);
  }
}

void train(const World& world, Communicator& communicator, const std::filesystem::path& directory) {
  if (world.rank == 0) write_task(directory / "task");
  DistributedDataParallel ddp(make_model(), communicator);
  torch::optim::SGD optimizer(ddp.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  std::ofstream losses(directory / fmt::format("losses{}", world.rank));
  for (int step = 0; step < kCurveSteps; ++step) {
    const auto mine = batch_of(step).part(world.rank, world.size);
    optimizer.zero_grad();
    const auto loss = loss_of(ddp.forward(mine.input), mine.target);
    loss.backward();
    optimizer.step();
    losses << fmt::format("loss {:.9g}\n", loss.item<float>());
  }
}

// Of the lines "loss 0.25": Gloo and others may print what they like beside them.
std::vector<double> losses_in(std::istream& text) {
  std::vector<double> values;
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("loss ")) values.push_back(std::stod(line.substr(5)));
  return values;
}

TEST(DdpAgainstPyTorch, has_its_losses_for_fifty_steps) {
  const std::string python = find_python();
  if (python.empty()) GTEST_SKIP() << "there is no Python with torch (Debian: python3-torch)";
  const TempDir directory;
  run_ddp(kRanks, "shm", [&](const World& world, Communicator& communicator) {
    train(world, communicator, directory.path());
  });
  std::vector<std::unique_ptr<Session>> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.push_back(std::make_unique<Session>(
        std::vector<std::string>{python, GRADWIRE_PYTORCH_CURVE, (directory.path() / "task").string(),
                                 std::to_string(kCurveSteps)},
        Environment{{"RANK", std::to_string(rank)},
                    {"WORLD_SIZE", std::to_string(kRanks)},
                    {"OMP_NUM_THREADS", "1"},
                    {"MASTER_ADDR", "127.0.0.1"},
                    {"MASTER_PORT", "29713"}}));
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_EQ(ranks[rank]->finish(), 0) << ranks[rank]->text();
    std::istringstream said(ranks[rank]->text());
    std::ifstream file(directory.path() / fmt::format("losses{}", rank));
    const auto theirs = losses_in(said), ours = losses_in(file);
    ASSERT_EQ(theirs.size(), static_cast<std::size_t>(kCurveSteps));
    ASSERT_EQ(ours.size(), theirs.size());
    double worst = 0;
    for (std::size_t i = 0; i < ours.size(); ++i)
      worst = std::max(worst, std::abs(ours[i] - theirs[i]) / theirs[i]);
    std::printf("rank %d: largest relative difference from PyTorch's losses: %.1e\n", rank, worst);
    EXPECT_LT(worst, 1e-5);
  }
}

}  // namespace
}  // namespace gradwire
