// Which gradients travel together: the bucket assignment of DistributedDataParallel as a pure function,
// shared by the reducer that trains and the model that predicts.
//
// Gradients are taken in the order in which they are expected to be ready: first the reverse of the order in
// which the model registered its parameters, later the order that was observed. A bucket closes when its size
// reaches or passes its cap. The first bucket of a kind is small, so that communication begins early; PyTorch
// takes 1 MiB and 25 MiB (torch/nn/parallel/distributed.py, reducer.hpp), and so do we. Gradients of
// different kinds (type and device) never share a bucket: each kind fills buckets of its own.
#pragma once

#include <span>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct BucketItem {
  Bytes bytes = 0;
  int kind = 0;  // equal where gradients may share a bucket: same type, same device
};

struct BucketCaps {
  Bytes first = Bytes{1} << 20;
  Bytes rest = Bytes{25} << 20;
  bool operator==(const BucketCaps&) const = default;
};

struct Bucket {
  std::vector<int> members;  // indices of items, in the order they were taken
  Bytes bytes = 0;
  int kind = 0;
  bool operator==(const Bucket&) const = default;
};

// n-1, ..., 1, 0.
std::vector<int> reverse_order(int count);

// `order` holds indices of `items`, each at most once; what it leaves out gets no bucket. The buckets are
// sorted by when their last member comes in `order`: the order in which they become ready. Throws ConfigError
// for an index that is out of range or repeated.
std::vector<Bucket> assign_buckets(std::span<const BucketItem> items, std::span<const int> order,
                                   const BucketCaps& caps = {});

// In reverse registration order.
std::vector<Bucket> assign_buckets(std::span<const BucketItem> items, const BucketCaps& caps = {});

}  // namespace gradwire
