#include "report/page/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "report/narrowest.h"
#include "report/page/topology.h"
#include "report/render.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

PageData answer(const char* json) { return answer_page(parse_question(json)); }

constexpr const char* kTwoMachines =
    R"({"model": "gpt2", "machines": ["2x-rtx3090-nvlink", "2x-rtx3090-pcie"], "batch": 8})";

TEST(ComparisonPage, shows_a_step_and_a_picture_of_every_machine) {
  const auto page = page_json(answer(kTwoMachines));
  EXPECT_EQ(page["verb"], "compare");
  EXPECT_EQ(page["command"], "gradwire compare gpt2 --on 2x-rtx3090-nvlink --on 2x-rtx3090-pcie --batch 8");
  ASSERT_EQ(page["timelines"].size(), 2u);
  ASSERT_EQ(page["topologies"].size(), 2u);
  EXPECT_EQ(page["timelines"][0]["origin"], "predicted");
  EXPECT_GT(page["timelines"][0]["count"], 5);
  EXPECT_EQ(page["data"]["machines"][1]["on"], "2x-rtx3090-pcie");
  EXPECT_EQ(page["question"]["batch"], 8);
}

// A CPU's steps are long: what hides under them need not hide on a GPU.
TEST(ComparisonPage, concludes_from_a_lower_bound_what_follows_from_it_alone) {
  const auto answered = [](const char* json) {
    Asked question = asked_of(parse_question(json));
    question.premise = "a CPU computed it";
    return compare_as_asked(question);
  };
  const auto slow = answered(
      R"({"model": "gpt2", "machines": ["2x-rtx3090-nvlink", "2x-rtx3090-pcie"], "batch": 8, "step_ms": 60000})");
  EXPECT_EQ(slow.report.data["answer"]["sure"], "cant_tell");
  EXPECT_THAT(to_text(slow.report),
              HasSubstr("Can't tell for gpt2: 2x-rtx3090-nvlink over 2x-rtx3090-pcie gives 1.0"));
  const auto fast = answered(kTwoMachines);
  EXPECT_EQ(fast.report.data["answer"]["verdict"], "helps");
  EXPECT_NE(fast.report.data["answer"]["sure"], "cant_tell");
}

TEST(ComparisonPage, marks_the_link_that_the_answer_names) {
  for (const char* name : {"2x-rtx3090-nvlink", "2x-rtx3090-pcie", "dgx-a100", "8x-a100-pcie",
                           "2*dgx-h100@100gbe", "4x-rtx3090-pcie", "dgx-1-p100"}) {
    const auto topology = drawn_topology(find_machine(name), Loads::of_nccl);
    const NcclModel model(find_machine(name));
    EXPECT_EQ(topology.narrowest, to_words(model.narrowest())) << name;
    double most = 0;
    int narrowest = 0;
    for (const auto& link : topology.links) {
      EXPECT_LE(link.load, 1) << name << " " << link.text;
      most = std::max(most, link.load);
      if (!link.narrowest) continue;
      ++narrowest;
      EXPECT_NEAR(link.load, 1, 1e-9) << name << " " << link.text;
    }
    const bool by_blocks = topology.narrowest.find("thread blocks") != std::string::npos;
    EXPECT_EQ(narrowest > 0, !by_blocks) << name;
    EXPECT_GT(most, 0) << name;
  }
}

TEST(ComparisonPage, devices_and_links_of_a_picture_belong_together) {
  const auto topology = drawn_topology(find_machine("4*dgx-a100@hdr"), Loads::of_nccl);
  std::vector<std::string> ids;
  for (const auto& node : topology.nodes) {
    EXPECT_EQ(std::count(ids.begin(), ids.end(), node.id), 0);
    EXPECT_LT(node.host, kMostHostsDrawn);
    ids.push_back(node.id);
  }
  for (const auto& node : topology.nodes)
    EXPECT_TRUE(node.parent.empty() || std::count(ids.begin(), ids.end(), node.parent) == 1);
  for (const auto& link : topology.links) {
    EXPECT_EQ(std::count(ids.begin(), ids.end(), link.a), 1);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), link.b), 1);
    EXPECT_GT(link.gbps, 0);
  }
}

TEST(ComparisonPage, takes_a_machine_and_a_model_that_were_pasted) {
  const auto page =
      page_json(answer(R"({"model": {"name": "mine", "parameters": "350e6", "family": "transformer"},
      "machines": [{"name": "box.txt:rtx3090", "matrix": "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"},
                   {"name": "own", "yaml": {"id": "own", "gpu": "rtx3090", "gpus": 2, "intra": "pcie"}}]})"));
  EXPECT_EQ(page["data"]["machines"][0]["on"], "box.txt:rtx3090");
  EXPECT_EQ(page["data"]["machines"][1]["gpus"], 2);
  EXPECT_EQ(page["command"], "gradwire compare mine.yaml --on box.txt:rtx3090 --on own");
}

TEST(ComparisonPage, says_in_one_line_what_cant_be_answered) {
  EXPECT_THAT([] { answer(R"({"model": "gpt3000", "machines": ["dgx-a100"]})"); },
              ThrowsMessage<ConfigError>(HasSubstr("gpt3000")));
  EXPECT_THAT([] { answer(R"({"model": "gpt2", "machines": ["dgx-a9000"]})"); },
              ThrowsMessage<ConfigError>(HasSubstr("dgx-a9000")));
  EXPECT_THAT([] { answer(R"({"model": "gpt2", "machines": ["dgx-a100"], "precision": "fp7"})"); },
              ThrowsMessage<ConfigError>(HasSubstr("fp7")));
}

TEST(ComparisonPage, its_catalog_can_be_asked) {
  const auto catalog = page_catalog();
  EXPECT_GT(catalog["models"].size(), 10u);
  for (const auto& machine : catalog["machines"]) EXPECT_FALSE(machine["gpu"].get<std::string>().empty());
  for (const auto& precision : catalog["precisions"])
    EXPECT_NO_THROW(parse_precision(precision.get<std::string>()));
  for (const auto& compression : catalog["compressions"])
    EXPECT_NO_THROW(parse_compression(compression.get<std::string>()));
}

}  // namespace
}  // namespace gradwire
