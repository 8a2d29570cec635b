#include "topo/import/this_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "topo/import/nvml.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A sysfs with four GPUs in pairs under two switches at two sockets, and a card beside the first pair.
class FakeSysfs {
 public:
  FakeSysfs() {
    add_device("pci0000:16/0000:16:00.0/0000:15:00.0/0000:15:01.0/0000:17:00.0", 0);
    add_device("pci0000:16/0000:16:00.0/0000:15:00.0/0000:15:02.0/0000:18:00.0", 0);
    const fs::path card = add_device("pci0000:16/0000:16:00.0/0000:15:00.0/0000:15:03.0/0000:1b:00.0", 0);
    add_device("pci0000:30/0000:30:00.0/0000:31:00.0/0000:31:01.0/0000:19:00.0", 1);
    add_device("pci0000:30/0000:30:00.0/0000:31:00.0/0000:31:02.0/0000:1a:00.0", 1);
    link("class/infiniband/mlx5_0/device", card);
    write("class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
    link("class/net/ib0/device", card);
    write("class/net/ib0/speed", "200000\n");
    write("class/net/lo/speed", "-1\n");
  }
  const fs::path& root() const { return directory_.path(); }

 private:
  fs::path add_device(const std::string& path, int numa) {
    const fs::path device = root() / "devices" / path;
    write("devices/" + path + "/numa_node", std::to_string(numa) + "\n");
    write("devices/" + path + "/max_link_speed", "16.0 GT/s PCIe\n");
    write("devices/" + path + "/max_link_width", "16\n");
    write("devices/" + path + "/vendor", "0x10de\n");
    write("devices/" + path + "/class", "0x030200\n");
    link("bus/pci/devices/" + device.filename().string(), device);
    return device;
  }
  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root() / path).parent_path());
    write_file(root() / path, text);
  }
  void link(const fs::path& path, const fs::path& target) {
    fs::create_directories((root() / path).parent_path());
    fs::create_directory_symlink(target, root() / path);
  }
  TempDir directory_;
};

HostDevice at(std::vector<std::string> bridges, int numa = 0) {
  HostDevice device;
  device.bridges = std::move(bridges);
  device.numa = numa;
  return device;
}

TEST(ThisMachine, places_on_pci_give_the_classes_of_nvidia_smi) {
  const HostDevice gpu = at({"pci0000:16", "0000:16:00.0", "up", "down1", "gpu"});
  EXPECT_EQ(pci_relation(gpu, at({"pci0000:16", "0000:16:00.0", "up", "down2", "nic"})), PathClass::pix);
  EXPECT_EQ(pci_relation(gpu, at({"pci0000:16", "0000:16:00.0", "up", "down2", "up2", "down3", "nic"})),
            PathClass::pxb);
  EXPECT_EQ(pci_relation(gpu, at({"pci0000:16", "0000:16:02.0", "nic"})), PathClass::phb);
  EXPECT_EQ(pci_relation(gpu, at({"pci0000:30", "0000:30:02.0", "nic"})), PathClass::node);
  EXPECT_EQ(pci_relation(gpu, at({"pci0000:b0", "0000:b0:02.0", "nic"}, 1)), PathClass::sys);
}

TEST(ThisMachine, gpus_links_and_cards_come_from_nvml_and_sysfs) {
  const FakeSysfs sysfs;
  const Host host = probe_host({.sysfs = sysfs.root(), .nvml_library = GRADWIRE_NVML_STANDIN});
  ASSERT_EQ(host.gpus.size(), 4U);
  ASSERT_EQ(host.nics.size(), 1U);  // ib0 and mlx5_0 are one card, lo is none
  EXPECT_EQ(host.nics[0].model, "mlx5_0");
  EXPECT_DOUBLE_EQ(host.nics[0].gbit, 200);
  const Machine machine = machine_of_host(host, {});
  EXPECT_EQ(machine.gpu.id, "a100-sxm-80");
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[0], machine.gpus[3]), "NV12");
  const DeviceId nic = machine.topology.find_devices(DeviceKind::nic, 0).at(0);
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[1], nic), "PIX");
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[2], nic), "SYS");
  EXPECT_EQ(machine_of_host(host, {.nodes = 2, .network = find_network("hdr")}).gpus.size(), 8U);
}

TEST(ThisMachine, gpus_whose_driver_does_not_answer_are_said) {
  const FakeSysfs sysfs;
  const Host host = probe_host({.sysfs = sysfs.root(), .nvml_library = "libnosuchnvml.so"});
  EXPECT_THAT(host.notes, Contains(HasSubstr("0000:17:00.0")));
  EXPECT_TRUE(machine_of_host(host, {}).gpus.empty());
}

TEST(ThisMachine, without_a_gpu_it_shows_processor_caches_and_memory) {
  const TempDir empty;
  const Host host = probe_host({.sysfs = empty.path(), .nvml_library = "libnosuchnvml.so"});
  EXPECT_THAT(host.notes, ElementsAre(HasSubstr("there is no NVIDIA GPU")));
  EXPECT_THAT(host.facts,
              ElementsAre(HasSubstr("processor: "), HasSubstr("caches: "), HasSubstr("memory: ")));
  const Machine machine = machine_of_host(host, {});
  EXPECT_TRUE(machine.gpus.empty());
  EXPECT_FALSE(machine.topology.find_devices(DeviceKind::cpu, 0).empty());
}

TEST(ThisMachine, counts_what_nvlinks_moved) {
  const auto before = read_nvlink_traffic(GRADWIRE_NVML_STANDIN);
  const auto after = read_nvlink_traffic(GRADWIRE_NVML_STANDIN);
  ASSERT_EQ(before.size(), 4u);
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(before[1].address, "0000:18:00.0");
  EXPECT_EQ(before[1].name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(before[1].sent, 2 * before[1].received);
  EXPECT_GT(after[1].sent, before[1].sent);
  EXPECT_TRUE(read_nvlink_traffic("libnosuchnvml.so").empty());
}

TEST(ThisMachine, a_missing_nvml_is_no_error) { EXPECT_FALSE(read_nvml("libnosuchnvml.so")); }

TEST(ThisMachine, the_machine_this_runs_on_can_be_read) {
  const Machine machine = find_machine("this");
  EXPECT_EQ(machine.source, "this machine");
  EXPECT_FALSE(machine.facts.empty());
}

}  // namespace
}  // namespace gradwire
