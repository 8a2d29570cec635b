#include "predict/step/training.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "predict/records/read.h"
#include "predict/validation/collectives.h"

namespace gradwire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const Calibration& shipped(const std::string&) { return default_calibration(); }

std::vector<Record> one_record(const std::string& values) {
  std::string line =
      R"({"kind": "training", "id": "t", "source": "s", "platform": "p", "group": "g", "gpu": "rtx3090",
"machine": {"intra": "nvlink-pairs", "nvlink_gen": 3, "nvlink_links_per_gpu": 4, "nvlink_links_per_pair": 4, "p2p": null,
"pcie_gen": 4, "pcie_width": 16, "cpu": null, "topo_matrix": null, "gpu_indices": null, "network": null},
"model": "gpt2", "parameters": 124439808, "gradient_dtype": "float32", "batch_per_gpu": 4, "sequence_length": 1024,
"precision": "fp32", "optimizer": "adamw", "framework": null, "distribution": "ddp", "overlap": true, "bucket_bytes": null,
"sample": "sequence", "metric": "samples_per_s", "quality": "ok", "notes": "",
"values": [)" +
      values + "]}";
  std::replace(line.begin(), line.end(), '\n', ' ');  // a record is one line
  return parse_records(line, "test.jsonl");
}

constexpr const char* kAnchor =
    R"({"nodes": 1, "gpus": 1, "link": "default", "accumulate": 1, "samples_per_s": 10, "anchor": true})";

std::string value(int gpus, const std::string& link, double rate) {
  return R"(, {"nodes": 1, "gpus": )" + std::to_string(gpus) + R"(, "link": ")" + link +
         R"(", "accumulate": 1, "samples_per_s": )" + std::to_string(rate) + "}";
}

std::vector<ValidationPoint> predict(const std::vector<Record>& records) {
  return predict_training(training_cases(records, shipped), {}, default_step_constants());
}

TEST(Training, predicts_from_the_anchor_and_nothing_else) {
  const auto low = predict(one_record(kAnchor + value(2, "nvlink", 5)));
  const auto high = predict(one_record(kAnchor + value(2, "nvlink", 50)));
  ASSERT_EQ(low.size(), 1u);
  EXPECT_DOUBLE_EQ(low[0].predicted, high[0].predicted) << "the answer does not enter its prediction";
  EXPECT_GT(low[0].predicted, 15);
  EXPECT_LT(low[0].predicted, 20);
  EXPECT_EQ(low[0].point, "2 gpus nvlink");
}

TEST(Training, a_with_and_a_without_make_a_pair) {
  const auto all = predict(one_record(kAnchor + value(2, "nvlink", 19) + value(2, "no-p2p", 15)));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(all[2].pair);
  EXPECT_THAT(all[2].point, HasSubstr("2 gpus nvlink/no-p2p"));
  EXPECT_GT(all[2].predicted, 1.05);
  EXPECT_TRUE(all[2].right_sign());
}

TEST(Training, without_an_anchor_only_the_pair_is_predicted) {
  const auto all = predict(one_record(value(2, "nvlink", 19).substr(2) + value(2, "no-p2p", 15)));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].pair);
}

TEST(Training, an_unknown_gpu_is_predicted_from_its_anchor) {
  auto records = one_record(kAnchor + value(2, "default", 15));
  const double known = predict(records).at(0).predicted;
  records[0].gpu.clear();  // its NVLink is known by generation
  const auto all = predict(records);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(std::isfinite(all[0].alpha_beta));
  EXPECT_NEAR(all[0].predicted, known, 0.2 * known);
}

TEST(Training, an_unknown_gpu_without_an_anchor_is_left_out_with_the_reason) {
  auto records = one_record(value(2, "nvlink", 19).substr(2) + value(2, "no-p2p", 15));
  records[0].gpu.clear();
  const auto set = training_cases(records, shipped);
  EXPECT_TRUE(set.cases.empty());
  EXPECT_THAT(set.left_out.at("t 2 gpus nvlink").error, HasSubstr("neither the GPU nor"));
}

TEST(Training, says_what_it_assumed_where_a_record_is_silent) {
  auto records = one_record(kAnchor + value(2, "default", 15));
  EXPECT_THAT(predict(records).at(0).assumed.of_training, Not(Contains(UnstatedTraining::parameters)));
  records[0].gpu.clear();
  records[0].training->model = "somebodys-net";
  records[0].training->parameters.reset();
  const auto assumed = predict(records).at(0).assumed;
  EXPECT_THAT(assumed.of_machine, Contains(HasSubstr("the GPU is not stated")));
  EXPECT_THAT(assumed.of_training, IsSupersetOf({UnstatedTraining::parameters, UnstatedTraining::layers}));
  EXPECT_EQ(assumed.parameters / 10'000'000, 11u) << "the usual of what is no convolution";
  EXPECT_THAT(assumed.layers, HasSubstr("a stand-in scaled from bert-large"));
}

TEST(Training, values_that_nothing_can_be_said_of_are_left_out_with_the_reason) {
  const auto lonely = training_cases(one_record(value(8, "default", 60).substr(2)), shipped);
  EXPECT_EQ(lonely.left_out.at("t 8 gpus default").why, Unpredicted::no_anchor);
  EXPECT_EQ(training_cases(one_record(kAnchor), shipped).left_out.at("t").why, Unpredicted::anchor_alone);
  const auto pair = one_record(value(2, "nvlink", 19).substr(2) + value(2, "no-p2p", 15));
  EXPECT_TRUE(training_cases(pair, shipped).left_out.empty());
}

double mean_of(const std::vector<ValidationPoint>& all, const std::string& family, bool replicated) {
  double sum = 0, count = 0;
  for (const auto& one : all) {
    const bool is_replicated = one.scope.find("tf-replicated") != std::string::npos;
    if (one.quality != Quality::ok || one.pair || one.scope.rfind(family, 0) != 0 ||
        (is_replicated && !replicated))
      continue;
    sum += std::abs(one.error());
    ++count;
  }
  return sum / count;
}

// Nested: every platform judged by step constants and a calibration of collectives, neither of which saw it.
class CrossValidation : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto known = prepare(built_in_records());
    CalibrationsWithout calibrations(known);
    const CalibrationOf without = [&](const std::string& platform) -> const Calibration& {
      return calibrations.of(platform);
    };
    const auto records = built_in_training_records();
    predictions() = predict_training(training_cases(records, without),
                                     constants_without_each(records, without), default_step_constants());
  }
  static std::vector<ValidationPoint>& predictions() {
    static std::vector<ValidationPoint> all;
    return all;
  }
};

TEST_F(CrossValidation, convolutional_networks_under_ddp_are_within_5_percent) {
  const double error = mean_of(predictions(), "cnn", false);
  RecordProperty("mean_abs_error", std::to_string(error));
  EXPECT_LT(error, 0.05);
}

TEST_F(CrossValidation, convolutional_networks_of_all_frameworks_are_within_6_percent) {
  EXPECT_LT(mean_of(predictions(), "cnn", true), 0.06);
}

// Hosts whose memory path is many times slower than others' with the same slots (8x-rtx3090-pcie and
// 2x-rtx3070-pcie) make the mean; docs/accuracy.md says what is known of them.
TEST_F(CrossValidation, transformers_are_within_8_percent_on_all_but_slow_hosts) {
  std::vector<ValidationPoint> usual;
  for (const auto& one : predictions())
    if (one.platform != "8x-rtx3090-pcie" && one.platform != "2x-rtx3070-pcie") usual.push_back(one);
  EXPECT_LT(mean_of(usual, "transformer", true), 0.08);
  EXPECT_LT(mean_of(predictions(), "transformer", true), 0.18);
}

TEST_F(CrossValidation, ratios_with_and_without_a_link_are_within_4_percent) {
  double sum = 0, count = 0;
  for (const auto& one : predictions())
    if (one.pair && one.quality == Quality::ok) sum += std::abs(one.error()), ++count;
  EXPECT_LT(sum / count, 0.04);
}

TEST_F(CrossValidation, about_eight_of_ten_measurements_lie_in_their_range) {
  double inside = 0, count = 0;
  for (const auto& one : predictions())
    if (one.quality == Quality::ok) inside += one.low <= one.measured && one.measured <= one.high, ++count;
  EXPECT_NEAR(inside / count, 0.81, 0.06);
}

// The range that `compare` answers with.
TEST_F(CrossValidation, about_eight_of_ten_gains_of_a_link_lie_in_their_range) {
  double inside = 0, count = 0;
  for (const auto& one : predictions())
    if (one.pair && one.quality == Quality::ok)
      inside += one.low <= one.measured && one.measured <= one.high, ++count;
  RecordProperty("inside", std::to_string(inside / count));
  EXPECT_GT(count, 50);
  EXPECT_NEAR(inside / count, 0.8, 0.06);
}

TEST_F(CrossValidation, every_pair_that_matters_has_the_right_sign) {
  int pairs = 0;
  for (const auto& one : predictions())
    if (one.pair && std::abs(one.measured - 1) > 0.05) {
      ++pairs;
      EXPECT_TRUE(one.right_sign()) << one.id << " " << one.point << ": " << one.predicted << " for "
                                    << one.measured;
    }
  EXPECT_GE(pairs, 40);
}

// Hugging Face's performance guide: 200 steps take 101.9 s with NVLink and 131.4 s without.
TEST_F(CrossValidation, gpt2_on_two_titan_rtx_is_within_5_percent) {
  const auto seconds = [&](const std::string& point) {
    for (const auto& one : predictions())
      if (one.id == "hf-titanrtx-gpt2" && one.point == point) return 200 * 8 / one.predicted;
    return 0.0;
  };
  EXPECT_NEAR(seconds("2 gpus nvlink"), 101.9, 0.05 * 101.9);
  EXPECT_NEAR(seconds("2 gpus no-p2p"), 131.4, 0.05 * 131.4);
}

// Lambda's two RTX 2080 Ti, ResNet-50 at batch 64 in fp32: through host memory instead of NVLink costs 4.3 %
// where all-reduce overlaps backward and 11.2 % where it can't (XLA). So there "NVLink does not matter" is
// not quite true.
TEST_F(CrossValidation, resnet50_without_peer_access_loses_a_little) {
  for (const auto& one : predictions()) {
    if (!one.pair || one.point != "2 gpus nvlink/no-p2p") continue;
    const bool overlapped = one.id == "lambda-tf-2080ti-resnet50-fp32",
               late = one.id == "lambda-tf-2080ti-xla-resnet50-fp32";
    if (!overlapped && !late) continue;
    EXPECT_NEAR(one.measured, overlapped ? 1.043 : 1.112, 0.001);
    EXPECT_NEAR(one.predicted, one.measured, 0.03) << one.id;
  }
}

TEST(Training, shipped_constants_are_what_the_fit_finds) {
  const auto steps = measured_steps(training_cases(built_in_training_records(), shipped));
  const double fitted = mean_error(steps, fit_constants(steps, fit_start()));
  EXPECT_LT(mean_error(steps, default_step_constants()), fitted + 0.003);
}

}  // namespace
}  // namespace gradwire
