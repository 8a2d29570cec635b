// What else would help and where the answer turns, as people read it.
#include <gtest/gtest.h>

#include "predict/workload/catalog.h"
#include "report/compare/compare.h"

namespace gradwire {
namespace {

StepOptions changed() {
  StepOptions options;
  options.accumulate = 16, options.batch = 8, options.buckets.rest = Bytes{50} << 20;
  options.compression = Compression::powersgd, options.precision = Precision::tf32;
  options.backend = Backend::shm;
  return options;
}

TEST(RemedyWords, name_the_flag_with_what_must_be_written) {
  const auto words = [](Change change) { return to_words(Remedy{change, changed()}); };
  EXPECT_EQ(words(Change::accumulate), "--accumulate 16");
  EXPECT_EQ(words(Change::batch), "--batch 8");
  EXPECT_EQ(words(Change::bucket), "--bucket-mb 50");
  EXPECT_EQ(words(Change::compression), "--compress powersgd");
  EXPECT_EQ(words(Change::precision), "--precision tf32");
  EXPECT_EQ(words(Change::overlap), "without --no-overlap");
  EXPECT_EQ(words(Change::backend), "--backend shm");
}

TEST(RemedyWords, count_gpus_and_bridges) {
  const auto both = [](Change change, int count) {
    const Remedy remedy{change, {}, count};
    return to_words(remedy) + ": " + note_of(remedy);
  };
  EXPECT_EQ(both(Change::one_node, 1), "one node alone: leaves 1 GPU idle");
  EXPECT_EQ(both(Change::one_node, 8), "one node alone: leaves 8 GPUs idle");
  EXPECT_EQ(both(Change::all_in_one_node, 4), "all 4 GPUs in one node: instead of the network");
  EXPECT_EQ(both(Change::bridges, 1), "an NVLink bridge: the cards have the connector");
  EXPECT_EQ(both(Change::bridges, 2), "NVLink bridges on pairs: the cards have the connector");
}

TEST(RemedyWords, say_what_rests_on_a_measured_step) {
  auto options = changed();
  EXPECT_EQ(note_of(Remedy{Change::batch, options}), "if it fits the GPU's memory");
  options.anchor.emplace();
  EXPECT_EQ(note_of(Remedy{Change::batch, options}),
            "if it fits the GPU's memory; reckoned from the step you measured");
  EXPECT_EQ(note_of(Remedy{Change::precision, options}),
            "matrix products rounded to TF32; reckoned from the step you measured");
  EXPECT_EQ(note_of(Remedy{Change::bucket, options}), "same result");
}

TEST(TurnWords, say_from_where_on_or_down_to_where) {
  const auto words = [](Change of, bool down, int value) {
    return to_words(Turn{of, down, value, Verdict::helps});
  };
  EXPECT_EQ(words(Change::batch, false, 16), "from batch 16");
  EXPECT_EQ(words(Change::batch, true, 2), "down to batch 2");
  EXPECT_EQ(words(Change::accumulate, false, 8), "from accumulation 8");
}

}  // namespace
}  // namespace gradwire
