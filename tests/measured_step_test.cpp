// A step predicted from what was measured, as a user does it: ranks that train apart, a bench of their wires,
// and the prediction. How near it comes is bench/reality's business; here is what must always hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "support/session.h"

namespace gradwire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::string run_gradwire(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.begin(), GRADWIRE_PROGRAM);
  Session run(std::move(arguments));
  EXPECT_EQ(run.finish(), exit_code) << run.text();
  return run.text();
}

json parse(const std::string& text) {
  const auto brace = text.find('{');  // warnings of ranks come before it, on stderr
  return brace == std::string::npos ? json::object() : json::parse(text.substr(brace), nullptr, false);
}

// Most of it needs no training: a trace of a simulated step, and results as `gradwire bench --json` writes
// them.
constexpr const char* kWires = R"({"rows": [
  {"backend": "shm", "collective": "all_reduce", "ranks": 2, "bytes": 65536, "time_us": 2, "processor_us": 2},
  {"backend": "shm", "collective": "all_reduce", "ranks": 2, "bytes": 16777216, "time_us": 600, "processor_us": 600},
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 65536, "time_us": 200, "processor_us": 50},
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 16777216, "time_us": 140000, "processor_us": 9000}
]})";

class MeasuredStep : public testing::Test {
 protected:
  void SetUp() override {
    run_gradwire({"train", "mlp", "--on", "2x-rtx3090-nvlink", "--trace", trace()});
    write_file(wires(), kWires);
  }

  std::string trace() const { return (folder_.path() / "apart.json").string(); }
  std::string wires() const { return (folder_.path() / "wires.json").string(); }
  double step_over(const std::string& backend) const {
    return parse(run_gradwire({"train", trace(), "--on", wires(), "--backend", backend, "--json"}))
        .at("step_ms");
  }

 private:
  const TempDir folder_;
};

TEST(MeasuredHere, is_what_was_computed_and_what_wires_add) {
  const TempDir folder;
  const auto trace = (folder.path() / "apart.json").string(), wires = (folder.path() / "wires.json").string();
  run_gradwire(
      {"train", "mlp", "-n", "2", "--backend", "none", "--steps", "4", "--batch", "4", "--trace", trace});
  write_file(wires, run_gradwire({"bench", "all_reduce", "-n", "2", "--backend", "shm", "--sizes", "64K,16M",
                                  "--rounds", "1", "--sample-time", "1ms", "--json"}));
  const auto result = parse(run_gradwire({"train", trace, "--on", wires, "--json"}));
  const auto& parts = result.at("breakdown_ms");
  EXPECT_EQ(result.at("ranks"), 2);
  EXPECT_GT(result.at("step_ms").get<double>(),
            parts.at("forward").get<double>() + parts.at("backward").get<double>());
  EXPECT_LE(result.at("scaling").get<double>(), 1);
}

TEST_F(MeasuredStep, takes_longer_over_slower_wires) { EXPECT_GT(step_over("tcp"), step_over("shm")); }

TEST_F(MeasuredStep, has_a_trace_like_a_real_one) {
  const TempDir folder;
  const auto file = (folder.path() / "predicted.json").string();
  run_gradwire({"train", trace(), "--on", wires(), "--backend", "tcp", "--trace", file});
  EXPECT_THAT(run_gradwire({"train", file, "--on", wires(), "--backend", "shm"}),
              HasSubstr("with 2 ranks over shm, predicted"));
}

TEST_F(MeasuredStep, asks_for_a_backend_where_there_are_several) {
  EXPECT_THAT(run_gradwire({"train", trace(), "--on", wires()}, 2),
              AllOf(HasSubstr("shm with 2 ranks, tcp with 2 ranks"), HasSubstr("--backend")));
}

TEST_F(MeasuredStep, says_how_to_measure_when_given_the_name_of_a_model) {
  EXPECT_THAT(run_gradwire({"train", "mlp", "--on", wires()}, 2),
              HasSubstr("gradwire train mlp --backend none --trace"));
}

TEST_F(MeasuredStep, is_refused_for_files_that_are_something_else) {
  EXPECT_THAT(run_gradwire({"train", wires(), "--on", wires(), "--backend", "shm"}, 2),
              HasSubstr("wires.json"));
  EXPECT_THAT(run_gradwire({"train", trace(), "--on", trace()}, 2), HasSubstr("apart.json: bench results"));
}

// Wires on which everything takes so long, whatever it is.
std::string even_wires(double time_us) {
  json rows = json::array();
  for (const char* call : {"all_reduce", "all_gather", "reduce_scatter", "send"})
    for (const int bytes : {64, 1 << 24})
      rows.push_back({{"backend", "tcp"},
                      {"collective", call},
                      {"ranks", 2},
                      {"bytes", bytes},
                      {"time_us", time_us},
                      {"processor_us", 0}});
  return json{{"rows", rows}}.dump();
}

// What two ranks of gpt-tiny rehearse with these flags, then over wires of a millisecond.
json rehearse_and_predict(const TempDir& folder, std::vector<std::string> flags,
                          const std::vector<std::string>& more = {}) {
  const auto trace = (folder.path() / "parts.json").string(), wires = (folder.path() / "wires.json").string();
  flags.insert(flags.begin(), {"train", "gpt-tiny", "-n", "2", "--backend", "none", "--steps", "3", "--batch",
                               "1", "--sequence", "16", "--trace", trace, "--json"});
  const auto alone = parse(run_gradwire(flags));
  EXPECT_EQ(alone.at("backend"), "none");
  const auto over = [&](double time_us, const std::vector<std::string>& also) {
    write_file(wires, even_wires(time_us));
    std::vector<std::string> ask = {"train", trace, "--on", wires, "--json"};
    ask.insert(ask.end(), also.begin(), also.end());
    return parse(run_gradwire(ask));
  };
  auto predicted = over(1000, more);
  EXPECT_GT(predicted.at("step_ms").get<double>(), over(1, {}).at("step_ms").get<double>())
      << predicted.dump();
  return predicted;
}

TEST(Rehearsal, of_every_way_to_share_a_model_becomes_a_step_over_measured_wires) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{"--tp", "2"},
                                                {"--tp", "2", "--sequence-parallel", "--clip", "1"},
                                                {"--pp", "2", "--schedule", "gpipe"},
                                                {"--pp", "2", "--recompute"},
                                                {"--shard", "1"},
                                                {"--shard", "2"},
                                                {"--shard", "3"}}) {
    const TempDir folder;
    const auto result = rehearse_and_predict(folder, flags);
    EXPECT_GT(result.at("breakdown_ms").at("comm_exposed").get<double>(), 1) << flags.front();
  }
}

TEST(Rehearsal, is_shown_beside_the_real_run_in_one_page) {
  const TempDir folder;
  const auto real = (folder.path() / "real.json").string(), page = (folder.path() / "both.html").string();
  const auto predicted = (folder.path() / "predicted.json").string();
  run_gradwire({"train", "gpt-tiny", "-n", "2", "--pp", "2", "--backend", "shm", "--steps", "3", "--batch",
                "1", "--sequence", "16", "--trace", real});
  const auto result =
      rehearse_and_predict(folder, {"--pp", "2"}, {"--real", real, "--html", page, "--trace", predicted});
  EXPECT_NEAR(result.at("step_ms").get<double>() / result.at("real_step_ms").get<double>() - 1,
              result.at("error").get<double>(), 1e-6);
  EXPECT_THAT(read_file(page), AllOf(HasSubstr("real.json"), HasSubstr("wires.json")));
  EXPECT_THAT(read_file(predicted), AllOf(HasSubstr("forward micro-batch 3"), HasSubstr("send pipe")));
}

TEST(Rehearsal, is_no_model_to_be_compared) {
  const TempDir folder;
  rehearse_and_predict(folder, {"--shard", "2"});
  EXPECT_THAT(run_gradwire({"compare", (folder.path() / "parts.json").string(), "--on", "dgx-a100"}, 2),
              HasSubstr("it is a rehearsal"));
}

TEST(TrainingApart, has_no_common_model_to_keep) {
  EXPECT_THAT(run_gradwire({"train", "mlp", "--backend", "none", "--checkpoint", "x.ckpt"}, 2),
              HasSubstr("no common model to keep"));
}

}  // namespace
}  // namespace gradwire
