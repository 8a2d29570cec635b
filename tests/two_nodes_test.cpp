// Ranks on two machines, as the kernel's network namespaces make them: they meet, and listen where the others
// reach them, without being told where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "namespaces/two_hosts.h"
#include "support/session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string kRank = GRADWIRE_TEST_RANK;

class TwoNodes : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto obstacle = TwoHosts::find_obstacle()) GTEST_SKIP() << *obstacle;
  }
};

// What a line of the shell says that is run on both hosts.
std::string run_on_two_hosts(const std::string& line) {
  Session session({GRADWIRE_TWO_HOSTS, "--", "sh", "-c", line}, {{"GRADWIRE_SECRET", "0123456789abcdef"}});
  EXPECT_EQ(session.finish(), 0) << session.text();
  return session.text();
}

TEST_F(TwoNodes, run_one_job_by_a_launcher_on_each) {
  const auto line = fmt::format("{} run -n 2 --nnodes 2 --node-rank $HOST --master $MASTER_ADDR:29500 -- {}",
                                GRADWIRE_PROGRAM, kRank);
  const auto text = run_on_two_hosts(line);
  EXPECT_THAT(text, AllOf(HasSubstr("[1] met 1 of 4, locally 1 of 2, listens on 10.77.0.1"),
                          HasSubstr("[2] met 2 of 4, locally 0 of 2, listens on 10.77.0.2")));
}

TEST_F(TwoNodes, meet_by_variables_alone) {
  const auto text = run_on_two_hosts("RANK=$HOST WORLD_SIZE=2 MASTER_PORT=29500 exec " + kRank);
  EXPECT_THAT(text, AllOf(HasSubstr("met 0 of 2, locally 0 of 1, listens on 10.77.0.1"),
                          HasSubstr("met 1 of 2, locally 0 of 1, listens on 10.77.0.2")));
}

TEST_F(TwoNodes, measure_collectives_between_them) {
  const auto line = fmt::format(
      "RANK=$HOST WORLD_SIZE=2 MASTER_PORT=29500 exec {} bench all_reduce --backend tcp,gloo --sizes 4,64K "
      "--rounds 2 --sample-time 1ms --trust-network --json",
      GRADWIRE_PROGRAM);
  const auto text = run_on_two_hosts(line);
  EXPECT_THAT(text,
              AllOf(HasSubstr("\"backend\": \"tcp\""), HasSubstr("\"backend\": \"gloo\""),
                    HasSubstr("\"bytes\": 65536"), HasSubstr("\"ranks\": 2"), HasSubstr("\"wrong\": 0")));
  EXPECT_EQ(text.find("\"rows\""), text.rfind("\"rows\"")) << "rank 0 alone speaks";
}

}  // namespace
}  // namespace gradwire
