#include "predict/records/read.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

const std::string kCollective =
    R"({"kind":"collective","id":"a","source":"s","platform":"p","group":"g","gpu":"a40","machine":{"intra":"nvlink-pairs",)"
    R"("nvlink_gen":3,"nvlink_links_per_gpu":4,"nvlink_links_per_pair":4,"p2p":null,"pcie_gen":4,"pcie_width":16,"cpu":null,)"
    R"("topo_matrix":null,"gpu_indices":null,"network":null},"quality":"ok","notes":"","collective":"all_reduce",)"
    R"("dtype":"float32","nodes":1,"gpus_per_node":2,"env":{},"nccl_version":null,"tool":"nccl-tests","later":[1],)"
    R"("rows":[{"bytes":1024,"time_us":10.5},{"bytes":2048,"time_us":11,"peak":true}]})";

const std::string kTraining =
    R"({"kind":"training","id":"t","source":"s","platform":"p","group":"g","gpu":null,"machine":{"intra":null},)"
    R"("quality":"weak","notes":"","model":"gpt2","parameters":124000000,"gradient_dtype":"float32","batch_per_gpu":4,)"
    R"("sequence_length":1024,"precision":null,"optimizer":null,"framework":null,"distribution":"ddp","overlap":true,)"
    R"("bucket_bytes":26214400,"sample":"sequence","metric":"samples_per_s","values":[)"
    R"({"nodes":1,"gpus":1,"link":"default","accumulate":1,"samples_per_s":5,"anchor":true},)"
    R"({"nodes":1,"gpus":2,"link":"no-p2p","accumulate":1,"samples_per_s":8,"network":{"kind":"efa","gbit_per_nic":100}}]})";

std::string with(std::string text, const std::string& old, const std::string& fresh) {
  const auto at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return text.replace(at, old.size(), fresh);
}

std::string error_of(const std::string& text) {
  try {
    parse_records(text, "f.jsonl");
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Records, read_both_kinds_and_ignore_unknown_fields) {
  const auto records = parse_records(kCollective + "\n\n" + kTraining + "\n", "f.jsonl");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].collective->rows[1].bytes, 2048u);
  EXPECT_DOUBLE_EQ(records[0].collective->rows[0].time, 10.5e-6);
  EXPECT_TRUE(records[0].collective->rows[1].peak);
  EXPECT_EQ(records[0].node.intra, Intra::nvlink_pairs);
  EXPECT_EQ(records[1].quality, Quality::weak);
  EXPECT_TRUE(records[1].training->values[0].anchor);
  EXPECT_EQ(records[1].training->values[1].link, LinkSetting::no_p2p);
  EXPECT_EQ(records[1].training->values[1].network->kind, NetworkKind::efa);
  EXPECT_EQ(records[1].where, "f.jsonl line 3");
}

TEST(Records, refuse_an_unknown_value_of_a_closed_list_naming_line_and_field) {
  const std::string second =
      with(with(kCollective, R"("id":"a")", R"("id":"b")"), "nvlink-pairs", "nvlink-star");
  EXPECT_EQ(error_of(kCollective + "\n" + second),
            "f.jsonl line 2, `machine`: `intra` is \"nvlink-star\"; it must be nvswitch, nvlink-mesh, "
            "nvlink-pairs, pcie or "
            "null");
  EXPECT_NE(error_of(with(kCollective, "\"ok\"", "\"fine\"")).find("`quality` is \"fine\""),
            std::string::npos);
  EXPECT_NE(error_of(with(kTraining, "no-p2p", "magic")).find("`link` is \"magic\""), std::string::npos);
  EXPECT_NE(error_of(with(kTraining, "\"ddp\"", "\"dpd\"")).find("`distribution`"), std::string::npos);
  EXPECT_NE(error_of(with(kCollective, "\"a40\"", "\"a41\"")).find("line 1"), std::string::npos);
}

TEST(Records, leave_out_a_record_with_an_unknown_value_where_that_may_be_noted) {
  const auto second = [](const std::string& old, const std::string& fresh) {
    return kTraining + "\n" + with(kCollective, old, fresh);
  };
  for (const auto& [old, fresh] :
       std::vector<std::pair<std::string, std::string>>{{"\"a40\"", "\"a41\""},
                                                        {"float32", "float64"},
                                                        {"nvlink-pairs", "nvlink-star"},
                                                        {"\"ok\"", "\"so\""}}) {
    std::vector<std::string> skipped;
    EXPECT_EQ(parse_records(second(old, fresh), "f.jsonl", &skipped).size(), 1u) << fresh;
    ASSERT_EQ(skipped.size(), 1u);
    EXPECT_EQ(skipped[0].find("f.jsonl line 2"), 0u) << skipped[0];
    EXPECT_NE(skipped[0].find("(a)"), std::string::npos) << skipped[0];
  }
  std::vector<std::string> skipped;
  EXPECT_THROW(parse_records(second("\"a40\"", "40"), "f.jsonl", &skipped), ConfigError);
  EXPECT_THROW(parse_records(second("10.5", "\"ten\""), "f.jsonl", &skipped), ConfigError);
}

TEST(Records, refuse_what_is_not_a_record_in_one_line) {
  for (const auto& [old, fresh] : std::vector<std::pair<std::string, std::string>>{
           {"\"nodes\":1", "\"nodes\":0"},
           {"\"nodes\":1", "\"nodes\":1e300"},
           {"\"nodes\":1", "\"nodes\":\"one\""},
           {"10.5", "-1"},
           {"10.5", "null"},
           {"\"rows\":[", "\"rows\":[7,"},
           {"\"gpu_indices\":null", "\"gpu_indices\":[0.5]"},
           {"\"topo_matrix\":null", "\"topo_matrix\":[\"GPU0\"]"},
           {"\"kind\":\"collective\"", "\"kind\":\"other\""},
           {"\"env\":{}", "\"env\":{\"NCCL_ALGO\":3}"},
           {"\"machine\":{", "\"machine\":[],\"x\":{"}}) {
    const std::string error = error_of(with(kCollective, old, fresh));
    EXPECT_EQ(error.find("f.jsonl line 1"), 0u) << fresh << ": " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
}

TEST(Records, refuse_what_is_nested_very_deep_in_one_line) {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_EQ(error_of(deep), "f.jsonl line 1: a list nested more than 8 levels deep is not an object");
  EXPECT_EQ(error_of("{\"kind\":" + deep + "}"),
            "f.jsonl line 1: `kind` is a list nested more than 8 levels deep; it must be a string or null");
}

TEST(Records, refuse_a_number_that_no_double_holds) {
  EXPECT_EQ(error_of(with(kCollective, "10.5", "1e999")), "f.jsonl line 1: a number in it is too large");
}

TEST(Records, refuse_a_file_cut_in_half) {
  for (std::size_t length = 1; length < kCollective.size(); length += 37)
    EXPECT_EQ(error_of(kCollective.substr(0, length)).find("f.jsonl line 1"), 0u) << length;
}

TEST(Records, refuse_the_same_id_twice) {
  EXPECT_NE(error_of(kCollective + "\n" + kCollective).find("`id` a was there before"), std::string::npos);
}

TEST(Records,
     several_nodes_without_a_stated_network_get_the_usual_one_and_grace_blackwell_trays_are_one_domain) {
  const std::string two = with(kCollective, R"("nodes":1)", R"("nodes":2)");
  EXPECT_EQ(machine_of(parse_records(two, "f")[0]).nodes, 2);
  const std::string trays = with(with(with(with(two, "a40", "gb200"), "nvlink-pairs", "nvswitch"),
                                      R"("nvlink_gen":3)", R"("nvlink_gen":5)"),
                                 R"("nvlink_links_per_gpu":4,"nvlink_links_per_pair":4)",
                                 R"("nvlink_links_per_gpu":18,"nvlink_links_per_pair":18)");
  EXPECT_EQ(machine_of(parse_records(trays, "f")[0]).nodes, 1);
  EXPECT_EQ(machine_of(parse_records(trays, "f")[0]).gpus.size(), 4u);
}

TEST(Records, of_a_platform_learn_from_the_bus_numbers_of_one_another) {
  const std::string silent = with(with(kCollective, "\"id\":\"a\"", "\"id\":\"b\""), "nvlink-pairs", "pcie");
  const std::string told =
      with(with(kCollective, "\"gpu_indices\":null", "\"gpu_indices\":null,\"bus_ids\":[26,27,61,62]"),
           "nvlink-pairs", "pcie");
  const auto alone = parse_records(silent, "f"), both = parse_records(told + "\n" + silent, "f");
  EXPECT_TRUE(alone[0].node.cpu_model.empty());
  EXPECT_EQ(both[1].node.cpu_model, "xeon-skylake");
  EXPECT_EQ(both[1].node.pcie_gen, 3);
  EXPECT_EQ(both[1].node.pcie->gpus_per_switch, 2);
}

TEST(Records, state_a_processor_by_its_preset) {
  const auto stating = [](const std::string& model) {
    return with(kCollective, "\"cpu\":null", "\"cpu\":null,\"cpu_model\":\"" + model + "\"");
  };
  const auto records = parse_records(stating("epyc-rome"), "f");
  EXPECT_EQ(records[0].node.cpu_model, "epyc-rome");
  EXPECT_EQ(records[0].node.cpu, CpuMaker::amd);
  const auto also_by_bus =
      with(stating("xeon-icelake"), "\"gpu_indices\":null", "\"gpu_indices\":null,\"bus_ids\":[26,27,61,62]");
  EXPECT_EQ(parse_records(also_by_bus, "f")[0].node.cpu_model, "xeon-icelake");
  EXPECT_NE(error_of(stating("epyc-lhasa")).find("epyc-lhasa"), std::string::npos);
}

TEST(Records, name_a_processor_and_a_tool_in_their_notes) {
  const auto noted = [](const std::string& notes) {
    return parse_records(with(kCollective, "\"notes\":\"\"", "\"notes\":\"" + notes + "\""), "f")[0];
  };
  EXPECT_EQ(noted("patched driver, two EPYC 9575F, IOMMU off").node.cpu_model, "epyc-turin");
  EXPECT_EQ(noted("straight on two AMD EPYC 7542").node.cpu_model, "epyc-rome");
  EXPECT_EQ(noted("EPYC 9V74").node.cpu_model, "epyc-genoa");
  EXPECT_EQ(noted("two Xeon E5-2680 v4").node.pcie_gen, 3) << "a slot is no faster than its processor";
  EXPECT_EQ(noted("two Xeon Gold 6230R").node.cpu_model, "xeon-skylake");
  EXPECT_EQ(noted("no EPYC has ten cores").node.cpu_model, "");
  EXPECT_EQ(noted("nccl-tests 2.17.6 is later than that").collective->nccl_version, "2.26");
  EXPECT_FALSE(noted("nccl-tests 2.13.6").collective->nccl_version.has_value());
}

TEST(BusIds, tell_switches_and_sockets_where_no_matrix_does) {
  EXPECT_EQ(bus_ids_in("two cards (bus 1a, b2): far"), (std::vector<int>{0x1a, 0xb2}));
  EXPECT_EQ(bus_ids_in("neighbouring bus ids 3d-40"), (std::vector<int>{0x3d, 0x3e, 0x3f, 0x40}));
  EXPECT_EQ(bus_ids_in("4 of 8 cards, bus ids 01 25 41 61, all on one socket").size(), 4u);
  EXPECT_TRUE(bus_ids_in("a bus of its own").empty());
  const auto layout = [](std::vector<int> ids) { return layout_by_bus_ids(ids).value(); };
  EXPECT_EQ(layout({0x1a, 0x1b}).gpus_per_switch, 2);
  EXPECT_EQ(layout({0x1a, 0xb2}).gpus_per_switch, 1)
      << "three buses from roots 17 and ae: a switch lies between";
  EXPECT_EQ(layout({0x18, 0xaf}).gpus_per_switch, 0) << "next to their roots";
  EXPECT_EQ(layout({0x05, 0xc1}).gpus_per_switch, 0) << "EPYC has several slots to a root";
  EXPECT_EQ(layout({0x1a, 0xb2}).gpus_per_socket, 1);
  EXPECT_EQ(layout({0x4f, 0x50, 0x53, 0x57, 0x9c, 0x9d, 0xa0, 0xa4}).gpus_per_switch, 4);
  EXPECT_EQ(layout({1, 0x25, 0x41, 0x61}).gpus_per_socket, 4);
  EXPECT_FALSE(layout_by_bus_ids(std::vector<int>{7}).has_value());
  const auto processor = [](std::vector<int> ids) {
    const auto found = processor_by_bus_ids(ids);
    return found ? found->id : "none";
  };
  EXPECT_EQ(processor({0x1a, 0x1c, 0x88, 0x8a}), "xeon-skylake");
  EXPECT_EQ(processor({0x4f, 0x50, 0x53, 0x57, 0x9c, 0x9d, 0xa0, 0xa4}), "xeon-icelake");
  EXPECT_EQ(processor({0x01, 0x25, 0x41, 0x61}), "epyc-rome");
  EXPECT_EQ(processor({0x01, 0x02}), "none") << "any desktop";
  EXPECT_EQ(processor({}), "none");
  EXPECT_FALSE(layout_by_bus_ids(std::vector<int>{7, 7}).has_value());
}

}  // namespace
}  // namespace gradwire
