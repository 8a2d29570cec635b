#include "comm/flight_recorder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/files.h"

namespace gradwire {
namespace {

Signature numbered(std::uint64_t sequence) {
  return {.sequence = sequence,
          .bytes = 4096,
          .kind = Collective::all_reduce,
          .type_and_reduction = Signature::pack(DType::f32, Reduction::sum)};
}

TEST(FlightRecorder, keeps_the_last_thousand_calls) {
  FlightRecorder recorder;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    recorder.begin(numbered(i));
    recorder.end(FlightState::completed);
  }
  for (std::uint64_t i = 2000; i < 3000; ++i) {
    EXPECT_EQ(recorder.record(i).call, numbered(i));
    EXPECT_EQ(recorder.record(i).state, FlightState::completed);
  }
}

TEST(FlightRecorder, tells_a_call_that_has_not_ended_from_one_that_failed) {
  FlightRecorder recorder;
  recorder.begin(numbered(0));
  EXPECT_EQ(recorder.record(0).state, FlightState::started);
  recorder.end(FlightState::failed);
  EXPECT_EQ(recorder.record(0).state, FlightState::failed);
  EXPECT_GE(recorder.record(0).end_ns, recorder.record(0).begin_ns);
}

TEST(FlightRecorder, leaves_its_file_behind_whatever_becomes_of_the_process) {
  const TempDir folder;
  const pid_t child = ::fork();
  if (child == 0) {
    FlightRecorder recorder(folder.path(), 3, 4, "shm");
    recorder.begin(numbered(5));
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const auto bytes = read_file(folder.path() / "flight_rank3_0.bin");
  ASSERT_EQ(bytes.size(), sizeof(FlightHead) + FlightRecorder::kKept * sizeof(FlightRecord));
  FlightRecord record;
  std::memcpy(&record, bytes.data() + sizeof(FlightHead), sizeof record);
  EXPECT_EQ(record.call, numbered(5));
  EXPECT_EQ(record.state, FlightState::started);
}

TEST(FlightRecorder, numbers_the_communicators_of_a_rank) {
  const TempDir folder;
  const FlightRecorder first(folder.path(), 0, 2, "shm"), second(folder.path(), 0, 2, "tcp");
  EXPECT_EQ(first.file().filename(), "flight_rank0_0.bin");
  EXPECT_EQ(second.file().filename(), "flight_rank0_1.bin");
}

// As it would have none on a disk that is full: then a write to mapped memory ends the process.
TEST(FlightRecorder, records_in_memory_where_a_file_has_no_room) {
  const TempDir folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit little{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &little);
    FlightRecorder recorder(folder.path(), 0, 2, "shm");
    recorder.begin(numbered(1));
    ::_exit(recorder.file().empty() && recorder.record(0).call == numbered(1) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FlightRecorder, records_in_memory_where_no_file_can_be_made) {
  FlightRecorder recorder("/nowhere/at/all", 0, 2, "shm");
  recorder.begin(numbered(1));
  EXPECT_TRUE(recorder.file().empty());
  EXPECT_EQ(recorder.record(0).state, FlightState::started);
}

}  // namespace
}  // namespace gradwire
