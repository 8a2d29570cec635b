#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "base/files.h"
#include "support/error_of.h"
#include "topo/machine.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

std::string find_error(const std::string& on) {
  return error_of([&] { find_machine(on); });
}

TEST(FindMachine, every_preset_can_be_built_alone_and_twice) {
  std::set<std::string> names;
  for (const MachinePreset& preset : all_machines()) {
    EXPECT_TRUE(names.insert(preset.node.name).second) << preset.node.name << " is there twice";
    EXPECT_FALSE(preset.title.empty() || preset.source.empty()) << preset.node.name;
    const Machine machine = find_machine(preset.node.name);
    EXPECT_EQ(static_cast<int>(machine.gpus.size()), preset.node.gpus) << preset.node.name;
    for (std::size_t i = 1; i < machine.gpus.size(); ++i)
      EXPECT_GT(find_path(machine, machine.gpus[0], machine.gpus[i]).bytes_per_s, 1e9) << preset.node.name;
    const Machine two = find_machine("2*" + preset.node.name + "@25gbe");
    EXPECT_GT(find_path(two, two.gpus.front(), two.gpus.back()).bytes_per_s, 1e9) << preset.node.name;
  }
}

TEST(FindMachine, says_how_to_write_a_machine_where_a_gpu_is_named) {
  EXPECT_EQ(find_error("rtx3090"),
            "'rtx3090' is a GPU, not a machine: write 2x-rtx3090-nvlink or 2x-rtx3090-pcie for two of them");
  for (const Gpu& gpu : all_gpus()) {
    const std::string said = find_error(gpu.id);
    if (said.empty()) continue;  // gh200 is a machine too
    const auto first = said.find("write ") + 6;
    EXPECT_NO_THROW(find_machine(said.substr(first, said.find(' ', first) - first))) << said;
  }
}

TEST(FindMachine, every_network_joins_nodes) {
  for (const NetworkPreset& network : all_networks()) {
    const Machine machine = find_machine("2*2x-a40-nvlink@2x-" + network.spec.name);
    const Path path = find_path(machine, machine.gpus[0], machine.gpus[2]);
    EXPECT_LE(path.bytes_per_s, *network.spec.gbit_per_nic * 1e9 / 8) << network.spec.name;
    EXPECT_GT(path.bytes_per_s, 0) << network.spec.name;
  }
}

TEST(FindMachine, every_gpu_id_of_measured_records_is_known) {
  for (const char* id :
       {"p40",         "p100",        "k80",         "gtx1080",        "v100-sxm",     "v100-pcie",
        "t4",          "titan-rtx",   "rtx2080ti",   "quadro-rtx8000", "rtx3070",      "rtx3080",
        "rtx3090",     "rtx3090ti",   "rtx4090",     "rtx5090",        "a40",          "a6000",
        "rtx6000-ada", "a100-sxm-40", "a100-sxm-80", "a100-pcie-40",   "a100-pcie-80", "a800-sxm-80",
        "l40s",        "h100-sxm",    "h100-pcie",   "h100-nvl",       "h200-sxm",     "gh200",
        "b200",        "b300",        "gb200",       "gb300",          "rtx-pro-6000"})
    EXPECT_EQ(find_gpu(id).id, id);
}

TEST(FindMachine, gpus_are_known_by_what_nvidia_smi_calls_them) {
  EXPECT_EQ(find_gpu_by_name("NVIDIA GeForce RTX 3090 Ti")->id, "rtx3090ti");
  EXPECT_EQ(find_gpu_by_name("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)")->id, "a100-sxm-80");
  EXPECT_EQ(find_gpu_by_name("NVIDIA A10")->id, "a10");
  EXPECT_EQ(find_gpu_by_name("NVIDIA A10G")->id, "a10g");
  EXPECT_EQ(find_gpu_by_name("NVIDIA H200")->id, "h200-sxm");
  EXPECT_EQ(find_gpu_by_name("NVIDIA H200 NVL")->id, "h200-nvl");
  EXPECT_FALSE(find_gpu_by_name("Radeon VII"));
  for (const Gpu& gpu : all_gpus()) {
    const auto found = find_gpu_by_name(gpu.name);
    EXPECT_TRUE(found && found->id == gpu.id) << gpu.id;
  }
}

TEST(FindMachine, a_gpu_is_found_by_its_whole_name_in_capitals_or_not) {
  const std::pair<const char*, const char*> names[] = {{"NVIDIA GeForce RTX 3090", "rtx3090"},
                                                       {"nvidia geforce rtx 3090", "rtx3090"},
                                                       {"RTX 3090 Ti", "rtx3090ti"},
                                                       {"A6000", "a6000"},
                                                       {"Tesla V100-SXM2-16GB", "v100-sxm"},
                                                       {"NVIDIA A100-PCIE-40GB", "a100-pcie-40"},
                                                       {"NVIDIA A100 80GB PCIe", "a100-pcie-80"},
                                                       {"NVIDIA H100 80GB HBM3", "h100-sxm"},
                                                       {"NVIDIA RTX 6000 Ada Generation", "rtx6000-ada"},
                                                       {"Quadro RTX 6000", "quadro-rtx6000"},
                                                       {"NVIDIA GH200 120GB", "gh200"}};
  for (const auto& [name, id] : names) EXPECT_EQ(find_gpu(name).id, id) << name;
  for (const Gpu& gpu : all_gpus()) EXPECT_EQ(find_gpu(gpu.name).id, gpu.id);
}

TEST(FindMachine, a_card_that_is_not_known_is_not_taken_for_one_that_is) {
  for (const char* name :
       {"NVIDIA GeForce RTX 3080 Ti", "RTX 4090 D", "NVIDIA GeForce RTX 3080 Laptop GPU"}) {
    EXPECT_THAT(error_of([&] { find_gpu(name); }), HasSubstr("is not a GPU Gradwire knows")) << name;
    EXPECT_FALSE(find_gpu_by_name(std::string("GPU 0: ") + name + " (UUID: GPU-1)")) << name;
  }
}

TEST(FindMachine, capitals_do_not_matter) {
  EXPECT_EQ(find_machine("DGX-A100").gpus.size(), 8U);
  EXPECT_EQ(find_machine("2x-A6000-NVLink").node.intra, Intra::nvlink_pairs);
  EXPECT_EQ(find_machine("2*DGX-H100@NDR").gpus.size(), 16U);
}

TEST(FindMachine, a_described_box_has_the_tree_of_its_preset_without_nvlink) {
  const Machine bridged = find_machine("8x-a100-pcie-nvlink"), plain = find_machine("8x-a100-pcie");
  EXPECT_EQ(bridged.node.pcie, plain.node.pcie);
  EXPECT_EQ(bridged.node.cpu_model, plain.node.cpu_model);
  EXPECT_THAT(bridged.notes, Contains("the PCIe tree is not stated: taken as that of 8x-a100-pcie"));
  EXPECT_NE(find_machine("8x-a100-pcie-nvlink-node").node.pcie, plain.node.pcie)
      << "unless its name says one";
}

// GV100 and V100 SXM have the same NVLinks, but only one of them is a card with a connector for two.
TEST(FindMachine, cards_are_joined_in_pairs_and_boards_in_a_mesh) {
  EXPECT_EQ(find_machine("8x-gv100-nvlink").node.intra, Intra::nvlink_pairs);
  EXPECT_EQ(find_machine("8x-v100-sxm-nvlink").node.intra, Intra::nvlink_mesh);
}

TEST(FindMachine, names_describe_machines_of_any_gpu) {
  const Machine machine = find_machine("8x-l40s-pcie-pix");
  EXPECT_EQ(machine.gpus.size(), 8U);
  EXPECT_EQ(machine.source, "described by its name");
  EXPECT_EQ(find_machine("4x-h100-nvlink").node.intra, Intra::nvswitch);
  EXPECT_EQ(find_machine("4x-a40-nvlink").node.intra, Intra::nvlink_pairs);
  EXPECT_EQ(find_machine("8x-v100-nvlink").node.intra, Intra::nvlink_mesh);
  EXPECT_EQ(find_machine("8x-rtx2080ti-nvlink-pairs").node.intra, Intra::nvlink_pairs);
  EXPECT_EQ(find_machine("4x-v100-nvlink-mesh-sys").node.intra, Intra::nvlink_mesh);
  EXPECT_EQ(find_machine("2x-h100-pcie").gpu.id, "h100-pcie");
  EXPECT_EQ(find_machine("2x-h100-pcie").node.intra, Intra::pcie);
  EXPECT_EQ(find_machine("3x-a100-pcie-80-nvlink-sys").gpu.id, "a100-pcie-80");
  EXPECT_EQ(find_machine("2x-rtx4090").node.intra, Intra::pcie);
  EXPECT_EQ(find_machine("1x-rtx3090-nvlink").gpus.size(), 1U);
}

TEST(FindMachine, nodes_and_network_are_part_of_the_name) {
  const Machine machine = find_machine("4*dgx-h100@ndr");
  EXPECT_EQ(machine.name, "4*dgx-h100@ndr");
  EXPECT_EQ(machine.nodes, 4);
  EXPECT_EQ(machine.gpus.size(), 32U);
  EXPECT_EQ(find_machine("2*dgx-a100").network->gbit_per_nic, 200);  // its own
}

TEST(FindMachine, what_is_no_machine_is_refused_in_one_line) {
  EXPECT_THAT(find_error("dgx-a10"), HasSubstr("did you mean dgx-a100"));
  EXPECT_THAT(find_error("no/such.yaml"), HasSubstr("there is no such file"));
  EXPECT_THAT(find_error("x*dgx-a100@ndr"), HasSubstr("number of nodes"));
  EXPECT_THAT(find_error("0*dgx-a100@ndr"), HasSubstr("number of nodes"));
  EXPECT_THAT(find_error("99999999*dgx-a100@ndr"), HasSubstr("1 to 65536 nodes"));
  EXPECT_THAT(find_error("2*dgx-a100@nrd"), AllOf(HasSubstr("'nrd' is not a network"), HasSubstr("ndr")));
  EXPECT_THAT(find_error("2*dgx-a100@900x-ndr"), HasSubstr("1 to 256 network cards"));
  EXPECT_THAT(find_error("2x-rtx4090-nvlink"), HasSubstr("write 2x-rtx4090-pcie"));
  EXPECT_THAT(find_error("2x-foo-pcie"), HasSubstr("'foo' is not a GPU"));
  EXPECT_THAT(find_error(""), HasSubstr("is no machine"));
}

TEST(FindMachine, a_file_can_say_which_gpu_it_is_about) {
  const TempDir directory;
  const std::string path = (directory.path() / "box.txt").string();
  write_file(path, "      GPU0 GPU1\nGPU0   X   PHB\nGPU1  PHB   X\n");
  EXPECT_EQ(find_machine(path + ":rtx4090").gpu.id, "rtx4090");
  EXPECT_EQ(find_machine("2*" + path + ":rtx4090@10gbe").gpus.size(), 4U);
  EXPECT_EQ(find_machine(path + ":NVIDIA GeForce RTX 3090").gpu.id, "rtx3090");
  EXPECT_EQ(find_machine(path).gpu.id, "");
}

TEST(FindMachine, a_machine_with_a_matrix_in_it_keeps_what_else_its_file_says) {
  const TempDir directory;
  const std::string path = (directory.path() / "home.yaml").string();
  write_file(path,
             "id: home\ngpu: NVIDIA GeForce RTX 3090\nintra: pcie\nmatrix: |2\n"
             "        GPU0 GPU1\n  GPU0   X   NV4\n  GPU1  NV4   X\n");
  const Machine machine = find_machine(path);
  EXPECT_EQ(machine.gpu.id, "rtx3090");
  EXPECT_EQ(machine.node.intra, Intra::pcie) << "without its bridge";
  EXPECT_EQ(machine.source, path);
}

TEST(FindMachine, a_file_that_names_its_gpu_takes_no_other) {
  const TempDir directory;
  const std::string path = (directory.path() / "home.yaml").string();
  write_file(path, "id: home\ngpu: rtx3090\ngpus: 2\nintra: pcie\n");
  EXPECT_THAT(find_error(path + ":rtx4090"), HasSubstr("says itself which GPU it is about, rtx3090"));
  EXPECT_THAT(find_error("2*" + path), HasSubstr("2*" + path + "@10gbe"));
}

// However two cards on the host bridge of a desktop are described, they get the same slots and the same note.
TEST(FindMachine, two_desktop_cards_have_eight_lanes_each_however_they_are_described) {
  const TempDir directory;
  const auto file = [&](const char* name, const char* text) {
    const std::string path = (directory.path() / name).string();
    write_file(path, text);
    return path;
  };
  const std::string phb = file("phb.txt", "      GPU0 GPU1\nGPU0   X   PHB\nGPU1  PHB   X\n");
  const std::string nv4 = file("nv4.txt", "      GPU0 GPU1\nGPU0   X   NV4\nGPU1  NV4   X\n");
  const std::string yaml = file("box.yaml", "gpu: rtx3090\ngpus: 2\nintra: pcie\n");
  for (const std::string& on : {std::string("2x-rtx3090-pcie"), std::string("2x-rtx3090-pcie-phb"), yaml,
                                phb + ":rtx3090", nv4 + ":rtx3090"}) {
    const Machine machine = find_machine(on);
    EXPECT_EQ(machine.node.pcie_width, 8) << on;
    EXPECT_THAT(machine.notes, Contains(HasSubstr("slots are not stated: taken as x8 each"))) << on;
  }
}

TEST(FindMachine, lanes_that_are_not_shared_are_noted_too) {
  const TempDir directory;
  const std::string path = (directory.path() / "box.yaml").string();
  write_file(path, "gpu: rtx3090\ngpus: 2\nintra: pcie\ncpu: epyc-rome\n");
  for (const std::string& on : {path, std::string("2x-rtx3090-pcie-sys"), std::string("4x-rtx3090-pcie")}) {
    EXPECT_EQ(find_machine(on).node.pcie_width, 16) << on;
    EXPECT_THAT(find_machine(on).notes, Contains(HasSubstr("taken as x16 each, as servers have them"))) << on;
  }
  write_file(path, "gpu: rtx3090\ngpus: 2\nintra: pcie\ncpu: ryzen\n");
  EXPECT_EQ(find_machine(path).node.pcie_width, 8) << "a desktop's processor is no server's";
  write_file(path, "gpu: rtx3090\ngpus: 2\nintra: pcie\npcie_width: 16\n");
  EXPECT_THAT(find_machine(path).notes, Each(Not(HasSubstr("slots"))));
}

}  // namespace
}  // namespace gradwire
