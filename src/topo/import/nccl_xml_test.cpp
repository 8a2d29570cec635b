#include "topo/import/nccl_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// Two sockets; two GPUs and a card under a switch at the first, one GPU at the second; a bridge between the
// first two.
constexpr const char* kBoxXml = R"(<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    <pci busid="0000:16:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:17:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="86" rank="0" gdr="1">
          <nvlink target="0000:18:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:18:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="8">
        <gpu dev="1" sm="86" rank="1" gdr="1">
          <nvlink target="0000:17:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:19:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="106">
    <pci busid="0000:b1:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="2" sm="86" rank="2" gdr="1"/>
    </pci>
  </cpu>
</system>
)";

std::string xml_error(const std::string& text) {
  return error_of([&] { machine_from_xml(text, "topo.xml", {}); });
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

TEST(NcclXml, gpus_links_switches_and_cards_are_read) {
  const Machine machine = machine_from_xml(kBoxXml, "topo.xml", {});
  ASSERT_EQ(machine.gpus.size(), 3U);
  const auto cell = [&](std::size_t a, std::size_t b) {
    return matrix_cell(machine.topology, machine.gpus[a], machine.gpus[b]);
  };
  EXPECT_EQ(cell(0, 1), "NV4");
  EXPECT_EQ(cell(0, 2), "SYS");
  const DeviceId nic = machine.topology.find_devices(DeviceKind::nic, 0).at(0);
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[0], nic), "PIX");
  EXPECT_EQ(machine.topology.device(nic).model, "mlx5_0");
  EXPECT_EQ(machine.cpu, CpuMaker::intel);
  EXPECT_EQ(machine.node.cpu_model, "xeon-icelake");
  EXPECT_EQ(machine.network->gbit_per_nic, 200);
  EXPECT_DOUBLE_EQ(find_path(machine, machine.gpus[1], nic).bytes_per_s, 12.5e9);  // x8
}

TEST(NcclXml, the_gpu_is_told_from_its_capability_unless_it_is_said) {
  EXPECT_EQ(machine_from_xml(kBoxXml, "x", {}).gpu.id, "a6000");
  EXPECT_THAT(machine_from_xml(kBoxXml, "x", {}).notes, Contains(HasSubstr("sm 86 is taken as a6000")));
  XmlOptions options;
  options.gpu = "rtx3090";
  const Machine machine = machine_from_xml(kBoxXml, "x", options);
  EXPECT_EQ(machine.gpu.id, "rtx3090");
  EXPECT_FALSE(machine.p2p);
}

TEST(NcclXml, links_to_a_switch_join_all_gpus_that_have_them) {
  std::string text =
      R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">)";
  for (int i = 0; i < 4; ++i) {
    text += "<pci busid=\"0000:0" + std::to_string(i) +
            ":00.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">";
    text += "<gpu dev=\"" + std::to_string(3 - i) + "\" sm=\"80\">";
    for (int nvswitch = 0; nvswitch < 6; ++nvswitch)
      text +=
          "<nvlink target=\"0000:c" + std::to_string(nvswitch) + ":00.0\" count=\"2\" tclass=\"0x068000\"/>";
    text += "</gpu></pci>";
  }
  const Machine machine = machine_from_xml(text + "</cpu></system>", "x", {});
  EXPECT_EQ(matrix_cell(machine.topology, machine.gpus[0], machine.gpus[3]), "NV12");
  EXPECT_EQ(machine.topology.device(machine.gpus[0]).name, "GPU0");  // by dev, not by place in the file
  EXPECT_EQ(machine.gpu.id, "a100-sxm-80");
  EXPECT_EQ(machine.node.cpu_model, "epyc-rome");
}

TEST(NcclXml, a_file_makes_a_cluster) {
  const TempDir directory;
  const std::string path = (directory.path() / "topo.xml").string();
  write_file(path, kBoxXml);
  const Machine machine = find_machine("2*" + path + "@hdr");
  EXPECT_EQ(machine.gpus.size(), 6U);
  EXPECT_EQ(classify(machine.topology, machine.gpus[0], machine.gpus[3]), PathClass::net);
}

TEST(NcclXml, what_is_wrong_is_named_with_its_line) {
  EXPECT_THAT(xml_error("<system>"), HasSubstr("not whole XML: a tag is not closed"));
  EXPECT_THAT(xml_error("<system><cpu></system>"), HasSubstr("a tag is not closed"));
  EXPECT_THAT(xml_error("<other/>"), HasSubstr("no <system>"));
  EXPECT_THAT(xml_error("<system/>"), HasSubstr("no <cpu>"));
  EXPECT_THAT(xml_error("<system><cpu/></system>"), HasSubstr("no <gpu>"));
  EXPECT_THAT(xml_error(replaced(kBoxXml, "link_width=\"8\"", "link_width=\"800\"")),
              AllOf(HasSubstr("topo.xml line 9"), HasSubstr("link_width is '800'")));
  EXPECT_THAT(xml_error(replaced(kBoxXml, "16.0 GT/s PCIe", "17 furlongs")),
              HasSubstr("link_speed is '17 furlongs'"));
  EXPECT_THAT(xml_error(replaced(kBoxXml, "sm=\"86\"", "sm=\"many\"")), HasSubstr("sm is 'many'"));
  EXPECT_THAT(xml_error(replaced(kBoxXml, "0000:b1:00.0", "0000:17:00.0")),
              HasSubstr("busid 0000:17:00.0 is there twice"));
  EXPECT_THAT(xml_error(replaced(kBoxXml, "count=\"4\"", "count=\"-4\"")), HasSubstr("count is '-4'"));
}

TEST(NcclXml, what_the_file_does_not_say_of_the_network_is_noted) {
  EXPECT_THAT(machine_from_xml(kBoxXml, "x", {}).notes,
              Contains(HasSubstr("the kind of network is not stated")));
}

TEST(NcclXml, links_that_lead_out_of_the_file_are_noted) {
  const Machine machine =
      machine_from_xml(replaced(kBoxXml, "target=\"0000:18:00.0\"", "target=\"0000:ff:00.0\""), "x", {});
  EXPECT_THAT(machine.notes, Contains(HasSubstr("NVLinks of GPU0 lead to 0000:ff:00.0")));
}

TEST(NcclXml, every_prefix_of_a_file_is_read_or_refused_but_never_breaks) {
  const std::string whole = kBoxXml;
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(size + 1 == whole.size() || !xml_error(whole.substr(0, size)).empty()) << size;
}

}  // namespace
}  // namespace gradwire
