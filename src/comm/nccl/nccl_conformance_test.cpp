#include "comm/collectives_conformance.h"

#include "comm/nccl/nccl_fixture.h"
#include "standin/mirrored.h"

namespace gradwire {
namespace {

using NcclConformance = NcclOnStandin;

void expect_conformance(int ranks, const ConformanceOptions& options) {
  const auto check_rank = [&options](const World& world) {
    Mirrored collectives(world);
    EXPECT_EQ(check_collectives(collectives, options), std::vector<std::string>{});
  };
  expect_all_ok(run_threads(ranks, check_rank, {.deadline = 300}));
}

TEST_F(NcclConformance, does_what_every_backend_must_do) { expect_conformance(2, {}); }

// Types and reductions are NCCL's affair and no different here: a few stand for all.
TEST_F(NcclConformance, does_it_in_worlds_of_odd_sizes) {
  for (int ranks : {1, 3, 5})
    expect_conformance(ranks, {.dtypes = {DType::f32, DType::bf16},
                               .reductions = {Reduction::sum, Reduction::avg},
                               .counts = {0, 1027},
                               .large_count = 0});
}

}  // namespace
}  // namespace gradwire
