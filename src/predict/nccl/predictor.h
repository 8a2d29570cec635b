// The time of a collective on a fabric, and how far off it may be: from the spread of every constant that
// matters there, and from what the constants leave open.
#pragma once

#include <vector>

#include "predict/nccl/price.h"

namespace gradwire {

inline constexpr double kEightOfTen = 1.28155;  // standard deviations to either side that hold 80 %

// How the logarithm of a time answers to each constant's, times that constant's spread; and what constants
// leave open. The squares add up to the variance. Two machines share what constants do, not the rest.
struct NcclDoubt {
  NcclConstants by_constant{};
  double rest = 0;
  double total() const;
  double width() const;  // the factor to either side that holds 80 %
};

class NcclPredictor {
 public:
  // The fabric must outlive this.
  NcclPredictor(const NcclFabric&, const Calibration&, Collective = Collective::all_reduce);

  // Never less than a smaller buffer takes: where the tuner changes to what is quicker than it believed, the
  // buffers just below could have had that too.
  Seconds time(Bytes) const;
  bool as_smaller(Bytes) const;  // whether that decides
  NcclChoice choice(Bytes) const;
  NcclDoubt doubt(Bytes) const;
  Collective kind() const { return kind_; }
  const NcclPrice& price() const { return price_; }
  const Calibration& calibration() const { return calibration_; }

 private:
  struct Segment {
    Bytes from = 0;  // the first size that takes the choice
    NcclChoice choice;
    Seconds least = 0;  // what the largest buffer before takes
  };
  const Segment& segment(Bytes) const;
  void find_segments();

  const NcclFabric& fabric_;
  Calibration calibration_;
  Collective kind_;
  NcclPrice price_;
  std::vector<Segment> segments_;
};

}  // namespace gradwire
