#include "sched/buckets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"

namespace gradwire {
namespace {

// The buckets in the making: one open for each kind.
class Filling {
 public:
  explicit Filling(const BucketCaps& caps) : caps_(caps) {}

  void add(int index, const BucketItem& item, int position) {
    auto& open = open_[item.kind];
    open.bucket.members.push_back(index);
    open.bucket.bytes += item.bytes;
    open.bucket.kind = item.kind;
    open.last = position;
    if (open.bucket.bytes >= (open.closed_before ? caps_.rest : caps_.first)) close(open);
  }

  std::vector<Bucket> finish() {
    for (auto& [kind, open] : open_)
      if (!open.bucket.members.empty()) close(open);
    std::sort(closed_.begin(), closed_.end(), [](const auto& a, const auto& b) { return a.last < b.last; });
    std::vector<Bucket> buckets;
    for (auto& closed : closed_) buckets.push_back(std::move(closed.bucket));
    return buckets;
  }

 private:
  struct Open {
    Bucket bucket;
    int last = 0;  // position of its last member
    bool closed_before = false;
  };

  void close(Open& open) { closed_.push_back(std::exchange(open, {.bucket = {}, .closed_before = true})); }

  const BucketCaps caps_;
  std::map<int, Open> open_;
  std::vector<Open> closed_;
};

void check_order(std::span<const BucketItem> items, std::span<const int> order) {
  std::vector<bool> seen(items.size(), false);
  for (const int index : order) {
    if (index < 0 || static_cast<std::size_t>(index) >= items.size())
      throw ConfigError(fmt::format("bucket order: {} is not one of the {} gradients", index, items.size()));
    if (seen[static_cast<std::size_t>(index)])
      throw ConfigError(fmt::format("bucket order: gradient {} comes twice", index));
    seen[static_cast<std::size_t>(index)] = true;
  }
}

}  // namespace

std::vector<int> reverse_order(int count) {
  std::vector<int> order;
  for (int index = count - 1; index >= 0; --index) order.push_back(index);
  return order;
}

std::vector<Bucket> assign_buckets(std::span<const BucketItem> items, std::span<const int> order,
                                   const BucketCaps& caps) {
  check_order(items, order);
  Filling filling(caps);
  int position = 0;
  for (const int index : order) filling.add(index, items[static_cast<std::size_t>(index)], position++);
  return filling.finish();
}

std::vector<Bucket> assign_buckets(std::span<const BucketItem> items, const BucketCaps& caps) {
  return assign_buckets(items, reverse_order(static_cast<int>(items.size())), caps);
}

}  // namespace gradwire
