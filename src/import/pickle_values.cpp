#include "import/pickle_values.h"

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
  std::size_t made = 0;
  return json_of(pop(), 0, made);
}

// Bounded, because a list may hold itself, or one list a thousand times the next.
nlohmann::json PickleValues::json_of(Index index, std::size_t depth, std::size_t& made) const {
  if (depth > kMostDepth || ++made > kMostValues) refuse("it is nested without end");
  const Node& node = nodes_[index];
  if (node.kind == Kind::mark) refuse("a mark is left over");
  if (node.kind == Kind::scalar) return node.scalar;
  auto value = node.kind == Kind::list ? nlohmann::json::array() : nlohmann::json::object();
  if (node.kind == Kind::list) {
    for (const auto child : node.children) value.push_back(json_of(child, depth + 1, made));
    return value;
  }
  for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
    const auto key = json_of(node.children[i], depth + 1, made);
    value[key.is_string() ? key.get<std::string>()
                          : key.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)] =
        json_of(node.children[i + 1], depth + 1, made);
  }
  return value;
}

}  // namespace gradwire
