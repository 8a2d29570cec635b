// What a training script does that costs time on several GPUs. Where it puts its ranks is device_rules.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/text.h"
#include "explain/script_words.h"

namespace gradwire {
namespace {

// What one line shows, unless another word of the script says that it was thought of.
struct LineRule {
  const char* rule;
  Severity severity;
  std::string_view sign, unless;  // empty: whatever else it says
  const char *what, *fix;
  std::string_view same_sign = {};  // in another's words
  bool on_gpus = false;             // of DistributedDataParallel on GPUs alone
};

constexpr LineRule kCostlyLines[] = {
    {"R25", Severity::medium, "find_unused_parameters=True", "",
     "find_unused_parameters=True walks the whole graph every step and delays the first all-reduce; it "
     "is needed only where parameters get no gradient",
     "find_unused_parameters=False; if that fails, static_graph=True, or the parameters it names",
     "ddp_find_unused_parameters_true"},  // Lightning's
    {"R23", Severity::low, "%torch.cuda.device_count()", "LOCAL_RANK",
     "rank % device_count() takes the wrong GPU where a node runs fewer processes than it has GPUs",
     "int(os.environ[\"LOCAL_RANK\"])"},
    // One that says where a file is loaded to knows of it: what it loads elsewhere is data, or of a run without others.
    {"R22", Severity::low, "torch.load(", "map_location",
     "torch.load() without map_location puts every rank's copy on the GPU it was saved from",
     "torch.load(path, map_location=f\"cuda:{local_rank}\")", "", true},
};

constexpr LineRule kHintedLines[] = {
    {"R41", Severity::low, "DataLoader(", "num_workers",
     "a DataLoader without num_workers makes each batch in the loop itself, while the GPU waits",
     "DataLoader(..., num_workers=4, pin_memory=True, persistent_workers=True)"},
    {"R27", Severity::low, "convert_sync_batchnorm(", "",
     "SyncBatchNorm all-reduces in every layer, forward and backward, and every layer waits for it",
     "plain BatchNorm if each GPU's batch is large enough; else GroupNorm"},
};

const ScriptLine* find_sign(const ScriptFile& script, const LineRule& rule) {
  const ScriptLine* line = script.find(rule.sign);
  return line == nullptr && !rule.same_sign.empty() ? script.find(rule.same_sign) : line;
}

void add_lines(const ScriptFile& script, std::span<const LineRule> rules, std::vector<Finding>& list) {
  for (const LineRule& rule : rules) {
    const ScriptLine* line = find_sign(script, rule);
    if (line == nullptr || (!rule.unless.empty() && script.has(rule.unless))) continue;
    if (rule.on_gpus && !(distributes(script) && uses_gpus(script))) continue;
    add_at(script, *line, {rule.rule, rule.severity, rule.what, rule.fix}, list);
  }
}

bool runs_backward(std::span<const ScriptLine> block) {
  return std::any_of(block.begin(), block.end(),
                     [](const auto& line) { return line.text.find(".backward(") != std::string::npos; });
}

bool steps_optimizer(std::span<const ScriptLine> block) {
  return std::any_of(block.begin(), block.end(), [](const ScriptLine& line) {
    const auto step = line.text.find(".step(");
    return step != std::string::npos &&
           holds_any(std::string_view(line.text).substr(0, step), {"opt", "scaler"});
  });
}

// A condition, and what its name stands for: "if last:" with "last = (i + 1) % 4 == 0" above it.
std::string condition_of(const ScriptFile& script, std::size_t at) {
  const std::string& text = script.lines[at].text;
  const auto end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
                                          std::string_view("if ").size());
  if (!text.starts_with("if ") || end == std::string::npos) return text;
  const auto name = text.substr(3, end - 3) + "=";
  for (std::size_t i = at; i-- > 0;)
    if (const auto& code = script.lines[i].code; code.starts_with(name) && !code.starts_with(name + "="))
      return text + " " + script.lines[i].text;
  return text;
}

// "if (i + 1) % every == 0:" around the optimizer's step alone; "for micro in range(accumulate):" around backward alone;
// "if step % accumulate != 0: continue".
bool accumulates(const ScriptFile& script, std::size_t at) {
  const std::string text = condition_of(script, at);
  const bool asks = text.starts_with("if "),
             repeats = text.starts_with("for ") && holds_any(text, {"range("});
  if (!asks && !repeats) return false;
  const auto block = block_below(script, at);
  const bool named = holds_any(text, {"accum", "grad_acc"}), every = holds_any(text, {"%"});
  const bool backward = runs_backward(block), optimizer = steps_optimizer(block);
  if (repeats) return (named || holds_any(text, {"micro"})) && backward && !optimizer;
  return !backward && ((every && (named || optimizer)) || (named && optimizer));
}

// "loss = model.module(*batch)": a forward past DistributedDataParallel, whose backward all-reduces nothing.
bool passes_ddp_by(const ScriptFile& script) {
  return std::any_of(script.lines.begin(), script.lines.end(), [](const ScriptLine& line) {
    const auto call = line.code.find(".module("), equals = line.code.find('=');
    return call != std::string::npos && equals != std::string::npos && equals < call;
  });
}

// Every step of the optimizer is several backwards, and nothing keeps the gradients at home meanwhile. Accelerate distributes a
// model that it prepares, where there are several GPUs.
void check_accumulation(const ScriptFile& script, std::vector<Finding>& findings) {
  const bool accelerates = script.has("accelerator.backward(");
  if ((!distributes(script) && !accelerates) || script.has("no_sync") ||
      script.has("require_backward_grad_sync") || script.has("accelerator.accumulate") ||
      passes_ddp_by(script))
    return;
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    if (!accumulates(script, i)) continue;
    return add_at(
        script, script.lines[i],
        {"R26", Severity::high,
         "gradients are accumulated over several backwards, and each of them all-reduces: only the last "
         "needs to",
         accelerates
             ? "Accelerator(gradient_accumulation_steps=N); with accelerator.accumulate(model):  # "
               "around forward, backward and the optimizer's step"
             : "with model.no_sync() if not last else nullcontext():  # around forward and backward both"},
        findings);
  }
}

// Accelerate divides the loss by that number in backward, and accumulates only where accumulate() is asked to.
void check_accelerate(const ScriptFile& script, std::vector<Finding>& findings) {
  const ScriptLine* const made = script.find("Accelerator(");
  if (made == nullptr || !script.has("accelerator.backward(") || script.has("accumulate(") ||
      script.has("no_sync"))
    return;
  const std::string code = script.statement(*made);
  constexpr std::string_view kSteps = "gradient_accumulation_steps=";
  const auto at = code.find(kSteps);
  if (at == std::string::npos || code.substr(at + kSteps.size()).starts_with("1)") ||
      code.substr(at + kSteps.size()).starts_with("1,"))
    return;
  add_at(script, *made,
         {"R26", Severity::medium,
          "gradient_accumulation_steps accumulates nothing without accelerator.accumulate(): every batch is "
          "all-reduced and "
          "stepped, with a loss divided by that number",
          "with accelerator.accumulate(model):  # around forward, backward and the optimizer's step"},
         findings);
}

// Trainer of transformers: started by python alone it takes all GPUs into one process, with DataParallel.
void hint_at_trainer(const ScriptFile& script, const CaseFile& given, std::vector<Finding>& hints) {
  const ScriptLine* const arguments = script.find("TrainingArguments(");
  if (arguments == nullptr || !script.has("transformers")) return;
  const ScriptLine* const workers = script.find("dataloader_num_workers=");
  if (workers == nullptr || script.has("dataloader_num_workers=0"))
    add_at(script, workers == nullptr ? *arguments : *workers,
           {"R41", Severity::low,
            "without dataloader_num_workers each batch is made in the loop itself, while the GPU waits",
            "TrainingArguments(..., dataloader_num_workers=4)"},
           hints);
  const bool launched = !given.files.logs.empty() || !given.files.profiles.empty() ||
                        script.has("torchrun") || script.has("LOCAL_RANK") || script.has("local_rank");
  if (!launched && script.has("Trainer("))
    add_at(script, *arguments,
           {"R22", Severity::low,
            "started by python alone on a machine with several GPUs, Trainer drives all of them from one "
            "process "
            "(DataParallel)",
            "torchrun --nproc-per-node N train.py, or accelerate launch train.py"},
           hints);
}

// A line that may run the model: it keeps what a call gives, but that of scaling a loss.
bool may_be_forward(const std::string& text) {
  const bool keeps = text.find('=') != std::string::npos && text.find('(') != std::string::npos &&
                     text.find("scale(") == std::string::npos;
  return keeps || text.find("step(") != std::string::npos;
}

// no_sync() takes effect in forward; around backward alone it does nothing.
void check_no_sync_block(const ScriptFile& script, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const ScriptLine& with = script.lines[i];
    if (!with.text.starts_with("with ") || with.text.find(".no_sync()") == std::string::npos) continue;
    const auto block = block_below(script, i);
    const bool forward = std::any_of(block.begin(), block.end(),
                                     [](const ScriptLine& line) { return may_be_forward(line.text); });
    if (!runs_backward(block) || forward) continue;
    add_at(script, with,
           {"R26", Severity::high,
            "no_sync() around backward alone does nothing: forward decides whether gradients are all-reduced",
            "put the forward pass inside the with block too"},
           findings);
  }
}

void check_backend(const ScriptFile& script, std::vector<Finding>& findings) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [](const ScriptLine& one) {
    const bool second =
        one.code.find("new_group(") != std::string::npos;  // beside another, for what has no GPU
    return !second && holds_any(one.code, {"init_process_group(\"gloo\"", "init_process_group('gloo'",
                                           "backend=\"gloo\"", "backend='gloo'"});
  });
  if (line == script.lines.end() || !uses_gpus(script) || script.has("nccl") || script.has("NCCL")) return;
  add_at(script, *line,
         {"R32", Severity::high, "gloo copies the gradients of GPUs through host memory and sockets",
          "torch.distributed.init_process_group(\"nccl\")"},
         findings);
}

void hint_at_buckets(const ScriptFile& script, std::vector<Finding>& hints) {
  const ScriptLine* line = script.find("bucket_cap_mb=");
  if (line == nullptr) return;
  const auto code = script.statement(*line);
  const auto digits = std::string_view(code).substr(code.find("bucket_cap_mb=") + 14);
  const auto size = find_integer<int>(digits.substr(0, digits.find_first_not_of("0123456789")));
  if (!size || *size >= 5) return;
  add_at(script, *line,
         {"R24", Severity::medium,
          fmt::format("buckets of {} MB are so small that each all-reduce is mostly latency", *size),
          "bucket_cap_mb=25, or more on fast links"},
         hints);
}

}  // namespace

void add_at(const ScriptFile& script, const ScriptLine& line, SaidOfScript said, std::vector<Finding>& list) {
  Finding finding;
  finding.rule = said.rule;
  finding.severity = said.severity;
  finding.sure = Certainty::likely;
  finding.what = std::move(said.what);
  finding.evidence = line_of_file(script.file, line.number, line.text.substr(0, 100));
  finding.fix = said.fix;
  list.push_back(std::move(finding));
}

bool holds_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](auto part) { return text.find(part) != std::string_view::npos; });
}

std::span<const ScriptLine> block_below(const ScriptFile& script, std::size_t head) {
  constexpr std::size_t kLongestBlock = 300;
  std::size_t end = head + 1;
  while (end < script.lines.size() && end - head <= kLongestBlock &&
         script.lines[end].indent > script.lines[head].indent)
    ++end;
  return std::span(script.lines).subspan(head + 1, end - head - 1);
}

bool distributes(const ScriptFile& script) {
  return script.has("DistributedDataParallel") || script.has("DDP(");
}

bool uses_gpus(const ScriptFile& script) { return script.has("cuda"); }

void add_script_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const ScriptFile& script : given.files.scripts) {
    add_lines(script, kCostlyLines, diagnosis.findings);
    const std::size_t before = diagnosis.findings.size();
    check_accumulation(script, diagnosis.findings);
    if (diagnosis.findings.size() == before) check_accelerate(script, diagnosis.findings);
    check_no_sync_block(script, diagnosis.findings);
    check_backend(script, diagnosis.findings);
    check_guarded_calls(script, diagnosis.findings);
    add_device_findings(script, diagnosis.findings);
    add_launch_findings(script, given.files.logs, diagnosis);
    hint_at_buckets(script, diagnosis.hints);
    add_lines(script, kHintedLines, diagnosis.hints);
    hint_at_trainer(script, given, diagnosis.hints);
  }
}

}  // namespace gradwire
