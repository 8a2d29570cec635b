#include "explain/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "explain/case_file.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Calls of 64 MiB; call i took times_us[i].
NcclCalls rank_with(int rank, const std::vector<double>& times_us) {
  NcclCalls calls;
  calls.rank = rank;
  calls.ranks = 2;
  calls.communicator = 0xabc;
  for (std::size_t i = 0; i < times_us.size(); ++i) {
    NcclCall call;
    call.number = call.sequence = i + 1;
    call.collective = Collective::all_reduce;
    call.bytes = 64 << 20;
    call.algorithm = "RING";
    call.protocol = "SIMPLE";
    call.channels = 8;
    if (times_us[i] > 0) call.time_ns = static_cast<std::int64_t>(times_us[i] * 1e3);
    calls.calls.push_back(call);
  }
  return calls;
}

TEST(RecordedCalls, tell_waiting_from_transfer_by_the_rank_that_came_last) {
  // Each call's shorter time is its transfer: 6000 us all three times; the others waited 1000, 2000 and 3000.
  const auto calls = recorded_calls({rank_with(0, {7000, 6000, 9000}), rank_with(1, {6000, 8000, 6000})});
  ASSERT_THAT(calls.rows, SizeIs(1));
  const CollectiveRow& row = calls.rows[0].row;
  EXPECT_TRUE(row.matched);
  EXPECT_NEAR(row.transfer, 6e-3, 1e-9);
  EXPECT_NEAR(row.wait, 1e-3, 1e-9);  // six thousand over six calls
  EXPECT_NEAR(row.busbw_gbps, (64 << 20) / 6e-3 / 1e9, 1e-6);
  EXPECT_EQ(row.count, 3);
  EXPECT_EQ(calls.rows[0].way, "RING SIMPLE 8");
  EXPECT_THAT(calls.notes, IsEmpty());
}

TEST(RecordedCalls, match_by_the_number_nccl_gave_them_where_one_rank_has_lost_some) {
  NcclCalls first = rank_with(0, {7000, 6000, 9000}), second = rank_with(1, {6000, 8000, 6000});
  first.calls.erase(first.calls.begin());
  const auto calls = recorded_calls({first, second});
  ASSERT_THAT(calls.rows, SizeIs(1));
  EXPECT_NEAR(calls.rows[0].row.wait, 5e-3 / 4, 1e-9);
}

TEST(RecordedCalls, of_an_old_nccl_have_sizes_and_no_times_and_say_so) {
  const auto calls = recorded_calls({rank_with(0, {0, 0})});
  ASSERT_THAT(calls.rows, SizeIs(1));
  EXPECT_FALSE(calls.rows[0].timed);
  EXPECT_EQ(calls.rows[0].row.count, 2);
  EXPECT_THAT(calls.notes, ElementsAre(HasSubstr("without a time"), HasSubstr("calls of 1 of 2 ranks")));
}

TEST(RecordedCalls, far_below_what_the_machine_should_give_are_a_finding_and_others_none) {
  Gathered slow, fine;
  slow.nccl_calls = {rank_with(0, {30000}), rank_with(1, {30000})};
  EXPECT_THAT(diagnose(make_case(slow, "2x-rtx3090-nvlink")).findings,
              ElementsAre(testing::Field(&Finding::rule, "R11")));
  fine.nccl_calls = {rank_with(0, {1600}), rank_with(1, {1600})};
  EXPECT_THAT(diagnose(make_case(fine, "2x-rtx3090-nvlink")).findings, IsEmpty());
}

Gathered watched_with_traffic(Bytes sent) {
  Gathered files;
  files.nvlink_traffic.push_back({"counters", {{"RTX 3090", "0000:01:00.0", sent, 1000}}});
  WatchNotes notes;
  notes.world = 2;
  notes.steps = 100;
  notes.ddp.emplace();
  notes.ddp->parameters = 50 << 20;
  files.notes.push_back(notes);
  return files;
}

TEST(NvlinkTraffic, counted_by_the_driver_proves_that_nvlink_was_used_or_was_not) {
  const auto used = diagnose(make_case(watched_with_traffic(Bytes{5} << 30), "")).nvlink;
  EXPECT_EQ(used.used, Answered::yes);
  EXPECT_THAT(used.why, HasSubstr("NVML counted 5 GiB over NVLink"));
  const auto idle = diagnose(make_case(watched_with_traffic(40 << 20), "")).nvlink;
  EXPECT_EQ(idle.present, Answered::yes);
  EXPECT_EQ(idle.used, Answered::no);
  EXPECT_THAT(idle.why, HasSubstr("its gradients are 4.9 GiB in all"));
}

}  // namespace
}  // namespace gradwire
