#include "report/topo/topo.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "report/list/lists.h"
#include "report/render.h"
#include "report/terminal.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_shown_to_fit(const std::string& text, const std::string& what) {
  for (const auto line : split(text, '\n')) {
    const std::string words(trim(line));
    const bool one_word = words.find(' ') == std::string::npos;  // a long path can't be broken
    EXPECT_TRUE(one_word || display_width(std::string(line)) <= kTerminalWidth) << what << ": " << line;
    EXPECT_FALSE(line.ends_with(' ')) << what << ": " << line;
  }
}

std::string topo_text(const Machine& machine) { return to_text(machine_report(machine)); }

TEST(TopoText, a_pair_without_peer_access_is_shown_whole) {
  EXPECT_EQ(topo_text(find_machine("2x-titan-rtx-pcie")),
            R"(2x-titan-rtx-pcie: 2 x NVIDIA TITAN RTX, PCIe 3 x8, no peer access over PCIe

Paths, as nvidia-smi topo -m shows them
       GPU0 GPU1
  GPU0    X  PHB
  GPU1  PHB    X
  PHB: the host bridge

The node
  CPU0  Xeon Scalable (Skylake, Cascade Lake), memory 51.2 GB/s each way
  └─ PCI0
     └─ GPU0 GPU1  PCIe 3 x8, 6 GB/s each

GB/s one way, nothing else on the links
       GPU0 GPU1
  GPU0    X 6.0h
  GPU1 6.0h    X
  h: through host memory, these GPUs have no peer access over PCIe
  All at once, in an all-reduce of 256 MiB: 3.31 GB/s (2.16 to 5.07) over host
    memory, narrowest PCIe slot of GPU0, both ways: crossed 2 times by every
    byte

Note
  - slots are not stated: taken as x8 each, as two cards of a desktop have them
  - the processor is not stated: taken as Xeon Scalable (Skylake, Cascade Lake);
    two slots of x8 do not fill a desktop's memory either
)");
}

TEST(TopoText, a_shared_uplink_shows_when_all_gpus_send_at_once) {
  // Four GPUs stage through the host over one uplink, each up and down.
  const auto text = topo_text(find_machine("8x-rtx4090-switch"));
  EXPECT_THAT(text, HasSubstr("All at once, in an all-reduce of 256 MiB: 2.66"));
  EXPECT_THAT(text, HasSubstr("narrowest uplink SW0 > PCI0 (PCIe 4 x16), both ways: crossed 8 times"));
}

TEST(TopoText, every_preset_and_every_list_fits_80_columns) {
  for (const MachinePreset& preset : all_machines()) {
    expect_shown_to_fit(topo_text(find_machine(preset.node.name)), preset.node.name);
    expect_shown_to_fit(topo_text(find_machine("2*" + preset.node.name + "@100gbe")), preset.node.name);
  }
  expect_shown_to_fit(to_text(gpus_report()), "gpus");
  expect_shown_to_fit(to_text(links_report()), "links");
  expect_shown_to_fit(to_text(networks_report()), "networks");
  expect_shown_to_fit(to_text(machines_report()), "machines");
}

TEST(TopoText, many_cards_under_one_switch_fit_80_columns) {
  const TempDir directory;
  const auto file = (directory.path() / "many.txt").string();
  std::vector<std::string> names = {"GPU0"};
  for (int i = 0; i < 12; ++i) names.push_back(fmt::format("mlx5_{}", i));
  std::string text = "\t" + join(names, "\t") + "\tCPU Affinity\n";
  for (const auto& row : names) {
    text += row;
    for (const auto& column : names) text += row == column ? "\t X " : "\tPIX";
    text += row == "GPU0" ? "\t0-15\n" : "\t\n";
  }
  write_file(file, text);
  expect_shown_to_fit(topo_text(find_machine(file + ":a100-sxm-80")), "many cards");
}

TEST(TopoText, says_that_a_name_describes_a_machine) {
  const auto text = topo_text(find_machine("4x-rtx4090-pcie-pxb"));
  EXPECT_THAT(text, HasSubstr("\n  described by its name\n"));
}

TEST(TopoJson, paths_and_rates_are_there_for_every_pair) {
  const auto json = machine_report(find_machine("2*2x-rtx3090-nvlink@10gbe")).data;
  EXPECT_EQ(json["nodes"], 2);
  EXPECT_EQ(json["gpus"], 4);
  EXPECT_EQ(json["matrix"]["cells"][0][1], "NV4");
  EXPECT_EQ(json["network"]["kind"], "ethernet");
  EXPECT_EQ(json["paths"].size(), 6U);  // two GPUs and a card, both ways
  for (const auto& path : json["paths"]) EXPECT_GT(path["gb_per_s"].get<double>(), 0);
}

TEST(TopoText, says_what_the_environment_tells_nccl) {
  const auto settings = nccl_settings({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "1"}});
  const Report report = machine_report(find_machine("2x-rtx3090-nvlink"), settings);
  EXPECT_THAT(to_text(report), HasSubstr("- the environment sets NCCL_P2P_DISABLE=1: "));
  EXPECT_THAT(report.data["notes"].back().get<std::string>(), HasSubstr("NCCL_P2P_DISABLE=1"));
}

// Every byte of an all-reduce over two nodes crosses the card.
TEST(TopoJson, an_all_reduce_is_no_faster_than_the_card_it_crosses) {
  for (const char* on : {"2*dgx-h100@100gbe", "2*2x-rtx3090-nvlink@10gbe", "2*8x-a100-pcie@400gbe"}) {
    const auto json = machine_report(find_machine(on)).data;
    const int gpus = json["gpus"];
    const double algbw = json["all_reduce"]["busbw_gbps"].get<double>() * gpus / (2 * (gpus - 1));
    EXPECT_LE(algbw, json["network"]["gb_per_s"].get<double>()) << on;
  }
}

TEST(Lists, name_their_sources) {
  for (const Report& list : {gpus_report(), links_report(), networks_report(), machines_report()})
    for (const auto& entry : list.data.front())
      EXPECT_FALSE(entry["source"].get<std::string>().empty()) << entry.dump();
}

TEST(TopoJson, of_very_many_gpus_each_kind_of_path_is_listed_once_and_counted) {
  NodeSpec node;
  node.name = "many", node.gpu = "a100-sxm-80", node.gpus = 300, node.intra = Intra::pcie;
  const Report report = machine_report(build_machine(node));
  std::size_t pairs = 0;
  for (const auto& path : report.data["paths"]) pairs += path["pairs"].get<std::size_t>();
  EXPECT_EQ(pairs, 300 * 299);
  EXPECT_LT(report.data["paths"].size(), 10);
  EXPECT_EQ(report.data["matrix"]["cells"].size(), 300);
  EXPECT_THAT(to_text(report), HasSubstr("between 44400 pairs of GPUs"));
}

std::string text_of_matrix(const std::string& cell, const std::string& gpu) {
  const TempDir folder;
  const auto file = folder.path() / "box.txt";
  write_file(file, fmt::format("\tGPU0\tGPU1\nGPU0\t X \t{0}\nGPU1\t{0}\t X \n", cell));
  return topo_text(find_machine(file.string() + gpu));
}

TEST(TopoText, says_that_a_matrix_has_nvlinks_of_gpus_that_have_none) {
  EXPECT_THAT(text_of_matrix("NV4", ":RTX 4090"), HasSubstr("has no connector"));
  EXPECT_THAT(text_of_matrix("NV4", ":RTX 3090"), Not(HasSubstr("no connector")));
  EXPECT_THAT(text_of_matrix("PHB", ":RTX 4090"), Not(HasSubstr("no connector")));
}

TEST(TopoText, says_why_gpus_with_peer_access_go_through_host_memory) {
  const std::string why = "which NCCL 2.28 does not use so far";
  EXPECT_THAT(text_of_matrix("PHB", ""), AllOf(HasSubstr("over host"), HasSubstr(why)));
  EXPECT_THAT(text_of_matrix("PIX", ""), Not(HasSubstr(why)));
  EXPECT_THAT(text_of_matrix("PHB", ":RTX 4090"), Not(HasSubstr(why))) << "it has none";
}

}  // namespace
}  // namespace gradwire
