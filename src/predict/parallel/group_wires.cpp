#include "predict/parallel/group_wires.h"

#include <cmath>

namespace gradwire {
namespace {

constexpr Bytes kLarge = Bytes{64} << 20;

// Sizes are rounded to three binary digits, so that plans that differ little share a price: 6 % apart at most.
Bytes rounded_size(double bytes) {
  if (!(bytes >= 1)) return 1;
  int exponent = 0;
  const double mantissa = std::frexp(std::min(bytes, 1e15), &exponent);
  return static_cast<Bytes>(std::ldexp(std::round(mantissa * 16) / 16, exponent));
}

}  // namespace

const GroupModel& GroupWires::model(int size, int stride) {
  auto& found = groups_[{size, stride}];
  if (!found)
    found = std::make_unique<GroupModel>(machine_,
                                         strided_groups(static_cast<int>(machine_.gpus.size()), size, stride),
                                         default_calibration(), settings_);
  return *found;
}

Seconds GroupWires::time(Collective collective, int size, int stride, double bytes) {
  if (size <= 1 || bytes <= 0) return 0;
  const auto rounded = rounded_size(bytes);
  const auto [found, added] = times_.try_emplace({static_cast<int>(collective), size, stride, rounded});
  if (added) found->second = model(size, stride).time(collective, rounded);
  return found->second * bytes / double(rounded);
}

const TransferModel& GroupWires::messages(int stride) {
  auto& found = transfers_[stride];
  if (!found) {
    RankPairs pairs;
    for (int rank = 0; rank + stride < static_cast<int>(machine_.gpus.size()); ++rank)
      pairs.emplace_back(rank, rank + stride);
    found = std::make_unique<TransferModel>(machine_, pairs, default_calibration(), settings_);
  }
  return *found;
}

Seconds GroupWires::transfer(int stride, double bytes) {
  if (stride >= static_cast<int>(machine_.gpus.size()) || bytes <= 0) return 0;
  const auto rounded = rounded_size(bytes);
  const auto [time, added] = times_.try_emplace({-1, 2, stride, rounded});
  if (added) time->second = messages(stride).time(rounded);
  return time->second * bytes / double(rounded);
}

AllReduceEstimate GroupWires::large(int size, int stride) {
  return model(size, stride).estimate(Collective::all_reduce, kLarge);
}

AllReduceEstimate GroupWires::large_message(int stride) {
  auto estimate = messages(stride).estimate(kLarge);
  estimate.doubt.rest = std::log(estimate.high / estimate.time) / kEightOfTen;
  return estimate;
}

}  // namespace gradwire
