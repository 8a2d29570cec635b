#include "import/environment.h"

#include <gtest/gtest.h>

#include "import/file_kind.h"

namespace gradwire {
namespace {

std::string value_of(const std::string& text, const std::string& name) {
  const EnvironmentFile file = parse_environment(text, "job");
  const auto found = file.variables.find(name);
  return found == file.variables.end() ? "(none)" : found->second.text;
}

TEST(Environment, is_read_of_a_job_of_kubernetes) {
  const std::string job =
      "kind: Job\nspec:\n  containers:\n  - name: trainer\n    env:\n    - name: NCCL_P2P_DISABLE\n"
      "      value: \"1\"\n    - {name: NCCL_DEBUG, value: INFO}\n    - name: CUDA_VISIBLE_DEVICES\n      "
      "value: \"0,1\"\n    args: |\n      torchrun train.py\n";
  EXPECT_EQ(kind_of(job), FileKind::environment);
  EXPECT_EQ(value_of(job, "NCCL_P2P_DISABLE"), "1");
  EXPECT_EQ(value_of(job, "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value_of(job, "CUDA_VISIBLE_DEVICES"), "0,1");
  EXPECT_EQ(value_of(job, "trainer"), "(none)");
}

TEST(Environment, is_read_of_maps_and_lists_of_other_descriptions) {
  const std::string map =
      "command: python train.py\nenvironment_variables:\n  NCCL_IB_DISABLE: \"1\" # off\n  # NCCL_NET: "
      "Socket\n"
      "  NCCL_SOCKET_IFNAME: eth0  # the fast one\n";
  EXPECT_EQ(kind_of(map), FileKind::environment);
  EXPECT_EQ(value_of(map, "NCCL_IB_DISABLE"), "1");
  EXPECT_EQ(value_of(map, "NCCL_SOCKET_IFNAME"), "eth0");
  EXPECT_EQ(value_of(map, "NCCL_NET"), "(none)");
  const std::string list =
      "services:\n  train:\n    environment:\n      - NCCL_P2P_LEVEL=LOC\n      - \"A=b\"\n";
  EXPECT_EQ(kind_of(list), FileKind::environment);
  EXPECT_EQ(value_of(list, "NCCL_P2P_LEVEL"), "LOC");
  EXPECT_EQ(value_of(list, "A"), "b");
}

TEST(Environment, has_no_comments_in_its_values) {
  const std::string list =
      "environment:\n  - NCCL_P2P_DISABLE=0  # keep NVLink\n  - \"NCCL_DEBUG=WARN\"  # or INFO\n"
      "  - 'NOTE=a # b'\n  - NCCL_ALGO=\t# NCCL's choice\n";
  EXPECT_EQ(value_of(list, "NCCL_P2P_DISABLE"), "0");
  EXPECT_EQ(value_of(list, "NCCL_DEBUG"), "WARN");
  EXPECT_EQ(value_of(list, "NOTE"), "a # b");
  EXPECT_EQ(value_of(list, "NCCL_ALGO"), "");
  EXPECT_EQ(value_of("export NCCL_IB_DISABLE=0 # cards are fine\n", "NCCL_IB_DISABLE"), "0");
  EXPECT_EQ(value_of("export NCCL_DEBUG=\"INFO\" # all of it\n", "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value_of("env:\n  NCCL_NET: # whichever\n", "NCCL_NET"), "");
  EXPECT_EQ(value_of("COLOR=#fff\n", "COLOR"), "#fff");
}

TEST(Environment, knows_a_job_by_its_gpus_and_whether_they_share_memory) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    resources:\n"
      "      limits:\n        nvidia.com/gpu: \"4\"\n";
  EXPECT_EQ(kind_of(pod), FileKind::environment);
  const auto job = parse_environment(pod, "pod.yaml").job;
  EXPECT_EQ(job.gpus, 4);
  EXPECT_EQ(job.line, 8);
  EXPECT_FALSE(job.shares_memory);
  EXPECT_TRUE(parse_environment(pod + "  hostIPC: true\n", "pod.yaml").job.shares_memory);
  EXPECT_TRUE(parse_environment(pod + "    - mountPath: /dev/shm\n", "pod.yaml").job.shares_memory);
  const auto compose = parse_environment(
      "services:\n  train:\n    shm_size: 8gb\n    deploy:\n      - driver: nvidia\n        count: all\n",
      "c");
  EXPECT_EQ(compose.job.gpus, 8);
  EXPECT_TRUE(compose.job.shares_memory);
}

TEST(Environment, is_no_yaml_that_says_nothing_of_a_run) {
  EXPECT_EQ(kind_of("model:\n  layers: 12\n  hidden: 768\n"), FileKind::unknown);
}

}  // namespace
}  // namespace gradwire
