#include "predict/calibration/constants.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "predict/calibration/fit.h"
#include "predict/calibration/least_squares.h"
#include "predict/nccl/price.h"

namespace gradwire {
namespace {

constexpr auto at(NcclConstant one) { return static_cast<std::size_t>(one); }

// Sweeps whose times are exactly what other constants than the priors' would give.
struct MadeUp {
  NcclFabric nvlink = nccl_fabric(find_machine("dgx-a100")),
             host = nccl_fabric(find_machine("2x-rtx3090-pcie"));
  NcclConstants truth = nccl_prior_start().values;

  std::vector<FitSweep> sweeps() const {
    std::vector<FitSweep> all;
    for (const NcclFabric* fabric : {&nvlink, &host}) {
      FitSweep sweep{fabric, {}, 1};
      const NcclPrice price(*fabric, truth);
      for (Bytes bytes = 1024; bytes < (Bytes{1} << 33); bytes *= 2) {
        const NcclChoice choice = nccl_choice(*fabric, bytes);
        sweep.rows.push_back({choice, bytes, price.time(choice, bytes)});
      }
      all.push_back(sweep);
    }
    return all;
  }
};

TEST(NcclConstants, are_those_of_the_file_in_its_order) {
  EXPECT_EQ(nccl_priors()[at(NcclConstant::base_ll)].name, "base_ll");
  EXPECT_EQ(nccl_priors()[at(NcclConstant::pace_sm70)].name, "pace_sm70");
  EXPECT_EQ(nccl_priors()[at(NcclConstant::host_slot_share)].name, "host_slot_share");
  EXPECT_EQ(nccl_priors()[at(NcclConstant::processor_copy_gbps)].name, "processor_copy_gbps");
}

TEST(NcclConstants, a_fit_finds_the_ones_that_made_the_times_and_knows_them_better_than_before) {
  MadeUp made;
  made.truth[at(NcclConstant::host_slot_share)] *= 0.7;
  made.truth[at(NcclConstant::nvlink3_share)] *= 0.95;
  const Calibration found = fit(made.sweeps());
  EXPECT_NEAR(found.values[at(NcclConstant::host_slot_share)] / made.truth[at(NcclConstant::host_slot_share)],
              1, .05);
  EXPECT_NEAR(found.values[at(NcclConstant::nvlink3_share)] / made.truth[at(NcclConstant::nvlink3_share)], 1,
              .05);
  EXPECT_LT(found.spreads[at(NcclConstant::host_slot_share)], 0.1);
}

TEST(NcclConstants, what_no_sweep_touches_stays_as_it_was_known) {
  const MadeUp made;
  const Calibration found = fit(made.sweeps());
  EXPECT_DOUBLE_EQ(found.values[at(NcclConstant::efa_hop)], nccl_priors()[at(NcclConstant::efa_hop)].value);
  EXPECT_NEAR(found.spreads[at(NcclConstant::efa_hop)], nccl_priors()[at(NcclConstant::efa_hop)].spread,
              1e-9);
}

TEST(NcclConstants, an_outlier_moves_little) {
  const MadeUp made;
  auto sweeps = made.sweeps();
  sweeps[1].rows[20].measured *= 20;
  const Calibration found = fit(sweeps);
  EXPECT_NEAR(found.values[at(NcclConstant::host_slot_share)] /
                  nccl_priors()[at(NcclConstant::host_slot_share)].value,
              1, .02);
}

TEST(NcclConstants, survive_being_written_and_read) {
  Calibration calibration = default_calibration();
  calibration.unexplained[MachineClass::pcie] = {.2, .1};
  const Calibration again = parse_calibration(calibration_yaml(calibration), "x.yaml");
  for (std::size_t i = 0; i < kNcclConstants; ++i)
    EXPECT_NEAR(again.values[i], calibration.values[i], 1e-3 * calibration.values[i]);
  EXPECT_NEAR(again.unexplained_of(MachineClass::pcie).from_1mb, .1, 1e-3);
  calibration.unexplained.erase(MachineClass::pcie);
  EXPECT_EQ(calibration.unexplained_of(MachineClass::pcie).from_1mb,
            calibration.unexplained_of(MachineClass::all).from_1mb);
}

TEST(NcclConstants, refuse_broken_files_in_one_line) {
  for (const char* text : {"", "constants", "constants: {}", "constants: [1]", "constants: [{name: x}]",
                           "constants: [{name: base_ll, value: -1, after: 1}]", "constants: [{",
                           "constants: [{name: base_ll, value: .nan, after: 1}]",
                           "constants: []\nunexplained: [{class: whatever, below_1mb: 1, from_1mb: 1}]"}) {
    try {
      parse_calibration(text, "broken.yaml");
      ADD_FAILURE() << "took " << text;
    } catch (const ConfigError& error) {
      EXPECT_EQ(std::string(error.what()).find("broken.yaml"), 0u) << error.what();
    }
  }
}

TEST(LeastSquares, finds_the_middle_of_contradicting_rows_by_weight_and_how_sure_that_is) {
  LeastSquares system(1);
  system.pull(0, 0, 1e-12);
  const LeastSquares::Term one{0, 1};
  system.add({&one, 1}, 1, 3);
  system.add({&one, 1}, 5, 1);
  EXPECT_NEAR(system.solve()[0], 2, 1e-9);      // (3 x 1 + 1 x 5) / 4
  EXPECT_NEAR(system.spreads()[0], 0.5, 1e-9);  // 1 / sqrt(3 + 1)
}

}  // namespace
}  // namespace gradwire
