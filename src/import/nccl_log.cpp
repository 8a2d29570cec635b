#include "import/nccl_log.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "import/kernel_log.h"
#include "import/known_failures.h"
#include "import/log_lines.h"
#include "import/nccl_lines.h"
#include "import/quick_look.h"

namespace gradwire {
namespace {

// A list of what was said, each once. Borrows the list.
class SaidList {
 public:
  explicit SaidList(std::vector<SaidInLog>& list) : list_(list) {}

  void say(std::string_view text, int line) {
    std::string kept = shortened(text);
    if (const auto same = places_.find(kept); same != places_.end()) {
      ++list_[same->second].times;
    } else if (list_.size() < kMostKeptOfLog) {
      places_.emplace(kept, list_.size());
      list_.push_back({std::move(kept), line, 1});
    }
  }

  // As if it had been said once less.
  void take_back(std::string_view text) {
    const auto same = places_.find(shortened(text));
    if (same != places_.end()) --list_[same->second].times;
  }

 private:
  std::vector<SaidInLog>& list_;
  std::unordered_map<std::string, std::size_t> places_;
};

// "NCCL_P2P_LEVEL set by environment to LOC", "NCCL_IB_HCA set to mlx5_5", "NCCL_P2P_DISABLE set by environment to 1."
void read_variable(std::string_view message, int line, NcclLog& log) {
  const auto name = first_word(message);
  if (!name.starts_with("NCCL_") || message.find(" set ") == std::string_view::npos) return;
  const auto value = find_after(message, " to ");
  if (!value) return;
  auto word = first_word(*value);
  while (word.ends_with('.')) word.remove_suffix(1);
  log.rccl = log.rccl || word == "XGMI";  // a level that AMD's alone knows
  if (log.variables.size() < kMostKeptOfLog) say(log.variables[std::string(name)], word, line);
}

// Of a call, not of the run: "AllReduce: opCount 28c sendbuff ...", "AllReduce: 4096 Bytes -> Algo RING ...", and RCCL's record of
// kernels, "## [10042496.466647] [03:01] 00028c KL hwid ...". Long logs are made of these.
bool is_of_a_call(std::string_view message) {
  const auto colon = message.substr(0, 40).find(": ");
  if (colon == std::string_view::npos) return message.starts_with("## [");
  const auto rest = message.substr(colon + 2);
  return rest.starts_with("opCount ") || rest.substr(0, 40).find(" Bytes -> ") != std::string_view::npos;
}

// "... connect returned No route to host, retrying (34/34) after sleep for 3400 msec"
bool is_last_try(std::string_view message) {
  const auto tries = find_after(message, "retrying (");
  if (!tries || message.find("onnect") == std::string_view::npos) return false;
  const auto slash = tries->find('/'), close = tries->find(')');
  return slash != std::string_view::npos && close != std::string_view::npos && slash < close &&
         tries->substr(0, slash) == tries->substr(slash + 1, close - slash - 1);
}

// A kernel that can't be launched, a peer that is given up: NCCL does not warn of these.
bool should_be_a_warning(std::string_view message) {
  return message.find(" exceeds device/fn maxSharedMem") != std::string_view::npos || is_last_try(message);
}

// Words of these that stand anywhere in a message.
constexpr auto kOddWords = [] {
  QuickLook<2> look;
  look.add("retrying");
  look.add("exceeds device/fn");
  return look;
}();

// All that read_info() looks for begins with one of these; of the rest a long log has most.
bool may_tell(std::string_view message) {
  constexpr std::string_view kFirstLetters = "0123456789NPUBGTCRchinr[+";
  return !message.empty() && kFirstLetters.find(message[0]) != std::string_view::npos &&
         !message.starts_with("Conn") && !message.starts_with("Trees");
}

void read_info(std::string_view message, std::string_view host, int line, NcclLog& log) {
  const char first = message[0];
  const bool of_comm = first == 'c' || first == 'n' || first == '[' || message.starts_with("rank ");  // 2.3
  if (of_comm) return read_comm(message, host, log);
  if (message.starts_with("NCCL_")) return read_variable(message, line, log);
  if (message.starts_with("P2P Chunksize set to ")) log.p2p_chunk = number_after(message, " set to ");
  if (std::isdigit(static_cast<unsigned char>(first)) != 0 &&
      message.find(" coll channels") != std::string_view::npos)
    log.channels = std::max(log.channels.value_or(0), find_integer<int>(first_word(message)).value_or(0));
  for (const std::string_view words : {"Using network ", "Using internal Network "})  // the latter of 2.3
    if (message.starts_with(words)) say(log.network, trim(message.substr(words.size())), line);
  if (message.starts_with("NVLS multicast support is"))
    log.nvls = message.find("not available") == std::string_view::npos;
  read_machine_line(message, line, log);
  read_network_line(message, line, log);
}

bool is_connection(std::string_view message) {
  return message.starts_with("Channel ") || message.starts_with("Ring ") || message.starts_with("Tree ");
}

// Behind the last of them; all where there is none.
template <typename Ends>
std::string_view behind_last(std::string_view text, Ends ends) {
  const auto begin = std::find_if(text.rbegin(), text.rend(), ends).base();
  return text.substr(static_cast<std::size_t>(begin - text.begin()));
}

// "host:pid:tid [0] " before the message; anything may stand before that, as "[1,0]<stdout>:" of mpirun, or a progress bar that
// ended in "it/s]".
std::string_view host_before(std::string_view prefix) {
  prefix = trim(prefix);
  const auto bracket = prefix.rfind('[');
  if (bracket == std::string_view::npos) return {};
  prefix = behind_last(trim(prefix.substr(0, bracket)), [](char c) { return c == ' ' || c == '\t'; });
  const auto last = prefix.rfind(':');
  if (last == std::string_view::npos) return {};
  auto host = prefix.substr(0, last);
  if (const auto process = host.rfind(':'); process != std::string_view::npos) {
    host = host.substr(0, process);
    host = host.substr(host.rfind(':') + 1);  // 0 where there is none
  }
  return behind_last(host, [](char c) { return c == ']' || c == ')' || c == '>' || c == '|' || c == '"'; });
}

// "init.cc:902 " of what stands before a warning, from 2.29 on with the function: "init.cc:902 (ncclCommInit) ".
std::string_view source_before(std::string_view prefix) {
  prefix = trim(prefix);
  if (prefix.ends_with(')') && prefix.rfind('(') != std::string_view::npos)
    prefix = trim(prefix.substr(0, prefix.rfind('(')));
  const auto blank = prefix.find_last_of(" \t/");
  const auto word = blank == std::string_view::npos ? prefix : prefix.substr(blank + 1);
  const bool source = word.find(".c") != std::string_view::npos || word.find(".h:") != std::string_view::npos;
  return source ? word : std::string_view{};
}

// Of a line that somebody wrapped, {"log":"... NCCL INFO ...\n","stream":"stdout"} or a table of quoted columns, what was wrapped.
std::string_view unwrapped(std::string_view prefix, std::string_view message) {
  if (std::count(prefix.begin(), prefix.end(), '"') % 2 == 0) return message;
  return message.substr(0, std::min(message.find("\\n"), message.find('"')));
}

// "NCCL version 2.26.2+cuda12.2", "RCCL version 2.20.5+hip6.2", "RCCL version : 2.22.3-HEAD:271856d".
void read_version(std::string_view line, NcclLog& log) {
  auto version = log.version.empty() ? find_after(line, "CCL version ") : std::nullopt;
  if (!version) return;
  log.rccl = log.rccl || line.find("RCCL version ") != std::string_view::npos;
  if (version->starts_with(':')) version = trim(version->substr(1));
  log.version = std::string(version->substr(0, version->find_first_not_of("0123456789.")).substr(0, 32));
}

// PyTorch repeats what NCCL warned of, on the line below "Last error:" or behind it.
class LogReader {
 public:
  explicit LogReader(NcclLog& log)
      : log_(log), warnings_(log.warnings), failures_(log.failures), connections_(log) {}

  void read(std::string_view line, int number) {
    if (line.find("CCL ") == std::string_view::npos) {
      const auto unnamed = find_unnamed_mark(line);
      if (!unnamed) return read_other(line, number);
      named_ = fmt::format("{}NCCL {}", line.substr(0, *unnamed), line.substr(*unnamed));
      line = named_;
    }
    read_version(line, log_);
    auto at = find_mark(line, 0);
    if (at == std::string_view::npos) return read_other(line, number);
    auto prefix = line.substr(0, at);
    for (; at != std::string_view::npos; prefix = {}) {  // two processes may have written into one line
      const auto next = find_mark(line, at + kInfo.size());
      read_message(prefix, line.substr(at, next - at), number);
      at = next;
    }
  }

  // An error that nothing led to, at the end of what others printed: somebody pasted it alone.
  void finish(int lines) {
    constexpr int kAtTheEnd = 20;
    if (log_.error.times == 0 && log_.nccl_lines == 0 && lines - last_words_.line < kAtTheEnd)
      log_.error = last_words_;
  }

 private:
  void read_other(std::string_view line, int number) {
    log_.of_kernel = log_.of_kernel || (log_.nccl_lines == 0 && is_line_of_kernel(line));
    if (repeated_ && trim(line).empty()) return;  // somebody's blank lines in between
    const bool pythons = may_be_of_python(line);
    if (!repeated_ && !tracebacks_.are_open() && !pythons && !may_tell_of_failure(line)) return;
    tracebacks_.read(line, number);
    if (const auto error = error_of_python(line); pythons && !error.empty() && !is_of_launcher(error))
      last_words_ = {shortened(error), number, 1};
    read_words_of_torch(line, number, log_);
    const auto error = find_after(line, kLastError);
    if (error && !error->empty()) failures_.say(*error, number);  // a long line may be cut before it
    if (error || repeated_ || tells_of_failure(line)) failures_.say(trim(line), number);
    if (repeated_) keep_last_error(trim(line.substr(std::min(*repeated_, line.size()))), number);
    if (error) keep_last_error(*error, number);
    read_quoted(line, number);
    repeated_ = error && error->empty() ? std::optional(line.find(kLastError)) : std::nullopt;
  }

  // XLA's way to repeat it: "Last NCCL warning(error) log entry (may be unrelated) 'socketTryAccept: ...'."
  void read_quoted(std::string_view line, int number) {
    const auto quoted = find_after(line, "log entry (may be unrelated) '");
    if (!quoted) return;
    const auto words = quoted->substr(0, quoted->find('\''));
    if (!words.empty()) failures_.say(words, number);
    keep_last_error(words, number);
  }

  // Nobody knows its words: then they are all there is.
  void keep_last_error(std::string_view error, int number) {
    if (!error.empty() && find_known_failure(error) == nullptr) say(log_.last_error, error, number);
  }

  static std::size_t find_mark(std::string_view line, std::size_t from) {
    const auto info = line.find(kInfo, from);
    return std::min(info, line.substr(0, info).find(kWarn, from));
  }

  // "commReclaim: cleanup comm 0x98 rank 0 failed in destroy/abort, error 1": what the same thread warned of just before went
  // wrong as a process gave up what it had, and no run died of it.
  void warn(std::string_view prefix, std::string_view message, int number) {
    const auto thread =
        behind_last(trim(prefix.substr(0, prefix.rfind('['))), [](char c) { return c == ' '; });
    const auto last = last_warnings_.find(thread);
    if (message.starts_with("commReclaim: cleanup comm") && last != last_warnings_.end()) {
      warnings_.take_back(last->second);
      last_warnings_.erase(last);
      return;
    }
    const std::string words(trim(fmt::format("{} {}", source_before(prefix), message)));
    if (last != last_warnings_.end())
      last->second = words;
    else if (last_warnings_.size() < kMostKeptOfLog)
      last_warnings_.emplace(thread, words);
    warnings_.say(words, number);
  }

  void read_message(std::string_view prefix, std::string_view marked, int number) {
    ++log_.nccl_lines;
    const auto host = host_before(prefix);
    if (!host.empty() && host != last_host_ && log_.hosts.size() < kMostKeptOfLog) {
      last_host_ = host;
      log_.hosts.insert(last_host_);
    }
    const auto message = trim(unwrapped(prefix, marked.substr(kInfo.size())));
    if (marked.starts_with(kWarn)) {
      ways_back_.warn(prefix, trim(fmt::format("{} {}", source_before(prefix), message)), number);
      return warn(prefix, message, number);
    }
    if (is_connection(message)) return connections_.read(message, number);
    if (is_of_a_call(message)) return;
    if (ways_back_.are_awaited()) ways_back_.read(prefix, message, number);
    if (may_tell(message)) read_info(message, host, number, log_);
    if (!kOddWords.may_be_in(message)) return;
    read_retry(message, number, log_);
    if (should_be_a_warning(message)) warnings_.say(message, number);
  }

  static constexpr std::string_view kInfo = "NCCL INFO ", kWarn = "NCCL WARN ";
  NcclLog& log_;
  SaidList warnings_, failures_;
  Connections connections_;
  WaysBack ways_back_{log_};
  Tracebacks tracebacks_{log_};
  std::string last_host_, named_;
  SaidInLog last_words_;  // the last error that a line names; times is 0: none
  std::map<std::string, std::string, std::less<>> last_warnings_;  // by thread: ranks of a host take turns
  std::optional<std::size_t> repeated_;  // the line above ends in "Last error:", which begins there
};

}  // namespace

NcclLog read_nccl_log(ByteSource& source, const std::string& name) {
  NcclLog log;
  log.file = name;
  LogLines lines(source);
  LogReader reader(log);
  while (const auto line = lines.next()) reader.read(*line, lines.number());
  reader.finish(lines.number());
  std::erase_if(log.warnings, [](const SaidInLog& said) { return said.times <= 0; });
  log.lines = lines.number();
  log.cut_lines = lines.cut();
  const bool of_nccl = log.nccl_lines > 0 || !log.version.empty();
  log.of_kernel = log.of_kernel && !of_nccl;
  if (!of_nccl && !log.of_kernel && log.torch_lines + log.tracebacks + log.error.times == 0 &&
      log.failures.empty())
    throw ConfigError(fmt::format("{}: no line of it is NCCL's; run with NCCL_DEBUG=INFO", name));
  return log;
}

NcclLog read_nccl_log(const std::filesystem::path& path) {
  ByteSource source(path);
  return read_nccl_log(source, path.string());
}

}  // namespace gradwire
