// Every verb says the same of one configuration: what `compare`, `train --on`, `bench --on` and `topo` show comes
// from the same values.
#include <gmock/gmock.h>

#include "predict/compare/compare.h"
#include "predict/workload/catalog.h"
#include "report/compare/compare.h"
#include "report/narrowest.h"
#include "report/render.h"
#include "report/step_chart.h"
#include "report/topo/topo.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;

constexpr const char* kOn[] = {"2x-rtx3090-nvlink",
                               "2x-rtx3090-pcie",
                               "4x-rtx4090-pcie-pxb",
                               "8x-rtx2080ti-pcie",
                               "4x-a40-nvlink",
                               "8x-a100-pcie",
                               "dgx-1",
                               "dgx-a100",
                               "dgx-h100",
                               "2*dgx-a100@hdr",
                               "4*2x-rtx3090-pcie@10gbe",
                               "2x-titan-rtx-pcie",
                               "4x-l40s-pcie-phb"};
constexpr const char* kModels[] = {"resnet50", "vgg16", "gpt2", "bert-large"};

std::vector<NcclSettings> settings() {
  std::vector<NcclSettings> all(4);
  all[1].p2p_disabled = true;
  all[2].algorithms.only(Collective::all_reduce, {NcclAlgorithm::ring});
  all[2].buffer = 1 << 20;
  all[3].least_channels = 8;
  all[3].version = 226;
  return all;
}

// As `train --on` prints it, on one line however long.
std::string words_of_train(const StepEstimate& estimate) {
  Report report;
  add_predicted_step(report, "", estimate);
  return std::get<Sentence>(report.blocks.back()).text;
}

int asked = 0;

void expect_agreement(const Machine& machine, const Workload& workload, const StepOptions& options) {
  ++asked;
  const auto compared = contend(workload, machine, options, {});
  const auto trained = estimate_step(workload, machine, options);
  EXPECT_DOUBLE_EQ(compared.estimate.step, trained.step);
  EXPECT_EQ(breakdown_json(compared.estimate.parts), breakdown_json(trained.parts));
  EXPECT_DOUBLE_EQ(compared.estimate.communication_cost(), trained.communication_cost());
  const auto answer =
      judge(workload, with_ideal_wires(workload, compared, options, {}), compared, options, {});
  const auto costs = communication_words(compared.estimate);
  EXPECT_THAT(reason_of(answer), HasSubstr(" that takes " + costs));
  EXPECT_EQ(words_of_train(trained), "communication takes " + costs);
  const NcclModel benched(machine, default_calibration(), options.nccl);
  const auto shown = machine_report(machine, options.nccl).data.at("all_reduce");
  const auto bytes = shown.at("bytes").get<Bytes>();
  const auto estimate = benched.all_reduce(bytes);
  EXPECT_DOUBLE_EQ(estimate.time, compared.wires.all_reduce(bytes));
  EXPECT_DOUBLE_EQ(estimate.bus_gbps, shown.at("busbw_gbps").get<double>());
  EXPECT_EQ(to_words(estimate.narrowest), shown.at("narrowest_link").get<std::string>());
  EXPECT_EQ(estimate.narrowest, compared.wires.narrowest);
  EXPECT_EQ(estimate.way, compared.wires.way);
}

TEST(Agreement, of_compare_train_bench_and_topo_over_two_hundred_configurations) {
  for (const char* on : kOn)
    for (const char* model : kModels)
      for (const NcclSettings& nccl : settings()) {
        SCOPED_TRACE(std::string(model) + " on " + on);
        StepOptions options;
        options.nccl = nccl;
        options.accumulate = 1 + asked % 2;
        expect_agreement(find_machine(on), build_model(model), options);
      }
  EXPECT_GE(asked, 200);
}

}  // namespace
}  // namespace gradwire
