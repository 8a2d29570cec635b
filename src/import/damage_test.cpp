// Every reader against files that were damaged at random: bytes changed, cut out, doubled, cut off. Nothing but a
// ConfigError may come of it. The same seeds every time.
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "import/environment.h"
#include "import/file_kind.h"
#include "import/flight_recorder.h"
#include "import/gzip_fixture.h"
#include "import/machine_reports.h"
#include "import/nccl_log.h"
#include "import/nccl_tests.h"
#include "import/profile.h"
#include "import/script.h"

namespace gradwire {
namespace {

using std::string_literals::operator""s;

std::string damaged(std::string text, std::mt19937& random) {
  const int wounds = 1 + static_cast<int>(random() % 4);
  for (int i = 0; i < wounds && !text.empty(); ++i) {
    const std::size_t at = random() % text.size(), count = 1 + random() % 20;
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text[at] = "{}[]\",:\\\n0-"[random() % 11];
        break;
      case 2:
        text.erase(at, count);
        break;
      case 3:
        text.insert(at, text.substr(at / 2, count));
        break;
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

template <typename Reader>
void expect_harmless(const std::string& whole, Reader read) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = damaged(whole, random);
    kind_of(text);
    try {
      read(text);
    } catch (const ConfigError&) {  // which is what it should be
    }
  }
}

const std::string kTrace =
    R"({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}, "deviceProperties": [{"name": "x"}], "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": "9", "ts": 1000.250, "dur": 10.5, "args": {"External id": 5,
  "Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Input Dims": [[2, [3]], []], "Input type": ["float", ""]}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 1010.125, "dur": 50, "args": {"stream": 20, "correlation": 77}}
 ], "baseTimeNanoseconds": 1700000000000000000})";

TEST(Damage, to_a_trace_is_survived) {
  const auto read = [](const std::string& text) {
    ByteSource source{std::string_view(text)};
    read_profile(source, "t.json");
  };
  expect_harmless(kTrace, read);
  expect_harmless(gzipped(kTrace), read);
}

TEST(Damage, to_a_log_is_survived) {
  expect_harmless(
      "NCCL version 2.7.8+cuda10.2\nn0:1:2 [0] NCCL INFO Channel 00/0 : 0[1a000] -> 1[1c000] [send] via "
      "NET/IB/0(1)/GDRDMA\n"
      "n0:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\nn0:1:2 [0] NCCL INFO comm 0x1 rank 0 "
      "nranks 2 cudaDev 0 busId 1000\n"
      "n0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0\nn0:1:2 [0] NCCL INFO Pattern 4, "
      "type NVL/PIX, nNodes 1\n",
      [](const std::string& text) {
        ByteSource source{std::string_view(text)};
        read_nccl_log(source, "l");
      });
}

TEST(Damage, to_dumps_reports_and_scripts_is_survived) {
  expect_harmless("\x80\x02}q\0X\x07\0\0\0entries]q\x01}(X\x06\0\0\0seq_idK\x07u\x85s."s,
                  [](const std::string& text) { parse_flight_dump(text, "d"); });
  expect_harmless(
      R"({"entries": [{"collective_seq_id": 3, "process_group": ["0", "d"], "state": "x", "input_sizes": [[1]]}]})",
      [](const std::string& text) { parse_flight_dump(text, "d3"); });
  expect_harmless(
      "GPU 0: NVIDIA (UUID: x)\n\t Link 0: 14 GB/s\n65:00.0 VGA compatible controller: "
      "NVIDIA\n\tLnkCap:\tSpeed 16GT/s, Width x16\n"
      "  1024  256  float  sum  -1  71.0  15.12  15.12  0\nNCCL_DEBUG=INFO\nimport torch  # x\n",
      [](const std::string& text) {
        parse_nvlink_status(text, "n");
        parse_lspci(text, "p");
        parse_nccl_tests(text, "t");
        parse_environment(text, "e");
        parse_script(text, "s");
      });
}

}  // namespace
}  // namespace gradwire
