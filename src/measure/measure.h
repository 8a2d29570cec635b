// Takes the samples of a benchmark: for every size, rounds in which each contestant is sampled once, one
// right after the other, so that a disturbance of the machine meets all of them and ratios within a round
// mean something.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/contestant.h"

namespace gradwire {

struct BenchOptions {
  Collective collective = Collective::all_reduce;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  int ranks = 2;
  std::vector<Bytes> sizes;
  int rounds = 7;
  int calls = 0;  // per sample; 0: as many as fill sample_time
  Seconds sample_time = 0.01;
};

struct Row {
  std::string backend;
  Bytes bytes = 0;
  std::vector<Seconds> rounds;          // the time of a call in each round
  std::vector<Seconds> processor = {};  // what of a rank's processor it took, in each round
  std::uint64_t wrong = 0;
  Seconds median() const;
  Seconds fastest() const;
};

struct Measurement {
  std::vector<Row> rows;             // by size, then in the order of the contestants
  std::vector<double> distances_ns;  // between two cores, one probe a round: see core_distance()
};

using Progress = std::function<void(double share, const std::string& doing)>;
Measurement measure(const BenchOptions&, const std::vector<std::unique_ptr<Contestant>>&, const Progress&);

// How long a cache line takes from one core to another, one way. On virtual machines it changes by the
// second, and every shared-memory figure with it. 0 on a machine with one core.
Seconds core_distance();

double median(std::vector<double> values);

}  // namespace gradwire
