#include "train/placement.h"

#include <gmock/gmock.h>

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::Optional;

TEST(Placement, says_what_is_where_and_what_to_write) {
  EXPECT_EQ(
      misplaced({"parameter fc.weight", "cpu", "cuda:1", "model->to(torch::Device(\"cuda:1\"))"}),
      "parameter fc.weight is on cpu and belongs on cuda:1: write model->to(torch::Device(\"cuda:1\"))");
}

TEST(Placement, refuses_a_backend_that_moves_other_memory) {
  EXPECT_THAT(find_backend_problem({"gloo", false}, {"cuda:0", true}),
              Optional(HasSubstr("make_communicator(world, \"nccl\")")));
  EXPECT_THAT(find_backend_problem({"nccl", true}, {"cpu", false}),
              Optional(HasSubstr("the backend nccl moves GPU memory")));
  EXPECT_FALSE(find_backend_problem({"nccl", true}, {"cuda:3", true}));
  EXPECT_FALSE(find_backend_problem({"shm+tcp", false}, {"cpu", false}));
}

TEST(Placement, refuses_a_gpu_that_is_not_there) {
  EXPECT_THAT(find_missing_gpu(2, 2, 6),
              Optional(HasSubstr("rank 6 is to use cuda:2, and this host has 2 GPUs (cuda:0 to cuda:1)")));
  EXPECT_THAT(find_missing_gpu(1, 1, 1), Optional(HasSubstr("has 1 GPU (")));
  EXPECT_THAT(find_missing_gpu(0, 0, 0), Optional(HasSubstr("sees no GPU")));
  EXPECT_THAT(find_missing_gpu(std::nullopt, 2, 1),
              Optional(HasSubstr("torch::Device(torch::kCUDA, world.local_rank)")));
  EXPECT_FALSE(find_missing_gpu(1, 2, 1));
}

TEST(Placement, refuses_two_ranks_on_one_gpu) {
  const std::vector<RankPlace> shared{
      {"a", "cuda:0", "01:00"}, {"b", "cuda:0", "01:00"}, {"a", "cuda:1", "02:00"}, {"b", "cuda:0", "01:00"}};
  EXPECT_THAT(find_shared_gpu(shared),
              Optional(HasSubstr("ranks 1 and 3 both use the GPU 01:00 of one host")));
  // One index, two GPUs: each rank sees only its own.
  const std::vector<RankPlace> apart{
      {"a", "cuda:0", "01:00"}, {"a", "cuda:0", "02:00"}, {"a", "cpu", ""}, {"a", "cpu", ""}};
  EXPECT_FALSE(find_shared_gpu(apart));
}

}  // namespace
}  // namespace gradwire
