#include "net/rendezvous/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string environment_error(const Environment& environment) {
  return error_of([&] { read_placement(environment); });
}

// The variables of torchrun, to which a test adds or from which it takes.
Environment torchrun() {
  return {{"RANK", "3"},
          {"WORLD_SIZE", "4"},
          {"LOCAL_RANK", "1"},
          {"LOCAL_WORLD_SIZE", "2"},
          {"MASTER_ADDR", "node1"},
          {"MASTER_PORT", "29500"},
          {"GROUP_RANK", "1"},
          {"TORCHELASTIC_RUN_ID", "none"},
          {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
}

Environment open_mpi() {
  return {{"OMPI_COMM_WORLD_RANK", "1"},
          {"OMPI_COMM_WORLD_SIZE", "2"},
          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
          {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
          {"OMPI_MCA_ess_base_jobid", "1953234945"}};
}

Environment slurm() {
  return {{"SLURM_PROCID", "5"},
          {"SLURM_NTASKS", "8"},
          {"SLURM_STEP_NUM_TASKS", "6"},
          {"SLURM_LOCALID", "1"},
          {"SLURM_JOB_NODELIST", "gpu[007-010,12],login"},
          {"SLURM_JOB_ID", "4711"}};
}

TEST(ReadPlacement, understands_plain_variables) {
  auto environment = torchrun();
  environment.erase("TORCHELASTIC_USE_AGENT_STORE");
  const auto placement = read_placement(environment);
  EXPECT_EQ(placement.rank, 3);
  EXPECT_EQ(placement.size, 4);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(placement.local_size, 2);
  EXPECT_EQ(placement.store, (HostPort{"node1", 29500}));
  EXPECT_FALSE(placement.hosted);
}

TEST(ReadPlacement, leaves_torchruns_agent_its_port) {
  EXPECT_EQ(read_placement(torchrun()).store, (HostPort{"node1", 29501}));
}

TEST(ReadPlacement, takes_the_store_of_our_launcher) {
  auto environment = torchrun();
  environment["GRADWIRE_STORE"] = "10.0.0.1:4000/attempt/2";
  const auto placement = read_placement(environment);
  EXPECT_EQ(placement.store, (HostPort{"10.0.0.1", 4000}));
  EXPECT_EQ(placement.space, "attempt/2");
  EXPECT_TRUE(placement.hosted);
}

TEST(ReadPlacement, understands_open_mpi_on_one_host) {
  const auto placement = read_placement(open_mpi());
  EXPECT_EQ(placement.rank, 1);
  EXPECT_EQ(placement.size, 2);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(placement.store->host, "127.0.0.1");
  EXPECT_EQ(placement.job, "1953234945");
}

TEST(ReadPlacement, gives_two_jobs_of_a_host_different_ports_and_one_job_the_same) {
  auto other = open_mpi();
  other["OMPI_MCA_ess_base_jobid"] = "1953234946";
  EXPECT_EQ(read_placement(open_mpi()).store->port, read_placement(open_mpi()).store->port);
  EXPECT_NE(read_placement(open_mpi()).store->port, read_placement(other).store->port);
  EXPECT_GE(read_placement(other).store->port, 20000);
  EXPECT_LT(read_placement(other).store->port, 30000);
}

TEST(ReadPlacement, asks_for_the_master_when_open_mpi_spans_hosts) {
  auto environment = open_mpi();
  environment["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_THAT(environment_error(environment), HasSubstr("mpirun -x MASTER_ADDR=node1"));
  environment["MASTER_ADDR"] = "node1";
  EXPECT_EQ(read_placement(environment).store->host, "node1");
}

TEST(ReadPlacement, understands_mpich) {
  const auto placement = read_placement(
      {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}});
  EXPECT_EQ(placement.rank, 0);
  EXPECT_EQ(placement.size, 2);
  EXPECT_EQ(placement.local_size, 2);
  EXPECT_EQ(placement.store, (HostPort{"127.0.0.1", 29500}));
}

TEST(ReadPlacement, understands_slurm) {
  const auto placement = read_placement(slurm());
  EXPECT_EQ(placement.rank, 5);
  EXPECT_EQ(placement.size, 6) << "a step's tasks count, not the job's";
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_FALSE(placement.local_size);
  EXPECT_EQ(placement.store->host, "gpu007");
}

TEST(ReadPlacement, prefers_mpirun_to_the_slurm_job_it_runs_in) {
  auto environment = open_mpi();
  environment.merge(slurm());
  EXPECT_EQ(read_placement(environment).rank, 1);
  EXPECT_EQ(read_placement(environment).starter, StartedBy::open_mpi);
}

TEST(ReadPlacement, needs_no_store_for_one_rank) {
  const auto placement = read_placement({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  EXPECT_FALSE(placement.store);
}

TEST(ReadPlacement, treats_an_empty_variable_as_unset) {
  auto environment = slurm();
  environment["RANK"] = "";
  EXPECT_EQ(read_placement(environment).rank, 5);
}

TEST(ReadPlacement, says_how_to_start_when_nothing_is_set) {
  EXPECT_THAT(environment_error({}),
              AllOf(HasSubstr("RANK is not set"), HasSubstr("gradwire run -n 2 -- PROGRAM")));
  EXPECT_THAT(environment_error({{"WORLD_SIZE", "4"}}), HasSubstr("WORLD_SIZE=4"));
}

struct Mistake {
  const char *name, *value;  // what is written into torchrun's variables; null: taken out
  std::vector<std::string> words;
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name << "=" << (mistake.value == nullptr ? "(unset)" : mistake.value);
}

class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, are_named_with_their_value_and_what_would_be_right) {
  auto environment = torchrun();
  if (GetParam().value == nullptr)
    environment.erase(GetParam().name);
  else
    environment[GetParam().name] = GetParam().value;
  for (const auto& word : GetParam().words) EXPECT_THAT(environment_error(environment), HasSubstr(word));
}

INSTANTIATE_TEST_SUITE_P(
    ReadPlacement, Mistakes,
    testing::Values(Mistake{"RANK", "x", {"RANK=x", "integer"}}, Mistake{"RANK", "-1", {"RANK=-1"}},
                    Mistake{"RANK", "4", {"RANK=4 contradicts WORLD_SIZE=4", "0 to 3"}},
                    Mistake{"WORLD_SIZE", nullptr, {"RANK=3", "WORLD_SIZE is not"}},
                    Mistake{"WORLD_SIZE", "0", {"WORLD_SIZE=0", "1 up"}},
                    Mistake{"WORLD_SIZE", "4.5", {"WORLD_SIZE=4.5"}},
                    Mistake{"LOCAL_RANK", "2", {"LOCAL_RANK=2 contradicts LOCAL_WORLD_SIZE=2"}},
                    Mistake{"LOCAL_WORLD_SIZE", "5", {"LOCAL_WORLD_SIZE=5", "size 4"}},
                    Mistake{"MASTER_ADDR", nullptr, {"MASTER_ADDR is not set"}},
                    Mistake{"MASTER_PORT", nullptr, {"MASTER_PORT is not set", "29500"}},
                    Mistake{"MASTER_PORT", "70000", {"MASTER_PORT=70000", "65534"}},
                    Mistake{"GRADWIRE_STORE", "node1", {"GRADWIRE_STORE=node1", "HOST:PORT"}}));

TEST(ReadPlacement, notices_a_rank_left_over_in_the_shell) {
  auto environment = open_mpi();
  environment.insert({{"RANK", "0"}, {"WORLD_SIZE", "2"}});
  EXPECT_THAT(environment_error(environment), HasSubstr("RANK=0 contradicts OMPI_COMM_WORLD_RANK=1"));
  environment["GRADWIRE_STORE"] = "127.0.0.1:4000";
  EXPECT_EQ(read_placement(environment).rank, 0) << "our launcher may itself be started by mpirun";
}

TEST(ReadTimeout, is_five_minutes_unless_told) {
  EXPECT_EQ(read_timeout({}), 300);
  EXPECT_EQ(read_timeout({{"GRADWIRE_TIMEOUT", "2m"}}), 120);
  EXPECT_THROW(read_timeout({{"GRADWIRE_TIMEOUT", "soon"}}), ConfigError);
}

TEST(FirstHost, is_found_in_slurms_lists) {
  EXPECT_EQ(first_host("node1"), "node1");
  EXPECT_EQ(first_host("node1,node2"), "node1");
  EXPECT_EQ(first_host("gpu[007-010,12]"), "gpu007");
  EXPECT_EQ(first_host("gpu[5,7-9]-ib,login"), "gpu5-ib");
  EXPECT_EQ(first_host("r[1-2]n[03-04]"), "r1n03");
  for (const char* list : {"", "gpu[", "gpu[]"}) EXPECT_THROW(first_host(list), ConfigError) << list;
}

}  // namespace
}  // namespace gradwire
