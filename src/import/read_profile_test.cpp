#include "import/profile.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "import/communication_names.h"
#include "import/file_kind.h"
#include "import/gzip_fixture.h"
#include "import/profile_event.h"

namespace gradwire {
namespace {

Profile profile_of(std::string_view text, const std::string& name = "t.json") {
  ByteSource source(text);
  return read_profile(source, name);
}

// In the shape of Kineto since 2.4: base time after the events, decimals, arguments on the kernel.
constexpr std::string_view kNew = R"({
  "schemaVersion": 1,
  "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}, {"id": 1, "name": "NVIDIA H100 80GB HBM3"}],
  "distributedInfo": {"backend": "nccl", "rank": 1, "world_size": 2, "nccl_version": "2.21.5"},
  "traceEvents": [
  {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 9, "ts": 1000.250, "dur": 10.500,
   "args": {"External id": 5, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2,
            "dtype": "BFloat16", "Process Group Name": "0", "Seq": 17}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 9, "tid": 9, "ts": 1002, "dur": 3,
   "args": {"External id": 5, "correlation": 77}},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "pid": 0,
   "tid": 20, "ts": 1010.125, "dur": 50, "args": {"External id": 5, "device": 0, "stream": 20, "correlation": 77}},
  {"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 9, "tid": 9, "ts": 0, "dur": 5000},
  {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1000020, "ts": 0, "dur": 5000, "args": {"stream": 20}},
  {"ph": "M", "name": "process_name", "pid": 9, "tid": 0, "ts": 0, "args": {"name": "python"}}
  ],
  "traceName": "x.json", "displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000
})";

TEST(ReadProfile, takes_kineto_with_a_base_time_and_links_the_kernel_by_its_external_id) {
  const Profile profile = profile_of(kNew);
  EXPECT_EQ(profile.rank, 1);
  EXPECT_EQ(profile.world, 2);
  EXPECT_EQ(profile.gpus.size(), 2u);
  ASSERT_EQ(profile.activities.size(), 3u);  // Python frames and syncs explain nothing
  EXPECT_EQ(profile.activities[0].begin, 1700000000000000000 + 1000250);
  const Activity& kernel = profile.activities[2];
  EXPECT_EQ(kernel.kind, ActivityKind::communication);
  ASSERT_GE(kernel.call, 0);
  EXPECT_EQ(profile.calls[kernel.call].bytes, 2000u);
  EXPECT_EQ(profile.calls[kernel.call].sequence, 17);
}

// In the shape of 2.0: whole microseconds, the kernel's external id is its own correlation, shapes on the span.
constexpr std::string_view kOld =
    R"({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 8},
  "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 9, "tid": 12, "ts": 100, "dur": 40,
   "args": {"External id": 3, "Input Dims": [[394241]], "Input type": ["float"]}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 12, "ts": 110, "dur": 5,
   "args": {"External id": 900, "correlation": 900}},
  {"ph": "X", "cat": "Kernel", "name": "ncclKernel_AllReduce_RING_LL_Sum_float", "pid": 0, "tid": 84, "ts": 120,
   "dur": 30, "args": {"External id": 900, "device": 0, "stream": 84, "correlation": 900}}]})";

TEST(ReadProfile, links_a_kernel_of_an_old_trace_by_the_span_around_its_launch) {
  const Profile profile = profile_of(kOld);
  const Activity& kernel = profile.activities.back();
  ASSERT_GE(kernel.call, 0);
  EXPECT_EQ(profile.calls[kernel.call].bytes, 394241u * 4);
  EXPECT_EQ(profile.calls[kernel.call].collective.kind, Collective::all_reduce);
}

TEST(ReadProfile, takes_the_array_of_builds_without_kineto) {
  const Profile profile = profile_of(
      R"([{"name": "aten::mm", "ph": "X", "ts": 12, "dur": 5, "tid": 1, "pid": "CPU functions", "args": {}},
          {"name": "gloo:all_reduce", "ph": "X", "ts": 20, "dur": 7, "tid": 2, "pid": "CPU functions", "args": {}}])",
      "logs/rank3.json");
  ASSERT_EQ(profile.activities.size(), 2u);
  EXPECT_EQ(profile.activities[0].kind, ActivityKind::cpu_op);
  EXPECT_EQ(profile.activities[1].kind, ActivityKind::annotation);
  EXPECT_EQ(profile.rank, 3);  // nothing but the file's name says it
  EXPECT_FALSE(profile.world);
}

TEST(ReadProfile, takes_rocm_where_neither_ids_nor_sizes_stand_on_the_kernel) {
  const Profile profile = profile_of(
      R"({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
         "args": {"Collective name": "allreduce", "In msg nelems": 10, "Out msg nelems": 10, "dtype": "Float", "Group size": 4}},
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic_4", "pid": 2, "tid": 3, "ts": 9, "dur": 4,
         "args": {"stream": 3}}]})");
  EXPECT_EQ(profile.activities[1].kind, ActivityKind::communication);
  ASSERT_GE(profile.activities[1].call, 0);
  EXPECT_EQ(profile.calls[profile.activities[1].call].bytes, 40u);
}

TEST(ReadProfile, knows_collectives_whose_kernels_have_no_name_of_nccl) {
  const Profile by_launch = profile_of(
      R"({"traceEvents": [
        {"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 1, "tid": 1, "ts": 1, "dur": 20, "args": {}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 5, "dur": 2, "args": {"correlation": 7}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 50, "dur": 2, "args": {"correlation": 8}},
        {"ph": "X", "cat": "kernel", "name": "k1", "pid": 0, "tid": 7, "ts": 60, "dur": 4, "args": {"stream": 7, "correlation": 7}},
        {"ph": "X", "cat": "kernel", "name": "k2", "pid": 0, "tid": 7, "ts": 70, "dur": 4, "args": {"stream": 7, "correlation": 8}}]})");
  EXPECT_EQ(by_launch.activities[3].kind, ActivityKind::communication);
  EXPECT_EQ(by_launch.activities[4].kind, ActivityKind::kernel);
  const Profile by_argument = profile_of(
      R"({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "fast_reduce", "pid": 0, "tid": 7, "ts": 60, "dur": 4,
          "args": {"stream": 7, "Collective name": "allreduce", "In msg nelems": 8, "dtype": "Half", "Group size": 2}}]})");
  EXPECT_EQ(by_argument.activities[0].kind, ActivityKind::communication);
}

TEST(ReadProfile, knows_kernels_without_a_name_by_what_was_drawn_around_them_on_the_gpu) {
  const Profile profile = profile_of(
      R"({"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "k1", "pid": 0, "tid": 7, "ts": 60, "dur": 4, "args": {"device": 0, "stream": 7}},
        {"ph": "X", "cat": "gpu_user_annotation", "name": "nccl:all_reduce", "pid": 0, "tid": 20, "ts": 60, "dur": 9, "args": {"External id": 3}},
        {"ph": "X", "cat": "kernel", "name": "k2", "pid": 0, "tid": 20, "ts": 61, "dur": 8, "args": {"device": 0, "stream": 20}},
        {"ph": "X", "cat": "kernel", "name": "k3", "pid": 0, "tid": 20, "ts": 70, "dur": 8, "args": {"device": 0, "stream": 20}}]})");
  ASSERT_EQ(profile.activities.size(), 3u);  // what was drawn is no work
  EXPECT_EQ(profile.activities[0].kind, ActivityKind::kernel);
  EXPECT_EQ(profile.activities[1].kind, ActivityKind::communication);
  EXPECT_EQ(profile.activities[2].kind, ActivityKind::kernel);
  ASSERT_GE(profile.activities[1].call, 0);
  EXPECT_EQ(profile.calls[profile.activities[1].call].collective.kind, Collective::all_reduce);
}

// A stream with two kernels, one with `own`, and two calls; nothing says who started what.
std::string without_launches(int own) {
  std::string events;
  for (int i = 0; i < 2; ++i)
    events += fmt::format(
        R"({{"ph": "X", "cat": "user_annotation", "name": "nccl:all_reduce", "pid": 1, "tid": 1, "ts": {0}, "dur": 20}},
        {{"ph": "X", "cat": "kernel", "name": "k1", "pid": 0, "tid": 20, "ts": {1}, "dur": 80, "args": {{"device": 0, "stream": 20}}}},)",
        1000 * i, 1000 * i + 50);
  for (int i = 0; i < own; ++i)
    events += fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "k2", "pid": 0, "tid": 7, "ts": {}, "dur": 80, "args": {{"device": 0, "stream": 7}}}},)",
        1000 * i + 60);
  events.pop_back();
  return R"({"traceEvents": [)" + events + "]}";
}

TEST(ReadProfile, knows_kernels_without_name_and_launch_by_a_stream_that_has_one_for_each_call) {
  const auto kernels_that_talk = [](const Profile& profile) {
    return std::count_if(profile.activities.begin(), profile.activities.end(), [&](const Activity& one) {
      return one.kind == ActivityKind::communication && profile.name_of(one) == "k1";
    });
  };
  EXPECT_EQ(kernels_that_talk(profile_of(without_launches(5))), 2);
  EXPECT_EQ(kernels_that_talk(profile_of(without_launches(2))), 0);  // either stream could be the one
}

TEST(ReadProfile, keeps_the_sizes_of_gradients_and_of_what_an_optimizer_updates) {
  const Profile profile = profile_of(
      R"({"traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::_foreach_add_", "pid": 1, "tid": 1, "ts": 30, "dur": 2,
         "args": {"Input Dims": [[[8, 4], [8]], [], []], "Input type": ["TensorList", "TensorList", "Scalar"]}},
        {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "pid": 1, "tid": 2, "ts": 10, "dur": 2,
         "args": {"Input Dims": [[8, 4]], "Input type": ["c10::Half"]}},
        {"ph": "X", "cat": "cpu_op", "name": "torch::autograd::AccumulateGrad", "pid": 1, "tid": 2, "ts": 13, "dur": 2,
         "args": {"Input Dims": [[]], "Input type": [""]}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
         "args": {"Input Dims": [[8, 4], [4, 8]], "Input type": ["float", "float"]}}]})");
  ASSERT_EQ(profile.sized.size(), 2u);
  EXPECT_EQ(profile.sized[0].bytes, 64u);
  EXPECT_EQ(profile.sized[1].bytes, 160u);
}

TEST(ReadProfile, tells_groups_without_a_name_apart_by_their_ranks) {
  const auto group = [](const char* arguments) {
    const Profile profile = profile_of(fmt::format(
        R"({{"traceEvents": [{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2,
        "args": {{"stream": 7, "Collective name": "allreduce", "In msg nelems": 8, "dtype": "Half", "Group size": 2{}}}}}]}})",
        arguments));
    return profile.calls.at(0).group;
  };
  EXPECT_EQ(group(R"(, "Process Group Ranks": "[2, 3]")"), "[2, 3]");
  EXPECT_EQ(group(R"(, "Process Group Name": "7", "Process Group Ranks": "[2, 3]")"), "7");
  EXPECT_EQ(group(R"(, "Process Group Ranks": "[]")"), "");
}

TEST(ReadProfile, mends_raw_quotes_in_names_and_leaves_out_what_is_no_json) {
  const Profile profile = profile_of(
      "{\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"call \"me\" x\", \"ts\": 1,\n"
      "\"dur\": 2},\n{\"ph\" \"X\"},\n{\"ph\": \"X\", \"name\": \"b\", \"ts\": 3, \"dur\": 1}]}");
  ASSERT_EQ(profile.activities.size(), 2u);
  EXPECT_EQ(profile.name_of(profile.activities[0]), "call \"me\" x");
  EXPECT_EQ(profile.broken, 1u);
  EXPECT_EQ(profile.notes.size(), 1u);
}

TEST(ReadProfile, mends_bytes_that_no_json_may_have) {
  const Profile profile = profile_of(
      "{\"traceEvents\": [\n"
      "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"odd \xff\x01 name\", \"ts\": 1, \"dur\": 2, \"pid\": "
      "0, \"tid\": 7}\n"
      "]}");
  ASSERT_EQ(profile.activities.size(), 1u);
  EXPECT_EQ(profile.broken, 0u);
  EXPECT_EQ(profile.names.at(0), "odd ?  name");
}

TEST(ReadProfile, takes_rank_and_world_from_the_collectives_where_the_top_does_not_say) {
  constexpr std::string_view kCall =
      R"({{"traceEvents": [{{"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": 9, "ts": 1, "dur": 2,
      "args": {{"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float", "Group size": 8, "Rank": 3,
      "Process Group Name": "{}"}}}}]}})";
  const Profile all = profile_of(fmt::format(fmt::runtime(kCall), "0"));
  EXPECT_EQ(all.rank, 3);
  EXPECT_EQ(all.world, 8);
  EXPECT_EQ(profile_of(fmt::format(fmt::runtime(kCall), "0"), "rank5.json").rank,
            5);                                                            // the file's name says it
  const Profile some = profile_of(fmt::format(fmt::runtime(kCall), "4"));  // a group among others
  EXPECT_FALSE(some.rank || some.world);
}

TEST(ReadProfile, gives_what_a_trace_cut_anywhere_still_says) {
  for (std::size_t size = 0; size < kNew.size(); size += 3) {
    const auto cut = kNew.substr(0, size);
    try {
      const Profile profile = profile_of(cut);
      EXPECT_LE(profile.activities.size(), 3u);
      EXPECT_FALSE(profile.whole);
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("t.json: "), std::string::npos);
    }
  }
  const std::string packed = gzipped(kNew);
  EXPECT_EQ(profile_of(packed).activities.size(), 3u);
}

TEST(ReadProfile, refuses_what_is_no_trace) {
  for (const char* text :
       {"", "hello", "{}", "[]", "[1, 2]", R"({"traceEvents": []})", R"({"traceEvents": [{"ph": "X"}]})"})
    EXPECT_THROW(profile_of(text), ConfigError) << text;
}

TEST(Nanoseconds, are_read_from_decimals_without_rounding) {
  EXPECT_EQ(find_nanoseconds("4458676416788.066"), 4458676416788066);
  EXPECT_EQ(find_nanoseconds("12"), 12000);
  EXPECT_EQ(find_nanoseconds("0.0004"), 0);
  EXPECT_EQ(find_nanoseconds("-1.5"), -1500);
  EXPECT_EQ(find_nanoseconds("1.5e3"), 1500000);
  EXPECT_FALSE(find_nanoseconds("1e30"));
  EXPECT_FALSE(find_nanoseconds("99999999999999999999"));
  EXPECT_FALSE(find_nanoseconds("nan"));
  EXPECT_FALSE(find_nanoseconds(""));
}

TEST(CommunicationNames, tell_collectives_of_any_library) {
  EXPECT_TRUE(is_communication_kernel("ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs4K)"));
  EXPECT_TRUE(is_communication_kernel("void vllm::cross_device_reduce_1stage<float, 2>(RankData*)"));
  EXPECT_TRUE(is_communication_kernel("void quickreduce::allreduce_prototype_twoshot<T>(half*)"));
  EXPECT_TRUE(is_communication_kernel("multimem_all_reduce_kernel<float>"));
  EXPECT_TRUE(
      is_communication_kernel("void (anonymous namespace)::two_shot_all_reduce_kernel<float, 4>(int)"));
  EXPECT_FALSE(is_communication_kernel(
      "void at::native::(anonymous namespace)::copy<(anonymous namespace)::AllReduce>(int)"));
  EXPECT_FALSE(is_communication_kernel("void at::native::reduce_kernel<512, 1>()"));
  EXPECT_FALSE(is_communication_kernel("void gemm<tag::AllReduce>(int)"));
  EXPECT_FALSE(is_communication_kernel("triton_poi_fused_add_all_gather_3"));
  EXPECT_EQ(collective_of("ncclKernel_ReduceScatter_RING_LL_Sum_half(ncclWorkElem)"),
            Collective::reduce_scatter);
  EXPECT_EQ(collective_of("_allgather_base"), Collective::all_gather);
  EXPECT_EQ(collective_of("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"), std::nullopt);
  EXPECT_TRUE(is_whole_type("Long") && is_whole_type("unsigned char") && !is_whole_type("c10::BFloat16"));
  EXPECT_EQ(SaidCollective("c10d::allreduce_").word, "all_reduce");
  EXPECT_EQ(SaidCollective("ncclSend").word, "send_recv");
  EXPECT_EQ(SaidCollective("wait").word, "wait");
}

TEST(FileKind, is_told_by_content) {
  EXPECT_EQ(kind_of(kNew), FileKind::profile);
  EXPECT_EQ(kind_of(R"([{"name": "aten::mm", "ph": "X"}])"), FileKind::profile);
  EXPECT_EQ(kind_of("host:1:2 [0] NCCL INFO Bootstrap : Using eth0"), FileKind::nccl_log);
  EXPECT_EQ(kind_of("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n"),
            FileKind::topo_matrix);
  EXPECT_EQ(kind_of("[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)"),
            FileKind::nccl_log);
  EXPECT_EQ(kind_of("<system version=\"1\">"), FileKind::nccl_xml);
  EXPECT_EQ(kind_of("RANK=0\nWORLD_SIZE=2\nNCCL_DEBUG=INFO\n"), FileKind::environment);
  EXPECT_EQ(kind_of("import torch\nmodel = torch.nn.Linear(1, 1)\n"), FileKind::script);
  EXPECT_EQ(kind_of(" \n"), FileKind::empty);
  EXPECT_EQ(kind_of(std::string_view("\x01\x02\x03\x00\x04", 5)), FileKind::binary);
}

}  // namespace
}  // namespace gradwire
