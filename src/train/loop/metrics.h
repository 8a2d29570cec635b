// Numbers averaged over samples and ranks: a loss, an accuracy. Add on each rank, reduce on all together.
#pragma once

#include <map>
#include <string>

#include "comm/communicator.h"

namespace gradwire {

class Metrics {
 public:
  // `value` is a mean over `weight` samples.
  void add(const std::string& name, double value, double weight = 1);

  // The weighted means over all ranks; a metric that nobody added to is not there. Every rank calls it and
  // has added to the same names (a rank without samples: with weight 0); otherwise each gets a Mismatch.
  // Begins anew.
  std::map<std::string, double> reduce(Communicator& communicator);

 private:
  struct Sum {
    double value = 0, weight = 0;
  };
  std::map<std::string, Sum> sums_;
};

}  // namespace gradwire
