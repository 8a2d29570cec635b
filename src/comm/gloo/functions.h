// Gloo's current functions for a call of ours: each collective, of any type and reduction, by one of them. Reductions are
// computed by our kernels. All ranks run the same call. Belongs to one thread.
#pragma once

#include <gloo/context.h>

#include <memory>
#include <span>
#include <vector>

#include "comm/collectives.h"
#include "comm/gloo/gloo.h"
#include "comm/kernels/kernels.h"

namespace gradwire {

class GlooFunctions {
 public:
  GlooFunctions(std::shared_ptr<gloo::Context> context, GlooAlgorithm algorithm, Isa isa)
      : context_(std::move(context)), algorithm_(algorithm), isa_(isa) {}

  void run(const Call& call);
  // Of an average whose sum is in the call's output; nothing else is changed.
  void average(const Call& call) const;

 private:
  void all_reduce(const Call& call);
  void reduce(const Call& call, std::span<const std::byte> in, Rank root);
  void reduce_scatter(const Call& call);
  void all_gather(const Call& call);
  void broadcast(const Call& call);
  void all_to_all(const Call& call);
  void barrier();

  const std::shared_ptr<gloo::Context> context_;
  const GlooAlgorithm algorithm_;
  const Isa isa_;
  std::vector<std::byte> scratch_;  // for what Gloo writes on ranks that get no result
};

// An average is summed first.
Reduction combined_by(const Call& call);

// Where Gloo works in place.
void copy_in(const Call& call);

}  // namespace gradwire
