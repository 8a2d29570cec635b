#include "trace/rehearsal.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kFirstWord = "rehearsed", kUser = ":user", kView = ":view";

std::optional<Collective> find_collective(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i)
    if (name_of(static_cast<Collective>(i)) == name) return static_cast<Collective>(i);
  return std::nullopt;
}

bool takes_suffix(std::string_view& word, std::string_view suffix) {
  if (!word.ends_with(suffix)) return false;
  word.remove_suffix(suffix.size());
  return true;
}

}  // namespace

std::string name_of(const RehearsedCall& call) {
  return fmt::format("{} {}{}{} among {}", kFirstWord, name_of(call.kind), call.user_memory ? kUser : "",
                     call.viewed ? kView : "", call.group);
}

std::optional<RehearsedCall> find_rehearsed(std::string_view span_name) {
  const auto words = split(span_name, ' ');
  if (words.size() != 5 || words[0] != kFirstWord) return std::nullopt;
  std::string_view what = words[1];
  RehearsedCall call{.group = std::string(words[3])};
  call.viewed = takes_suffix(what, kView);
  call.user_memory = takes_suffix(what, kUser);
  const auto kind = find_collective(what);
  if (!kind) return std::nullopt;
  call.kind = *kind;
  return call;
}

bool is_rehearsal(const Timeline& timeline) {
  return std::any_of(timeline.spans.begin(), timeline.spans.end(), [](const Span& span) {
    return span.kind == SpanKind::bucket && find_rehearsed(span.name).has_value();
  });
}

}  // namespace gradwire
