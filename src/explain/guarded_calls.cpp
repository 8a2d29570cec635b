// Collectives in a script that some ranks never come to: inside of an if that rank 0 alone passes.
#include <algorithm>

#include "explain/script_words.h"

namespace gradwire {
namespace {

// "if rank == 0:", "if dist.get_rank() == 0 and ...:", "if accelerator.is_main_process:"
bool lets_rank_0_in(const std::string& code) {
  if (!code.starts_with("if") || holds_any(code, {"!=", "ifnot", "notin"})) return false;
  return holds_any(code, {"rank==0", "rank()==0", "rankin[-1,0]", "rankin(-1,0)", "is_main_process",
                          "is_master", "is_global_zero", "is_rank_zero"});
}

// "if local_rank not in [-1, 0]:", "if rank != 0:", "if not is_main_process():"
bool lets_others_in(const std::string& code) {
  return code.starts_with("if") &&
         holds_any(code, {"rank!=0", "rank()!=0", "rank>0", "rank()>0", "notin[-1,0]", "ifnotis_m",
                          "ifnotaccelerator.is_m", "ifnotself.is_m"});
}

// Calls of torch.distributed and of Accelerate that all ranks have to make.
bool is_collective(const std::string& code) {
  if (holds_any(code, {".wait_for_everyone(", ".barrier("})) return true;
  return holds_any(code, {"dist.all_reduce(", "dist.all_gather", "dist.broadcast", "dist.reduce",
                          "dist.gather", "distributed.all_reduce(", "distributed.all_gather",
                          "distributed.broadcast", "distributed.reduce", "accelerator.gather"});
}

const ScriptLine* find_collective(const ScriptFile& script, std::size_t head) {
  const auto block = block_below(script, head);
  const auto found = std::find_if(block.begin(), block.end(),
                                  [](const ScriptLine& line) { return is_collective(line.code); });
  return found == block.end() ? nullptr : &*found;
}

// The others call it too, elsewhere: rank 0 goes first, or last, and meets them there.
bool others_come(const ScriptFile& script) {
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    const std::string& code = script.lines[i].code;
    const bool other = lets_others_in(code) || code.starts_with("else:");
    if (other && find_collective(script, i) != nullptr) return true;
  }
  return false;
}

}  // namespace

void check_guarded_calls(const ScriptFile& script, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < script.lines.size(); ++i) {
    if (!lets_rank_0_in(script.lines[i].code)) continue;
    const ScriptLine* const call = find_collective(script, i);
    if (call == nullptr || others_come(script)) continue;
    return add_at(script, *call,
                  {"R35", Severity::high,
                   "rank 0 alone comes to this collective and waits there for the others, who never do",
                   "take it out of the if, so that every rank calls it"},
                  findings);
  }
}

}  // namespace gradwire
