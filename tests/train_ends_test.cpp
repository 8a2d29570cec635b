// How `gradwire train` ends when something goes wrong or somebody ends it, and how it goes on.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/deadline.h"
#include "base/files.h"
#include "trace/breakdown.h"
#include "train_session.h"

namespace gradwire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// The ranks that a launcher has started; it also has a guard, which is as it is itself.
std::vector<int> ranks_of(int launcher) {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", launcher));
  std::vector<int> ranks;
  for (int child = 0; children >> child;) {
    std::error_code gone;
    const auto program = std::filesystem::read_symlink(fmt::format("/proc/{}/exe", child), gone);
    if (program.filename() == "gradwire-train") ranks.push_back(child);
  }
  return ranks;
}

TEST(TrainEnds, names_a_rank_that_dies_and_fails) {
  auto run = gradwire_train({"mlp", "-n", "2", "--steps", "1000000", "--batch", "4"});
  run.expect("step 1 of");
  const auto ranks = ranks_of(run.pid());
  ASSERT_EQ(ranks.size(), 2u);
  ::kill(ranks[1], SIGKILL);
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(),
              AllOf(HasSubstr("rank 1 was killed by SIGKILL"), HasSubstr("gradwire train: rank 0: ")));
}

// Where files may have so many KiB.
Session train_with_little_room(int kib, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"/bin/bash", "-c", fmt::format(R"(ulimit -f {}; exec "$0" "$@")", kib),
                                       GRADWIRE_PROGRAM, "train", "convnet", "-n", "2", "--batch", "4"});
  return Session(std::move(arguments));
}

const auto kReport = AllOf(HasSubstr("B  backward"), HasSubstr("samples/s; where a median step"));

// The report stays although the last checkpoint finds no room: 9 MB where files may have 8. Over MPI too, where the first rank
// that fails has all others ended.
TEST(TrainEnds, says_what_was_learnt_though_the_last_checkpoint_finds_no_room) {
  for (const char* backend : {"shm", "mpi"}) {
    const TempDir directory;
    const auto checkpoint = (directory.path() / "c.ckpt").string();
    auto run =
        train_with_little_room(8000, {"--steps", "3", "--checkpoint", checkpoint, "--backend", backend});
    EXPECT_EQ(run.finish(), 1) << run.text();
    EXPECT_THAT(run.text(), AllOf(kReport, HasSubstr("c.ckpt could not be written after the last step"),
                                  HasSubstr("File too large"),
                                  HasSubstr("c.ckpt was not written yet, so the same command")));
    EXPECT_FALSE(std::filesystem::exists(checkpoint));
  }
}

// All is learnt: to train once more would bring no more room, and nothing is left to go on with.
TEST(TrainEnds, does_not_start_again_for_a_trace_that_finds_no_room) {
  const TempDir directory;
  const auto trace = (directory.path() / "t.json").string();
  auto run = train_with_little_room(
      16, {"--steps", "20", "--trace", trace, "--backend", "tcp", "--max-restarts", "1"});
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(), AllOf(kReport, HasSubstr("t.json could not be written"),
                                HasSubstr("File too large"), Not(HasSubstr("restart 1 of 1")),
                                Not(HasSubstr("the same command")), Not(HasSubstr("rank 1"))));
  EXPECT_FALSE(std::filesystem::exists(trace));
}

// A link that leads nowhere: found only when the trace is written. The checkpoint was, and the run is not started again.
TEST(TrainEnds, says_what_was_learnt_though_the_trace_has_no_place) {
  const TempDir directory;
  const auto checkpoint = directory.path() / "c.ckpt", trace = directory.path() / "t.json";
  std::filesystem::create_symlink("/nonesuch/t.json", trace);
  auto run = gradwire_train({"convnet", "-n", "2", "--steps", "3", "--batch", "4", "--checkpoint",
                             checkpoint.string(), "--trace", trace.string(), "--max-restarts", "1"});
  EXPECT_EQ(run.finish(), 2) << run.text();
  EXPECT_THAT(run.text(), AllOf(kReport, HasSubstr("t.json could not be written"), HasSubstr("/nonesuch"),
                                Not(HasSubstr("restart 1 of 1")), Not(HasSubstr("go on from"))));
  EXPECT_TRUE(std::filesystem::exists(checkpoint));
}

TEST(TrainEnds, says_how_to_go_on_after_a_failure) {
  const TempDir directory;
  const auto file = directory.path() / "c d.ckpt";
  auto run = gradwire_train({"convnet", "-n", "2", "--steps", "1000000", "--batch", "4", "--checkpoint",
                             file.string(), "--checkpoint-every", "1"});
  const auto deadline = Deadline::after(60);
  while (!std::filesystem::exists(file) && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(ranks_of(run.pid()).at(1), SIGKILL);
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(),
              AllOf(HasSubstr("is there to go on from"),
                    HasSubstr(fmt::format("--checkpoint-every 1 --resume '{}'\n", file.string()))));
}

// Ctrl-C and SIGTERM: the step is finished, everything is written, and what was kept is what an undisturbed
// run has at that step.
void expect_a_good_end(int signal, bool to_one_rank) {
  const TempDir directory;
  const auto checkpoint = (directory.path() / "c.ckpt").string(),
             trace = (directory.path() / "t.json").string();
  auto run = gradwire_train({"convnet", "-n", "2", "--steps", "1000000", "--batch", "4", "--checkpoint",
                             checkpoint, "--trace", trace});
  run.expect("step 1 of");
  if (to_one_rank)
    ::kill(ranks_of(run.pid()).at(1), signal);
  else
    run.signal(signal);
  EXPECT_EQ(run.finish(), 128 + signal) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("ended by SIG"), HasSubstr("before step "),
                                HasSubstr("B  backward"), HasSubstr("checkpoint: ")));
  if (!to_one_rank) {
    EXPECT_THAT(run.text(), AllOf(HasSubstr("ended as asked, by SIG"), Not(HasSubstr("exited with code"))));
  }
  const int steps = static_cast<int>(step_parts(read_timeline(trace)).size()) / 2;
  const auto next = std::to_string(steps + 1);
  const auto resumed =
      run_json({"convnet", "-n", "2", "--steps", next, "--batch", "4", "--resume", checkpoint});
  EXPECT_EQ(resumed.at("first_step"), steps);
  const auto whole = run_json({"convnet", "-n", "2", "--steps", next, "--batch", "4"});
  EXPECT_EQ(resumed.at("loss_last"), whole.at("loss_last"));
}

TEST(TrainEnds, ends_well_when_it_is_interrupted) { expect_a_good_end(SIGINT, false); }
TEST(TrainEnds, ends_well_when_it_is_told_to_end) { expect_a_good_end(SIGTERM, false); }
TEST(TrainEnds, ends_well_when_one_rank_is_told_to_end) { expect_a_good_end(SIGTERM, true); }

// Kills a rank once there is a checkpoint, and gives the JSON that the run printed in the end.
json run_with_a_killed_rank(const std::vector<std::string>& arguments,
                            const std::filesystem::path& checkpoint, std::string& text) {
  auto run = gradwire_train(arguments);
  const auto deadline = Deadline::after(60);
  while (!std::filesystem::exists(checkpoint) && !deadline.passed())
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto ranks = ranks_of(run.pid());
  EXPECT_EQ(ranks.size(), 2u);
  if (ranks.size() == 2) ::kill(ranks[1], SIGKILL);
  EXPECT_EQ(run.finish(), 0) << run.text();
  text = run.text();
  const auto brace = text.find("\n{");
  return brace == std::string::npos ? json::object() : json::parse(text.substr(brace), nullptr, false);
}

TEST(TrainEnds, goes_on_from_the_newest_checkpoint_after_a_failure_to_the_same_losses) {
  const TempDir directory;
  const auto file = directory.path() / "c.ckpt";
  const std::vector<std::string> arguments = {"convnet", "-n", "2", "--steps", "40", "--batch", "4"};
  const auto whole = run_json(arguments).at("losses");
  auto restarted = arguments;
  restarted.insert(restarted.end(), {"--checkpoint", file.string(), "--checkpoint-every", "4",
                                     "--max-restarts", "1", "--json"});
  std::string text;
  const auto result = run_with_a_killed_rank(restarted, file, text);
  EXPECT_THAT(text, AllOf(HasSubstr("rank 1 was killed by SIGKILL"), HasSubstr("restart 1 of 1"),
                          HasSubstr("gradwire train: resuming from step ")));
  const int first = result.value("first_step", 0);
  EXPECT_GE(first, 4);
  EXPECT_EQ(first % 4, 0);
  EXPECT_EQ(result.value("losses", json::array()),
            json(std::vector<json>(whole.begin() + first, whole.end())))
      << "dropout included";
}

// It counts the steps since it last changed.
TEST(TrainEnds, goes_on_with_the_scale_of_an_fp16_loss) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const auto train = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"convnet", "-n", "2", "--batch", "4", "--precision", "fp16"});
    EXPECT_EQ(run_json(std::move(more)).value("skipped_steps", -1), 0);
    return read_file(file);
  };
  EXPECT_THAT(train({"--steps", "2", "--checkpoint", file}), HasSubstr(R"("gradwire.loss_scale":"65536 2")"));
  EXPECT_THAT(train({"--steps", "5", "--resume", file, "--checkpoint", file}),
              HasSubstr(R"("gradwire.loss_scale":"65536 5")"));
}

TEST(TrainEnds, starts_over_after_a_failure_where_nothing_was_kept) {
  auto run = gradwire_train({"mlp", "-n", "2", "--steps", "8", "--batch", "4", "--max-restarts", "1"});
  run.expect("step 1 of");
  ::kill(ranks_of(run.pid()).at(0), SIGKILL);
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(),
              HasSubstr("gradwire train: starting over from step 0: without --checkpoint nothing was kept"));
}

// A descriptor that nobody opened must not become a socket into which the report goes.
TEST(TrainEnds, says_at_once_that_there_is_no_standard_output) {
  Session run({"/bin/bash", "-c", R"(exec "$0" train mlp -n 2 --steps 2 --batch 4 >&-)", GRADWIRE_PROGRAM});
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("writing the output: Bad file descriptor"));
}

}  // namespace
}  // namespace gradwire
