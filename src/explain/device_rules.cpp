// Which GPU each rank of a script takes.
#include <algorithm>
#include <cctype>

#include "explain/script_words.h"

namespace gradwire {
namespace {

bool names_a_rank(std::string_view argument) {
  return holds_any(argument, {"rank", "RANK", "gpu", "local", "LOCALID", "device_id", "index"});
}

// Not the number of a GPU: whatever it is called, it is chosen elsewhere.
bool is_a_name(std::string_view argument) {
  return !argument.empty() && std::isalpha(static_cast<unsigned char>(argument[0])) != 0;
}

bool begins_with_digit(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
}

// "local_rank = 0", and nothing else gives it a value: the same in every process, whatever it is called.
bool is_written_number(const ScriptFile& script, std::string_view name) {
  const std::string sets = std::string(name) + "=", counts = "for" + std::string(name) + "in";
  bool number = false;
  for (const ScriptLine& line : script.lines) {
    if (line.code.starts_with(counts) || line.code.starts_with("global" + std::string(name))) return false;
    if (!line.code.starts_with(sets) || line.code.starts_with(sets + "=")) continue;
    if (!begins_with_digit(std::string_view(line.code).substr(sets.size()))) return false;
    number = true;
  }
  return number;
}

// ".to(rank)", ".cuda(args.gpu)", "set_device(local_rank)", "device_ids=[gpu]"
bool places_by_rank(const ScriptFile& script, const ScriptLine& line) {
  constexpr std::size_t kArgument = 50;
  const std::string code = script.statement(line);
  for (const std::string_view call : {"set_device(", "device_ids=[", ".cuda(", ".to("})
    for (auto at = code.find(call); at != std::string::npos; at = code.find(call, at + 1)) {
      const auto rest = std::string_view(code).substr(at + call.size(), kArgument);
      const auto argument = rest.substr(0, rest.find_first_of("),]"));
      if (is_written_number(script, argument)) continue;
      if (names_a_rank(argument) || (!call.starts_with('.') && is_a_name(argument))) return true;
    }
  return false;
}

bool places_by_rank(const ScriptFile& script) {
  for (const char* word : {"cuda:{", "cuda:%", "\"cuda\",", "'cuda',", "\"cuda:\"+", "'cuda:'+",
                           "CUDA_VISIBLE_DEVICES", "Accelerator(", "device_mesh", "Trainer("})
    if (script.has(word)) return true;
  return std::any_of(script.lines.begin(), script.lines.end(),
                     [&](const ScriptLine& line) { return places_by_rank(script, line); });
}

// A GPU that is written into the script. Not as what a run without others falls back to, nor as where a file is loaded to.
const ScriptLine* find_written_gpu(const ScriptFile& script) {
  const auto sets_written = [&](std::string_view code) {
    constexpr std::string_view kSet = "set_device(";
    const auto at = code.find(kSet);
    if (at == std::string_view::npos) return false;
    const auto argument = code.substr(at + kSet.size());
    return is_written_number(script, argument.substr(0, argument.find_first_of("),")));
  };
  const auto found = std::find_if(script.lines.begin(), script.lines.end(), [&](const ScriptLine& line) {
    const bool written =
        sets_written(line.code) ||
        holds_any(line.code, {"set_device(0)", "device_ids=[0]", "\"cuda:0\"", "'cuda:0'", ".cuda(0)"});
    return written && !holds_any(line.code, {"is_available()", "map_location", "else"});
  });
  return found == script.lines.end() ? nullptr : &*found;
}

// The current GPU, which is the first where nobody sets it.
const ScriptLine* find_current_gpu(const ScriptFile& script) {
  for (const char* part : {".cuda()", ".to(\"cuda\")", ".to('cuda')", "\"cuda:0\"", "'cuda:0'"})
    if (const ScriptLine* line = script.find(part)) return line;
  return nullptr;
}

// "local_rank" of "local_rank = int(os.environ["LOCAL_RANK"])"; empty: the line takes it otherwise.
std::string_view taken_rank(const ScriptLine& line) {
  const std::string_view code = line.code;
  const auto equals = code.find('=');
  if (equals == std::string_view::npos ||
      !holds_any(code.substr(equals),
                 {"environ[\"LOCAL_RANK\"]", "environ['LOCAL_RANK']", "environ.get(\"LOCAL_RANK\"",
                  "environ.get('LOCAL_RANK'", "getenv(\"LOCAL_RANK\"", "getenv('LOCAL_RANK'"}))
    return {};
  const auto name = code.substr(0, equals);
  return name.find_first_of("(),[]{}.!<>") == std::string_view::npos ? name : std::string_view();
}

// Asked who it is, and no more: which rank prints or saves.
bool only_compares(const ScriptLine& line, std::string_view name) {
  const std::string rank(name);
  return line.code.starts_with("print(") || line.code.starts_with("log") ||
         holds_any(line.code, {rank + "==0", rank + "!=0", rank + ">0", "ifnot" + rank, rank + "in[-1,0]",
                               rank + "in(-1,0)"});
}

// Every line that reads LOCAL_RANK keeps it by a name that chooses nothing: nobody else can set a device by it.
bool forgets_its_rank(const ScriptFile& script) {
  if (script.has("set_device(") || script.has("device(")) return false;
  bool taken = false;
  for (const ScriptLine& line : script.lines) {
    const auto name = taken_rank(line);
    if (name.empty() && holds_any(line.code, {"LOCAL_RANK"})) return false;
    if (name.empty()) continue;
    taken = true;
    for (const ScriptLine& other : script.lines)
      if (&other != &line && holds_any(other.code, {name}) && !only_compares(other, name)) return false;
  }
  return taken;
}

}  // namespace

void add_device_findings(const ScriptFile& script, std::vector<Finding>& findings) {
  if (!distributes(script) || !uses_gpus(script) || places_by_rank(script)) return;
  const bool asks =
      script.has("LOCAL_RANK") || script.has("local_rank");  // and may hand it to somebody who sets it
  const ScriptLine* line = find_written_gpu(script);
  if (line == nullptr && (!asks || forgets_its_rank(script))) line = find_current_gpu(script);
  if (line == nullptr) return;
  add_at(script, *line,
         {"R22", Severity::high,
          "every rank puts its model on the same GPU: nothing in the script chooses a device by LOCAL_RANK",
          "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # first thing in every rank"},
         findings);
}

}  // namespace gradwire
