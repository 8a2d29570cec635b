// What `plan` and `compare` of a split model say.
#include "report/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/render.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// As people read it, wherever lines end.
std::string words_of(const Report& report) {
  std::string words;
  for (const char letter : to_text(report)) {
    const bool space = letter == ' ' || letter == '\n';
    if (!space || !words.ends_with(' ')) words += space ? ' ' : letter;
  }
  return words;
}

PlanQuestion question_of(const char* model, int batch) {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  question.batch = batch;
  return question;
}

std::vector<PlannedMachine> planned_on(const PlanQuestion& question, std::initializer_list<const char*> names,
                                       int most = 8) {
  std::vector<PlannedMachine> all;
  for (const char* name : names) {
    const auto machine = find_machine(name);
    all.push_back({machine, make_plans(question, machine, most)});
  }
  return all;
}

std::string plan_text(const PlanQuestion& question, std::initializer_list<const char*> names) {
  return words_of(plan_report(question, planned_on(question, names)));
}

TEST(PlanReport, says_what_was_assumed_of_the_machine) {
  const auto question = question_of("gpt2", 2);
  EXPECT_THAT(plan_text(question, {"2x-rtx3090-pcie"}), HasSubstr("slots are not stated: taken as x8 each"));
  EXPECT_THAT(plan_text(question, {"dgx-a100"}), Not(HasSubstr("Note")));
  const auto data = plan_report(question, planned_on(question, {"2x-rtx3090-pcie"})).data;
  EXPECT_THAT(data["machines"][0]["assumed"].dump(), HasSubstr("slots are not stated"));
}

TEST(PlanReport, says_what_would_make_a_model_fit) {
  EXPECT_THAT(plan_text(question_of("llama-405b", 8), {"dgx-a100"}),
              AllOf(HasSubstr("llama-405b does not fit: the least is "), HasSubstr(". it fits "),
                    HasSubstr(" such nodes of 8 GPUs.")));
  EXPECT_TRUE(advice_of(question_of("gpt2", 8), planned_on(question_of("gpt2", 8), {"dgx-a100"})[0]).empty());
}

TEST(PlanReport, says_how_wide_weights_gradients_and_states_are) {
  auto question = question_of("llama-7b", 8);
  question.dp = 8;
  question.shard = 1;
  EXPECT_THAT(plan_text(question, {"dgx-a100"}), HasSubstr("2 B of weight, 4 of gradient, 12 of state"));
  question.shard = 3;
  EXPECT_THAT(plan_text(question, {"dgx-a100"}), AllOf(HasSubstr("2 B of weight, 2 of gradient, 12 of state"),
                                                       HasSubstr("joined in 16 bits with shard 3 alone")));
  question.precision = Precision::fp32;
  EXPECT_THAT(plan_text(question, {"dgx-a100"}),
              AllOf(HasSubstr("4 B of weight, 4 of gradient, 8 of state"), Not(HasSubstr("16 bits"))));
}

TEST(PlanReport, counts_one_gpu_as_one) {
  const auto text = plan_text(question_of("gpt2", 1), {"1x-a100-sxm-80-nvswitch"});
  EXPECT_THAT(text,
              AllOf(HasSubstr(": 1 GPU, 1 sequence of 1024 tokens"), HasSubstr("One GPU sends nothing")));
}

TEST(PlanReport, says_over_how_many_gpus_experts_are_spread) {
  EXPECT_THAT(plan_text(question_of("mixtral-8x7b", 64), {"2*dgx-h100@ndr"}), HasSubstr("dp tp pp ep shard"));
  EXPECT_THAT(plan_text(question_of("llama-7b", 64), {"dgx-h100"}), HasSubstr("dp tp pp shard"));
}

TEST(PlanReport, says_that_nothing_else_joins_the_trays_of_a_rack) {
  const auto question = question_of("llama-7b", 72);
  EXPECT_THAT(plan_text(question, {"gb200-nvl72"}), HasSubstr("no other way than NVLink between these GPUs"));
  EXPECT_TRUE(plan_report(question, planned_on(question, {"gb200-nvl72"}))
                  .data["plans"][0]["nvlink_speedup"]
                  .is_null());
}

TEST(PlanReport, says_the_precision_of_each_machine) {
  auto question = question_of("gpt2", 8);
  auto planned = planned_on(question, {"dgx-a100"});
  question.precision = Precision::fp16;
  planned.push_back(planned_on(question, {"2x-titan-rtx-pcie"}).front());
  const auto report = plan_report(question, planned);
  EXPECT_THAT(words_of(report), AllOf(HasSubstr("tokens a step, bf16"), HasSubstr("tokens a step, fp16")));
  EXPECT_EQ(report.data["machines"][1]["precision"], "fp16");
}

PlanQuestion two_replicas() {
  auto question = question_of("gpt2-xl", 16);
  question.precision = Precision::fp32;
  question.dp = 2;
  return question;
}

constexpr auto kPair = {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"};

TEST(PlanComparison, says_what_was_not_asked_for) {
  const auto question = two_replicas();
  const auto report = plan_comparison(question, planned_on(question, kPair, 1));
  const auto text = words_of(report);
  EXPECT_THAT(text, HasSubstr("8 sequences of 1024 tokens a GPU and step, fp32"));
  EXPECT_THAT(text, HasSubstr("since not asked for: --shard, --micro-batch, --recompute."));
  EXPECT_EQ(report.data["left_open"].size(), 3u);
  EXPECT_THAT(text, HasSubstr("slots are not stated"));
  EXPECT_THAT(text, Not(HasSubstr("0 ns")));
}

// The parts that are named are what the steps differ by, to a fifth: 1.3x that is recomputation is not called the link's.
TEST(PlanComparison, gives_a_reason_that_carries_the_gain) {
  auto question = two_replicas();
  question.shard = 3;
  auto planned = planned_on(question, kPair, 1);
  question.recompute = Recompute::full;
  planned[1] = planned_on(question, {"2x-rtx3090-pcie"}, 1).front();
  question.recompute.reset();
  const auto answer = plan_comparison(question, planned).data["answer"];
  const std::string reason = answer["reason"];
  EXPECT_EQ(answer["verdict"], "helps");
  EXPECT_THAT(reason, AllOf(HasSubstr("less: recomputation "), HasSubstr("communication")));
  EXPECT_THAT(reason, HasSubstr("over NVLink instead of host memory"));
}

TEST(PlanComparison, has_a_range_as_wide_as_its_links_are_doubtful) {
  const auto question = two_replicas();
  const auto answer = plan_comparison(question, planned_on(question, kPair, 1)).data["answer"];
  EXPECT_GT(double(answer["high"]) / double(answer["low"]), 1.1);
}

TEST(PlanComparison, sets_one_machine_against_links_without_limits) {
  const auto question = two_replicas();
  const auto report = plan_comparison(question, planned_on(question, {"2x-rtx3090-pcie"}, 1));
  const auto answer = report.data["answer"];
  EXPECT_EQ(answer["verdict"], "helps");
  EXPECT_EQ(answer["better"], "a link without limits");
  EXPECT_GT(answer["speedup"], 1.05);
  EXPECT_THAT(words_of(report), HasSubstr("times as fast over links without limits"));
}

TEST(PlanComparison, opens_with_what_does_not_fit) {
  auto question = question_of("llama-405b", 8);
  question.tp = 8;
  auto report = plan_comparison(question, planned_on(question, {"dgx-h100", "dgx-a100"}, 1));
  EXPECT_THAT(words_of(report),
              HasSubstr("llama-405b fits neither dgx-h100 nor dgx-a100; with memory enough, "
                        "dgx-h100 would be"));
  EXPECT_EQ(report.data["answer"]["sure"], "cant_tell");
  EXPECT_EQ(report.data["answer"]["fits"], false);
  question = question_of("llama-7b", 8);
  question.dp = 2, question.shard = 1;
  report = plan_comparison(question, planned_on(question, {"2x-rtx3090-pcie", "dgx-h100"}, 1));
  EXPECT_THAT(words_of(report),
              HasSubstr("llama-7b fits dgx-h100 alone; with memory enough, dgx-h100 would be"));
  EXPECT_EQ(report.data["answer"]["sure"], "cant_tell");
}

TEST(PlanComparison, says_the_hours_that_are_saved) {
  const auto question = two_replicas();
  const auto report = plan_comparison(question, planned_on(question, kPair, 1));
  const double speedup = report.data["answer"]["speedup"],
               hours = report.data["answer"]["hours_saved_per_day"];
  EXPECT_NEAR(hours, 24 * (1 - 1 / speedup), 1e-9);
  EXPECT_THAT(words_of(report), HasSubstr("h saved of every 24"));
}

TEST(PlanComparison, keeps_a_table_whose_machines_have_long_names) {
  const auto question = two_replicas();
  const auto long_named =
      renamed(planned_on(question, kPair, 1), {std::string(90, 'a'), std::string(90, 'b')});
  EXPECT_THAT(to_text(plan_comparison(question, long_named)), HasSubstr(std::string(29, 'a') + "  "));
}

TEST(PlanComparison, compares_what_a_sequence_takes_where_batches_differ) {
  auto question = question_of("gpt2", 8);
  question.tp = 1, question.pp = 1, question.shard = 0;
  auto planned = planned_on(question, {"dgx-a100"}, 1);
  question.batch = 2;
  planned.push_back(planned_on(question, {"2x-rtx3090-pcie"}, 1).front());
  EXPECT_THAT(words_of(plan_comparison(question, planned)), HasSubstr("because a sequence takes"));
}

TEST(PlanStepReport, says_that_it_has_spread_experts_as_is_best) {
  auto question = question_of("mixtral-8x7b", 64);
  question.dp = 4, question.tp = 2, question.pp = 1;
  EXPECT_THAT(words_of(plan_step_report(question, planned_on(question, {"dgx-h100"}, 1)[0])),
              HasSubstr("ep, how many GPUs experts are spread over, was left open: "));
  question.expert_parallel = 8;
  EXPECT_THAT(words_of(plan_step_report(question, planned_on(question, {"dgx-h100"}, 1)[0])),
              Not(HasSubstr("was left open")));
}

TEST(PlanStepReport, says_whether_sequences_are_split_and_prices_it_so) {
  auto question = question_of("llama-7b", 16);
  question.dp = 4, question.tp = 2, question.pp = 1, question.micro_batch = 1;
  question.recompute = Recompute::none, question.shard = 1;
  const auto split = plan_step_report(question, planned_on(question, {"dgx-a100"}, 1)[0]);
  EXPECT_THAT(words_of(split), HasSubstr("dp 4 x tp 2, shard 1, sequence-parallel, micro-batches"));
  question.sequence_parallel = false;
  const auto whole = plan_step_report(question, planned_on(question, {"dgx-a100"}, 1)[0]);
  EXPECT_THAT(words_of(whole), Not(HasSubstr("sequence-parallel")));
  EXPECT_GT(whole.data["plan"]["memory_gib"].get<double>(), split.data["plan"]["memory_gib"].get<double>());
}

TEST(PlanStepReport, names_the_flag_of_whoever_asks_for_host_memory) {
  auto question = question_of("llama-7b", 2);
  question.dp = 2, question.tp = 1, question.pp = 1, question.shard = 1;
  question.flags.offload = "`gradwire plan --offload`";
  const auto planned = planned_on(question, {"2x-rtx3090-nvlink"}, 1);
  auto would_fit = planned[0].answer;
  would_fit.would_fit = WouldFit{.offloaded = 1e9, .host = 1e9, .nodes = 2};
  EXPECT_THAT(advice_of(question, {planned[0].machine, would_fit}).at(1),
              HasSubstr("in host memory (`gradwire plan --offload`) it takes"));
}

// One layout has one price, whichever verb is asked.
TEST(PlanStepReport, says_of_a_layout_what_plan_and_compare_say) {
  auto question = question_of("llama-7b", 16);
  question.dp = 2, question.tp = 2, question.pp = 2, question.shard = 1, question.micro_batch = 1;
  question.virtual_stages = 1, question.recompute = Recompute::full;
  const auto planned = planned_on(question, {"dgx-a100"}, 1);
  const auto step = plan_step_report(question, planned[0]).data;
  EXPECT_EQ(step["step_ms"], plan_report(question, planned).data["plans"][0]["step_ms"]);
  EXPECT_EQ(step["step_ms"], plan_comparison(question, planned).data["machines"][0]["step_ms"]);
  EXPECT_EQ(step["plan"], plan_report(question, planned).data["plans"][0]);
  const auto& parts = step["breakdown_ms"];
  double sum = 0;
  for (const char* part : {"data", "forward", "backward", "comm_exposed", "optimizer", "other"}) {
    EXPECT_GE(parts[part].get<double>(), 0) << part;
    sum += parts[part].get<double>();
  }
  EXPECT_NEAR(sum, step["step_ms"].get<double>(), 1e-6 * sum);
  // Backward is two forwards, and one more that is computed again.
  EXPECT_NEAR(parts["backward"].get<double>() / parts["forward"].get<double>(), 3, 0.15);
  EXPECT_THAT(words_of(plan_step_report(question, planned[0])),
              AllOf(HasSubstr("llama-7b on 8 GPUs of dgx-a100, simulated: "), HasSubstr("stages wait "),
                    HasSubstr("a GPU holds")));
}

}  // namespace
}  // namespace gradwire
