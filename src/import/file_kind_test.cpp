// What a file is told by, and those that are read whole: environments and scripts.
#include "import/file_kind.h"

#include <gtest/gtest.h>

#include "import/environment.h"
#include "import/script.h"

namespace gradwire {
namespace {

TEST(Environment, is_read_from_env_exports_and_proc) {
  EXPECT_EQ(parse_environment("A=1\nexport NCCL_DEBUG=\"INFO\"\n# C=2\nnot a pair\n", "e")
                .variables.at("NCCL_DEBUG")
                .text,
            "INFO");
  EXPECT_EQ(parse_environment(std::string_view("A=1\0B=2\0", 8), "e").variables.at("B").text, "2");
}

TEST(Script, leaves_out_comments_and_keeps_indents) {
  const auto script = parse_script(
      "import torch  # find_unused_parameters=True\nif x:\n    a = '#' + b\n    c = d // 2\n", "s.py");
  ASSERT_EQ(script.lines.size(), 4u);
  EXPECT_FALSE(script.has("find_unused"));
  EXPECT_EQ(script.lines[2].text, "a = '#' + b");
  EXPECT_EQ(script.lines[2].indent, 4);
  EXPECT_EQ(script.lines[3].text, "c = d // 2");
}

TEST(FileKind, knows_what_people_paste_a_part_of) {
  EXPECT_EQ(kind_of("  1024  256  float  sum  -1  9.1  0.1  0.1  0\n# Out of bounds values : 0 OK\n"
                    "# Avg bus bandwidth    : 67.9\n"),
            FileKind::nccl_tests);
  EXPECT_EQ(
      kind_of(
          "CUDA_VISIBLE_DEVICES=0,1 OMP_NUM_THREADS=4 python -m torch.distributed.launch \\\n  train.py\n"),
      FileKind::script);
  EXPECT_EQ(kind_of("$ torchrun --nproc_per_node=2 train.py\n"), FileKind::script);
  EXPECT_EQ(kind_of("docker run --gpus all -e NCCL_P2P_DISABLE=1 image torchrun train.py\n"),
            FileKind::script);
  EXPECT_EQ(kind_of("docker run -it ubuntu bash\n"), FileKind::unknown);
  EXPECT_EQ(kind_of("I ran torchrun and it was slow.\n"), FileKind::unknown);
  EXPECT_EQ(
      kind_of("torchrun --nproc_per_node=2 train.py\nRuntimeError: CUDA error: invalid device ordinal\n"),
      FileKind::nccl_log);
  EXPECT_EQ(kind_of("| Processes:            |\n|  GPU  PID  Type  Process name  GPU Memory |\n"),
            FileKind::smi_table);
}

TEST(FileKind, knows_what_starts_a_run_and_what_a_run_died_of) {
  EXPECT_EQ(kind_of("#!/bin/bash\nmodule load cuda\nsrun python train.py\n"), FileKind::script);
  EXPECT_EQ(kind_of("#!/bin/sh\nls | wc -l\n"), FileKind::unknown);
  EXPECT_EQ(kind_of("FROM pytorch/pytorch\nENV NCCL_P2P_DISABLE=1\nCOPY . /app\n"), FileKind::script);
  EXPECT_EQ(kind_of("[pod/a-0/main] GPU0 GPU1\n[pod/a-0/main] GPU0 X NV4\n"), FileKind::topo_matrix);
  EXPECT_EQ(kind_of("[1, 2, {\"a\": 3}]\n"), FileKind::unknown);
  EXPECT_EQ(
      kind_of("# nThread 1 nGpus 8\nbox: Test CUDA failure common.cu:941 'system not yet initialized'\n"),
      FileKind::nccl_log);
  EXPECT_EQ(kind_of("RuntimeError: [Rank 0]: Ranks 1 failed to pass monitoredBarrier in 30000 ms\n"),
            FileKind::nccl_log);
}

TEST(FileKind, knows_scripts_by_what_they_import) {
  EXPECT_EQ(kind_of("from transformers import Trainer\nTrainer(model).train()\n"), FileKind::script);
  EXPECT_EQ(kind_of("from accelerate import Accelerator\naccelerator = Accelerator()\n"), FileKind::script);
  EXPECT_EQ(kind_of("import os\nimport lightning as L\n"), FileKind::script);
  EXPECT_EQ(kind_of("import pytorch_lightning.callbacks\n"), FileKind::script);
  EXPECT_EQ(kind_of("from transformers came much heat\nimport taxes rose\n"), FileKind::unknown);
}

TEST(FileKind, takes_no_traceback_for_the_script_that_it_quotes) {
  const std::string head =
      "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    import torch\n"
      "  File \"torch/__init__.py\", line 290, in <module>\n    from torch._C import *\n    ^^^^^^^\n";
  EXPECT_EQ(kind_of(head + "ImportError: libx.so: undefined symbol: ncclCommShrink\n"), FileKind::nccl_log);
  EXPECT_EQ(kind_of(head + "ImportError: libx.so.2: cannot open shared object file\n"), FileKind::nccl_log);
  EXPECT_EQ(kind_of("$ torchrun --nproc_per_node=2 train.py\n" + head + "ValueError: odd\n"),
            FileKind::nccl_log);
  EXPECT_EQ(kind_of("a.py:7: FutureWarning: it is old\n  from torch.cuda import amp\nstep 1 done\n"),
            FileKind::unknown);
  EXPECT_EQ(kind_of("import torch\nimport traceback\nprint(\"Traceback (most recent call last)\")\n"),
            FileKind::script);
}

TEST(FileKind, knows_what_pytorch_and_lightning_print_of_runs_that_are_well) {
  EXPECT_EQ(
      kind_of("[rank0]:[W326 ProcessGroupNCCL.cpp:1487] Warning: destroy_process_group() was not called\n"),
      FileKind::nccl_log);
  EXPECT_EQ(kind_of("Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8\n"), FileKind::nccl_log);
}

TEST(FileKind, knows_a_list_of_gpus) {
  EXPECT_EQ(kind_of("GPU 0: NVIDIA A40 (UUID: GPU-1)\nGPU 1: NVIDIA A40 (UUID: GPU-2)\n"),
            FileKind::nvlink_status);
  EXPECT_EQ(kind_of("GPU 0: NVIDIA A40 (UUID: GPU-1)\nand that is all I know\n"), FileKind::unknown);
}

TEST(FileKind, knows_last_words_launchers_and_what_accelerate_is_told) {
  EXPECT_EQ(kind_of("ValueError: sizes of 3 and 4\n"), FileKind::nccl_log);
  EXPECT_EQ(kind_of("[2026-01-02 03:04:05,678] [INFO] [launch.py:90:main] nnodes=1, num_local_procs=4\n"),
            FileKind::nccl_log);
  EXPECT_EQ(kind_of("a:1:2 [0] INFO Using 256 threads\n"), FileKind::nccl_log);
  EXPECT_EQ(kind_of("compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\n"),
            FileKind::environment);
  EXPECT_EQ(kind_of("The program says ValueError: at times.\n"), FileKind::unknown);
}

}  // namespace
}  // namespace gradwire
