#include "topo/import/matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "topo/import/machine_file.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTabs =
    "\t\x1b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV4\tPHB\t0-15,32-47\t0\t\tN/A\n"
    "GPU1\tNV4\t X \tSYS\t16-31,48-63\t1\t\tN/A\n"
    "NIC0\tPHB\tSYS\t X \t\t\t\n"
    "\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_0\n";

std::string matrix_error(const std::string& text) {
  return error_of([&] { parse_matrix(text, "box.txt"); });
}

TEST(Matrix, tabs_escape_codes_affinity_and_legends_are_read) {
  const TopoMatrix matrix = parse_matrix(kTabs, "box.txt");
  EXPECT_THAT(matrix.names, ElementsAre("GPU0", "GPU1", "NIC0"));
  EXPECT_EQ(matrix.gpus, 2);
  EXPECT_THAT(matrix.cells[0], ElementsAre("X", "NV4", "PHB"));
  EXPECT_THAT(matrix.cells[2], ElementsAre("PHB", "SYS", "X"));
  EXPECT_THAT(matrix.cpu_affinity, ElementsAre("0-15,32-47", "16-31,48-63"));
  EXPECT_THAT(matrix.numa_affinity, ElementsAre("0", "1"));
  EXPECT_THAT(matrix.nic_models, ElementsAre("mlx5_0"));
  EXPECT_TRUE(matrix.oddities.empty());
}

TEST(Matrix, a_prompt_line_old_codes_and_cards_by_name_are_read) {
  const TopoMatrix matrix = parse_matrix(
      "$ nvidia-smi topo -m\n"
      "        GPU0    GPU1    mlx4_0  CPU Affinity\n"
      "GPU0     X      SOC     PHB     0-5\n"
      "GPU1    SOC      X      SOC     6-11\n"
      "mlx4_0  PHB     SOC      X \n",
      "box.txt");
  EXPECT_EQ(matrix.gpus, 2);
  EXPECT_THAT(matrix.cells[0], ElementsAre("X", "SYS", "PHB"));
  EXPECT_THAT(matrix.nic_models, ElementsAre("mlx4_0"));
}

TEST(Matrix, markdown_tables_and_cut_columns_are_read) {
  EXPECT_THAT(
      parse_matrix(
          "|      | GPU0 | GPU1 |\n|------|------|------|\n| GPU0 | X    | NV18 |\n| GPU1 | NV18 | X    |\n",
          "x")
          .cells[1],
      ElementsAre("NV18", "X"));
  EXPECT_THAT(parse_matrix("        GPU0  GPU1  ...\nGPU0     X    NV12  ...\nGPU1    NV12   X    ...\n", "x")
                  .cells[0],
              ElementsAre("X", "NV12"));
}

TEST(Matrix, a_heading_that_lost_its_indentation_is_read) {
  EXPECT_EQ(
      parse_matrix("GPU0\tGPU1\tCPU Affinity\nGPU0\t X \tPIX\t0-7\nGPU1\tPIX\t X \t0-7\n", "x").cells[0][1],
      "PIX");
  EXPECT_EQ(parse_matrix("GPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-7\t0\n", "x").gpus, 1);
}

TEST(Matrix, columns_that_lost_their_blank_are_read) {
  const TopoMatrix matrix = parse_matrix(
      "      GPU0  GPU1  NIC0NIC1\n"
      "GPU0   X    NV12  PXBNODE\n"
      "GPU1  NV12   X    SYSSYS\n"
      "NIC0  PXB   SYS    X NODE\n"
      "NIC1  NODE  SYS   NODE X\n",
      "x");
  EXPECT_THAT(matrix.names, ElementsAre("GPU0", "GPU1", "NIC0", "NIC1"));
  EXPECT_THAT(matrix.cells[0], ElementsAre("X", "NV12", "PXB", "NODE"));
}

TEST(Matrix, quoted_lines_and_those_that_a_launcher_labels_are_read) {
  for (const char* label : {"> ", "0: ", "[pod/train-0/main] ",
                            "[1,0]<stdout>:", "2024-05-01T10:00:00.1Z stdout F ", "(worker pid=77) "}) {
    const std::string before = label;
    const auto matrix = parse_matrix(
        before + "     GPU0 GPU1\n" + before + "GPU0  X   NV4\n" + before + "GPU1  NV4  X\n", "x");
    EXPECT_THAT(matrix.cells[0], ElementsAre("X", "NV4"));
  }
}

TEST(Matrix, a_missing_row_is_named) {
  EXPECT_THAT(matrix_error("      GPU0 GPU1 GPU2\nGPU0   X   PIX  SYS\nGPU2  SYS  SYS   X\n"),
              AllOf(HasSubstr("box.txt"), HasSubstr("no row for GPU1")));
  EXPECT_THAT(
      matrix_error("      GPU0 GPU1 NIC0 NIC1\nGPU0   X   PIX  SYS  SYS\nGPU1  PIX   X   SYS  SYS\nNIC0  "
                   "SYS  SYS   X   PIX\n"),
      HasSubstr("no row for NIC1"));
}

TEST(Matrix, a_matrix_cut_in_half_says_where) {
  const std::string whole =
      "      GPU0 GPU1 GPU2\nGPU0   X   PIX  SYS\nGPU1  PIX   X   SYS\nGPU2  SYS  SYS   X\n";
  EXPECT_EQ(matrix_error(whole), "");
  EXPECT_THAT(matrix_error(whole.substr(0, whole.find("SYS\nGPU2"))),
              HasSubstr("cut off: the row of GPU1 ends before column GPU2, 2 of 3 cells are there"));
  EXPECT_THAT(matrix_error("      GPU0 GPU1\n"), HasSubstr("no row for GPU0, GPU1"));
}

TEST(Matrix, a_row_that_breaks_off_and_comes_again_counts_once) {
  const auto matrix = parse_matrix(
      "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tNV4\tPIX\nGPU1\tNV4\t X \tPXB\nNIC0\tPIX\nNIC0\tPIX\tPXB\t X \n", "x");
  EXPECT_EQ(matrix.cells[2], (std::vector<std::string>{"PIX", "PXB", "X"}));
  EXPECT_TRUE(matrix.oddities.empty());
}

TEST(Matrix, a_text_that_breaks_off_in_a_card_s_row_is_completed_and_says_so) {
  const TopoMatrix matrix = parse_matrix(
      "      GPU0 GPU1 NIC0 NIC1 NIC2\n"
      "GPU0   X   NV12 PHB  PHB  SYS\n"
      "GPU1  NV12  X   SYS  SYS  PIX\n"
      "NIC0  PHB  SYS   X   PHB  SYS\n"
      "NIC1  PHB  SYS  PHB   X   SY\n",
      "x");
  EXPECT_THAT(matrix.cells[3], ElementsAre("PHB", "SYS", "PHB", "X", "SYS"));
  EXPECT_THAT(matrix.cells[4], ElementsAre("SYS", "PIX", "SYS", "SYS", "X"));
  ASSERT_EQ(matrix.oddities.size(), 1U);
  EXPECT_THAT(matrix.oddities[0], HasSubstr("breaks off at the row of NIC1"));
}

TEST(Matrix, other_reports_are_refused_by_name) {
  EXPECT_THAT(matrix_error("      GPU0 GPU1\nGPU0   X   OK\nGPU1  OK    X\n"), HasSubstr("topo -p2p"));
  EXPECT_THAT(matrix_error("      GPU0 GPU1\nGPU0   0   72\nGPU1  72    0\n"), HasSubstr("rocm-smi"));
  EXPECT_THAT(matrix_error("hello\n"), HasSubstr("there is no matrix"));
  EXPECT_THAT(matrix_error(""), HasSubstr("there is no matrix"));
  EXPECT_THAT(matrix_error("      GPU0 GPU1\nGPU0   X   FOO\nGPU1  FOO   X\n"),
              HasSubstr("GPU0-GPU1 is 'FOO'"));
  EXPECT_THAT(matrix_error("      GPU0 GPU1\nGPU0  PIX   X\nGPU1   X   PIX\n"),
              HasSubstr("only a device with itself is X"));
  EXPECT_THAT(matrix_error("      GPU0 GPU1\nGPU0   X   PIX\nGPU0   X   PIX\n"), HasSubstr("twice"));
}

TEST(Matrix, a_report_that_contradicts_itself_is_read_and_says_so) {
  const TopoMatrix matrix = parse_matrix("      GPU0 GPU1\nGPU0   X   NV6\nGPU1  SYS   X\n", "x");
  ASSERT_EQ(matrix.oddities.size(), 1U);
  EXPECT_EQ(matrix.oddities[0], "GPU0-GPU1 is NV6 but GPU1-GPU0 is SYS");
}

TEST(Matrix, every_prefix_of_a_report_is_read_or_refused_but_never_breaks) {
  const std::string whole = kTabs;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    try {
      const MatrixNode found = node_from_matrix(whole.substr(0, size), "x", "");
      EXPECT_EQ(found.node.gpus, 2);
    } catch (const ConfigError&) {
    }
  }
}

TEST(Matrix, the_gpu_is_taken_from_the_text_or_guessed_from_the_links_and_said) {
  EXPECT_EQ(
      node_from_matrix(std::string("GPU 0: NVIDIA GeForce RTX 3090 (UUID: x)\n") + kTabs, "x", "").node.gpu,
      "rtx3090");
  EXPECT_EQ(node_from_matrix(kTabs, "x", "a40").node.gpu, "a40");
  const MatrixNode guessed = node_from_matrix(kTabs, "x", "");
  EXPECT_EQ(guessed.node.gpu, "a6000");
  EXPECT_THAT(guessed.notes.at(0), HasSubstr("suggest a6000"));
}

TEST(Matrix, what_nvlink_hides_is_told_by_cards_and_affinity) {
  // GPU0 and GPU1 share a switch with NIC0; GPU2 is at the other socket.
  NodeSpec node;
  node.name = "x";
  node.gpu = "a100-sxm-80";
  node.gpus = 3;
  node.matrix = parse_matrix(
      "      GPU0 GPU1 GPU2 NIC0  CPU Affinity NUMA Affinity\n"
      "GPU0   X   NV12 NV12 PXB   0-31 0\n"
      "GPU1  NV12  X   NV12 PXB   0-31 0\n"
      "GPU2  NV12 NV12  X   SYS   32-63 1\n"
      "NIC0  PXB  PXB  SYS   X\n",
      "x");
  node.intra = Intra::pcie;  // the same machine with its NVLinks off
  const Machine machine = build_machine(node);
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[0], machine.gpus[1]), "PXB");
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[0], machine.gpus[2]), "SYS");
}

TEST(TopoMatrix, whose_nvlinks_hide_the_pcie_tree_gets_the_usual_one_of_such_boards) {
  std::string text = "    ";
  for (int i = 0; i < 8; ++i) text += " GPU" + std::to_string(i);
  for (int i = 0; i < 8; ++i) {
    text += "\nGPU" + std::to_string(i);
    for (int j = 0; j < 8; ++j) text += i == j ? "  X  " : " NV12";
  }
  NodeSpec node;
  node.gpu = "a100-sxm-80";
  node.gpus = 8;
  node.matrix = parse_matrix(text + "\n", "dgx.txt");
  const Machine machine = build_machine(node);
  EXPECT_EQ(machine.topology.find_devices(DeviceKind::pcie_switch, 0).size(), 4u);
  EXPECT_EQ(machine.topology.find_devices(DeviceKind::cpu, 0).size(), 2u);
}

TEST(Matrix, begins_behind_the_command_where_a_line_runs_on) {
  const TopoMatrix matrix = parse_matrix(
      "$ nvidia-smi topo -m          GPU0    GPU1    CPU Affinity\nGPU0     X      PHB     0-23\nGPU1    PHB "
      "     X      "
      "0-23\n",
      "paste.txt");
  EXPECT_EQ(matrix.gpus, 2);
  EXPECT_EQ(matrix.cells[0][1], "PHB");
}

}  // namespace
}  // namespace gradwire
