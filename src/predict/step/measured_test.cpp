#include "predict/step/recorded.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kResults = R"({"rows": [
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 1000, "time_us": 100, "processor_us": 20},
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 1000000, "time_us": 10000, "processor_us": 2000},
  {"backend": "shm", "collective": "all_reduce", "ranks": 2, "bytes": 1000, "time_us": 1},
  {"backend": "shm", "collective": "broadcast", "ranks": 2, "bytes": 1000, "time_us": 1}
]})";

class Measured : public testing::Test {
 protected:
  void SetUp() override { write_file(file_, kResults); }
  const TempDir directory_;
  const std::string file_ = (directory_.path() / "wires.json").string();
};

TEST_F(Measured, wires_take_the_times_of_the_bench) {
  const auto wires = measured_wires(read_sweep(file_, "tcp", {}));
  EXPECT_EQ(wires.ranks, 2);
  EXPECT_NEAR(wires.all_reduce(1000000), 10e-3, 1e-4);
  EXPECT_NEAR(wires.processor(1000000), 2e-3, 1e-4);
}

TEST_F(Measured, results_that_say_nothing_of_the_processor_mean_all_of_it) {
  const auto wires = measured_wires(read_sweep(file_, "shm", 2));
  EXPECT_NEAR(wires.processor(1000), 1e-6, 1e-9);
}

TEST_F(Measured, says_what_there_is_when_that_is_not_one) {
  const auto said = ThrowsMessage<ConfigError>(AllOf(
      HasSubstr("wires.json"), HasSubstr("tcp with 2 ranks, shm with 2 ranks"), HasSubstr("--backend")));
  EXPECT_THAT([&] { read_sweep(file_, "", {}); }, said);
  EXPECT_THAT([&] { read_sweep(file_, "gloo", {}); }, said);
  EXPECT_THAT([&] { read_sweep(file_, "tcp", 4); }, said);
}

TEST_F(Measured, names_the_file_that_is_no_result) {
  write_file(file_, "{}");
  EXPECT_THAT([&] { read_sweep(file_, "", {}); },
              ThrowsMessage<ConfigError>(HasSubstr("wires.json: bench results")));
}

}  // namespace
}  // namespace gradwire
