// Logs in which lines of others matter: PyTorch's, Lightning's, and where NCCL gave up.
#include <gtest/gtest.h>

#include "base/error.h"
#include "import/nccl_log.h"

namespace gradwire {
namespace {

NcclLog read(const std::string& lines) {
  ByteSource source{std::string_view(lines)};
  return read_nccl_log(source, "run.log");
}

TEST(LinesOfTorch, make_a_log_without_a_line_of_nccl) {
  const auto log = read(
      "step 50 | loss 7.4\n[rank0]:[W326 09:37:44.7 ProcessGroupNCCL.cpp:1487] Warning: "
      "destroy_process_group() was not called before program exit\n");
  EXPECT_EQ(log.torch_lines, 1);
  EXPECT_TRUE(log.failures.empty());
  EXPECT_THROW(read("step 50 | loss 7.4\n"), ConfigError);
}

TEST(Tracebacks, are_read_for_the_error_below_them) {
  const std::string calls = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g(\n";
  const auto log = read("$ torchrun a.py\n" + calls + "ValueError: odd: 7\nValueError: even\n");
  EXPECT_EQ(log.error.text, "ValueError: odd: 7");
  EXPECT_EQ(log.error.line, 5);
  EXPECT_EQ(
      read(
          "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 3, in f\n[rank1]:     "
          "g()\n[rank1]: KeyError: 3\n")
          .error.text,
      "KeyError: 3");
}

TEST(Tracebacks, are_read_behind_whatever_a_collector_puts_before_each_line) {
  EXPECT_EQ(
      read("(pid=41) Traceback (most recent call last):\n(pid=41)   File \"a.py\", line 3, in f\n(pid=41) "
           "KeyError: 3\n")
          .error.text,
      "KeyError: 3");
}

TEST(WaysBack, tell_where_nccl_gave_up_also_where_the_warning_was_left_out) {
  const std::string healthy = "n:7:8 [0] NCCL INFO include/net.h:19 -> 2\n";
  EXPECT_FALSE(read(healthy + "n:7:8 [0] NCCL INFO include/net.h:19 -> 2\n").gave_up);
  const auto failed = read(
      "n:7:8 [0] NCCL INFO misc/socket.cc:567 -> 2\nn:9:9 [1] NCCL INFO misc/socket.cc:570 -> 2\n"
      "n:7:8 [0] NCCL INFO bootstrap.cc:270 -> 2\nn:7:8 [0] NCCL INFO init.cc:1350 -> 2\n");
  ASSERT_TRUE(failed.gave_up && failed.failed_start);
  EXPECT_EQ(failed.gave_up->text, "misc/socket.cc:567 -> 2");
  EXPECT_EQ(failed.failed_start->line, 4);
}

TEST(WaysBack, name_the_warning_that_nccl_gave_up_on) {
  const std::string warned =
      "n:7:8 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n"
      "n:7:8 [0] misc/argcheck.cc:12 NCCL WARN something nobody knows\n";
  const auto well = read(warned + "n:7:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  EXPECT_FALSE(well.gave_up);
  const auto failed = read(warned +
                           "n:7:8 [0] NCCL INFO misc/argcheck.cc:30 -> 4\n"
                           "n:7:9 [0] NCCL INFO init.cc:1303 -> 4\n");
  ASSERT_TRUE(failed.gave_up && failed.failed_start);
  EXPECT_EQ(failed.gave_up->text, "argcheck.cc:12 something nobody knows");
  EXPECT_EQ(failed.failed_start->line, 4);
}

TEST(WaysBack, are_those_of_the_process_that_warned_and_of_errors) {
  const std::string warned = "n:7:8 [0] misc/a.cc:1 NCCL WARN something nobody knows\n";
  EXPECT_FALSE(read(warned + "n:5:8 [1] NCCL INFO init.cc:1303 -> 4\n").gave_up);
  EXPECT_FALSE(read(warned + "n:7:8 [0] NCCL INFO init.cc:1303 -> 7\n").failed_start);
  EXPECT_FALSE(read(warned + "n:7:8 [0] NCCL INFO 0[0] -> 1[1] x\n").gave_up);
}

TEST(Members, are_counted_and_those_that_come_twice_told_apart_from_a_second_start) {
  const auto said = [](int rank) {
    return "initializing ddp: GLOBAL_RANK: " + std::to_string(rank) +
           ", MEMBER: " + std::to_string(rank + 1) + "/4\n";
  };
  EXPECT_TRUE(read(said(1) + said(1) + said(0) + said(0)).members.twice);
  const auto again = read(said(1) + said(0) + said(0) + said(1) + "All distributed processes registered.\n");
  EXPECT_FALSE(again.members.twice);
  EXPECT_TRUE(again.members.met);
  EXPECT_EQ(again.members.world, 4);
  EXPECT_EQ(again.members.times.at(1), 2);
}

TEST(Tracebacks, are_read_where_a_piece_begins_below_the_heading) {
  const auto log = read(
      "  File \"/v/torch/distributed/fsdp/wrap.py\", line 8, in wrap\n    raise ValueError(\nValueError: "
      "odd: 3\n");
  EXPECT_EQ(log.error.text, "ValueError: odd: 3");
  EXPECT_TRUE(log.failed_in_call);
}

TEST(Tracebacks, tell_whether_the_call_that_failed_joins_ranks) {
  const auto failed_in = [](const std::string& file) {
    return read("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n  File \"" + file +
                "\", line 3, in g\nOSError: x: y\n")
        .failed_in_call;
  };
  EXPECT_TRUE(failed_in("/v/torch/distributed/distributed_c10d.py"));
  EXPECT_TRUE(failed_in("/v/deepspeed/runtime/engine.py"));
  EXPECT_FALSE(failed_in("/v/torch/distributed/elastic/agent/server/api.py"));  // it starts ranks
  EXPECT_FALSE(failed_in("/home/me/model.py"));
}

TEST(LastWords, are_read_where_they_stand_alone) {
  EXPECT_EQ(read("ValueError: sizes of 3 and 4\n").error.text, "ValueError: sizes of 3 and 4");
  EXPECT_EQ(read("[rank2]: some.pkg.OddError: no\n").error.text, "some.pkg.OddError: no");
  EXPECT_THROW(read("Error: no\nerror: no\nthe last ValueError: no\nValueError:\n"), ConfigError);
}

TEST(LastWords, are_the_last_and_none_where_much_follows) {
  std::string text = "KeyError: 3\nTypeError: 4\n";
  EXPECT_EQ(read(text).error.text, "TypeError: 4");
  for (int step = 0; step < 30; ++step) text += "step " + std::to_string(step) + "\n";
  EXPECT_THROW(read(text), ConfigError);
}

}  // namespace
}  // namespace gradwire
