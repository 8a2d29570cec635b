#include "import/known_failures.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(KnownFailures, are_found_in_any_letters_the_first_that_fits) {
  ASSERT_NE(find_known_failure("NCCL WARN DUPLICATE GPU detected : rank 1 and rank 0"), nullptr);
  EXPECT_STREQ(find_known_failure("transport/nvls.cc:254 Cuda failure 401 'x'")->rule, "R20");
  EXPECT_STREQ(find_known_failure("enqueue.cc:254 Cuda failure 700 'x'")->rule, "R00");
  EXPECT_EQ(find_known_failure("Could not find real path of /sys/class/x"), nullptr);
}

TEST(KnownFailures, are_told_by_others_only_where_their_words_mean_nothing_else) {
  EXPECT_TRUE(tells_of_failure("epoch 1\n[rank0]: ncclSystemError: System call failed\n"));
  EXPECT_TRUE(tells_of_failure("OSError: [Errno 28] No space left on device: '/dev/shm/x'"));
  EXPECT_FALSE(tells_of_failure("OSError: [Errno 28] No space left on device: '/data/x'"));  // a disk is full
}

TEST(KnownFailures, stand_in_one_line) {
  const std::string_view said = "CUDA out of memory. GPU 0 has 23 GiB. Process 1 has 7 GiB memory in use";
  EXPECT_TRUE(tells_of_failure(said));
  EXPECT_FALSE(
      tells_of_failure("CUDA out of memory. GPU 0 has 23 GiB\nnext. Process 1 has 7 GiB memory in use"));
}

}  // namespace
}  // namespace gradwire
