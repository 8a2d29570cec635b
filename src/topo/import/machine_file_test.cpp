#include "topo/import/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/error_of.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kBox = R"(id: my-box
title: four cards in the basement
gpu: rtx3090
intra: nvlink-pairs
gpus: 4
cpu: threadripper
pcie:
  gpus_per_bridge: 1
  gpus_per_socket: 4
  slot_widths: [16, 16, 8, 8]
network: {kind: ethernet, gbit: 10, cards: 1}
source: looked inside
)";

std::string yaml_error(const std::string& yaml) {
  return error_of([&] { parse_machines(yaml, "box.yaml"); });
}

TEST(MachineFile, a_users_file_works_wherever_a_machine_is_asked_for) {
  const TempDir directory;
  const std::string path = (directory.path() / "box.yaml").string();
  write_file(path, kBox);
  const Machine machine = find_machine("2*" + path + "@25gbe");
  EXPECT_EQ(machine.gpus.size(), 8U);
  EXPECT_EQ(machine.network->gbit_per_nic, 25);
  EXPECT_DOUBLE_EQ(find_path(machine, machine.gpus[1], machine.gpus[2]).bytes_per_s, 12.5e9);  // the x8 slot
  EXPECT_DOUBLE_EQ(find_path(machine, machine.gpus[2], machine.gpus[3]).bytes_per_s, 48e9);
}

TEST(MachineFile, a_machine_without_an_id_is_called_as_its_file) {
  EXPECT_EQ(parse_machines("gpu: a40\ngpus: 1\n", "box.yaml")[0].node.name, "box.yaml");
}

TEST(MachineFile, a_file_may_bring_gpus_of_its_own) {
  const auto machines = parse_machines(R"(
gpus:
  - {id: next, name: Next, sm: 130, tflops: {fp32: 200}, memory: {gb: 64, gb_per_s: 4000},
     nvlink: {gen: 5, links: 2, gb_per_s: 50}, pcie: {gen: 6, p2p: true}, source: a rumour}
machines:
  - {id: pair, gpu: next, gpus: 2, intra: nvlink-pairs}
)",
                                       "box.yaml");
  const Machine machine = build_machine(machines.at(0).node);
  EXPECT_DOUBLE_EQ(find_path(machine, machine.gpus[0], machine.gpus[1]).bytes_per_s, 80e9);  // 0.8 of 2 x 50
}

TEST(MachineFile, a_matrix_may_stand_in_the_file_as_text_or_as_lines) {
  const std::string head = "id: x\ngpu: a40\n";
  for (const std::string matrix : {"matrix: |2\n        GPU0 GPU1\n  GPU0   X   NV4\n  GPU1  NV4   X\n",
                                   "matrix: ['     GPU0 GPU1', 'GPU0   X   NV4', 'GPU1  NV4   X']\n"})
    EXPECT_EQ(parse_machines(head + matrix, "box.yaml").at(0).node.gpus, 2);
}

TEST(MachineFile, what_is_wrong_is_named_with_its_line_and_what_would_be_right) {
  EXPECT_THAT(yaml_error("id: x\ngpu: rtx3090\ngpus: four\n"),
              AllOf(HasSubstr("box.yaml line 3"), HasSubstr("gpus is 'four'"),
                    HasSubstr("a whole number from 1 to 1024")));
  EXPECT_THAT(yaml_error("id: x\ngpuz: 4\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("no 'gpuz' here"), HasSubstr("gpus")));
  EXPECT_THAT(yaml_error("id: x\nid: y\n"), HasSubstr("'id' is there twice"));
  EXPECT_THAT(yaml_error("machines: [{gpu: a40}]\n"), HasSubstr("'id' is missing"));
  EXPECT_THAT(yaml_error("id: x\nintra: magic\n"), HasSubstr("nvswitch, nvlink-mesh, nvlink-pairs or pcie"));
  EXPECT_THAT(yaml_error("id: x\np2p: 3\n"), HasSubstr("true or false"));
  EXPECT_THAT(yaml_error("id: x\npcie: [1, 2]\n"),
              HasSubstr("a map of 'key: value' is needed, this is a list"));
  EXPECT_THAT(yaml_error("id: x\nnetwork: {kind: pigeon}\n"), HasSubstr("infiniband, roce"));
  EXPECT_THAT(yaml_error("id: x\nnvlinks: [[0, 1]]\n"), HasSubstr("[gpu, gpu, links]"));
  EXPECT_THAT(yaml_error("id: x\ncpu: z80\n"), HasSubstr("'z80' is not a processor"));
  EXPECT_THAT(yaml_error("id: x\npcie_gen: 1e99\n"), HasSubstr("from 1 to 6"));
  EXPECT_THAT(yaml_error("id: x\ngpus: 99999999999999999999\n"), HasSubstr("from 1 to 1024"));
  EXPECT_THAT(yaml_error("machines: []\n"), HasSubstr("there is no machine"));
  EXPECT_THAT(yaml_error("id: [unclosed\n"), HasSubstr("not YAML"));
  EXPECT_THAT(yaml_error("just a sentence"), HasSubstr("a map"));
  EXPECT_THAT(yaml_error(""), HasSubstr("a map"));
}

TEST(MachineFile, what_can_not_be_assumed_is_named_when_it_is_missing) {
  EXPECT_THAT(yaml_error("id: x\ngpus: 4\n"), HasSubstr("'gpu' is missing: an id of `gradwire list gpus`"));
  EXPECT_THAT(yaml_error("id: x\ngpu: a40\n"), HasSubstr("'gpus' is missing: a whole number"));
  EXPECT_THAT(yaml_error("id: x\ngpu: a40\ngpus: 4\n"), HasSubstr("'intra' is missing: nvswitch"));
  EXPECT_EQ(yaml_error("id: x\ngpu: a40\ngpus: 1\n"), "");
}

TEST(MachineFile, a_key_without_a_value_is_refused) {
  EXPECT_THAT(yaml_error("id: x\ngpu: a40\ngpus: 2\nintra: pcie\ncpu\n"),
              HasSubstr("line 5: 'cpu' has no value"));
  EXPECT_THAT(yaml_error("id: x\ngpu: a40\ngpus: 2\nintra: pcie\nnetwork:\n"),
              HasSubstr("'network' has no value"));
}

TEST(MachineFile, a_misspelt_key_is_answered_with_the_right_one) {
  EXPECT_THAT(yaml_error("id: x\ngpu: a40\ninrta: pcie\n"),
              HasSubstr("no 'inrta' here (did you mean intra?)"));
}

TEST(MachineFile, every_prefix_of_a_file_is_read_or_refused_but_never_breaks) {
  const std::string whole = kBox;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    try {
      for (const MachinePreset& preset : parse_machines(whole.substr(0, size), "x"))
        build_machine(preset.node);
    } catch (const ConfigError&) {
    }
  }
}

TEST(MachineFile, deep_nesting_is_refused) {
  EXPECT_THAT(yaml_error("id: " + std::string(20000, '[')), HasSubstr("more than 100 deep in each other"));
}

TEST(MachineFile, what_is_said_once_can_be_meant_twice) {
  const auto map = parse_yaml("first: &all {a: [1, 2]}\nsecond: *all\nthird: &one 7\nfourth: *one\n", "x");
  EXPECT_EQ(map.find_map("second")->integers("a", {0, 9}), (std::vector{1, 2}));
  EXPECT_EQ(map.find_integer("fourth", {0, 9}), 7);
}

TEST(MachineFile, what_lies_in_itself_is_refused) {
  EXPECT_THAT(yaml_error("id: &a [*a]\n"), HasSubstr("can't lie in itself"));
}

TEST(MachineFile, aliases_of_aliases_are_refused_before_they_fill_the_memory) {
  std::string many = "a0: &a0 [1, 1]\n", deep = many;
  for (int i = 1; i < 40; ++i) {
    many += fmt::format("a{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
    deep += fmt::format("a{}: &a{} [[[[[*a{}]]]]]\n", i, i, i - 1);
  }
  EXPECT_THAT(yaml_error(many), HasSubstr("more than the 1048576 values"));
  EXPECT_THAT(yaml_error(deep), HasSubstr("more than 100 deep in each other"));
}

// A tree of it would take gigabytes.
TEST(MachineFile, of_64_megabytes_of_list_is_refused_as_it_is_read) {
  std::string text;
  while (text.size() < 64 << 20) text += "- 0\n";
  EXPECT_THAT(yaml_error(text), HasSubstr("more than the 1048576 values"));
}

}  // namespace
}  // namespace gradwire
