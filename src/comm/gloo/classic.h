// Gloo's older all-reduce classes. An object of theirs is bound to its memory and costs much to make, so the
// last one is kept and used again for a call that is the same in memory, size, type and reduction. Making one
// takes slots of the context: all ranks must make theirs in the same calls. Belongs to one thread.
#pragma once

#include <gloo/algorithm.h>
#include <gloo/context.h>

#include <memory>

#include "comm/communicator.h"
#include "comm/gloo/gloo.h"
#include "comm/kernels/kernels.h"

namespace gradwire {

class ClassicAllReduce {
 public:
  // What an object was made for. A value.
  struct Key {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
    DType dtype = DType::f32;
    Reduction reduction = Reduction::sum;  // never avg
    bool operator==(const Key&) const = default;
  };

  ClassicAllReduce(std::shared_ptr<gloo::Context> context, GlooAlgorithm algorithm, Isa isa)
      : context_(std::move(context)), algorithm_(algorithm), isa_(isa) {}

  // These classes count elements with an int, and some compute bytes with one.
  static bool takes(const Key& key) { return key.bytes <= (1u << 30); }

  bool is_prepared(const Key& key) const { return prepared_ != nullptr && key == key_; }
  void prepare(const Key& key);
  void run();

 private:
  const std::shared_ptr<gloo::Context> context_;
  const GlooAlgorithm algorithm_;
  const Isa isa_;
  Key key_;
  std::shared_ptr<void> function_;  // the reduction that prepared_ calls
  std::unique_ptr<gloo::Algorithm> prepared_;
};

}  // namespace gradwire
