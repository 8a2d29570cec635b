#include "import/stack_dump.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/text.h"
#include "import/known_failures.h"
#include "import/stack_places.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostThreads = 10000, kMostCalls = 500, kLongestPlace = 120;

bool is_digit_of(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

struct StackCall {
  std::string_view function, file;
};

// "all_reduce (torch/distributed/distributed_c10d.py:2050)", of native calls "ncclAllReduce (libnccl.so.2)": py-spy's.
std::optional<StackCall> find_py_spy_call(std::string_view text) {
  const auto open = text.rfind(" (");
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')')) return std::nullopt;
  const auto function = text.substr(0, open);
  auto file = text.substr(open + 2, text.size() - open - 3);
  const auto colon = file.rfind(':');
  const bool numbered =
      colon != std::string_view::npos && colon + 1 < file.size() &&
      std::all_of(file.begin() + static_cast<std::ptrdiff_t>(colon) + 1, file.end(), is_digit_of);
  if (numbered) file = file.substr(0, colon);
  const bool library = file.find(".so") != std::string_view::npos;
  const bool named = function.find(' ') == std::string_view::npos || library ||
                     function.find("::") != std::string_view::npos;
  return named && (numbered || library) ? std::optional(StackCall{function, file}) : std::nullopt;
}

// "File "x.py", line 12 in f" of faulthandler, "File "x.py", line 12, in f" of a traceback.
std::optional<StackCall> find_python_call(std::string_view text) {
  constexpr std::string_view kFile = "File \"";
  if (!text.starts_with(kFile)) return std::nullopt;
  const auto end = text.find("\", line ", kFile.size());
  const auto in = end == std::string_view::npos ? end : text.find(" in ", end);
  if (in == std::string_view::npos) return std::nullopt;
  return StackCall{trim(text.substr(in + 4)), text.substr(kFile.size(), end - kFile.size())};
}

// "#4  0x00007f1 in ncclCommInitRankSync (newcomm=0x5, nranks=2) at init.cc:840", "#1  0x07 in poll () from /lib64/libc.so.6".
std::optional<StackCall> find_gdb_call(std::string_view text) {
  if (text.size() < 4 || text[0] != '#' || !is_digit_of(text[1])) return std::nullopt;
  auto rest = trim(text.substr(std::min(text.find(' '), text.size())));
  if (rest.starts_with("0x"))
    rest = rest.find(" in ") == std::string_view::npos ? std::string_view{}
                                                       : trim(rest.substr(rest.find(" in ") + 4));
  const auto open = rest.find(" (");
  if (open == std::string_view::npos) return std::nullopt;
  const auto at = rest.find(" at ", open);
  const auto file = at == std::string_view::npos ? std::string_view{} : rest.substr(at + 4);
  return StackCall{rest.substr(0, open), file.substr(0, file.rfind(':'))};
}

Doing doing_in(const StackCall& call) {
  const auto place = std::find_if(std::begin(kPlaces), std::end(kPlaces), [&](const KnownPlace& known) {
    return call.function.starts_with(known.function) && call.file.find(known.file) != std::string_view::npos;
  });
  return place == std::end(kPlaces) ? Doing::other : place->doing;
}

enum class Heading { none, thread, traceback, process };

struct HeadingLine {
  Heading kind = Heading::none;
  std::string name;
};

// "Thread 4711 (active): "MainThread"", "Thread 0x00007f (most recent call first):", "Current thread 0x...", of gdb "Thread 15 (Thread
// 0x7f (LWP 20292)):".
bool is_thread_heading(std::string_view text) {
  for (const std::string_view begin : {"Thread ", "Current thread "}) {
    if (!text.starts_with(begin) || text.size() == begin.size() || !is_digit_of(text[begin.size()])) continue;
    const auto open = text.find(" (");
    if (open == std::string_view::npos) return false;
    const auto state = text.substr(open + 2);
    return state.starts_with("active") || state.starts_with("idle") ||
           state.starts_with("most recent call first") || state.starts_with("Thread 0x");
  }
  return false;
}

HeadingLine heading_of(std::string_view text) {
  if (is_thread_heading(text)) {
    const auto quote = text.find("\"");
    const auto name = quote == std::string_view::npos ? std::string_view{} : text.substr(quote + 1);
    return {Heading::thread, std::string(name.substr(0, name.find('"')).substr(0, kLongestPlace))};
  }
  if (text.find(kTraceback) != std::string_view::npos) return {Heading::traceback, {}};
  if (!text.starts_with("Process ") || text.size() < 9 || !is_digit_of(text[8])) return {};
  const auto digits = text.substr(8, text.find_first_not_of("0123456789", 8) - 8);
  const bool names =
      text.substr(8 + digits.size()).starts_with(":") || text.find("traceback") != std::string_view::npos;
  return names ? HeadingLine{Heading::process, "process " + std::string(digits)} : HeadingLine{};
}

// "0: ", "[rank1]: ", "stderr: ", "> ": what a launcher or a mail puts before a line.
std::string_view without_prefix(std::string_view line) {
  auto text = trim(line);
  while (text.starts_with("> ")) text = trim(text.substr(2));
  if (text.starts_with("stderr: ")) text = trim(text.substr(8));
  if (text.starts_with("[rank") && text.find("]:") != std::string_view::npos)
    text = trim(text.substr(text.find("]:") + 2));
  const auto digits = text.find_first_not_of("0123456789");
  if (digits != std::string_view::npos && digits > 0 && text.substr(digits).starts_with(": "))
    text = trim(text.substr(digits + 2));
  return text;
}

class DumpReader {
 public:
  explicit DumpReader(StackDump& dump) : dump_(dump) {}

  void read(std::string_view line, int number) {
    const auto text = without_prefix(line);
    dump_.crashed = dump_.crashed || text.find("Fatal Python error") != std::string_view::npos;
    if (const HeadingLine heading = heading_of(text); heading.kind != Heading::none) return begin(heading);
    if (const auto call = find_gdb_call(text)) return read_gdb_call(*call, text, number);
    if (inside_ == Heading::none) return;
    auto call = find_python_call(text);
    if (!call && inside_ == Heading::thread) call = find_py_spy_call(text);
    if (call) return add(*call, number);
    if (inside_ != Heading::traceback) return;
    if (text.starts_with("KeyboardInterrupt")) return keep();
    const bool source = line.starts_with("    ") || line.starts_with('\t');
    if (!source && text.find(": ") != std::string_view::npos)
      drop();  // it ended in an error, and hung nowhere
  }

  void finish() {
    if (inside_ != Heading::traceback) keep();
  }

 private:
  void begin(const HeadingLine& heading) {
    if (inside_ == Heading::traceback)
      drop();
    else
      keep();
    inside_ = heading.kind == Heading::process ? Heading::none : heading.kind;
    if (heading.kind == Heading::process) dump_.processes.push_back({heading.name, {}});
    name_ = heading.name;
  }

  // A stack of gdb may have no heading, and begins anew with its innermost call.
  void read_gdb_call(const StackCall& call, std::string_view text, int number) {
    if (inside_ != Heading::thread || text.starts_with("#0 ")) {
      const bool headed = inside_ == Heading::thread && calls_ == 0;
      if (!headed) begin({Heading::thread, {}});
    }
    if (call.function != "??") add(call, number);
  }

  // Of a traceback the innermost call stands last.
  void add(const StackCall& call, int number) {
    if (++calls_ > kMostCalls) return;
    const Doing doing = doing_in(call);
    const bool last = inside_ == Heading::traceback;
    const bool says_more = !thread_ || doing < thread_->doing || (last && doing == thread_->doing);
    if (!says_more) return;
    thread_ = DumpedThread{name_, doing, std::string(call.function.substr(0, kLongestPlace)),
                           std::string(call.file.substr(0, kLongestPlace)), number};
  }

  void keep() {
    const auto& all = dump_.processes;
    const auto is_main = [](const DumpedThread& thread) { return thread.name == "MainThread"; };
    const bool another = thread_ && is_main(*thread_) && !all.empty() &&
                         std::any_of(all.back().threads.begin(), all.back().threads.end(), is_main);
    if (thread_ && (all.empty() || another)) dump_.processes.emplace_back();
    if (thread_ && dump_.processes.back().threads.size() < kMostThreads)
      dump_.processes.back().threads.push_back(std::move(*thread_));
    drop();
  }

  void drop() {
    thread_.reset();
    calls_ = 0;
    inside_ = Heading::none;
    name_.clear();
  }

  StackDump& dump_;
  Heading inside_ = Heading::none;
  std::string name_;  // of the thread
  std::optional<DumpedThread> thread_;
  std::size_t calls_ = 0;
};

}  // namespace

const DumpedThread* DumpedProcess::find_place() const {
  const DumpedThread* place = nullptr;
  for (const DumpedThread& thread : threads) {
    if (thread.doing == Doing::service) continue;
    // Of those that do nothing known the main one: py-spy names it, faulthandler has it last.
    const bool likelier = place != nullptr && thread.doing == Doing::other && place->doing == Doing::other &&
                          place->name != "MainThread";
    if (place == nullptr || thread.doing < place->doing || likelier) place = &thread;
  }
  return place;
}

bool looks_like_stack_dump(std::string_view text) {
  const auto dump = parse_stack_dump(text, "");
  return std::any_of(dump.processes.begin(), dump.processes.end(),
                     [](const DumpedProcess& process) { return !process.threads.empty(); });
}

StackDump parse_stack_dump(std::string_view text, const std::string& name) {
  StackDump dump;
  dump.file = name;
  DumpReader reader(dump);
  int number = 0;
  for (const auto line : split(text, '\n')) reader.read(line, ++number);
  reader.finish();
  std::erase_if(dump.processes, [](const DumpedProcess& process) { return process.threads.empty(); });
  return dump;
}

}  // namespace gradwire
