// Models on meshes whose tensors go by NCCL, on the stand-in: a communicator of its own for every group of ranks and every channel
// between stages, with reductions, gathers and messages. Parameters stay in host memory, because no libtorch here has a GPU's: each call is made on
// copies on the rank's GPU of the stand-in. Numbers go by shared memory, as beside real GPUs.
#include "comm/make.h"
#include "comm/queued.h"
#include "standin/mirrored.h"
#include "train/models/mesh_fixture.h"

namespace gradwire {
namespace {

MeshWires nccl_on_standin() {
  return {.tensors = [](const World& part, const std::string&) -> std::unique_ptr<Communicator> {
            return std::make_unique<Queued>(std::make_unique<Mirrored>(part));
          },
          .numbers = [](const World& part, const std::string&) { return make_communicator(part, "shm"); }};
}

void expect_gradients_of_one_process(MeshCase given) {
  setenv("GRADWIRE_STANDIN_DEVICES", std::to_string(given.mesh.ranks()).c_str(), 1);
  given.wires = nccl_on_standin();
  run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

TEST(NcclMesh, joins_gradients_of_replicas_and_shares_them_in_every_stage) {
  for (const int stage : {0, 1, 2, 3}) expect_gradients_of_one_process({.mesh = {.dp = 2}, .shard = stage});
}

TEST(NcclMesh, has_the_layers_of_a_model_cut_with_sequence_parallelism_too) {
  expect_gradients_of_one_process({.mesh = {.tp = 4}});
  expect_gradients_of_one_process({.mesh = {.tp = 2}, .sequence = true, .recompute = true, .tied = true});
}

TEST(NcclMesh, sends_activations_and_gradients_between_stages_by_every_schedule) {
  expect_gradients_of_one_process({.mesh = {.pp = 4}});
  expect_gradients_of_one_process({.mesh = {.pp = 2}, .tied = true, .schedule = PipelineSchedule::gpipe});
  expect_gradients_of_one_process(
      {.mesh = {.pp = 2}, .schedule = PipelineSchedule::interleaved, .virtual_stages = 2});
}

TEST(NcclMesh, has_all_of_it_at_once_on_eight_gpus) {
  expect_gradients_of_one_process({.mesh = {.dp = 2, .tp = 2, .pp = 2}, .recompute = true, .tied = true});
  expect_gradients_of_one_process(
      {.mesh = {.dp = 2, .tp = 2, .pp = 2}, .sequence = true, .tied = true, .shard = 3});
}

}  // namespace
}  // namespace gradwire
