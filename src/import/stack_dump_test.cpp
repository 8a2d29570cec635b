#include "import/stack_dump.h"

#include <gtest/gtest.h>

#include "import/file_kind.h"

namespace gradwire {
namespace {

const std::string kPySpy = R"(Process 811: python train.py --lr 1e-3
Python v3.11.2 (/usr/bin/python3.11)

Thread 811 (active): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2806)
    wrapper (torch/distributed/c10d_logger.py:83)
    mean_over_ranks (metrics.py:41)
    <module> (train.py:190)
Thread 902 (idle): "Thread-1"
    wait (threading.py:331)
    run (tqdm/_monitor.py:60)
Thread 903 (idle)
)";

const std::string kFaulthandler = R"(Timeout (0:05:00)!
Thread 0x00007f11aa3ff640 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait
  File "/opt/tool/monitor.py", line 60 in run

Thread 0x00007f12bb7ff640 (most recent call first):
  File "/opt/venv/torch/distributed/distributed_c10d.py", line 4159 in barrier
  File "/home/me/train.py", line 77 in <module>
)";

const std::string kGdb = R"(Thread 9 (Thread 0x7f0a5bfff700 (LWP 4242) "pt_nccl_watchdg"):
#0  0x00007f0b2a1c in pthread_cond_timedwait () from /lib/x86_64-linux-gnu/libc.so.6
#1  0x00007f0b2a2d in c10d::ProcessGroupNCCL::watchdogHandler() () from libtorch_cuda.so
#2  0x00007f0b2a3e in start_thread (arg=0x7f0a5bfff700) at pthread_create.c:463

Thread 1 (Thread 0x7f0b2b7f0740 (LWP 4201) "python"):
#0  0x00007f0b2aaa in ?? () from /lib/x86_64-linux-gnu/libcuda.so.1
#1  0x00007f0b2abb in cudaStreamSynchronize () from libcudart.so.12
#2  0x00007f0b2acc in ncclCommDestroy (comm=0x5589) at init.cc:1700
)";

TEST(StackDump, reads_what_py_spy_prints) {
  const auto dump = parse_stack_dump(kPySpy, "a.txt");
  ASSERT_EQ(dump.processes.size(), 1u);
  EXPECT_EQ(dump.processes[0].name, "process 811");
  ASSERT_EQ(dump.processes[0].threads.size(), 2u);  // one has no calls
  const DumpedThread* const at = dump.processes[0].find_place();
  ASSERT_NE(at, nullptr);
  EXPECT_EQ(at->doing, Doing::collective);
  EXPECT_EQ(at->call, "all_reduce");
  EXPECT_EQ(at->file, "torch/distributed/distributed_c10d.py");
  EXPECT_EQ(at->line, 5);
}

TEST(StackDump, reads_what_pythons_faulthandler_writes) {
  const auto dump = parse_stack_dump(kFaulthandler, "a.txt");
  ASSERT_EQ(dump.processes.size(), 1u);
  EXPECT_EQ(dump.processes[0].find_place()->call, "barrier");
  EXPECT_FALSE(dump.crashed);
  EXPECT_TRUE(parse_stack_dump("Fatal Python error: Aborted\n\n" + kFaulthandler, "a.txt").crashed);
}

TEST(StackDump, reads_backtraces_of_gdb_and_knows_threads_that_always_stand_there) {
  const auto dump = parse_stack_dump(kGdb, "a.txt");
  ASSERT_EQ(dump.processes.size(), 1u);
  ASSERT_EQ(dump.processes[0].threads.size(), 2u);
  EXPECT_EQ(dump.processes[0].threads[0].doing, Doing::service);
  EXPECT_EQ(dump.processes[0].find_place()->call, "ncclCommDestroy");
  const auto bare = parse_stack_dump(
      "#0  0x07 in read () from libc.so.6\n#1  0x08 in PMPI_Bcast () from libmpi.so.40\n", "b");
  ASSERT_EQ(bare.processes.size(), 1u);
  EXPECT_EQ(bare.processes[0].find_place()->doing, Doing::collective);
}

TEST(StackDump, reads_where_a_program_was_interrupted_and_no_error_for_it) {
  const std::string calls =
      "Traceback (most recent call last):\n  File \"train.py\", line 8, in <module>\n    dist.broadcast(x, "
      "0)\n"
      "  File \"/v/torch/distributed/distributed_c10d.py\", line 99, in broadcast\n    work.wait()\n";
  const auto stopped = parse_stack_dump(calls + "KeyboardInterrupt\n", "a");
  ASSERT_EQ(stopped.processes.size(), 1u);
  EXPECT_EQ(stopped.processes[0].find_place()->call, "broadcast");
  EXPECT_TRUE(parse_stack_dump(calls + "RuntimeError: it failed\n", "a").processes.empty());
}

TEST(StackDump, tells_processes_of_one_text_apart) {
  std::string second = kPySpy;
  second.replace(second.find("811"), 3, "812");
  const auto named = parse_stack_dump(kPySpy + second, "a");
  ASSERT_EQ(named.processes.size(), 2u);
  EXPECT_EQ(named.processes[1].name, "process 812");
  const auto threads = kPySpy.substr(kPySpy.find("Thread 811"));
  EXPECT_EQ(parse_stack_dump(threads + threads, "a").processes.size(), 2u);  // each has a main thread
}

TEST(StackDump, reads_behind_what_a_launcher_puts_before_lines) {
  const auto dump = parse_stack_dump(
      "[rank3]: Thread 0x00007f11 (most recent call first):\n[rank3]:   File "
      "\"/v/torch/distributed/rendezvous.py\", line 5 in "
      "_create_c10d_store\n",
      "a");
  ASSERT_EQ(dump.processes.size(), 1u);
  EXPECT_EQ(dump.processes[0].find_place()->doing, Doing::meeting);
}

TEST(StackDump, is_known_by_its_content_and_other_text_is_not) {
  for (const std::string& text : {kPySpy, kFaulthandler})
    EXPECT_EQ(kind_of(text), FileKind::stack_dump) << text;
  EXPECT_TRUE(looks_like_stack_dump(kGdb));
  EXPECT_EQ(kind_of(kGdb), FileKind::nccl_log);  // PyTorch's words are in it: what else it says is read too
  for (const char* text : {"Thread 3 (of 4) is done\n    step (ok)\n", "Thread pool (active)\n",
                           "#0 is the first\n#1 is next\n", "Process 17: exit 0\n", "loss (mean): 0.3\n"})
    EXPECT_FALSE(looks_like_stack_dump(text)) << text;
}

}  // namespace
}  // namespace gradwire
