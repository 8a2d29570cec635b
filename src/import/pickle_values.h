// What a pickle's program works on: a stack of values, a pool in which they live, a memo in which it puts them aside.
// Values are named by their place in the pool, because a list may be filled after it was put aside. One thread; everything
// that can't be throws ConfigError.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gradwire {

class PickleValues {
 public:
  enum class Kind : std::uint8_t { scalar, list, dict, mark };
  using Index = std::uint32_t;

  [[noreturn]] static void refuse(const std::string& why);

  void push(Kind kind, std::vector<Index> children = {});  // of a dict: key, value, key, value
  void push_scalar(nlohmann::json value);
  void push_tuple(std::size_t count);  // of so many from the stack
  Index pop();
  std::vector<Index> pop_to_mark();
  void extend(Kind kind, const std::vector<Index>& values);  // the one on top

  void keep(std::uint64_t number) { memo_[number] = top(); }
  void keep_next() { keep(memo_.size()); }
  void push_kept(std::uint64_t number);

  nlohmann::json take_json();  // of the one on top

 private:
  struct Node {
    Kind kind = Kind::scalar;
    nlohmann::json scalar;
    std::vector<Index> children;
  };
  Index make(Kind kind, nlohmann::json scalar = nullptr);
  Index top() const;
  struct Extent {
    std::size_t values = 0, depth = 0;  // how many there are with all that it holds, how deep
  };
  Extent extent_of(Index index, std::size_t depth, std::vector<Extent>& known) const;
  nlohmann::json json_of(Index index) const;

  std::vector<Node> nodes_;
  std::vector<Index> stack_;
  std::map<std::uint64_t, Index> memo_;
};

}  // namespace gradwire
