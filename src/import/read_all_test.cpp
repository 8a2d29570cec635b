#include "import/read_all.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace gradwire {
namespace {

std::string lines_of_training(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "epoch 1 step " + std::to_string(i) + " loss 0.3\n";
  return text;
}

TEST(ReadAll, finds_what_a_run_died_of_at_the_end_of_a_long_output) {
  const TempDir folder;
  const auto file = folder.path() / "train.out";
  write_file(
      file,
      lines_of_training(40000) +
          "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=49, OpType=ALLREDUCE)\n");
  const Gathered gathered = read_all({file.string()});
  EXPECT_EQ(gathered.files.at(0).kind, FileKind::nccl_log);
  EXPECT_EQ(gathered.logs.at(0).failures.at(0).line, 40001);
}

TEST(ReadAll, says_that_a_long_text_is_of_no_kind_it_knows) {
  const TempDir folder;
  const auto file = folder.path() / "train.out";
  write_file(file, lines_of_training(40000));
  EXPECT_NE(read_all({file.string()}).files.at(0).problem.find("text of no kind"), std::string::npos);
}

TEST(ReadAll, reads_what_is_there_where_another_file_is_missing) {
  const TempDir folder;
  const auto file = folder.path() / "topo.txt", missing = folder.path() / "none.log";
  write_file(file, "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n");
  const Gathered gathered = read_all({missing.string(), file.string()});
  EXPECT_EQ(gathered.matrices.size(), 1u);
  EXPECT_NE(gathered.files.at(0).problem.find("No such file"), std::string::npos)
      << gathered.files[0].problem;
}

TEST(ReadAll, reads_every_report_of_a_text_that_holds_several) {
  const TempDir folder;
  const auto file = folder.path() / "machine.txt";
  write_file(
      file,
      "$ nvidia-smi topo -m\n\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"
      "$ nvidia-smi nvlink -s\nGPU 0: NVIDIA RTX A6000 (UUID: GPU-a)\n\t Link 0: 14.062 GB/s\n"
      "$ nvidia-smi topo -p2p r\n \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n"
      "==============NVSMI LOG==============\nGPU 00000000:18:00.0\n    Link Width\n        Max : 16x\n");
  const Gathered gathered = read_all({file.string()});
  EXPECT_EQ(gathered.files.at(0).problem, "");
  EXPECT_EQ(gathered.matrices.size(), 1u);
  EXPECT_EQ(gathered.peers.size(), 1u);
  ASSERT_EQ(gathered.nvlinks.size(), 1u);
  ASSERT_EQ(gathered.nvlinks[0].gpus.size(), 1u);  // the headings of another report are no GPUs of this one
  EXPECT_EQ(gathered.nvlinks[0].gpus[0].active, 1);
  ASSERT_EQ(gathered.pci.size(), 1u);
  EXPECT_EQ(gathered.pci[0].devices.size(), 1u);
}

std::string trace_of(int rank, int world) {
  return R"({"distributedInfo": {"backend": "nccl", "rank": )" + std::to_string(rank) +
         R"(, "world_size": )" + std::to_string(world) +
         R"(}, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]})";
}

TEST(ReadAll, keeps_to_the_traces_of_one_run_and_says_which_it_left_out) {
  const TempDir folder;
  write_file(folder.path() / "a0.json", trace_of(0, 16));
  write_file(folder.path() / "b0.json", trace_of(0, 2));
  write_file(folder.path() / "b1.json", trace_of(1, 2));
  const Gathered gathered = read_all({folder.path().string()});
  ASSERT_EQ(gathered.profiles.size(), 2u);
  EXPECT_EQ(gathered.profiles[0].world, 2);
  const auto notes = left_out_notes(gathered);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0], "left out: " + (folder.path() / "a0.json").string() +
                          ": this trace is of a run of 16 ranks, not of the one of 2");
}

TEST(ReadAll, says_that_nothing_was_recorded_in_a_trace_without_events) {
  const TempDir folder;
  for (const char* text : {"[]", " [ ]\n", "{}", R"({"traceEvents": []})"}) {
    write_file(folder.path() / "t.json", text);
    const Gathered gathered = read_all({(folder.path() / "t.json").string()});
    EXPECT_NE(gathered.files.at(0).problem.find("nothing of a run was recorded"), std::string::npos) << text;
  }
}

TEST(ReadAll, says_that_a_topology_is_cut_off) {
  const TempDir folder;
  const auto file = folder.path() / "topo.xml";
  write_file(file, "<system version=\"1\"><cpu numaid=\"0\">");
  const Gathered gathered = read_all({file.string()});
  EXPECT_NE(gathered.files.at(0).problem.find("not whole XML"), std::string::npos);
  EXPECT_TRUE(gathered.machines.empty());
}

}  // namespace
}  // namespace gradwire
