#include "import/known_failures.h"

#include <gtest/gtest.h>

#include <string>

namespace gradwire {
namespace {

TEST(KnownFailures, are_found_in_any_letters_the_first_that_fits) {
  ASSERT_NE(find_known_failure("NCCL WARN DUPLICATE GPU detected : rank 1 and rank 0"), nullptr);
  EXPECT_STREQ(find_known_failure("transport/nvls.cc:254 Cuda failure 401 'x'")->meaning.rule, "R20");
  EXPECT_STREQ(find_known_failure("enqueue.cc:254 Cuda failure 700 'x'")->meaning.rule, "R00");
  EXPECT_EQ(find_known_failure("Could not find real path of /sys/class/x"), nullptr);
}

TEST(KnownFailures, are_told_by_others_only_where_their_words_mean_nothing_else) {
  EXPECT_TRUE(tells_of_failure("epoch 1\n[rank0]: ncclSystemError: System call failed\n"));
  EXPECT_TRUE(tells_of_failure("OSError: [Errno 28] No space left on device: '/dev/shm/x'"));
  EXPECT_FALSE(tells_of_failure("OSError: [Errno 28] No space left on device: '/data/x'"));  // a disk is full
}

TEST(KnownFailures, are_not_passed_over_at_a_glance_wherever_they_stand_in_a_line) {
  for (const std::string_view said :
       {"Duplicate GPU detected", "NCCLINTERNALERROR", "Signal 7 (SIGBUS)",
        "CUDA error: invalid device ordinal", "Grad strides do not match bucket view strides",
        "x /torch_1 failed: No space left on device",
        "DDP expects same model across all ranks, but Rank 1 has 7 params"})
    for (const std::string& before : {std::string(), std::string("[rank0]: "), std::string(1000, 'x')}) {
      EXPECT_TRUE(may_tell_of_failure(before + std::string(said))) << said;
      EXPECT_TRUE(tells_of_failure(before + std::string(said) + " and more")) << said;
    }
  EXPECT_TRUE(may_tell_of_failure("[rank3]: Last error:"));
  EXPECT_FALSE(may_tell_of_failure("epoch 1 step 200 loss 0.37 lr 1e-4 3.2 it/s"));
  EXPECT_FALSE(may_tell_of_failure("short"));
  EXPECT_FALSE(may_tell_of_failure(""));
}

TEST(KnownFailures, of_a_gpu_are_those_that_came_first) {
  const auto* const link =
      find_known_failure("NVRM: Xid (PCI:0000:dc:00): 45, pid=1, caused by previous Xid 149");
  ASSERT_NE(link, nullptr);
  EXPECT_STREQ(link->meaning.rule, "R10");
  EXPECT_EQ(find_known_failure("NVRM: Xid (PCI:0000:dc:00): 45, pid=1, Ch 00000001")->told, Told::hint);
}

TEST(KnownFailures, tell_what_a_card_may_not_read_from_a_link_that_broke) {
  EXPECT_STREQ(
      find_known_failure("NET/IB : Got completion from peer fe80::1<5> with error 4, opcode 1")->meaning.rule,
      "R38");
  EXPECT_STREQ(
      find_known_failure("NET/IB: Got completion from peer a<5> with status=4 opcode=0")->meaning.rule,
      "R38");
  EXPECT_STREQ(find_known_failure("NET/IB : Got completion with error 4, opcode 1, len 9")->meaning.rule,
               "R38");
  EXPECT_STREQ(
      find_known_failure("NET/IB : Got completion from peer a<5> with status=12 opcode=4")->meaning.rule,
      "R37");
}

TEST(KnownFailures, stand_in_one_line) {
  const std::string_view said = "CUDA out of memory. GPU 0 has 23 GiB. Process 1 has 7 GiB memory in use";
  EXPECT_TRUE(tells_of_failure(said));
  EXPECT_FALSE(
      tells_of_failure("CUDA out of memory. GPU 0 has 23 GiB\nnext. Process 1 has 7 GiB memory in use"));
}

}  // namespace
}  // namespace gradwire
