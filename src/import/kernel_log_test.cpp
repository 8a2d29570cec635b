#include "import/kernel_log.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "import/file_kind.h"
#include "import/read_all.h"

namespace gradwire {
namespace {

const std::string kBooted =
    "[    0.000000] Linux version 6.1.0-28-amd64 (gcc-12) #1 SMP\n"
    "[    0.000000] Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet\n"
    "[    8.120034] nvidia 0000:3b:00.0: enabling device (0000 -> 0003)\n"
    "[    8.410200] NVRM: loading NVIDIA UNIX x86_64 Kernel Module  550.54.15\n";

TEST(KernelLog, is_known_by_its_words_and_by_its_stamps) {
  EXPECT_EQ(kind_of(kBooted), FileKind::nccl_log);
  EXPECT_TRUE(looks_like_kernel_log("Nov 18 02:29:38 box kernel: Linux version 6.8.0-45-generic\n"));
  EXPECT_TRUE(looks_like_kernel_log("[  912.600123] mlx5_core 0000:5e:00.0: Port module event: plugged\n"));
  EXPECT_TRUE(looks_like_kernel_log("Nov 18 02:31:02 box kernel: mlx5_core 0000:5e:00.0: Port down\n"));
  EXPECT_TRUE(looks_like_kernel_log("[  +0.000204] pcieport 0000:00:01.0: AER: Corrected error received\n"));
  EXPECT_TRUE(looks_like_kernel_log("[Tue Mar  4 09:08:07 2025] usb 1-2: new device\n"));
  EXPECT_FALSE(looks_like_kernel_log("[rank0]: epoch 1\n[2026-11-18 02:29] epoch 2\n[12.5] loss\n"));
  EXPECT_FALSE(looks_like_kernel_log("[    2.480] (II) LoadModule: \"glx\"\n[]\n[\n"));
}

TEST(KernelLog, is_read_where_nothing_in_it_is_wrong) {
  const TempDir folder;
  const auto file = folder.path() / "dmesg.txt";
  write_file(file, kBooted);
  const Gathered gathered = read_all({file.string()});
  EXPECT_EQ(gathered.files.at(0).problem, "");
  ASSERT_EQ(gathered.logs.size(), 1u);
  EXPECT_TRUE(gathered.logs[0].of_kernel);
  EXPECT_TRUE(gathered.logs[0].failures.empty());
}

}  // namespace
}  // namespace gradwire
