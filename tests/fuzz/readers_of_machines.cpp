#include <fmt/format.h>

#include "fuzz/readers.h"
#include "import/link_types.h"
#include "import/machine_reports.h"
#include "import/measured.h"
#include "import/nccl_tests.h"
#include "import/smi_table.h"
#include "predict/backends/backends.h"
#include "predict/parallel/constants.h"
#include "predict/records/read.h"
#include "predict/workload/catalog.h"
#include "sim/sweep.h"
#include "topo/import/machine_file.h"
#include "topo/import/nccl_xml.h"

namespace gradwire {
namespace {

const std::string kMatrix =
    "\tGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV4\tNODE\tPIX\t0-7\t0\n"
    "GPU1\tNV4\t X \tNODE\tPXB\t0-7\t0\nGPU2\tNODE\tNODE\t X \tNODE\t0-7\t0\nNIC0\tPIX\tPXB\tNODE\t X \n";

const std::string kMachine =
    "id: box\ngpu: rtx3090\ngpus: 4\nintra: nvlink-pairs\ncpu: epyc-rome\n"
    "pcie: {gpus_per_switch: 2, gpus_per_socket: 4, slot_widths: [16, 8]}\nnvlinks: [[0, 1, 4]]\n"
    "network: {kind: roce, gbit: 100, cards: 2, rails: true}\np2p: false\n";

const std::string kXml =
    R"(<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="85">
<pci busid="0000:16:00.0" class="0x060400" link_speed="8.0 GT/s PCIe" link_width="16">
<pci busid="0000:17:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="70">
<nvlink target="0000:18:00.0" count="2" tclass="0x030200"/></gpu></pci>
<pci busid="0000:18:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="70"/></pci>
<pci busid="0000:19:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0" speed="100000"/></nic></pci>
</pci></cpu></system>)";

const std::string kModel =
    "name: two\nbatch: 8\nlayers:\n  - {name: a, kind: convolution, flops: 1e6, tensors: [100, 10], repeat: "
    "3}\n"
    "  - {name: b, tensors: [50]}\n";

const std::string kTransformer =
    "name: small\nsequence: 64\ntransformer: {layers: 2, hidden: 64, heads: 4, vocab: 1000, mlp_matrices: 3, "
    "tied: false}\n";

const std::string kRocmLinks =
    "==== Link Type between two GPUs ====\n       GPU0   GPU1   GPU2\nGPU0   0      XGMI   PCIE\n"
    "GPU1   XGMI   0      PCIE\nGPU2   PCIE   PCIE   0\n==== Numa Nodes ====\n";

const std::string kAmdLinks =
    "LINK TYPE TABLE:\n             0000:05:00.0 0000:26:00.0\n0000:05:00.0 SELF         XGMI\n"
    "0000:26:00.0 XGMI         SELF\n\nNUMA BW TABLE:\n";

const std::string kSmiQuery =
    "==============NVSMI LOG==============\n\nGPU 00000000:01:00.0\n    Product Name     : NVIDIA GeForce "
    "RTX 4090\n"
    "        GPU Link Info\n            PCIe Generation\n                Max      : 4\n                "
    "Current  : 1\n"
    "            Link Width\n                Max      : 16x\n                Current  : 8x\n";

const std::string kPci =
    "65:00.0 VGA compatible controller: NVIDIA\n\tLnkCap:\tSpeed 16GT/s, Width x16\n\tLnkSta:\tSpeed 16GT/s, "
    "Width x8\n"
    "\tACSCtl:\tSrcValid+ ReqRedir+ CmpltRedir+\n";

const std::string kTable =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
    "        1024           256     float     sum      -1     71.0    0.01    0.02      0\n"
    "     1048576        262144     float     sum      -1    101.5   10.33   15.12      0\n";

const std::string kInspector =
    R"({"header": {"rank": 0, "n_ranks": 8}, "coll_perf": {"coll": "AllReduce", "coll_msg_size_bytes": 1048576, )"
    R"("coll_exec_time_us": 100, "coll_busbw_gbs": 18.3}})"
    "\nnot json\n";

const std::string kRates =
    "P2P Connectivity Matrix\n     D\\D     0     1\n     0\t     1     1\n     1\t     1     1\n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     0 833.34  "
    "52.75\n"
    "     1  52.85 836.01\n";

const std::string kBench = R"({"rows": [
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 1024, "time_us": 15.5},
  {"backend": "tcp", "collective": "all_reduce", "ranks": 2, "bytes": 4096, "time_us": 20}]})";

const std::string kCollectiveRecords =
    R"({"kind":"collective","id":"a","source":"s","platform":"p","group":"g","gpu":"a40","machine":{"intra":"nvlink-pairs",)"
    R"("nvlink_gen":3,"nvlink_links_per_gpu":4,"nvlink_links_per_pair":4,"p2p":null,"pcie_gen":4,"pcie_width":16,"cpu":null,)"
    R"("topo_matrix":null,"gpu_indices":null,"network":null},"quality":"ok","notes":"","collective":"all_reduce",)"
    R"("dtype":"float32","nodes":1,"gpus_per_node":2,"env":{},"nccl_version":null,"tool":"nccl-tests",)"
    R"("rows":[{"bytes":1024,"time_us":10.5},{"bytes":2048,"time_us":11,"peak":true}]})"
    "\n";

const std::string kTrainingRecords =
    R"({"kind":"training","id":"t","source":"s","platform":"p","group":"g","gpu":null,"machine":{"intra":null},)"
    R"("quality":"weak","notes":"","model":"gpt2","parameters":124000000,"gradient_dtype":"float32","batch_per_gpu":4,)"
    R"("sequence_length":1024,"precision":null,"optimizer":null,"framework":null,"distribution":"ddp","overlap":true,)"
    R"("bucket_bytes":26214400,"sample":"sequence","metric":"samples_per_s","values":[)"
    R"({"nodes":1,"gpus":1,"link":"default","accumulate":1,"samples_per_s":5,"anchor":true},)"
    R"({"nodes":1,"gpus":2,"link":"no-p2p","accumulate":1,"samples_per_s":8,"network":{"kind":"efa","gbit_per_nic":100}}]})"
    "\n";

std::string parallel_constants() {
  std::string yaml = "error_given: 0.06\nerror_alone: 0.12\nconstants:\n";
  for (int i = 0; i < kParallelConstants; ++i)
    yaml += fmt::format("  - {{name: {}, value: 0.8, prior: 0.75, spread: 0.2, source: \"s\"}}\n",
                        name_of(static_cast<ParallelConstant>(i)));
  return yaml;
}

void build_all_in(std::string_view text) {
  for (const MachinePreset& preset : parse_machines(text, "m.yaml")) build_machine(preset.node);
}

}  // namespace

std::vector<Reader> readers_of_machines() {
  return {{"machine", build_all_in, {kMachine}},
          {"matrix",
           [](std::string_view text) { build_machine(node_from_matrix(text, "m.txt", "").node); },
           {kMatrix}},
          {"xml", [](std::string_view text) { machine_from_xml(text, "m.xml", {}); }, {kXml}},
          {"model",
           [](std::string_view text) { parse_model(text, "m.yaml"); },
           {kModel, "{name: mine, parameters: 124e6, family: transformer}"}},
          {"transformer", [](std::string_view text) { parse_transformer(text, "m.yaml"); }, {kTransformer}},
          {"parallel_model",
           [](std::string_view text) { parse_parallel_model(text, "p.yaml"); },
           {parallel_constants()}},
          {"link_types", [](std::string_view text) { parse_link_types(text, "l"); }, {kRocmLinks, kAmdLinks}},
          {"records",
           [](std::string_view text) { parse_records(text, "r.jsonl"); },
           {kCollectiveRecords, kTrainingRecords}},
          {"bench", [](std::string_view text) { read_sweeps(text); }, {kBench}},
          {"costs",
           [](std::string_view text) { backend_cost_from_bench(text, Backend::tcp, "c.json"); },
           {kBench}},
          {"rates", [](std::string_view text) { parse_rate_tables(text); }, {kRates}},
          {"sizes",
           [](std::string_view text) { parse_size_table(text, "s.txt"); },
           {"# bytes  us\n1048576 93.5\n16M 936\n", "size,ms\n1048576,1.5\n"}},
          {"nccl_tests", [](std::string_view text) { parse_nccl_tests(text, "t"); }, {kTable}},
          {"inspector", [](std::string_view text) { parse_inspector(text, "i"); }, {kInspector}},
          {"nvlink_status",
           [](std::string_view text) { parse_nvlink_status(text, "n"); },
           {"GPU 0: NVIDIA (UUID: x)\n\t Link 0: 14 GB/s\n\t Link 1: <inactive>\n"}},
          {"peer_status",
           [](std::string_view text) { parse_peer_status(text, "p"); },
           {"\tGPU0\tGPU1\n GPU0\tX\tCNS\n GPU1\tOK\tX\n\nLegend:\n\n  X    = Self\n"}},
          {"smi_table",
           [](std::string_view text) { parse_smi_table(text, "t"); },
           {"|   0  Tesla V100-SXM2...  On   | 00000000:00:16.0 Off |\n|    0   N/A  N/A    11      C   "
            "python     "
            "1733MiB |\n|    0     12      C   python     0MiB |\n"}},
          {"smi_query", [](std::string_view text) { parse_smi_query(text, "q"); }, {kSmiQuery}},
          {"smi_csv",
           [](std::string_view text) { parse_smi_csv(text, "q"); },
           {"$ nvidia-smi --query-gpu=index,name,pcie.link.width.current --format=csv\nindex, name, "
            "pcie.link.width.current\n0, NVIDIA A40, 16\n"}},
          {"peer_test",
           [](std::string_view text) { parse_peer_test(text, "p"); },
           {"Device: 0, NVIDIA A40, pciBusID: 1b\nDevice=0 CANNOT Access Peer Device=1\n",
            "> Peer access from NVIDIA A40 (GPU0) -> NVIDIA A40 (GPU1) : No\n"}},
          {"lspci", [](std::string_view text) { parse_lspci(text, "p"); }, {kPci}}};
}

}  // namespace gradwire
