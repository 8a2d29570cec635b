// Who takes part in a generation of a job: nodes in the order of their ranks. A value, and its text in the store.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct NodeRoster {
  struct Entry {
    int node = 0, ranks = 0;
    std::string token = {};  // tells one readiness of a launcher from its next, and from another launcher's
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> entries = {};

  const Entry* find(int node) const;  // null where it takes no part
  int ranks() const;
  std::string text() const;  // "0:2:1f09.1 1:2:22aa.3"

  static NodeRoster parse(std::string_view text);  // throws TransportError
  static std::optional<Entry> parse_ready(int node,
                                          std::string_view text);  // "2:1f09.1": of a node that is ready
};

// "nodes 0 (2 ranks), 3 (1 rank)": for people.
std::string describe(const NodeRoster& roster);

}  // namespace gradwire
