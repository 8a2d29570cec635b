// Lines that are not NCCL's own words: which warning it gave up on, and what PyTorch and Lightning say of ranks.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "import/known_failures.h"
#include "import/nccl_lines.h"

namespace gradwire {
namespace {

// "host:pid" of "host:pid:tid [0] ": another thread of the process may go back further than the one that warned.
std::string_view process_before(std::string_view prefix) {
  const auto thread = trim(prefix.substr(0, prefix.find(" [")));
  return thread.substr(0, thread.rfind(':'));
}

// "transport/net_ib.cc:380 -> 2", "group.cc:75 -> 2 [Async thread]"; 0 and 7 are no errors but success and work in progress.
bool goes_back(std::string_view message) {
  const auto blank = std::min(message.find(' '), message.size());
  const auto source = message.substr(0, blank), rest = message.substr(blank);
  const bool of_source = source.find(".c") != std::string_view::npos ||  // .cc, .cu of old, .c of plugins
                         source.find(".h:") != std::string_view::npos;
  return of_source && rest.size() > 4 && rest.starts_with(" -> ") && rest[4] >= '1' && rest[4] <= '6';
}

// "Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/8", before Lightning 1.5 "initializing ddp: ...".
void read_member(std::string_view line, int number, LoggedMembers& members) {
  const auto rank = number_after(line, "GLOBAL_RANK: ");
  const auto member = find_after(line, ", MEMBER: ");
  if (!rank || !member) return;
  const auto world = number_after(*member, "/");
  if (!world || *world > static_cast<int>(kMostPairsOfLog)) return;
  const bool repeated = members.again.times > 0, known = members.times.contains(*rank);
  members.twice = members.twice || (repeated && !known);
  members.world = *world;
  say(known ? members.again : members.first, line, number);
  members.last_line = number;
  ++members.times[*rank];
}

// "(world_size=4, worker_count=16, timeout=0:01:00)", from PyTorch 2.1 on "num_workers_joined=16".
void read_meeting(std::string_view line, int number, LoggedMeeting& meeting) {
  const auto world = number_after(line, "(world_size=");
  const auto joined = number_after(line, "num_workers_joined=");
  const auto came = joined ? joined : number_after(line, "worker_count=");
  if (world && came) meeting = {*world, *came, number, shortened(line)};
}

// "  File "a.py", line 3, in f": a call of a traceback. Where the file's name stands; nothing: it is none.
std::optional<std::size_t> find_traced_call(std::string_view line) {
  const auto file = line.find("File \""), number = line.find("\", line ");
  const bool call = file != std::string_view::npos && number != std::string_view::npos && file < number &&
                    line.find(", in ", number) != std::string_view::npos;
  return call ? std::optional(file + 6) : std::nullopt;
}

// Sources of what joins ranks; what starts them is in torch.distributed too.
bool joins_ranks(std::string_view file) {
  constexpr std::string_view kSources[] = {"torch/distributed/", "torch/nn/parallel/distributed.py",
                                           "horovod/", "deepspeed/comm/", "deepspeed/runtime/"};
  constexpr std::string_view kStarters[] = {"torch/distributed/elastic/", "torch/distributed/launch",
                                            "torch/distributed/run.py"};
  const auto is_part = [&](auto part) { return file.find(part) != std::string_view::npos; };
  return std::any_of(std::begin(kSources), std::end(kSources), is_part) &&
         std::none_of(std::begin(kStarters), std::end(kStarters), is_part);
}

// "[rank0]: ", "> ", "stderr: ", or a bracket around all of it.
std::string_view without_what_quotes(std::string_view line) {
  auto text = trim(line);
  if (text.starts_with("[rank") && text.find("]:") != std::string_view::npos)
    text = trim(text.substr(text.find("]:") + 2));
  for (const std::string_view quote : {">", "stderr:", "E  ", "["})
    if (text.starts_with(quote)) text = trim(text.substr(quote.size()));
  return text;
}

}  // namespace

bool may_be_of_python(std::string_view line) {
  return line.find("Error: ") != std::string_view::npos ||
         line.find("Exception: ") != std::string_view::npos || line.find("File \"") != std::string_view::npos;
}

std::string_view error_of_python(std::string_view line) {
  constexpr std::size_t kLongestErrorName = 100;
  const auto text = without_what_quotes(line);
  const auto name = text.substr(0, text.find(": "));
  const bool kind = name.ends_with("Error") || name.ends_with("Exception");
  const bool word = std::all_of(name.begin(), name.end(),
                                [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  const bool error =
      kind && word && name.size() > 5 && name.size() < kLongestErrorName && name.size() + 2 < text.size();
  return error ? text : std::string_view{};
}

bool is_of_launcher(std::string_view error) {
  const KnownFailure* const known = find_known_failure(error);
  return known != nullptr && known->meaning.effect == Effect::rank_failed;
}

void WaysBack::warn(std::string_view prefix, std::string_view warning, int line) {
  awaited_ = !log_.gave_up || !log_.failed_start;
  warned_ = true;
  process_ = process_before(prefix);
  last_ = {};
  if (find_known_failure(warning) == nullptr) say(last_, warning, line);
}

// Whoever cut the log to a piece left out what NCCL warned of: where it begins tells which part of NCCL failed, once it comes to
// the start of all. Healthy logs have single lines of the kind.
void WaysBack::read_unwarned(std::string_view process, std::string_view message, int line) {
  const auto source = message.substr(0, message.find(':'));
  const auto begun = begun_.find(process);
  if (begun == begun_.end()) {
    if (begun_.size() < kMostKeptOfLog) say(begun_[std::string(process)], message, line);
    return;
  }
  if (log_.failed_start || (!source.ends_with("init.cc") && !source.ends_with("init.cu"))) return;
  log_.failed_start = SaidInLog{};
  say(*log_.failed_start, message, line);
  log_.gave_up = begun->second;
}

void WaysBack::read(std::string_view prefix, std::string_view message, int line) {
  if (!goes_back(message)) return;
  if (!warned_) return read_unwarned(process_before(prefix), message, line);
  if (process_before(prefix) != process_) return;
  if (!log_.gave_up && last_.times > 0) log_.gave_up = last_;
  const auto source = message.substr(0, message.find(':'));
  if (log_.failed_start || (!source.ends_with("init.cc") && !source.ends_with("init.cu"))) return;
  log_.failed_start = SaidInLog{};
  say(*log_.failed_start, message, line);
  awaited_ = false;
}

void Tracebacks::read(std::string_view line, int number) {
  if (line.starts_with("[rank")) line = line.substr(std::min(line.find("]:") + 2, line.size()));
  const auto at = line.find(kTraceback);
  if (at != std::string_view::npos) {
    open_ = true;
    column_ = at;
    ++log_.tracebacks;
    return;
  }
  if (const auto file = find_traced_call(line)) {
    if (!open_) column_ = line.substr(0, *file - 6).find_last_not_of(" \t") + 1;  // 0 where there is none
    open_ = true;
    in_call_ = joins_ranks(line.substr(*file, line.find('"', *file) - *file));
    return;
  }
  line = line.substr(std::min(column_, line.size()));
  const auto text = trim(line);
  const bool indented = line.starts_with("  ") || line.starts_with("\t");
  const bool error = !indented && text.find(": ") != std::string_view::npos;
  if (!open_ || !error || text.find("File \"") != std::string_view::npos) return;
  open_ = false;
  if (log_.error.times > 0 || is_of_launcher(text)) return;
  say(log_.error, text, number);
  log_.failed_in_call = in_call_;
}

void read_words_of_torch(std::string_view line, int number, NcclLog& log) {
  log.torch_lines += std::any_of(std::begin(kWordsOfTorch), std::end(kWordsOfTorch),
                                 [&](auto word) { return line.find(word) != std::string_view::npos; });
  read_member(trim(line), number, log.members);
  if (line.find(kWordsOfTorch[4]) != std::string_view::npos) read_meeting(trim(line), number, log.meeting);
  log.members.met = log.members.met || line.find(kWordsOfTorch[3]) != std::string_view::npos;
}

}  // namespace gradwire
