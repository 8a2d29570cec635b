#include "import/link_types.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "import/file_kind.h"

namespace gradwire {
namespace {

const std::string kRocm =
    "======= ROCm System Management Interface =======\n"
    "========== Weight between two GPUs ==========\n"
    "       GPU0         GPU1         GPU2         \n"
    "GPU0   0            15           40           \n"
    "GPU1   15           0            40           \n"
    "GPU2   40           40           0            \n"
    "\n"
    "======== Link Type between two GPUs ========\n"
    "       GPU0         GPU1         GPU2         \n"
    "GPU0   0            XGMI         PCIE         \n"
    "GPU1   XGMI         0            PCIE         \n"
    "GPU2   PCIE         PCIE         0            \n"
    "============= Numa Nodes =============\n"
    "GPU[0]\t\t: (Topology) Numa Node: 0\n";

TEST(LinkTypes, count_the_pairs_that_each_kind_of_link_joins) {
  EXPECT_EQ(kind_of(kRocm), FileKind::link_types);
  const LinkTypes types = parse_link_types(kRocm, "t");
  EXPECT_EQ(types.gpus, 3);
  EXPECT_EQ(types.xgmi, 1);
  EXPECT_EQ(types.pcie, 2);
}

TEST(LinkTypes, are_read_of_amd_smi_too) {
  const std::string text =
      "ACCESS TABLE:\n             0000:05:00.0 0000:26:00.0\n0000:05:00.0 ENABLED      ENABLED\n"
      "0000:26:00.0 ENABLED      ENABLED\n\nLINK TYPE TABLE:\n             0000:05:00.0 0000:26:00.0\n"
      "0000:05:00.0 SELF         XGMI\n0000:26:00.0 XGMI         SELF\n\nNUMA BW TABLE:\n";
  EXPECT_EQ(kind_of(text), FileKind::link_types);
  EXPECT_EQ(parse_link_types(text, "t").xgmi, 1);
}

TEST(LinkTypes, that_are_cut_off_are_refused) {
  EXPECT_THROW(parse_link_types(kRocm.substr(0, kRocm.find("GPU2   PCIE")), "t"), ConfigError);
  EXPECT_THROW(parse_link_types("== Link Type between two GPUs ==\n", "t"), ConfigError);
}

}  // namespace
}  // namespace gradwire
