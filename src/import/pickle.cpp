// A pickle is a program for a stack machine. Values live in a pool and are named by their place in it, because
// a list may be filled after it was put aside in the memo.
#include "import/pickle.h"

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostValues = 2'000'000, kMostDepth = 64;

enum class NodeKind { scalar, list, dict, mark };

struct Node {
  NodeKind kind = NodeKind::scalar;
  Json scalar;
  std::vector<std::uint32_t> children;  // of a dict: key, value, key, value
};

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  Json run() {
    for (;;) {
      const auto code = static_cast<unsigned char>(take(1)[0]);
      if (code == '.') break;
      step(code);
    }
    std::size_t made = 0;
    return json_of(pop(), 0, made);
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) { throw ConfigError("pickle: " + why); }

  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) refuse("it is cut off");
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  std::uint64_t unsigned_of(std::size_t size) {
    const auto raw = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(raw[i]);
    return value;
  }
  std::string_view line() {
    const auto end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) refuse("it is cut off");
    const auto text = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return text;
  }

  std::uint32_t make(NodeKind kind, Json scalar = nullptr) {
    if (nodes_.size() >= kMostValues) refuse("it has too many values");
    nodes_.push_back({kind, std::move(scalar), {}});
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void push(std::uint32_t node) { stack_.push_back(node); }
  void push_scalar(Json value) { push(make(NodeKind::scalar, std::move(value))); }
  std::uint32_t pop() {
    if (stack_.empty()) refuse("its stack is empty");
    const auto top = stack_.back();
    stack_.pop_back();
    return top;
  }
  std::uint32_t top() {
    if (stack_.empty()) refuse("its stack is empty");
    return stack_.back();
  }
  std::vector<std::uint32_t> pop_to_mark() {
    std::size_t mark = stack_.size();
    while (mark > 0 && nodes_[stack_[mark - 1]].kind != NodeKind::mark) --mark;
    if (mark == 0) refuse("a mark is missing");
    std::vector<std::uint32_t> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark - 1);
    return values;
  }
  void push_with(NodeKind kind, std::vector<std::uint32_t> children) {
    const auto node = make(kind);
    nodes_[node].children = std::move(children);
    push(node);
  }
  void extend(NodeKind kind, const std::vector<std::uint32_t>& values) {
    Node& target = nodes_[top()];
    if (target.kind != kind || (kind == NodeKind::dict && values.size() % 2 != 0))
      refuse("a value is put where none can be");
    target.children.insert(target.children.end(), values.begin(), values.end());
  }
  void push_tuple(std::size_t count) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = count; i-- > 0;) values[i] = pop();
    push_with(NodeKind::list, std::move(values));
  }
  void push_memo(std::uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) refuse("it asks for what was never put aside");
    push(found->second);
  }
  void push_text(std::size_t size) { push_scalar(std::string(take(size))); }

  void push_double() {
    std::uint64_t bits = 0;
    for (const char c : take(8)) bits = bits << 8 | static_cast<unsigned char>(c);
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    push_scalar(value);
  }
  void push_long(std::size_t size) {
    if (size > 8) refuse("a number has more than 64 bits");
    std::uint64_t value = unsigned_of(size);
    if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1) != 0) value |= ~std::uint64_t{0} << (8 * size);
    push_scalar(static_cast<std::int64_t>(value));
  }
  void push_decimal() {
    auto text = trim(line());
    if (text.ends_with('L')) text.remove_suffix(1);
    const auto value = find_integer<std::int64_t>(text);
    if (!value) refuse("a number is none");
    push_scalar(*value);
  }

  void step(unsigned char code) {
    if (!numbers(code) && !texts(code) && !containers(code) && !memory(code))
      refuse(fmt::format("operation 0x{:02x} would build more than lists, dicts, texts and numbers", code));
  }
  bool numbers(unsigned char code) {
    switch (code) {
      case 'N':
        push_scalar(nullptr);
        return true;
      case 0x88:
        push_scalar(true);
        return true;
      case 0x89:
        push_scalar(false);
        return true;
      case 'K':
        push_scalar(unsigned_of(1));
        return true;
      case 'M':
        push_scalar(unsigned_of(2));
        return true;
      case 'J':
        push_scalar(static_cast<std::int32_t>(unsigned_of(4)));
        return true;
      case 0x8a:
        push_long(unsigned_of(1));
        return true;
      case 0x8b:
        push_long(unsigned_of(4));
        return true;
      case 'G':
        push_double();
        return true;
      case 'I':
      case 'L':
        push_decimal();
        return true;
      default:
        return false;
    }
  }
  bool texts(unsigned char code) {
    switch (code) {
      case 'X':
      case 'B':
      case 'T':
        push_text(unsigned_of(4));
        return true;
      case 0x8c:
      case 'C':
      case 'U':
        push_text(unsigned_of(1));
        return true;
      case 0x8d:
      case 0x8e:
        push_text(unsigned_of(8));
        return true;
      case 'V':
      case 'S':
        push_scalar(std::string(line()));
        return true;
      default:
        return false;
    }
  }
  bool containers(unsigned char code) {
    switch (code) {
      case '(':
        push(make(NodeKind::mark));
        return true;
      case '}':
        push(make(NodeKind::dict));
        return true;
      case ']':
      case ')':
        push(make(NodeKind::list));
        return true;
      case 'l':
      case 't':
        push_with(NodeKind::list, pop_to_mark());
        return true;
      case 'd':
        push_with(NodeKind::dict, pop_to_mark());
        return true;
      case 0x85:
      case 0x86:
      case 0x87:
        push_tuple(code - 0x84u);
        return true;
      case 'a':
        append_one();
        return true;
      case 's':
        set_one();
        return true;
      case 'e':
        extend_from_mark(NodeKind::list);
        return true;
      case 'u':
        extend_from_mark(NodeKind::dict);
        return true;
      default:
        return false;
    }
  }
  void append_one() {
    const auto value = pop();
    extend(NodeKind::list, {value});
  }
  void set_one() {
    const auto value = pop(), key = pop();
    extend(NodeKind::dict, {key, value});
  }
  void extend_from_mark(NodeKind kind) {
    const auto values = pop_to_mark();
    extend(kind, values);
  }
  bool memory(unsigned char code) {
    switch (code) {
      case 0x80:
        take(1);
        return true;  // protocol
      case 0x95:
        take(8);
        return true;  // frame
      case 0x94:
        memo_[memo_.size()] = top();
        return true;
      case 'q':
        memo_[unsigned_of(1)] = top();
        return true;
      case 'r':
        memo_[unsigned_of(4)] = top();
        return true;
      case 'p':
        memo_[find_integer<std::uint64_t>(line()).value_or(0)] = top();
        return true;
      case 'h':
        push_memo(unsigned_of(1));
        return true;
      case 'j':
        push_memo(unsigned_of(4));
        return true;
      case 'g':
        push_memo(find_integer<std::uint64_t>(line()).value_or(0));
        return true;
      case '0':
        pop();
        return true;
      default:
        return false;
    }
  }

  // Bounded, because a list may hold itself, or one list a thousand times the next.
  Json json_of(std::uint32_t index, std::size_t depth, std::size_t& made) const {
    if (depth > kMostDepth || ++made > kMostValues) refuse("it is nested without end");
    const Node& node = nodes_[index];
    if (node.kind == NodeKind::mark) refuse("a mark is left over");
    if (node.kind == NodeKind::scalar) return node.scalar;
    Json value = node.kind == NodeKind::list ? Json::array() : Json::object();
    if (node.kind == NodeKind::list) {
      for (const auto child : node.children) value.push_back(json_of(child, depth + 1, made));
      return value;
    }
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
      const Json key = json_of(node.children[i], depth + 1, made);
      value[key.is_string() ? key.get<std::string>()
                            : key.dump(-1, ' ', false, Json::error_handler_t::replace)] =
          json_of(node.children[i + 1], depth + 1, made);
    }
    return value;
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> stack_;
  std::map<std::uint64_t, std::uint32_t> memo_;
};

}  // namespace

Json parse_pickle(std::string_view bytes) { return Unpickler(bytes).run(); }

}  // namespace gradwire
