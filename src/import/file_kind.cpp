#include "import/file_kind.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "import/environment.h"
#include "import/kernel_log.h"
#include "import/known_failures.h"
#include "import/link_types.h"
#include "import/machine_reports.h"
#include "import/nccl_lines.h"
#include "import/nccl_records.h"
#include "import/nccl_tests.h"
#include "import/smi_table.h"
#include "import/stack_dump.h"
#include "topo/import/matrix.h"

namespace gradwire {
namespace {

bool has_text(std::string_view head, std::string_view text) {
  return head.find(text) != std::string_view::npos;
}

bool has_any(std::string_view head, std::initializer_list<std::string_view> texts) {
  return std::any_of(texts.begin(), texts.end(), [&](auto text) { return has_text(head, text); });
}

// "[]", "{ }": what a profiler writes that has recorded nothing.
bool is_bare_json(std::string_view text) {
  return text.size() >= 2 && (text.back() == ']' || text.back() == '}') &&
         trim(text.substr(1, text.size() - 2)).empty();
}

FileKind kind_of_json(std::string_view head) {
  if (is_bare_json(head)) return FileKind::profile;
  if (has_text(head, "gradwire_timeline")) return FileKind::timeline;
  if (has_text(head.substr(0, 200), "\"gradwire_watch\"")) return FileKind::watch_notes;
  if (has_text(head, "\"gradwire_nvlink_traffic\"")) return FileKind::nvlink_traffic;
  if (has_text(head, "\"coll_perf\"") || has_text(head, "\"coll_busbw_gbs\""))
    return FileKind::nccl_inspector;
  if (has_any(head, {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"", "\"distributedInfo\"",
                     "\"ph\"", "\"ts\""}))
    return FileKind::profile;
  if (has_any(head, {"\"pg_config\"", "\"collective_seq_id\"", "\"pg_status\"", "\"nccl_version\"",
                     "\"profiling_name\""}))
    return FileKind::flight_recorder;
  return FileKind::unknown;
}

// KEY=VALUE in most lines, keys in capitals.
bool is_environment(std::string_view head) {
  int lines = 0, pairs = 0;
  for (const auto line : split(head, head.find('\0') == std::string_view::npos ? '\n' : '\0')) {
    auto text = trim(line);
    if (text.empty() || text[0] == '#') continue;
    if (text.starts_with("export ")) text.remove_prefix(7);
    if (text.starts_with("declare -x ")) text.remove_prefix(11);
    ++lines;
    const auto equals = text.find('=');
    const auto key = text.substr(0, equals);
    pairs += equals != std::string_view::npos && !key.empty() &&
             std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
  }
  return pairs > 0 && pairs * 3 >= lines * 2;
}

// "import accelerate", "from transformers import Trainer": what training on several GPUs is written with.
bool imports_training(std::string_view line) {
  constexpr std::string_view kModules[] = {
      "torch",     "transformers", "accelerate", "lightning", "pytorch_lightning",
      "deepspeed", "trl",          "fairscale",  "horovod",   "gradwire"};
  const bool from = line.starts_with("from ");
  if (!from && !line.starts_with("import ")) return false;
  const auto rest = trim(line.substr(from ? 5 : 7));
  const auto module = rest.substr(0, rest.find_first_of(". ,;\t"));
  const bool whole = !from || has_text(line, " import");
  return whole && std::find(std::begin(kModules), std::end(kModules), module) != std::end(kModules);
}

// Source that a traceback quotes, below "  File "train.py", line 6, in <module>", or a warning, below "train.py:6: UserWarning:":
// whoever printed it is no script. The lines below such a heading that are indented more.
class QuotedSource {
 public:
  bool holds(std::string_view line) {
    const auto text = trim(line);
    if (text.empty()) return false;
    const auto indent = static_cast<std::size_t>(text.data() - line.data());
    const bool heads = (text.starts_with("File \"") && has_text(text, ", line ")) ||
                       (has_text(text, ".py:") && has_text(text, "Warning: "));
    inside_ = heads || (inside_ && indent > heading_);
    if (heads) heading_ = indent;
    return inside_;
  }

 private:
  bool inside_ = false;
  std::size_t heading_ = 0;  // its indent
};

bool is_script(std::string_view head) {
  int hints = 0;
  QuotedSource quoted;
  for (const auto line : split(head, '\n')) {
    const auto text = trim(line);
    if (quoted.holds(line)) continue;
    if (imports_training(text)) return true;
    hints += text.starts_with("import torch") || text.starts_with("from torch") ||
             text.starts_with("import ") || (text.starts_with("from ") && has_text(text, " import ")) ||
             text.starts_with("def ") || text.starts_with("#include");
  }
  return hints >= 1 && has_any(head, {"torch", "gradwire"});
}

// What starts a run: a shell's, a job of Slurm, or the recipe of the container it runs in.
bool is_launch_script(std::string_view head) {
  const auto first = head.substr(0, head.find('\n'));
  const bool shell = (first.starts_with("#!") && has_text(first, "sh")) || has_text(head, "\n#SBATCH");
  const bool recipe = has_text(head, "FROM ") && has_text(head, "\nENV ");
  return (shell || recipe) && has_any(head, {"torchrun", "torch.distributed", "srun", "mpirun", "python",
                                             "accelerate", "deepspeed", "NCCL_"});
}

// A command that starts a run, as people paste it, behind variables that it sets: "OMP_NUM_THREADS=8 torchrun train.py".
bool is_launch_command(std::string_view head) {
  const auto lines = split(head, '\n');
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    line = trim(line);
    if (line.starts_with("$ ")) line = trim(line.substr(2));
    for (auto blank = line.find(' '); blank != std::string_view::npos; blank = line.find(' ')) {
      if (line.substr(0, blank).find('=') == std::string_view::npos) break;
      line = trim(line.substr(blank));
    }
    return has_any(line.substr(0, 60), {"python -m torch.distributed", "python3 -m torch.distributed"}) ||
           (has_any(line.substr(0, 11), {"docker run ", "podman run "}) &&
            has_any(line, {"torchrun", "torch.distributed", "accelerate", "deepspeed", "NCCL_"})) ||
           line.starts_with("torchrun ") || line.starts_with("accelerate launch") ||
           line.starts_with("deepspeed ") || line.starts_with("srun ") || line.starts_with("mpirun ");
  });
}

// Not of text: a share of bytes that no text has.
bool is_binary(std::string_view head) {
  const auto odd = std::count_if(head.begin(), head.end(), [](unsigned char c) {
    return (c < 32 && c != '\n' && c != '\r' && c != '\t' && c != 27 && c != '\b' && c != '\f') || c == 127;
  });
  return odd * 20 > static_cast<std::ptrdiff_t>(head.size());
}

bool is_log(std::string_view head) {
  if (has_any(head, {"NCCL INFO", "NCCL WARN", "NCCL version", "RCCL version", "NCCL TRACE"})) return true;
  if (!has_any(head, {" INFO ", " WARN "})) return false;
  const auto lines = split(head, '\n');
  return std::any_of(lines.begin(), lines.end(),
                     [](auto line) { return find_unnamed_mark(line).has_value(); });
}

// What PyTorch and those that start ranks print of a run, as it begins or dies, where nobody asked NCCL to log.
bool tells_of_a_death(std::string_view head) {
  return std::any_of(std::begin(kWordsOfTorch), std::end(kWordsOfTorch),
                     [&](auto word) { return has_text(head, word); }) ||
         tells_of_failure(head);
}

// Somebody's last words, pasted without what led to them.
bool names_an_error(std::string_view head) {
  const auto lines = split(head, '\n');
  return std::any_of(lines.begin(), lines.end(), [](auto line) { return !error_of_python(line).empty(); });
}

// With the calls below it, not as words in a script.
bool holds_traceback(std::string_view head) {
  const auto at = head.find(kTraceback);
  if (at == std::string_view::npos) return false;
  const auto below = head.substr(std::min(head.find('\n', at), head.size()));
  return has_text(below.substr(0, below.find('\n', 1)), "File \"");
}

FileKind kind_of_text(std::string_view head) {
  constexpr std::size_t kShort = 4096;  // a command may stand at the top of what it printed, too
  // A log is also what a test printed while it logged, or as it failed; the log says more.
  if (is_log(head)) return FileKind::nccl_log;
  if (has_any(head, {"# nThread", "# Avg bus bandwidth"}) ||
      (has_text(head, "out-of-place") && has_text(head, "busbw")))
    return tells_of_failure(head) ? FileKind::nccl_log : FileKind::nccl_tests;
  if (looks_like_smi_query(head) || looks_like_smi_csv(head)) return FileKind::smi_query;
  if (looks_like_nvlink_status(head)) return FileKind::nvlink_status;
  if (looks_like_gpu_names(head)) return FileKind::nvlink_status;  // of cards without any
  if (looks_like_lspci(head)) return FileKind::lspci;
  if (looks_like_peer_status(head) || looks_like_peer_test(head)) return FileKind::peer_status;
  if (looks_like_link_types(head)) return FileKind::link_types;
  if (looks_like_matrix(head)) return FileKind::topo_matrix;
  if (looks_like_smi_table(head)) return FileKind::smi_table;
  // What a run died of goes before the lines of its script that the traceback quotes.
  if (holds_traceback(head) && tells_of_a_death(head)) return FileKind::nccl_log;
  if (is_script(head) || is_launch_script(head)) return FileKind::script;
  if (!tells_of_a_death(head) && looks_like_stack_dump(head)) return FileKind::stack_dump;
  if (tells_of_a_death(head) || holds_traceback(head) || looks_like_kernel_log(head))
    return FileKind::nccl_log;
  if (looks_like_job(head)) return FileKind::environment;
  if (looks_like_nccl_rows(head)) return FileKind::nccl_tests;
  if (head.size() <= kShort && is_launch_command(head)) return FileKind::script;
  if (is_environment(head)) return FileKind::environment;
  return names_an_error(head) ? FileKind::nccl_log : FileKind::unknown;
}

}  // namespace

FileKind kind_of(std::string_view head) {
  auto text = head;
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  text = trim(text);
  if (text.empty()) return FileKind::empty;
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5)
    return FileKind::flight_recorder;                                  // a pickle
  if (head.starts_with("GWFLIGHT")) return FileKind::flight_recorder;  // Gradwire's own
  if (is_nccl_records(head)) return FileKind::nccl_records;
  if (head[0] == '\x0a' && is_binary(head)) return FileKind::perfetto;  // field 1 of a Trace, a packet
  // Lines of a log may be JSON, each for itself.
  const bool wrapped = has_any(text, {"NCCL INFO", "NCCL WARN"}) && !has_text(text, "\"traceEvents\"");
  if (!wrapped && (text[0] == '{' || text[0] == '['))
    if (const FileKind kind = kind_of_json(text); kind != FileKind::unknown) return kind;
  if (is_environment(head) && head.find('\0') != std::string_view::npos) return FileKind::environment;
  if (is_binary(head) && !is_log(head)) return FileKind::binary;
  if (text.starts_with("<system") || (text[0] == '<' && has_text(text, "<system"))) return FileKind::nccl_xml;
  return kind_of_text(text);
}

bool is_log_of_nccl(std::string_view text) { return is_log(text) || tells_of_a_death(text); }

std::string_view words_for(FileKind kind) {
  constexpr std::string_view kWords[] = {"a trace of torch.profiler",
                                         "a trace of gradwire",
                                         "a Perfetto trace",
                                         "a log of NCCL",
                                         "output of nccl-tests",
                                         "records of NCCL's inspector",
                                         "nvidia-smi topo -m",
                                         "NCCL's topology XML",
                                         "nvidia-smi topo -p2p",
                                         "rocm-smi --showtopo",
                                         "nvidia-smi nvlink -s",
                                         "nvidia-smi -q",
                                         "nvidia-smi",
                                         "lspci -vv",
                                         "an environment",
                                         "a flight recorder's dump",
                                         "NCCL's calls, recorded by gradwire",
                                         "counters of NVLink over a run",
                                         "notes of gradwire watch",
                                         "stacks of threads",
                                         "a training script",
                                         "an empty file",
                                         "binary data of no kind known here",
                                         "text of no kind known here"};
  return kWords[static_cast<int>(kind)];
}

}  // namespace gradwire
