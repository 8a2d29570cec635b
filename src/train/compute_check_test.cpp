#include "train/compute_check.h"

#include <gmock/gmock.h>

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ComputeCheck, is_content_with_a_good_blas_and_a_core_a_thread) {
  EXPECT_THAT(
      find_compute_problems(
          {.ranks = 2, .cores = 4, .threads = 2, .libraries = {"/usr/lib/x/openblas-openmp/libblas.so.3"}}),
      IsEmpty());
}

TEST(ComputeCheck, names_the_reference_blas) {
  EXPECT_THAT(find_compute_problems({.libraries = {"/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"}}),
              ElementsAre(HasSubstr("reference BLAS (/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0)")));
}

TEST(ComputeCheck, counts_threads_against_the_ranks_share_of_the_cores) {
  EXPECT_THAT(
      find_compute_problems({.ranks = 2, .cores = 2, .threads = 2}),
      ElementsAre(HasSubstr("2 threads a rank, with 2 ranks on 2 cores: write torch::set_num_threads(1)")));
  EXPECT_THAT(find_compute_problems({.ranks = 4, .cores = 2, .threads = 1}), IsEmpty());
}

TEST(ComputeCheck, warns_of_a_blas_that_makes_threads_of_its_own) {
  ComputeFacts facts{
      .ranks = 2, .cores = 2, .threads = 1, .libraries = {"/usr/lib/x/openblas-pthread/libblas.so.3"}};
  EXPECT_THAT(find_compute_problems(facts), ElementsAre(HasSubstr("OPENBLAS_NUM_THREADS=1")));
  facts.blas_threads_set = true;
  EXPECT_THAT(find_compute_problems(facts), IsEmpty());
}

TEST(ComputeCheck, sees_the_libraries_of_this_process) {
  EXPECT_THAT(mapped_libraries(), testing::Contains(HasSubstr("libc.so")));
}

}  // namespace
}  // namespace gradwire
