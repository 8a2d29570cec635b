#include "import/pickle_values.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostValues = 2'000'000, kMostDepth = 64;

}  // namespace

void PickleValues::refuse(const std::string& why) { throw ConfigError("pickle: " + why); }

PickleValues::Index PickleValues::make(Kind kind, nlohmann::json scalar) {
  if (nodes_.size() >= kMostValues) refuse("it has too many values");
  nodes_.push_back({kind, std::move(scalar), {}});
  return static_cast<Index>(nodes_.size() - 1);
}

void PickleValues::push(Kind kind, std::vector<Index> children) {
  const Index node = make(kind);
  nodes_[node].children = std::move(children);
  stack_.push_back(node);
}

void PickleValues::push_scalar(nlohmann::json value) {
  stack_.push_back(make(Kind::scalar, std::move(value)));
}

void PickleValues::push_tuple(std::size_t count) {
  std::vector<Index> values(count);
  for (std::size_t i = count; i-- > 0;) values[i] = pop();
  push(Kind::list, std::move(values));
}

PickleValues::Index PickleValues::top() const {
  if (stack_.empty()) refuse("its stack is empty");
  return stack_.back();
}

PickleValues::Index PickleValues::pop() {
  const Index index = top();
  stack_.pop_back();
  return index;
}

std::vector<PickleValues::Index> PickleValues::pop_to_mark() {
  std::size_t mark = stack_.size();
  while (mark > 0 && nodes_[stack_[mark - 1]].kind != Kind::mark) --mark;
  if (mark == 0) refuse("a mark is missing");
  std::vector<Index> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
  stack_.resize(mark - 1);
  return values;
}

void PickleValues::extend(Kind kind, const std::vector<Index>& values) {
  Node& target = nodes_[top()];
  if (target.kind != kind || (kind == Kind::dict && values.size() % 2 != 0))
    refuse("a value is put where none can be");
  target.children.insert(target.children.end(), values.begin(), values.end());
}

void PickleValues::push_kept(std::uint64_t number) {
  const auto found = memo_.find(number);
  if (found == memo_.end()) refuse("it asks for what was never put aside");
  stack_.push_back(found->second);
}

nlohmann::json PickleValues::take_json() {
  const Index root = pop();
  std::vector<Extent> known(nodes_.size());
  extent_of(root, 0, known);
  return json_of(root);
}

// Said before anything is made of it, because a list may hold itself, or one list a thousand times the next. Each node is
// looked at once; one that holds itself leads deeper than any may be.
PickleValues::Extent PickleValues::extent_of(Index index, std::size_t depth,
                                             std::vector<Extent>& known) const {
  Extent extent = known[index];
  if (depth + extent.depth > kMostDepth) refuse("it is nested without end");
  if (extent.values > 0) return extent;
  const Node& node = nodes_[index];
  if (node.kind == Kind::mark) refuse("a mark is left over");
  extent.values = 1;
  for (const auto child : node.children) {
    const Extent of_child = extent_of(child, depth + 1, known);
    extent = {extent.values + of_child.values, std::max(extent.depth, of_child.depth + 1)};
    if (extent.values > kMostValues) refuse("it is nested without end");
  }
  return known[index] = extent;
}

nlohmann::json PickleValues::json_of(Index index) const {
  const Node& node = nodes_[index];
  if (node.kind == Kind::scalar) return node.scalar;
  auto value = node.kind == Kind::list ? nlohmann::json::array() : nlohmann::json::object();
  if (node.kind == Kind::list) {
    for (const auto child : node.children) value.push_back(json_of(child));
    return value;
  }
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const auto key = json_of(node.children[i]);
    value[key.is_string() ? key.get<std::string>()
                          : key.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)] =
        json_of(node.children[i + 1]);
  }
  return value;
}

}  // namespace gradwire
