#include "launch/roster.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {

const NodeRoster::Entry* NodeRoster::find(int node) const {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.node == node; });
  return found == entries.end() ? nullptr : &*found;
}

int NodeRoster::ranks() const {
  int all = 0;
  for (const auto& entry : entries) all += entry.ranks;
  return all;
}

std::string NodeRoster::text() const {
  std::vector<std::string> words;
  for (const auto& entry : entries)
    words.push_back(fmt::format("{}:{}:{}", entry.node, entry.ranks, entry.token));
  return join(words, " ");
}

std::optional<NodeRoster::Entry> NodeRoster::parse_ready(int node, std::string_view text) {
  const auto fields = split(text, ':');
  const auto ranks = fields.size() == 2 ? find_integer<int>(fields[0]) : std::nullopt;
  if (!ranks || *ranks < 1) return std::nullopt;
  return Entry{node, *ranks, std::string(fields[1])};
}

NodeRoster NodeRoster::parse(std::string_view text) {
  NodeRoster roster;
  for (const auto word : split(text, ' ')) {
    const auto colon = std::min(word.find(':'), word.size());
    const auto node = find_integer<int>(word.substr(0, colon));
    const auto entry =
        node && colon < word.size() ? parse_ready(*node, word.substr(colon + 1)) : std::nullopt;
    if (!entry) throw TransportError(fmt::format("'{:.60}' in the store is no roster of nodes", text));
    roster.entries.push_back(*entry);
  }
  return roster;
}

std::string describe(const NodeRoster& roster) {
  std::vector<std::string> words;
  for (const auto& entry : roster.entries)
    words.push_back(fmt::format("{} ({} rank{})", entry.node, entry.ranks, entry.ranks == 1 ? "" : "s"));
  return fmt::format("node{} {}", words.size() == 1 ? "" : "s", join(words, ", "));
}

}  // namespace gradwire
