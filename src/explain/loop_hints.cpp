// What a script does in its loop, or wraps its model in, that often costs time on several GPUs, by its words alone: hints, but
// where the words leave no choice.
#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "explain/script_words.h"

namespace gradwire {
namespace {

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

// "nn.DataParallel(model)", and not one of the longer names that end so.
bool wraps_in_data_parallel(const std::string& text) {
  const auto at = text.find("DataParallel(");
  if (at == std::string::npos || text.starts_with("class ")) return false;
  const auto above = std::string_view(text).substr(0, at);
  if (std::count(above.begin(), above.end(), '"') % 2 != 0 ||
      std::count(above.begin(), above.end(), '\'') % 2 != 0)
    return false;  // a word of a text
  const unsigned char before = at == 0 ? ' ' : static_cast<unsigned char>(text[at - 1]);
  return std::isalnum(before) == 0 && before != '_';
}

// Of one GPU it is nothing but a wrapper; beside DistributedDataParallel it is what a run without others falls back to.
void check_data_parallel(const ScriptFile& script, Diagnosis& diagnosis) {
  const auto line = std::find_if(script.lines.begin(), script.lines.end(), [&](const auto& one) {
    return wraps_in_data_parallel(one.text) && !holds(script.statement(one), "device_ids=[0])");
  });
  if (line == script.lines.end()) return;
  const bool alone = !distributes(script);
  add_at(script, *line,
         {"R22", alone ? Severity::medium : Severity::low,
          "DataParallel drives all GPUs from one process: every step it copies the model out to them and "
          "gathers gradients on the first",
          "DistributedDataParallel, one process a GPU: torchrun --nproc-per-node N train.py"},
         alone ? diagnosis.findings : diagnosis.hints);
}

// One that is made is not yet one that a loader is given.
bool is_fed_by_sampler(const ScriptFile& script) {
  if (!script.has("Sampler")) return false;
  return std::any_of(script.lines.begin(), script.lines.end(), [&](const ScriptLine& line) {
    const bool loads = holds(line.code, "DataLoader(");
    return loads && (holds(script.statement(line), "ampler") || holds(script.statement(line), "**"));
  });
}

bool shares_data_itself(const ScriptFile& script) {
  if (is_fed_by_sampler(script)) return true;
  constexpr std::string_view kWays[] = {"Accelerator(", ".prepare(",    "IterableDataset",
                                        "Subset(",      "webdataset",   "split_dataset_by_node",
                                        ".shard(",      "random_split", "Trainer("};
  return std::any_of(std::begin(kWays), std::end(kWays), [&](auto way) { return script.has(way); });
}

// Of a loader, or of what feeds one.
void check_equal_data(const ScriptFile& script, Diagnosis& diagnosis) {
  if (!distributes(script) || !script.has("DataLoader(") || shares_data_itself(script)) return;
  const auto loader = std::find_if(script.lines.begin(), script.lines.end(), [&](const ScriptLine& line) {
    return holds(line.code, "DataLoader(") && holds(script.statement(line), "shuffle=True");
  });
  const bool loads = loader != script.lines.end();
  const ScriptLine* const shuffled = loads ? &*loader : script.find("shuffle=True");
  if (shuffled == nullptr) return;
  const std::string missing = script.has("Sampler(") ? "shuffle=True, and the sampler is given to no loader"
                                                     : "shuffle=True without a DistributedSampler";
  add_at(script, *shuffled,
         {"R41", loads ? Severity::medium : Severity::low,
          missing + ": every rank goes through all of the data, so an epoch takes as long as on one GPU",
          "DataLoader(dataset, sampler=DistributedSampler(dataset), ...) instead of shuffle=True, and "
          "sampler.set_epoch(epoch) before each epoch"},
         loads ? diagnosis.findings : diagnosis.hints);
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

using LineTest = bool (*)(const std::string& text);

bool waits_for_the_gpu(const std::string& text) {
  return holds(text, ".item()") || holds(text, ".cpu()") ||
         (text.starts_with("print(") && holds(text, "loss")) || holds(text, "cuda.synchronize(");
}

bool empties_cache(const std::string& text) { return holds(text, "empty_cache("); }

// In every step: what stands below a condition runs now and then.
const ScriptLine* find_in_block(const ScriptFile& script, std::size_t head, LineTest test) {
  const std::size_t end = end_of_block(script, head);
  for (std::size_t i = head + 1; i < end; ++i) {
    if (is_condition(script.lines[i]))
      i = end_of_block(script, i) - 1;
    else if (test(script.lines[i].text))
      return &script.lines[i];
  }
  return nullptr;
}

const ScriptLine* find_in_steps(const ScriptFile& script, LineTest test) {
  for (std::size_t i = 0; i < script.lines.size(); ++i)
    if (is_loop_of_steps(script, i))
      if (const ScriptLine* line = find_in_block(script, i, test)) return line;
  return nullptr;
}

void hint_at_waits(const ScriptFile& script, std::vector<Finding>& hints) {
  if (!uses_gpus(script) && !script.has("Accelerator(")) return;
  if (const ScriptLine* wait = find_in_steps(script, waits_for_the_gpu))
    add_at(
        script, *wait,
        {"R41", Severity::low,
         "the processor waits for the GPU in every step (.item(), .cpu() and printing a loss do that), and "
         "has nothing launched ahead after it",
         "if step % 100 == 0: print(loss.item())  # now and then; sum losses on the GPU until then"},
        hints);
  if (const ScriptLine* line = find_in_steps(script, empties_cache))
    add_at(script, *line,
           {"R41", Severity::low,
            "empty_cache() in every step gives memory back to the driver, and the next step waits for the "
            "GPU to "
            "get it again",
            "remove it; PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where memory is torn to pieces"},
           hints);
}

// "for epoch in range(10)": more than one, as far as it says.
bool is_loop_of_epochs(const ScriptLine& line) {
  return line.text.starts_with("for ") && holds(lower_case(line.text), "epoch") &&
         holds(line.code, "range(") && !holds(line.code, "range(1)");
}

bool shuffles_by_sampler(const ScriptFile& script, const ScriptLine& line) {
  return holds(line.code, "DistributedSampler(") && !line.text.starts_with("class ") &&
         !holds(script.statement(line), "shuffle=False");
}

// A sampler shuffles by its number of the epoch, which stays 0 where nobody sets it.
void hint_at_epochs(const ScriptFile& script, std::vector<Finding>& hints) {
  if (script.has("set_epoch") || script.has("Trainer(") || script.has("Accelerator(")) return;
  const auto sampler = std::find_if(script.lines.begin(), script.lines.end(),
                                    [&](const auto& line) { return shuffles_by_sampler(script, line); });
  if (sampler == script.lines.end() ||
      std::none_of(script.lines.begin(), script.lines.end(), is_loop_of_epochs))
    return;
  add_at(script, *sampler,
         {"R41", Severity::low,
          "a DistributedSampler without set_epoch() gives every epoch in the same order: it costs no time, "
          "and what "
          "shuffling is for",
          "sampler.set_epoch(epoch)  # first thing in every epoch"},
         hints);
}

}  // namespace

void add_loop_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const ScriptFile& script : given.files.scripts) {
    check_data_parallel(script, diagnosis);
    check_equal_data(script, diagnosis);
    hint_at_waits(script, diagnosis.hints);
    hint_at_epochs(script, diagnosis.hints);
  }
}

}  // namespace gradwire
