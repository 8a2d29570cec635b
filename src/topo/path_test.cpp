#include "topo/path.h"

#include <gtest/gtest.h>

#include "topo/machine.h"

namespace gradwire {
namespace {

std::string cell(const std::string& on, std::size_t from, std::size_t to) {
  const Machine machine = find_machine(on);
  return matrix_cell(machine.topology, machine.gpus[from], machine.gpus[to]);
}

TEST(Path, each_layout_gives_its_class) {
  EXPECT_EQ(cell("4x-rtx4090-pcie-pix", 0, 3), "PIX");
  EXPECT_EQ(cell("4x-rtx4090-pcie-pxb", 0, 1), "PIX");
  EXPECT_EQ(cell("4x-rtx4090-pcie-pxb", 0, 2), "PXB");
  EXPECT_EQ(cell("4x-rtx4090-pcie-phb", 0, 3), "PHB");
  EXPECT_EQ(cell("4x-rtx4090-pcie-node", 0, 3), "NODE");
  EXPECT_EQ(cell("4x-rtx4090-pcie-sys", 0, 1), "NODE");
  EXPECT_EQ(cell("4x-rtx4090-pcie-sys", 0, 2), "SYS");
  EXPECT_EQ(cell("2x-rtx4090-pcie-sys", 0, 1), "SYS");
  EXPECT_EQ(cell("2x-rtx4090-pcie-pxb", 0, 1), "PXB");
}

TEST(Path, nvlinks_are_counted_directly_and_through_nvswitch) {
  EXPECT_EQ(cell("dgx-1", 0, 3), "NV2");
  EXPECT_EQ(cell("dgx-1", 0, 1), "NV1");
  EXPECT_EQ(cell("dgx-1", 0, 5), "SYS");
  EXPECT_EQ(cell("dgx-1-p100", 0, 4), "NV1");
  EXPECT_EQ(cell("dgx-2", 0, 15), "NV6");
  EXPECT_EQ(cell("dgx-a100", 0, 7), "NV12");
  EXPECT_EQ(cell("dgx-h100", 0, 7), "NV18");
  EXPECT_EQ(cell("gb200-nvl72", 0, 71), "NV18");
  EXPECT_EQ(cell("4x-rtx3090-nvlink", 0, 1), "NV4");
  EXPECT_EQ(cell("4x-rtx3090-nvlink", 1, 2), "NODE");
  EXPECT_EQ(cell("3x-a40-nvlink", 1, 2), "NODE");  // an odd last GPU stands alone
}

TEST(Path, between_nodes_it_is_net) {
  const Machine machine = find_machine("2*dgx-a100@hdr");
  EXPECT_EQ(classify(machine.topology, machine.gpus[0], machine.gpus[8]), PathClass::net);
  EXPECT_EQ(nvlinks_between(machine.topology, machine.gpus[0], machine.gpus[8]), 0);
}

TEST(Path, classes_are_read_as_any_driver_writes_them) {
  EXPECT_EQ(find_path_class("SOC"), PathClass::sys);
  EXPECT_EQ(find_path_class("phb"), PathClass::phb);
  EXPECT_EQ(find_path_class("NV12"), PathClass::nvl);
  EXPECT_FALSE(find_path_class("OK"));
  EXPECT_FALSE(find_path_class("NVx"));
}

}  // namespace
}  // namespace gradwire
