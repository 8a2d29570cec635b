#include "train/rehearsal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradwire {
namespace {

using ::testing::ElementsAre;

// Rank 1 of 2, and how often it was really called.
class CountedCommunicator final : public Communicator {
 public:
  CountedCommunicator(int& calls, int size) : calls_(calls), size_(size) {}
  Rank rank() const override { return size_ - 1; }
  int size() const override { return size_; }
  std::string name() const override { return "counted"; }
  Carrier carrier() const override { return Carrier::network; }
  std::unique_ptr<Work> start(const Call&) override {
    ++calls_;
    return nullptr;
  }
  void run(const Call&) override { ++calls_; }
  Memory allocate(std::size_t bytes) override { return allocate_private(bytes); }
  void abort() override {}

 private:
  int& calls_;
  const int size_;
};

class RehearsedGroup : public testing::Test {
 protected:
  RehearsedCall call(std::size_t span) const {
    return recorder_.spans(1).at(span).rehearsed.value_or(RehearsedCall{});
  }

  int real_ = 0;
  Recorder recorder_{16};
  Rehearsal rehearsal_;
  std::unique_ptr<Communicator> group_ =
      rehearsal_.among(std::make_unique<CountedCommunicator>(real_, 2), "tp-0-1");
};

TEST_F(RehearsedGroup, communicates_unless_it_is_quiet) {
  std::vector<float> data(4, 1);
  group_->run(all_reduce(bytes_of(data), DType::f32));
  EXPECT_EQ(real_, 1);
  {
    const Rehearsal::Quiet quiet(rehearsal_, &recorder_);
    group_->run(all_reduce(bytes_of(data), DType::f32));
    group_->start(all_reduce(bytes_of(data), DType::f32))->wait();
  }
  EXPECT_EQ(real_, 1);
  group_->run(all_reduce(bytes_of(data), DType::f32));
  EXPECT_EQ(real_, 2);
  EXPECT_EQ(recorder_.spans(1).size(), 2u);
}

TEST_F(RehearsedGroup, answers_as_if_every_rank_had_what_this_one_has) {
  const Rehearsal::Quiet quiet(rehearsal_, &recorder_);
  std::vector<float> own{1, 2}, all(4), sum{3, 4}, message{5, 6}, part(1);
  group_->run(all_gather(bytes_of(own), bytes_of(all), DType::f32));
  EXPECT_THAT(all, ElementsAre(1, 2, 1, 2));
  group_->run(all_reduce(bytes_of(sum), DType::f32));
  EXPECT_THAT(sum, ElementsAre(3, 4));
  group_->run(reduce_scatter(bytes_of(sum), bytes_of(part), DType::f32));
  EXPECT_THAT(part, ElementsAre(4)) << "rank 1's part";
  group_->run(recv(bytes_of(message), 0));
  EXPECT_THAT(message, ElementsAre(0, 0));
}

TEST_F(RehearsedGroup, takes_down_what_it_was_asked_for_and_when_that_was_needed) {
  const Rehearsal::Quiet quiet(rehearsal_, &recorder_);
  const Memory own = group_->allocate(64);
  std::vector<std::byte> user(32);
  auto gather = group_->start(all_gather(own.bytes().first(16), own.bytes().first(32), DType::u8));
  group_->run(send(user, 0));
  gather->wait();
  const auto spans = recorder_.spans(1);
  ASSERT_EQ(spans.size(), 2u) << "in the order they were needed";
  EXPECT_EQ(call(0), (RehearsedCall{Collective::send, true, "tp-0-1"}));
  EXPECT_EQ(call(1), (RehearsedCall{Collective::all_gather, false, "tp-0-1"}));
  EXPECT_EQ(spans[0].bucket, 1);
  EXPECT_EQ(spans[1].bucket, 0) << "it was asked for first";
  EXPECT_EQ(spans[0].bytes, 32u);
  EXPECT_EQ(spans[1].bytes, 32u) << "as a bench counts them: of all ranks";
  EXPECT_LE(spans[1].ready, spans[0].begin);
  EXPECT_GE(spans[1].begin, spans[0].end);
}

TEST_F(RehearsedGroup, of_one_rank_has_nothing_to_rehearse) {
  const auto alone = rehearsal_.among(std::make_unique<CountedCommunicator>(real_, 1), "dp-0");
  const Rehearsal::Quiet quiet(rehearsal_, &recorder_);
  alone->run(barrier());
  EXPECT_EQ(real_, 1);
  EXPECT_TRUE(recorder_.spans(1).empty());
}

}  // namespace
}  // namespace gradwire
