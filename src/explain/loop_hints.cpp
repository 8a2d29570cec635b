// What a script does in passing that often costs time on several GPUs, by its words alone: hints, never findings.
#include <algorithm>
#include <string_view>

#include "explain/script_words.h"

namespace gradwire {
namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// "nn.DataParallel(model)", and not one of the longer names that end so.
bool wraps_in_data_parallel(const std::string& text) {
  const auto at = text.find("DataParallel(");
  if (at == std::string::npos || text.starts_with("class ")) return false;
  const unsigned char before = at == 0 ? ' ' : static_cast<unsigned char>(text[at - 1]);
  return std::isalnum(before) == 0 && before != '_';
}

void hint_at_data_parallel(const ScriptFile& script, std::vector<Finding>& hints) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(),
                                 [](const auto& one) { return wraps_in_data_parallel(one.text); });
  if (line == script.lines.end()) return;
  add_at(script, *line,
         {"R22", Severity::low,
          "DataParallel drives all GPUs from one process: every step it copies the model out to them and "
          "gathers gradients on the first",
          "DistributedDataParallel, one process a GPU: torchrun --nproc-per-node N train.py"},
         hints);
}

bool shares_data_itself(const ScriptFile& script) {
  constexpr std::string_view kWays[] = {
      "Sampler",    "Accelerator(",          ".prepare(", "IterableDataset", "Subset(",
      "webdataset", "split_dataset_by_node", ".shard(",   "random_split",    "Trainer("};
  return std::any_of(std::begin(kWays), std::end(kWays), [&](auto way) { return script.has(way); });
}

void hint_at_equal_data(const ScriptFile& script, std::vector<Finding>& hints) {
  const ScriptLine* shuffled = script.find("shuffle=True");
  if (!distributes(script) || shuffled == nullptr || !script.has("DataLoader(") || shares_data_itself(script))
    return;
  add_at(script, *shuffled,
         {"R41", Severity::low,
          "shuffle=True without a DistributedSampler: every rank goes through all of the data, so an epoch "
          "takes as long as on one GPU",
          "DataLoader(dataset, sampler=DistributedSampler(dataset), ...) instead of shuffle=True, and "
          "sampler.set_epoch(epoch) before each epoch"},
         hints);
}

bool is_loop(const ScriptLine& line) {
  return line.text.starts_with("for ") || line.text.starts_with("while ");
}
bool is_condition(const ScriptLine& line) {
  return line.text.starts_with("if ") || line.text.starts_with("elif ") || line.text.starts_with("else:");
}

std::size_t end_of_block(const ScriptFile& script, std::size_t head) {
  std::size_t end = head + 1;
  while (end < script.lines.size() && script.lines[end].indent > script.lines[head].indent) ++end;
  return end;
}

bool runs_backward(const ScriptFile& script, std::size_t from, std::size_t end) {
  return std::any_of(script.lines.begin() + static_cast<std::ptrdiff_t>(from),
                     script.lines.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const auto& line) { return holds(line.text, ".backward("); });
}

// The innermost loop around backward is the one of steps.
bool is_loop_of_steps(const ScriptFile& script, std::size_t head) {
  const std::size_t end = end_of_block(script, head);
  if (!is_loop(script.lines[head]) || !runs_backward(script, head + 1, end)) return false;
  for (std::size_t i = head + 1; i < end; ++i)
    if (is_loop(script.lines[i]) && runs_backward(script, i + 1, end_of_block(script, i))) return false;
  return true;
}

bool waits_for_the_gpu(const std::string& text) {
  return holds(text, ".item()") || holds(text, ".cpu()") ||
         (text.starts_with("print(") && holds(text, "loss")) || holds(text, "cuda.synchronize(");
}

// In every step: what stands below a condition runs now and then.
const ScriptLine* find_wait(const ScriptFile& script, std::size_t head) {
  const std::size_t end = end_of_block(script, head);
  for (std::size_t i = head + 1; i < end; ++i) {
    if (is_condition(script.lines[i]))
      i = end_of_block(script, i) - 1;
    else if (waits_for_the_gpu(script.lines[i].text))
      return &script.lines[i];
  }
  return nullptr;
}

void hint_at_waits(const ScriptFile& script, std::vector<Finding>& hints) {
  if (!uses_gpus(script)) return;
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const ScriptLine* wait = is_loop_of_steps(script, i) ? find_wait(script, i) : nullptr;
    if (wait == nullptr) continue;
    return add_at(
        script, *wait,
        {"R41", Severity::low,
         "the processor waits for the GPU in every step (.item(), .cpu() and printing a loss do that), and "
         "has nothing launched ahead after it",
         "if step % 100 == 0: print(loss.item())  # now and then; sum losses on the GPU until then"},
        hints);
  }
}

}  // namespace

void add_loop_hints(const CaseFile& given, std::vector<Finding>& hints) {
  for (const ScriptFile& script : given.files.scripts) {
    hint_at_data_parallel(script, hints);
    hint_at_equal_data(script, hints);
    hint_at_waits(script, hints);
  }
}

}  // namespace gradwire
