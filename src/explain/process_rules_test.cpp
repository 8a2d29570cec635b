#include <fmt/format.h>
#include <gtest/gtest.h>

#include "explain/log_fixture.h"
#include "import/file_kind.h"

namespace gradwire {
namespace {

struct Row {
  int gpu, process, mebibytes;
};

std::string table_of(const std::vector<Row>& rows) {
  std::string text =
      "| NVIDIA-SMI 535.104.05   Driver Version: 535.104.05   CUDA Version: 12.2     |\n"
      "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
      "|   0  Tesla V100-SXM2...  On   | 00000000:00:16.0 Off |                    0 |\n"
      "|   1  Tesla V100-SXM2...  On   | 00000000:00:17.0 Off |                    0 |\n"
      "| Processes:                                                                  |\n"
      "|    0   N/A  N/A      1180      G   /usr/lib/xorg/Xorg                  150MiB |\n";
  for (const Row& row : rows)
    text += fmt::format("|    {}   N/A  N/A    {}      C   .../env/bin/python     {}MiB |\n", row.gpu,
                        row.process, row.mebibytes);
  return text;
}

std::string rule_of(const std::vector<Row>& rows) {
  CaseFile given;
  given.files.process_tables.push_back(parse_smi_table(table_of(rows), "smi.txt"));
  return first_rule(diagnose(given));
}

TEST(DoctorOnProcesses, finds_memory_of_one_gpus_processes_on_another) {
  EXPECT_EQ(rule_of({{0, 11, 9000}, {0, 12, 540}, {1, 12, 9000}}), "R22");
  EXPECT_EQ(rule_of({{0, 11, 9000}, {0, 12, 9000}}), "R22");
}

TEST(DoctorOnProcesses, has_nothing_against_what_nccl_maps_nor_against_others) {
  EXPECT_EQ(rule_of({{0, 11, 9000}, {0, 12, 0}, {1, 11, 0}, {1, 12, 9000}}), "");
  EXPECT_EQ(rule_of({{0, 11, 9000}, {1, 12, 8000}}), "");
  EXPECT_EQ(rule_of({{0, 11, 9000}}), "");
  EXPECT_EQ(rule_of({}), "");
}

TEST(DoctorOnProcesses, knows_the_table_of_drivers_that_had_no_mig) {
  const std::string old = table_of({}) + "|    1     22001      C   python    6003MiB |\n";
  EXPECT_EQ(kind_of(old), FileKind::smi_table);
  const SmiTable table = parse_smi_table(old, "smi.txt");
  EXPECT_EQ(table.gpus, 2);
  ASSERT_EQ(table.processes.size(), 1u);
  EXPECT_EQ(table.processes[0].gpu, 1);
  EXPECT_EQ(table.processes[0].process, 22001);
  EXPECT_EQ(table.processes[0].mebibytes, 6003);
}

}  // namespace
}  // namespace gradwire
