// The buffers of one benchmarked collective on one rank, with a pattern whose result is known exactly: small
// whole numbers, different on every rank and element, so that any order of summing gives the same bits.
#pragma once

#include <cstdint>

#include "comm/communicator.h"
#include "measure/sample.h"

namespace gradwire {

class CheckedBuffers {
 public:
  // Buffers come from the communicator, or are ordinary memory that it must stage.
  CheckedBuffers(Communicator& communicator, const SampleRequest& request, bool communicator_memory);

  const Call& call() const { return call_; }
  void fill();
  std::uint64_t count_wrong()
      const;  // elements of this rank's result that a sequential reduction gives otherwise

 private:
  Call messages_between(bool all) const;
  bool receives() const;
  double expected(std::uint64_t index) const;
  double combined(std::uint64_t index) const;

  const SampleRequest request_;
  const Rank rank_;
  const int ranks_;
  Memory in_, out_;
  Call call_;
};

}  // namespace gradwire
