// What a training script does that costs time on several GPUs, or breaks there.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

std::string at_line(const ScriptFile& script, const ScriptLine& line) {
  return line_of_file(script.file, line.number, line.text.substr(0, 100));
}

Finding script_finding(const char* rule, Severity severity, const ScriptFile& script,
                       const ScriptLine& line) {
  Finding finding;
  finding.rule = rule;
  finding.severity = severity;
  finding.sure = Certainty::likely;
  finding.evidence = at_line(script, line);
  return finding;
}

bool distributes(const ScriptFile& script) {
  return script.has("DistributedDataParallel") || script.has("DDP(");
}
bool uses_gpus(const ScriptFile& script) { return script.has("cuda"); }

void check_unused_parameters(const ScriptFile& script, std::vector<Finding>& findings) {
  const ScriptLine* line = script.find("find_unused_parameters=True");
  if (line == nullptr) return;
  Finding finding = script_finding("R25", Severity::medium, script, *line);
  finding.what =
      "find_unused_parameters=True walks the whole graph every step and delays the first all-reduce; it is "
      "needed only where parameters "
      "get no gradient";
  finding.fix = "find_unused_parameters=False; if that fails, static_graph=True, or the parameters it names";
  findings.push_back(std::move(finding));
}

// Every step of the optimizer is several backwards, and nothing keeps the gradients at home meanwhile.
void check_accumulation(const ScriptFile& script, std::vector<Finding>& findings) {
  if (!distributes(script) || script.has("no_sync") || script.has("require_backward_grad_sync") ||
      script.has("accelerator.accumulate"))
    return;
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& one) {
    return one.text.find('%') != std::string::npos && one.text.starts_with("if ") &&
           (one.text.find("accum") != std::string::npos || one.text.find("grad_acc") != std::string::npos);
  });
  if (line == script.lines.end()) return;
  Finding finding = script_finding("R26", Severity::high, script, *line);
  finding.what =
      "gradients are accumulated over several backwards, and each of them all-reduces: only the last needs "
      "to";
  finding.fix = "with model.no_sync() if not last else nullcontext():  # around forward and backward both";
  findings.push_back(std::move(finding));
}

// no_sync() takes effect in forward; around backward alone it does nothing.
void check_no_sync_block(const ScriptFile& script, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const ScriptLine& with = script.lines[i];
    if (!with.text.starts_with("with ") || with.text.find(".no_sync()") == std::string::npos) continue;
    bool backward = false, forward = false;
    for (std::size_t j = i + 1; j < script.lines.size() && script.lines[j].indent > with.indent; ++j) {
      const std::string& text = script.lines[j].text;
      backward = backward || text.find(".backward(") != std::string::npos;
      forward = forward || (text.find('=') != std::string::npos && text.find('(') != std::string::npos) ||
                text.find("step(") != std::string::npos;
    }
    if (!backward || forward) continue;
    Finding finding = script_finding("R26", Severity::high, script, with);
    finding.what =
        "no_sync() around backward alone does nothing: forward decides whether gradients are all-reduced";
    finding.fix = "put the forward pass inside the with block too";
    findings.push_back(std::move(finding));
  }
}

void check_device(const ScriptFile& script, std::vector<Finding>& findings) {
  if (!distributes(script) || !uses_gpus(script)) return;
  const bool placed = script.has("set_device") || script.has("device_ids=") || script.has("LOCAL_RANK") ||
                      script.has("local_rank") || script.has("Accelerator(") || script.has("device_mesh");
  const ScriptLine* fixed = nullptr;
  for (const char* part : {"\"cuda:0\"", "'cuda:0'", ".cuda(0)", ".cuda()", ".to(\"cuda\")", ".to('cuda')"})
    if (fixed == nullptr) fixed = script.find(part);
  if (fixed == nullptr || placed) return;
  Finding finding = script_finding("R22", Severity::high, script, *fixed);
  finding.what =
      "every rank puts its model on the same GPU: nothing in the script chooses a device by LOCAL_RANK";
  finding.fix = "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # first thing in every rank";
  findings.push_back(std::move(finding));
}

void check_device_count(const ScriptFile& script, std::vector<Finding>& findings) {
  const ScriptLine* line = script.find("% torch.cuda.device_count()");
  if (line == nullptr || script.has("LOCAL_RANK")) return;
  Finding finding = script_finding("R23", Severity::low, script, *line);
  finding.what =
      "rank % device_count() takes the wrong GPU where a node runs fewer processes than it has GPUs";
  finding.fix = "int(os.environ[\"LOCAL_RANK\"])";
  findings.push_back(std::move(finding));
}

void check_loading(const ScriptFile& script, std::vector<Finding>& findings) {
  const ScriptLine* line = script.find("torch.load(");
  if (line == nullptr || !distributes(script) || !uses_gpus(script) ||
      line->text.find("map_location") != std::string::npos)
    return;
  Finding finding = script_finding("R22", Severity::low, script, *line);
  finding.what = "torch.load() without map_location puts every rank's copy on the GPU it was saved from";
  finding.fix = "torch.load(path, map_location=f\"cuda:{local_rank}\")";
  findings.push_back(std::move(finding));
}

void check_backend(const ScriptFile& script, std::vector<Finding>& findings) {
  const ScriptLine* line = script.find("init_process_group(\"gloo\"");
  for (const char* part : {"init_process_group('gloo'", "backend=\"gloo\"", "backend='gloo'"})
    if (line == nullptr) line = script.find(part);
  if (line == nullptr || !uses_gpus(script) || script.has("nccl")) return;
  Finding finding = script_finding("R32", Severity::high, script, *line);
  finding.what = "gloo copies the gradients of GPUs through host memory and sockets";
  finding.fix = "torch.distributed.init_process_group(\"nccl\")";
  findings.push_back(std::move(finding));
}

void check_variables_in_code(const ScriptFile& script, std::vector<Finding>& findings) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& one) {
    return one.text.find("NCCL_P2P_DISABLE") != std::string::npos &&
           one.text.find("environ") != std::string::npos && one.text.find('1') != std::string::npos;
  });
  if (line == script.lines.end()) return;
  Finding finding = script_finding("R06", Severity::high, script, *line);
  finding.sure = Certainty::certain;
  finding.what =
      "NCCL_P2P_DISABLE=1 keeps GPUs from reaching each other: neither NVLink nor PCIe peer access is used";
  finding.turns_peers_off = true;
  finding.fix = "remove the line";
  findings.push_back(std::move(finding));
}

void hint_at_buckets_and_input(const ScriptFile& script, std::vector<Finding>& hints) {
  if (const ScriptLine* line = script.find("bucket_cap_mb=")) {
    const auto at = line->text.find("bucket_cap_mb=") + 14;
    const auto digits = std::string_view(line->text).substr(at);
    const auto size = find_integer<int>(digits.substr(0, digits.find_first_not_of("0123456789")));
    if (size && *size < 5) {
      Finding hint = script_finding("R24", Severity::medium, script, *line);
      hint.what = fmt::format("buckets of {} MB are so small that each all-reduce is mostly latency", *size);
      hint.fix = "bucket_cap_mb=25, or more on fast links";
      hints.push_back(std::move(hint));
    }
  }
  const ScriptLine* loader = script.find("DataLoader(");
  if (loader != nullptr && !script.has("num_workers")) {
    Finding hint = script_finding("R41", Severity::low, script, *loader);
    hint.what = "a DataLoader without num_workers makes each batch in the loop itself, while the GPU waits";
    hint.fix = "DataLoader(..., num_workers=4, pin_memory=True, persistent_workers=True)";
    hints.push_back(std::move(hint));
  }
}

}  // namespace

void add_script_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const ScriptFile& script : given.files.scripts) {
    check_unused_parameters(script, diagnosis.findings);
    check_accumulation(script, diagnosis.findings);
    check_no_sync_block(script, diagnosis.findings);
    check_device(script, diagnosis.findings);
    check_device_count(script, diagnosis.findings);
    check_loading(script, diagnosis.findings);
    check_backend(script, diagnosis.findings);
    check_variables_in_code(script, diagnosis.findings);
    hint_at_buckets_and_input(script, diagnosis.hints);
  }
}

}  // namespace gradwire
