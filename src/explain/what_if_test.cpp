// A run on other links, or on its own.
#include "explain/what_if.h"

#include <gtest/gtest.h>

#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

// Steps of two RTX 3090: 20 ms of forward, 40 of backward, 4 of the optimizer; four buckets of 25 MiB beside backward, whose
// all-reduces run at so many GB/s.
CaseFile run_at(double gbps, double backward = 40000) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, "NVIDIA GeForce RTX 3090");
  const double call = (25 << 20) / gbps * 1e-3;
  double begin = 0;
  for (int step = 0; step < 4; ++step) {
    trace.kernel(begin + 10, 20000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 20000, backward, 2);
    for (int part = 0; part < 10; ++part)
      trace.gpu("kernel", "void gemm<float>(int)", begin + 20010 + part * backward / 10, backward / 10, 7, "",
                5, 2);
    double free = 0;
    for (int bucket = 1; bucket <= 4; ++bucket) {
      const double at = std::max(free, begin + 20010 + backward * bucket * 0.2);
      trace.all_reduce(at, call, 25 << 18);
      free = at + call;
    }
    const double done = std::max(free, begin + 20010 + backward);
    trace.host("user_annotation", "Optimizer.step#SGD.step", done, 3900);
    trace.gpu("kernel", "void multi_tensor_apply(int)", done + 10, 4000, 7, "", 5);
    trace.step(step, begin, done + 4010 - begin);
    begin = done + 4010;
  }
  Gathered files;
  files.profiles.push_back(trace.profile());
  return make_case(std::move(files), "");
}

Seconds step_on(const CaseFile& run, const char* machine) { return what_if(run, {machine}).rows.at(0).step; }

// By the model of NCCL 25 MiB take 3.87 ms on two RTX 3090 without a bridge: 6.77 GB/s.
TEST(WhatIf, gives_a_run_its_own_step_on_the_machine_it_was_made_on) {
  const auto run = run_at(6.77);
  EXPECT_NEAR(step_on(run, "2x-rtx3090-pcie"), what_if(run, {}).step, 0.03 * what_if(run, {}).step);
  const auto short_backward = run_at(6.77, 15000);  // half of its communication is exposed
  EXPECT_NEAR(step_on(short_backward, "2x-rtx3090-pcie"), what_if(short_backward, {}).step,
              0.03 * what_if(short_backward, {}).step);
}

TEST(WhatIf, never_makes_a_run_slower_on_a_faster_link_of_its_kind) {
  const auto run = run_at(3.09);
  EXPECT_LE(step_on(run, "2x-rtx3090-pcie"), what_if(run, {}).step * 1.01);
}

TEST(WhatIf, never_takes_less_than_was_computed) {
  for (const double gbps : {3.09, 6.77, 40.0}) {
    const auto run = run_at(gbps);
    EXPECT_GE(step_on(run, "2x-rtx3090-nvlink"), 0.064) << gbps;
    EXPECT_LE(step_on(run, "2x-rtx3090-nvlink"), step_on(run, "2x-rtx3090-pcie") * (1 + 1e-12)) << gbps;
  }
}

TEST(WhatIf, slows_a_run_of_a_fast_link_on_one_that_hides_less) {
  const auto run = run_at(40);
  EXPECT_GT(step_on(run, "2x-rtx3090-pcie"), what_if(run, {}).step * 1.05);
}

}  // namespace
}  // namespace gradwire
