#include "report/prices.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "report/machine_notes.h"
#include "report/render.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

Report priced(const PriceQuestion& question, const char* on, bool curves = true) {
  const Machine machine = find_machine(on);
  return prices_report(question, machine, price_bench(question, machine), curves);
}

TEST(Prices, are_a_row_for_each_backend_and_size) {
  const auto report =
      priced({.sizes = {1024, 1 << 26}, .backends = {Backend::nccl, Backend::gloo}}, "2x-rtx3090-pcie");
  ASSERT_EQ(report.data["rows"].size(), 4U);
  EXPECT_EQ(report.data["rows"][0]["backend"], "nccl");
  EXPECT_EQ(report.data["rows"][3]["backend"], "gloo");
  EXPECT_EQ(report.data["rows"][3]["bytes"], 1 << 26);
  const double busbw = report.data["rows"][1]["busbw_gbps"], algbw = report.data["rows"][1]["algbw_gbps"];
  EXPECT_NEAR(busbw, algbw, 1e-9) << "2 (n - 1) / n is 1 between two";
}

TEST(Prices, say_what_they_are_and_what_their_errors_rest_on) {
  PriceQuestion question{.sizes = {1024, 1 << 26}, .backends = {Backend::nccl, Backend::gloo, Backend::shm}};
  const auto text = to_text(priced(question, "2x-rtx3090-pcie"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("# all_reduce on 2x-rtx3090-pcie: 2 GPUs of rtx3090 on 1 node; predicted"),
                    HasSubstr("# assumed: "), HasSubstr("+- of nccl: eight of ten measured times"),
                    HasSubstr("+- of gloo: a guess: two constants from one host"),
                    HasSubstr("+- of shm: a guess: a sweep of 2 ranks"), HasSubstr("bus bandwidth")));
  EXPECT_THAT(to_text(priced(question, "2x-rtx3090-pcie", false)), Not(HasSubstr("bus bandwidth")));
}

TEST(Prices, of_a_machine_that_was_measured_rest_on_that) {
  Machine machine = find_machine("2x-rtx3090-pcie");
  machine.measured = MeasuredThere{{"/x/a.txt", "b.txt"}, 0.35, 0.12, true};
  const PriceQuestion question{.sizes = {1024}};
  const auto report = prices_report(question, machine, price_bench(question, machine));
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("# measured (a.txt, b.txt): eight of ten"),
                                     HasSubstr("+- of nccl: what was measured there leaves open")));
  EXPECT_EQ(report.data["assumed"].back(),
            "measured (a.txt, b.txt): eight of ten all-reduce times of 64 MiB within 12 %, without it 35 %");
  machine.measured->now = 0.5;
  EXPECT_THAT(to_words(*machine.measured), HasSubstr("was it another?"));
  machine.measured->rates = false;
  EXPECT_THAT(to_words(*machine.measured), HasSubstr("nothing from 1 MB up was measured"));
  machine.measured = MeasuredThere{{"a.txt"}, 0.35, 0.12, true, {"it was measured on A, not on B"}};
  EXPECT_THAT(to_words(*machine.measured), HasSubstr("35 %; it was measured on A, not on B"));
}

TEST(Prices, are_nccls_alone_for_other_collectives) {
  EXPECT_THAT(
      [] {
        priced({.collective = Collective::broadcast, .sizes = {1024}, .backends = {Backend::tcp}},
               "dgx-a100");
      },
      ThrowsMessage<ConfigError>("tcp with --on: only all_reduce has a model"));
}

}  // namespace
}  // namespace gradwire
