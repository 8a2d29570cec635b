// Files that were damaged: every one is read or refused with a ConfigError, whatever byte went wrong.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/error.h"
#include "topo/import/machine_file.h"
#include "topo/import/nccl_xml.h"

namespace gradwire {
namespace {

constexpr int kTries = 3000;

std::string damaged(std::string text, std::mt19937& random) {
  static constexpr std::string_view kBytes = "0123456789-:.,[]{}<>/\"'#&*!|\n\t\0 xXGNPS";
  const auto below = [&](std::size_t limit) {
    return std::uniform_int_distribution<std::size_t>(0, limit - 1)(random);
  };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(text.size());
    switch (below(3)) {
      case 0:
        text[at] = kBytes[below(kBytes.size())];
        break;
      case 1:
        text.insert(at, 1, kBytes[below(kBytes.size())]);
        break;
      default:
        text.erase(at, 1 + below(12));
        break;
    }
  }
  return text;
}

void expect_no_other_error(const std::string& whole, const std::function<void(const std::string&)>& read) {
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < kTries; ++i) {
    const std::string text = damaged(whole, random);
    try {
      read(text);
    } catch (const ConfigError&) {
      ++refused;
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(Damage, matrices_are_read_or_refused) {
  expect_no_other_error(
      "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tNODE\tPIX\t0-7\t0\nGPU1\tNV4\t "
      "X \tNODE\tPXB\t0-7\t0\n"
      "GPU2\tNODE\tNODE\t X \tNODE\t0-7\t0\nNIC0\tPIX\tPXB\tNODE\t X \n",
      [](const std::string& text) { build_machine(node_from_matrix(text, "x", "").node); });
}

TEST(Damage, yaml_is_read_or_refused) {
  expect_no_other_error(
      "id: box\ngpu: rtx3090\ngpus: 4\nintra: nvlink-pairs\ncpu: epyc-rome\npcie: {gpus_per_switch: 2, "
      "gpus_per_socket: 4, "
      "slot_widths: [16, 8]}\nnvlinks: [[0, 1, 4]]\nnetwork: {kind: roce, gbit: 100, cards: 2, rails: "
      "true}\np2p: false\n",
      [](const std::string& text) {
        for (const MachinePreset& preset : parse_machines(text, "x")) build_machine(preset.node);
      });
}

TEST(Damage, xml_is_read_or_refused) {
  expect_no_other_error(
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
      "modelid=\"85\">"
      "<pci busid=\"0000:16:00.0\" class=\"0x060400\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">"
      "<pci busid=\"0000:17:00.0\" class=\"0x030200\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\"><gpu "
      "dev=\"0\" sm=\"70\">"
      "<nvlink target=\"0000:18:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>"
      "<pci busid=\"0000:18:00.0\" class=\"0x030200\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\"><gpu "
      "dev=\"1\" sm=\"70\"/></pci>"
      "<pci busid=\"0000:19:00.0\" class=\"0x020000\"><nic><net name=\"mlx5_0\" dev=\"0\" "
      "speed=\"100000\"/></nic></pci>"
      "</pci></cpu></system>",
      [](const std::string& text) { machine_from_xml(text, "x", {}); });
}

}  // namespace
}  // namespace gradwire
