#include "train/job/options.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(TrainOptions, reach_a_rank_whatever_its_files_are_called) {
  TrainOptions options;
  options.steps = 7;
  for (int byte = 1; byte < 256; ++byte) options.checkpoint += static_cast<char>(byte);
  options.resume =
      "gr\xc3\xbc\xc3\x9f"
      "e.ckpt";
  const TrainOptions read = from_argument(to_argument(options));
  EXPECT_EQ(read.checkpoint, options.checkpoint);
  EXPECT_EQ(read.resume, options.resume);
  EXPECT_EQ(read.steps, 7);
}

}  // namespace
}  // namespace gradwire
