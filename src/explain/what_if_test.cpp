// A run on other links, or on its own.
#include "explain/what_if.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "explain/trace_fixture.h"
#include "explain/traced_run.h"
#include "predict/step/on_machine.h"

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

// Both verbs: the run's own machine, with all-reduces at the rate that the model has there.
TEST(WhatIf, prices_accumulation_as_a_comparison_does) {
  const auto run = run_at(6.77, 15000);
  const auto found = what_if(run, {});
  const auto model = recorded_run(run.files.profiles, *run.analysis).recorded;
  StepOptions options = step_options({}, model.workload);
  options.anchor = model.anchor;
  const auto rate_of = [&](int times) {
    options.accumulate = times;
    return estimate_step(model.workload, find_machine("2x-rtx3090-pcie"), options).samples_per_s;
  };
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_NEAR(found.step / found.rows[0].step, rate_of(2) / rate_of(1), 0.01);
  EXPECT_NEAR(found.step / found.rows[1].step, rate_of(4) / rate_of(1), 0.01);
  EXPECT_LT(found.rows[1].step, found.step - 0.75 * 0.004) << "weights are updated a quarter as often";
}

// Steps of two A100: as a rank of them 20 ms of forward and 40 of backward, with one all-reduce of 25 MiB at its end that
// takes 150 us; `late` is what a rank computes longer in even steps and in odd ones, and the other waits for it.
SampleTrace waiting_rank(int rank, double late_even, double late_odd, double step_late) {
  SampleTrace trace;
  trace.distributed(rank, 2).gpus(2);
  for (int step = 0; step < 6; ++step) {
    const double begin = step * (64160.0 + step_late), late = step % 2 == 0 ? late_even : late_odd;
    const double computed = 60000 + late, reduced = 60160 + step_late;
    trace.kernel(begin + 10, 20000 + late);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 20000, 40000, 2);
    trace.gpu("kernel", "void gemm<float>(int)", begin + 20010 + late, 40000, 7, "", 5, 2);
    trace.all_reduce(begin + 10 + computed, reduced - computed - 10, 25 << 18);
    trace.host("user_annotation", "Optimizer.step#SGD.step", begin + reduced, 3900);
    trace.gpu("kernel", "void multi_tensor_apply(int)", begin + reduced + 10, 3980, 7, "", 5);
    trace.step(step, begin, 64150 + step_late);
  }
  return trace;
}

CaseFile run_of(const std::vector<SampleTrace>& traces, const char* on = "") {
  Gathered files;
  for (std::size_t i = 0; i < traces.size(); ++i)
    files.profiles.push_back(traces[i].profile("rank" + std::to_string(i) + ".json"));
  return make_case(std::move(files), on);
}

TEST(WhatIf, leaves_waiting_for_a_slow_rank_as_it_was) {
  const auto run = run_of({waiting_rank(0, 0, 0, 30000), waiting_rank(1, 30000, 30000, 30000)});
  const WhatIfs found = what_if(run, {"nvlink", "pcie"});
  ASSERT_GE(found.rows.size(), 2u);
  for (const WhatIf& row : {found.rows[0], found.rows[1]}) {
    EXPECT_NEAR(row.step, found.step, 0.03 * found.step) << row.what;
    EXPECT_EQ(row.most, row.step) << "both ranks are here";
  }
}

TEST(WhatIf, leaves_waiting_that_changes_from_step_to_step) {
  const auto run = run_of({waiting_rank(0, 0, 30000, 30000), waiting_rank(1, 30000, 0, 30000)});
  const WhatIfs found = what_if(run, {"nvlink"});
  EXPECT_NEAR(found.rows.at(0).step, found.step, 0.01 * found.step);
}

TEST(WhatIf, says_how_far_waiting_could_be_transfer_where_one_rank_of_two_is_there) {
  const auto run = run_of({waiting_rank(0, 0, 0, 30000)});
  const WhatIfs found = what_if(run, {"nvlink"});
  EXPECT_LT(found.rows.at(0).step, found.step - 0.029) << "if all of it was transfer";
  EXPECT_NEAR(found.rows.at(0).most, found.step, 0.001) << "if all of it was waiting";
  const WhatIfs placed = what_if(run_of({waiting_rank(0, 0, 0, 30000)}, "2x-a100-sxm-80-pcie"), {"nvlink"});
  EXPECT_LT(placed.rows.at(0).most, found.rows.at(0).most) << "its own links take longer";
}

// Steps of one GPU: 20 ms of forward, 40 of backward in ten parts, each of which makes a gradient of 10 MB; twice, where
// two batches are gathered.
SampleTrace one_gpu(bool shapes, int batches = 1) {
  SampleTrace trace;
  trace.distributed(0, 1).gpus(1, "NVIDIA GeForce RTX 3090");
  double begin = 0;
  for (int step = 0; step < 4; ++step) {
    const double first = begin;
    for (int batch = 0; batch < batches; ++batch, begin += 60000) {
      trace.kernel(begin + 10, 19990);
      for (int part = 0; part < 10; ++part) {
        const double at = begin + 20000 + part * 4000.0;
        trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", at - 10, 20, 2);
        trace.gpu("kernel", "void gemm<float>(int)", at, 4000, 7, "", 5, 2);
        trace.host("cpu_op", "torch::autograd::AccumulateGrad", at + 11, 5, 2,
                   shapes ? R"("Input Dims": [[2500, 1000]], "Input type": ["float"])" : "");
      }
    }
    trace.host("user_annotation", "Optimizer.step#SGD.step", begin, 3900);
    trace.gpu("kernel", "void multi_tensor_apply(int)", begin + 10, 4000, 7, "", 5);
    begin += 4010;
    trace.step(step, first, begin - first);
  }
  return trace;
}

std::vector<Span> buckets_of_step(const Timeline& timeline, int step) {
  std::vector<Span> buckets;
  for (const Span& span : timeline.spans)
    if (span.kind == SpanKind::bucket && span.step == step) buckets.push_back(span);
  return buckets;
}

TEST(ToTimeline, takes_gradients_of_one_gpu_as_backward_hands_them_over) {
  for (const int batches : {1, 2}) {  // with accumulation the same gradients are handed over twice
    const auto buckets = buckets_of_step(timeline_of(one_gpu(true, batches).profile()), 1);
    // 10 MB pass the first bucket's 1 MiB, then three pass 25 MiB each.
    ASSERT_EQ(buckets.size(), 4u) << batches;
    EXPECT_EQ(buckets[0].bytes, Bytes{10'000'000});
    EXPECT_EQ(buckets[1].bytes, Bytes{30'000'000});
    EXPECT_NEAR(buckets[3].ready - buckets[0].ready, 9 * 4e-3, 1e-5);  // the first of ten, and the last
    EXPECT_EQ(buckets[0].begin, buckets[0].end);                       // nothing was sent
  }
}

TEST(ToTimeline, spreads_parameters_over_backward_where_a_trace_has_no_shapes) {
  const Timeline timeline = timeline_of(one_gpu(false).profile(), 25e6);
  const auto buckets = buckets_of_step(timeline, 1);
  Bytes sum = 0;
  for (const Span& bucket : buckets) sum += bucket.bytes;
  EXPECT_EQ(sum, Bytes{100'000'000});
  ASSERT_EQ(buckets.size(), 5u);  // 1 MiB, then 25 MiB each, and the rest
  EXPECT_NEAR(buckets[4].ready - buckets[0].ready, 40e-3 * (1 - 1.048576 / 100), 1e-5);
  EXPECT_THROW(timeline_of(one_gpu(false).profile()), ConfigError);
  EXPECT_THROW(timeline_of(run_at(6.77).files.profiles[0], 25e6), ConfigError);  // it tells its own
}

TEST(ToTimeline, divides_parameters_among_all_reduces_whose_sizes_a_trace_does_not_tell) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2);
  for (int step = 0; step < 3; ++step) {
    const double begin = step * 10000.0;
    trace.step(step, begin, 10000).kernel(begin + 10, 2000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 2000, 4000, 2);
    trace.gpu("kernel", "void gemm<float>(int)", begin + 2010, 4000, 7, "", 5, 2);
    for (const double at : {4000.0, 6100.0})
      trace.gpu("kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", begin + at, 1500, 20, "", 5,
                2);
  }
  EXPECT_THROW(timeline_of(trace.profile()), ConfigError);
  const Timeline timeline = timeline_of(trace.profile(), 25e6);
  const auto buckets = buckets_of_step(timeline, 1);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].bytes, Bytes{50'000'000});
  EXPECT_NEAR(buckets[1].end - buckets[1].begin, 1.5e-3, 1e-6) << "it took as long as it did";
}

TEST(ToTimeline, takes_what_a_fused_optimizer_updates) {
  SampleTrace trace = one_gpu(false);
  for (int step = 0; step < 4; ++step)
    trace.host("cpu_op", "aten::_fused_adamw_", step * 64010.0 + 60001, 100, 1,
               R"("Input Dims": [[[2000, 1000], [5000]]], "Input type": ["TensorList"])");
  Bytes sum = 0;
  for (const Span& bucket : buckets_of_step(timeline_of(trace.profile()), 1)) sum += bucket.bytes;
  EXPECT_EQ(sum, Bytes{8'020'000});
}

TEST(ToTimeline, says_what_to_do_of_a_trace_that_does_not_tell_its_gradients) {
  const auto why = [](const SampleTrace& trace) {
    try {
      timeline_of(trace.profile("t.json"));
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(why(one_gpu(false)).find("t.json: no step has an all-reduce"), std::string::npos);
  EXPECT_NE(
      why(one_gpu(false))
          .find(
              "record_shapes=True, or give the model's size, as in gradwire compare FILE --parameters 124e6"),
      std::string::npos);
  SampleTrace sharded = one_gpu(true);
  sharded.gpu("kernel", "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(int)", 30000, 100, 20);
  EXPECT_NE(why(sharded).find("FSDP"), std::string::npos) << why(sharded);
  EXPECT_NE(why(SampleTrace().kernel(0, 1)).find("none a backward"), std::string::npos);
}

TEST(WhatIf, puts_a_run_of_one_gpu_on_links) {
  Gathered files;
  files.profiles.push_back(one_gpu(true).profile());
  const auto run = make_case(std::move(files), "");
  const auto found = what_if(run, {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_GE(found.rows[0].step, 0.064);  // what it computes stays
  EXPECT_GT(found.rows[1].step, found.rows[0].step);
}

}  // namespace
}  // namespace gradwire
