#include <CLI/CLI.hpp>
#include <memory>

#include "cli/flags.h"
#include "cli/verbs.h"
#include "report/page/topology.h"
#include "report/render.h"
#include "report/topo/topo.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

constexpr const char* kTopoExample = R"(
MACHINE is
  NAME                  a preset: dgx-a100, 2x-titan-rtx-pcie
                        (see gradwire list machines)
  Nx-GPU-LINK[-LAYOUT]  any GPU: 4x-rtx4090-pcie-pxb, 2x-a40-nvlink
                        (nvlink nvswitch pcie; pix pxb phb node sys)
  FILE or FILE:GPU      a saved `nvidia-smi topo -m`, NCCL's topology XML,
                        or YAML as in presets/machines.yaml
  N*MACHINE@NETWORK     several nodes: 4*dgx-h100@ndr, 8*box.yaml@8x-hdr
                        (see gradwire list networks)
  this                  the machine this runs on (the default)

Examples:
  gradwire topo
  gradwire topo 2x-rtx3090-nvlink --html box.html
  nvidia-smi topo -m > box.txt; gradwire topo --on box.txt:rtx4090
  all_reduce_perf -b 8 -e 1G -f 2 -g 2 > nccl.txt
  gradwire topo 2x-rtx3090-pcie --measured nccl.txt
)";

struct TopoFlags {
  std::string on = "this", html;
  std::vector<std::string> measured;
  std::map<std::string, std::string> nccl;  // its variables
  bool json = false;
};

int run_topo(const TopoFlags& flags) {
  Machine machine = find_machine(flags.on);
  const NcclSettings settings = nccl_settings(flags.nccl);
  apply_measured(machine, flags.measured, settings);
  Report report = machine_report(machine, settings);
  show(report, flags.json);
  if (flags.html.empty()) return 0;
  PageData page = plain_page("topo", machine.name, std::move(report));
  page.topologies.push_back(drawn_topology(machine, Loads::of_nccl, settings));
  write_html(flags.html, std::move(page));
  return 0;
}

}  // namespace

void add_topo_verb(CLI::App& app, int& exit_code) {
  auto flags = std::make_shared<TopoFlags>();
  CLI::App* verb =
      app.add_subcommand("topo", "shows devices, links and the path between every pair, with GB/s");
  verb->add_option("--on,machine", flags->on, "the machine to show, with or without --on")
      ->type_name("MACHINE");
  add_nccl_flag(*verb, flags->nccl);
  add_measured_flag(*verb, flags->measured);
  verb->add_flag("--json", flags->json, "one JSON object and nothing else");
  add_html_flag(*verb, flags->html);
  verb->footer(kTopoExample);
  verb->callback([flags, &exit_code] { exit_code = run_topo(*flags); });
}

}  // namespace gradwire
