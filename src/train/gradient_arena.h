// Where gradients live: memory of the communicator's, cut into buckets, with a view for every parameter that
// is its gradient. One block for each element type holds all buckets of that type, so that laying them out
// anew, once the order of gradients is known, takes no more memory. Belongs to one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <torch/torch.h>

#include "comm/communicator.h"
#include "sched/buckets.h"
#include "train/comm_hook.h"

namespace gradwire {

class GradientArena {
 public:
  GradientArena(std::vector<torch::Tensor> parameters, Communicator& communicator);

  // The gradients as assign_buckets() takes them.
  const std::vector<BucketItem>& items() const { return items_; }

  // Every view moves; gradients keep their values.
  void lay_out(const std::vector<Bucket>& buckets);

  const std::vector<Bucket>& layout() const { return layout_; }
  const std::vector<GradBucket>& buckets() const { return buckets_; }
  int bucket_of(int parameter) const { return bucket_of_[parameter]; }  // -1: in none

  // Makes the parameter's gradient its view, whatever it is now: true when there is one.
  bool attach(int parameter);
  // Makes the view hold zeros where the parameter has no gradient, without giving it one.
  void clear_if_absent(int parameter);
  bool has_gradient(int parameter) const { return parameters_[parameter].grad().defined(); }
  void set_gradient(int parameter, bool present);  // its view, or none
  void clear();                                    // zeros everywhere

 private:
  bool is_attached(int parameter) const;
  void place(int index, const Bucket& bucket, std::map<int, std::size_t>& used);
  std::vector<std::optional<torch::Tensor>> values() const;
  void restore(int parameter, const torch::Tensor& value);

  const std::vector<torch::Tensor> parameters_;
  std::vector<BucketItem> items_;
  std::map<int, std::shared_ptr<Memory>> blocks_;  // by kind

  std::vector<Bucket> layout_;
  std::vector<GradBucket> buckets_;
  std::vector<int> bucket_of_;
  std::vector<torch::Tensor> views_;
};

}  // namespace gradwire
