#include "base/similar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NearWords, finds_a_letter_changed_left_out_put_in_or_swapped) {
  const std::vector<std::string> verbs = {"bench", "run", "train", "topo"};
  for (const char* word : {"bemch", "bnch", "bennch", "bnech"})
    EXPECT_THAT(near_words(word, verbs), ElementsAre("bench")) << word;
}

TEST(NearWords, takes_what_was_written_for_the_beginning_of_a_word) {
  EXPECT_THAT(near_words("gb200", {"dgx-1", "gb200-nvl72"}), ElementsAre("gb200-nvl72"));
  EXPECT_THAT(near_words("gb", {"dgx-1", "gb200-nvl72"}), IsEmpty()) << "two letters say too little";
}

TEST(NearWords, gives_the_nearest_alone_or_all_that_are_equally_near) {
  EXPECT_THAT(near_words("resnet-50", {"resnet18", "resnet34", "resnet50"}), ElementsAre("resnet50"));
  EXPECT_THAT(near_words("--bach", {"--back", "--batch", "--patch"}), ElementsAre("--back", "--batch"));
}

TEST(NearWords, counts_neither_capitals_nor_dashes) {
  EXPECT_THAT(near_words("GPT-2", {"gpt2", "gpt2-xl", "gptj"}), ElementsAre("gpt2"));
  EXPECT_THAT(near_words("ResNet_50", {"resnet18", "resnet50"}), ElementsAre("resnet50"));
}

TEST(NearWords, says_nothing_when_nothing_is_near) {
  EXPECT_THAT(near_words("nosuch", {"bench", "run"}), IsEmpty());
  EXPECT_THAT(near_words("", {"a"}), IsEmpty());
  EXPECT_THAT(near_words("x", {"y", "z"}), IsEmpty()) << "every letter of a word changed is another word";
  EXPECT_THAT(near_words(std::string(1 << 20, 'a'), {"aaaa"}), IsEmpty());
}

TEST(DidYouMean, is_ready_to_be_put_behind_the_word) {
  EXPECT_EQ(did_you_mean("tpc", {"shm", "tcp"}), " (did you mean tcp?)");
  EXPECT_EQ(did_you_mean("nosuch", {"shm", "tcp"}), "");
}

}  // namespace
}  // namespace gradwire
