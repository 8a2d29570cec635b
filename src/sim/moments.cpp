#include "sim/moments.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "sim/sharing.h"

namespace gradwire {

std::int32_t Moments::make_node(Happening happening) {
  if (free_nodes_.empty()) {
    nodes_.push_back({happening, kNone});
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }
  const std::int32_t node = free_nodes_.back();
  free_nodes_.pop_back();
  nodes_[node] = {happening, kNone};
  return node;
}

// Of the lists made lately some are remembered, by a few bits of their time. Missing one costs a list more,
// nothing else.
std::int32_t Moments::list_of(Seconds time) {
  const auto bits = std::bit_cast<std::uint64_t>(time);
  std::int32_t& recent = recent_[(bits * 0x9E3779B97F4A7C15u) >> 61];
  if (recent != kNone && lists_[recent].head != kNone && lists_[recent].time == time) return recent;
  std::int32_t list = static_cast<std::int32_t>(lists_.size());
  if (free_lists_.empty()) {
    lists_.push_back({});
  } else {
    list = free_lists_.back();
    free_lists_.pop_back();
  }
  lists_[list] = {time, kNone, kNone};
  heap_.push_back({time, list});
  std::push_heap(heap_.begin(), heap_.end());
  return recent = list;
}

void Moments::add(Seconds time, Happening happening) {
  check(time == time, "a time that is no number");
  List& list = lists_[list_of(time)];
  const std::int32_t node = make_node(happening);
  (list.head == kNone ? list.head : nodes_[list.tail].next) = node;
  list.tail = node;
  ++size_;
}

void Moments::empty_into(std::int32_t id, std::vector<Happening>& all) {
  for (std::int32_t node = lists_[id].head; node != kNone; node = nodes_[node].next) {
    all.push_back(nodes_[node].happening);
    free_nodes_.push_back(node);
  }
  lists_[id].head = kNone;
  free_lists_.push_back(id);
}

Seconds Moments::take(std::vector<Happening>& all) {
  check(!heap_.empty(), "nothing is to happen");
  all.clear();
  const Seconds time = heap_.front().time;
  while (!heap_.empty() && heap_.front().time <= time * (1 + kSame)) {
    std::pop_heap(heap_.begin(), heap_.end());
    empty_into(heap_.back().list, all);
    heap_.pop_back();
  }
  size_ -= all.size();
  return time;
}

void Moments::heapify() { std::make_heap(heap_.begin(), heap_.end()); }

}  // namespace gradwire
