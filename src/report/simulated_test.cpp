#include "report/simulated.h"

#include <gmock/gmock.h>

#include "predict/workload/catalog.h"
#include "report/render.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SimulatedStep on_machine(const char* on) {
  StepOptions options;
  options.batch = 4;
  const Machine machine = find_machine(on);
  SimulatedStep step;
  step.model = "gpt2";
  step.on = on;
  step.estimate = estimate_step(build_model("gpt2"), machine, options);
  step.machine = SimulatedOn{machine, "gpt2", "sequence"};
  return step;
}

SimulatedStep over_wires() {
  SimulatedStep step = on_machine("2x-rtx3090-pcie");
  step.model = "apart.json";
  step.on = "wires.json";
  step.machine.reset();
  step.backend = "tcp";
  return step;
}

TEST(Simulated, a_step_on_a_machine_is_said_as_a_run_is) {
  auto step = on_machine("2x-rtx3090-pcie");
  step.trace = "step.json";
  const auto report = simulated_report(step);
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("gpt2 on 2 GPUs of 2x-rtx3090-pcie, simulated: "), HasSubstr(" sequences/s,"),
                    HasSubstr("scaling "), HasSubstr("B  backward"),
                    HasSubstr("ms of all-reduce; eight of ten such steps are within"),
                    HasSubstr("trace: step.json"), Not(HasSubstr("But "))));
  EXPECT_EQ(report.data["trace"], "step.json");
  EXPECT_TRUE(report.data["warnings"].empty());
  EXPECT_FALSE(report.data["assumed"].empty());
  EXPECT_TRUE(report.data.contains("comm_slowdown_ms"));
}

TEST(Simulated, what_speaks_against_it_is_said_once) {
  auto step = on_machine("2x-rtx3090-pcie");
  step.warning = "the trace is odd";
  EXPECT_THAT(to_text(simulated_report(step)), HasSubstr("But the trace is odd."));
  step.misfit = Misfit{.model = "gpt2", .machines = {"a"}, .state = 2, .memory = 1};
  EXPECT_THAT(to_text(simulated_report(step)),
              AllOf(HasSubstr("But gpt2 does not fit a GPU of a"), Not(HasSubstr("odd"))));
  auto disturbed = over_wires();
  disturbed.disturbed = true;
  EXPECT_THAT(simulated_report(disturbed).data["warnings"][0],
              "apart.json is of ranks that communicated, which slowed what they computed: record it with "
              "--backend none");
}

TEST(Simulated, a_step_over_measured_wires_names_their_backend) {
  EXPECT_THAT(to_text(simulated_report(over_wires())),
              AllOf(HasSubstr("apart.json with 2 ranks over tcp, predicted: "), HasSubstr(", scaling ")));
  auto replayed = over_wires();
  replayed.replayed = timeline_of(replayed);
  const auto report = simulated_report(replayed);
  EXPECT_THAT(to_text(report), AllOf(HasSubstr(" % of it without"), HasSubstr("ms of communication")));
  EXPECT_FALSE(report.data.contains("comm_slowdown_ms")) << "it is not known where every call was replayed";
  EXPECT_TRUE(report.data["assumed"].empty());
}

TEST(Simulated, a_real_run_says_how_far_off_it_is) {
  auto step = on_machine("2x-rtx3090-pcie");
  step.real = RecordedRun{"real.json", timeline_of(step)};
  const auto report = simulated_report(step);
  EXPECT_NEAR(report.data["error"].get<double>(), 0, 1e-6) << "the run is the prediction itself";
  EXPECT_THAT(to_text(report), HasSubstr("the prediction is +0.0 % off"));
  const auto page = simulated_page(step, report, {{"other.json", timeline_of(step)}});
  EXPECT_EQ(page.timelines.size(), 3U);
  EXPECT_EQ(page.topologies.size(), 1U);
  EXPECT_EQ(page.title, "gpt2 on 2x-rtx3090-pcie");
}

}  // namespace
}  // namespace gradwire
