// What is to happen when, in simulated time. Much happens at once in a collective, so what has one time is
// kept in one list, and taken out together: a moment. One thread; keeps its memory.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace gradwire {

// A thing to happen; its owner knows what the numbers mean.
struct Happening {
  std::int32_t kind = 0, what = 0, version = 0;
};

class Moments {
 public:
  void add(Seconds time, Happening happening);
  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return size_; }

  // The earliest moment's time; `all` becomes what happens then. Times that differ by rounding are one.
  Seconds take(std::vector<Happening>& all);

  // Drops what is no longer wanted.
  template <typename F>
  void drop_if(F unwanted) {
    std::erase_if(heap_, [&](const Entry& entry) { return filter(lists_[entry.list], unwanted); });
    heapify();
  }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::size_t kRecent = 8;
  struct Node {
    Happening happening;
    std::int32_t next;
  };
  struct List {
    Seconds time;
    std::int32_t head, tail;  // in order of arrival
  };
  struct Entry {
    Seconds time;
    std::int32_t list;
    bool operator<(const Entry& other) const { return time > other.time; }  // the earliest first
  };

  std::int32_t make_node(Happening happening);
  std::int32_t list_of(Seconds time);
  void heapify();
  void empty_into(std::int32_t list, std::vector<Happening>& all);

  // True when nothing is left of the list.
  template <typename F>
  bool filter(List& list, F unwanted) {
    std::int32_t* link = &list.head;
    list.tail = kNone;
    while (*link != kNone) {
      const std::int32_t node = *link;
      if (unwanted(nodes_[node].happening)) {
        *link = nodes_[node].next;
        free_nodes_.push_back(node);
        --size_;
      } else {
        list.tail = node;
        link = &nodes_[node].next;
      }
    }
    if (list.head != kNone) return false;
    free_lists_.push_back(static_cast<std::int32_t>(&list - lists_.data()));
    return true;
  }

  std::vector<Node> nodes_;
  std::vector<List> lists_;
  std::vector<std::int32_t> free_nodes_, free_lists_;
  std::vector<Entry> heap_;
  std::int32_t recent_[kRecent] = {kNone, kNone, kNone, kNone, kNone, kNone, kNone, kNone};
  std::size_t size_ = 0;
};

}  // namespace gradwire
